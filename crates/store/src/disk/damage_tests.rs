//! Damage to the files of a store: a torn tail of the log is truncated, anything else is an error.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::log::record::{RECORD_HEADER, SEGMENT_HEADER, SegmentHeader, decode_record};
use super::{DiskOptions, DiskStore};
use crate::{Store, StoreError};

const PAGE: usize = 4096;
const ACKNOWLEDGED: usize = 20;

/// A store's files as they were while it was open: some acknowledged transactions, then a large one
/// that counts as unacknowledged.
struct Image {
    segment: Vec<u8>,
    manifest: Vec<u8>,
    /// The range of the last, unacknowledged record.
    tail: Range<usize>,
    store_dir: tempfile::TempDir,
}

fn incompressible(seed: u64, len: usize) -> Bytes {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

fn key(n: usize) -> Bytes {
    format!("key {n}").into()
}

impl Image {
    fn take() -> Self {
        let store_dir = tempfile::tempdir().unwrap();
        let (store, _) =
            DiskStore::open(store_dir.path().join("store"), DiskOptions::default()).unwrap();
        for n in 0..ACKNOWLEDGED {
            let mut transaction = store.begin(&[]).unwrap();
            transaction.put(key(n), incompressible(n as u64, 1000));
            transaction.commit().unwrap();
        }
        let mut transaction = store.begin(&[]).unwrap();
        for n in 0..3 {
            transaction.put(format!("tail {n}").into(), incompressible(n + 99, 20_000));
        }
        transaction.commit().unwrap();
        let mut segment = fs::read(segment_in(&store_dir.path().join("store"))).unwrap();
        let manifest = fs::read(store_dir.path().join("store/MANIFEST")).unwrap();
        drop(store);
        let tail = last_record(&segment);
        // A seal may already have been written; it would say that the tail is durable.
        segment[tail.end..].fill(0);
        Self { segment, manifest, tail, store_dir }
    }

    /// Opens a store whose log is this image with some damage.
    fn open(
        &self,
        damage: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(DiskStore, super::OpenReport), StoreError> {
        let path = self.store_dir.path().join("store");
        fs::remove_dir_all(path.join("log")).unwrap();
        fs::create_dir(path.join("log")).unwrap();
        let mut segment = self.segment.clone();
        damage(&mut segment);
        fs::write(segment_in(&path), segment).unwrap();
        fs::write(path.join("MANIFEST"), &self.manifest).unwrap();
        DiskStore::open(&path, DiskOptions::default())
    }

    /// Opens the damaged store and checks that all acknowledged data is present, and all or nothing
    /// of the tail.
    fn check_opens(&self, name: &str, damage: impl FnOnce(&mut Vec<u8>)) {
        let (store, report) = self.open(damage).unwrap_or_else(|error| panic!("{name}: {error}"));
        for n in 0..ACKNOWLEDGED {
            let value = store.get(&key(n)).unwrap();
            assert_eq!(value, Some(incompressible(n as u64, 1000)), "{name}: {n}");
        }
        let tail = store.get_many(&[b"tail 0", b"tail 1", b"tail 2"]).unwrap();
        let there = tail.iter().flatten().count();
        assert!(there == 0 || there == 3, "{name}: {there} of 3");
        match report.cut {
            Some(cut) => assert_eq!((cut.offset, there), (self.tail.start as u64, 0), "{name}"),
            None => assert!(report.replayed_transactions >= ACKNOWLEDGED as u64, "{name}"),
        }
        let verification = store.verify().unwrap();
        assert_eq!(verification.damage, Vec::<String>::new(), "{name}");
        assert_eq!(verification.entries as usize, ACKNOWLEDGED + there);
    }
}

fn segment_in(path: &Path) -> PathBuf {
    path.join("log/00000001.log")
}

fn last_record(segment: &[u8]) -> Range<usize> {
    let salt = SegmentHeader::decode(segment).unwrap().salt;
    let (mut offset, mut last) = (SEGMENT_HEADER, 0..0);
    while let Some(record) = decode_record(segment, salt, offset) {
        let end = offset + RECORD_HEADER + record.payload.len();
        if !record.payload.is_empty() {
            last = offset..end;
        }
        offset = end;
    }
    last
}

fn pages(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let first = range.start / PAGE * PAGE;
    (first..range.end)
        .step_by(PAGE)
        .map(move |page| page.max(range.start)..(page + PAGE).min(range.end))
}

#[test]
fn an_untouched_tail_is_replayed() {
    Image::take().check_opens("untouched", |_| {});
}

#[test]
fn a_short_tail_is_truncated() {
    let image = Image::take();
    for at in image.tail.clone().step_by(4999).chain([image.tail.start, image.tail.end - 1]) {
        image.check_opens(&format!("truncated at {at}"), |segment| segment.truncate(at));
    }
}

#[test]
fn a_tail_with_zeroed_pages_is_truncated() {
    let image = Image::take();
    for page in pages(image.tail.clone()) {
        let name = format!("zeroed {page:?}");
        image.check_opens(&name, |segment| segment[page.clone()].fill(0));
        let name = format!("all but {page:?} zeroed");
        image.check_opens(&name, |segment| {
            segment[image.tail.start..page.start].fill(0);
            segment[page.end..image.tail.end].fill(0);
        });
    }
}

#[test]
fn a_tail_with_garbage_is_truncated() {
    let image = Image::take();
    for (n, page) in pages(image.tail.clone()).enumerate() {
        let garbage = incompressible(n as u64 + 7, page.len());
        let name = format!("garbage in {page:?}");
        image.check_opens(&name, |segment| segment[page].copy_from_slice(&garbage));
    }
    let garbage = incompressible(5, 3 * PAGE);
    image.check_opens("garbage instead", |segment| {
        segment.truncate(image.tail.start);
        segment.extend_from_slice(&garbage);
    });
}

#[test]
fn garbage_after_the_last_record_is_truncated() {
    let image = Image::take();
    let garbage = incompressible(3, 3 * PAGE);
    let (store, report) = image
        .open(|segment| {
            segment.truncate(image.tail.end);
            segment.extend_from_slice(&garbage);
        })
        .unwrap();
    assert_eq!(report.cut.unwrap().offset, image.tail.end as u64);
    assert!(store.get(b"tail 2").unwrap().is_some(), "the tail itself is intact");
}

#[test]
fn damage_before_the_tail_is_an_error() {
    let image = Image::take();
    for at in (0..image.tail.start).step_by(397) {
        let error = image.open(|segment| segment[at] ^= 0x40).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "at {at}: {error}");
        assert!(error.to_string().contains("00000001.log is damaged"), "{error}");
    }
    for page in pages(0..image.tail.start) {
        let error = image.open(|segment| segment[page.clone()].fill(0)).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{page:?}: {error}");
    }
}

#[test]
fn after_a_clean_close_any_damage_to_the_log_is_an_error() {
    let store_dir = tempfile::tempdir().unwrap();
    let (store, _) = DiskStore::open(store_dir.path(), DiskOptions::default()).unwrap();
    let mut transaction = store.begin(&[]).unwrap();
    transaction.put("key".into(), "value".into());
    transaction.commit().unwrap();
    store.close().unwrap();
    let intact = fs::read(segment_in(store_dir.path())).unwrap();
    let record = last_record(&intact);
    for at in 0..record.end {
        let mut damaged = intact.clone();
        damaged[at] ^= 1;
        fs::write(segment_in(store_dir.path()), damaged).unwrap();
        let error =
            DiskStore::open(store_dir.path(), DiskOptions::default()).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "at {at}: {error}");
    }
    fs::write(segment_in(store_dir.path()), intact).unwrap();
    assert!(DiskStore::open(store_dir.path(), DiskOptions::default()).is_ok());
}
