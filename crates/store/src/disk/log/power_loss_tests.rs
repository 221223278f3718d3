//! A simulated disk that loses power: of what was not synced, each page survives or not, in any
//! combination, and some pages come back as garbage.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use parking_lot::Mutex;
use proptest::prelude::*;

use super::Log;
use super::recovery::{Recovery, recover};
use super::storage::{LogFile, LogStorage};
use crate::StoreError;
use crate::transaction::WriteSet;

const PAGE: usize = 4096;

#[derive(Default, Clone)]
struct SimulatedFile {
    /// What the disk is guaranteed to hold.
    synced: Vec<u8>,
    /// What the process sees.
    written: Vec<u8>,
}

#[derive(Default, Clone)]
struct SimulatedDisk(Arc<Mutex<BTreeMap<u64, SimulatedFile>>>);

struct OpenFile(SimulatedDisk, u64);

impl LogFile for OpenFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut files = self.0.0.lock();
        let file = files.get_mut(&self.1).unwrap();
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        file.written.resize(file.written.len().max(end), 0);
        file.written[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut files = self.0.0.lock();
        let file = files.get_mut(&self.1).unwrap();
        file.synced = file.written.clone();
        Ok(())
    }
}

impl LogStorage for SimulatedDisk {
    fn list(&self) -> io::Result<Vec<u64>> {
        Ok(self.0.lock().keys().copied().collect())
    }

    fn read(&self, id: u64) -> io::Result<Vec<u8>> {
        Ok(self.0.lock()[&id].written.clone())
    }

    fn size(&self, id: u64) -> io::Result<u64> {
        Ok(self.0.lock()[&id].written.len() as u64)
    }

    fn create(&self, id: u64, header: &[u8]) -> io::Result<Box<dyn LogFile>> {
        let file = SimulatedFile { synced: header.to_vec(), written: header.to_vec() };
        self.0.lock().insert(id, file);
        Ok(Box::new(OpenFile(self.clone(), id)))
    }

    fn truncate(&self, id: u64, len: u64) -> io::Result<()> {
        let mut files = self.0.lock();
        let file = files.get_mut(&id).unwrap();
        file.written.truncate(len as usize);
        file.synced = file.written.clone();
        Ok(())
    }

    fn remove(&self, id: u64) -> io::Result<()> {
        self.0.lock().remove(&id);
        Ok(())
    }

    fn name(&self, id: u64) -> PathBuf {
        format!("{id}.log").into()
    }
}

/// What power loss does to one unsynced page.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Lost,
    Written,
    Garbage,
}

impl SimulatedDisk {
    fn lose_power(&self, fates: &[Fate]) {
        let mut fates = fates.iter().cycle();
        for file in self.0.lock().values_mut() {
            let mut survived = file.synced.clone();
            survived.resize(file.written.len(), 0);
            for start in (0..file.written.len()).step_by(PAGE) {
                let page = start..file.written.len().min(start + PAGE);
                if survived[page.clone()] == file.written[page.clone()] {
                    continue;
                }
                // A sync guards the bytes it covered even in a page that is written again.
                let dirty = page.start.max(first_difference(&survived, &file.written, page.clone()))
                    ..page.end;
                match fates.next().unwrap() {
                    Fate::Lost => {}
                    Fate::Written => {
                        survived[dirty.clone()].copy_from_slice(&file.written[dirty]);
                    }
                    Fate::Garbage => survived[dirty].fill(0xA5),
                }
            }
            file.written.clone_from(&survived);
            file.synced = survived;
        }
    }

    fn flip(&self, id: u64, offset: usize) {
        let mut files = self.0.lock();
        files.get_mut(&id).unwrap().written[offset] ^= 0x10;
    }
}

fn first_difference(left: &[u8], right: &[u8], page: std::ops::Range<usize>) -> usize {
    page.clone().find(|at| left[*at] != right[*at]).unwrap_or(page.end)
}

fn transaction(number: u64, size: usize) -> WriteSet {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let value: Bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(size)
    .collect();
    WriteSet::from([(Bytes::copy_from_slice(&number.to_be_bytes()), Some(value))])
}

fn new_log(disk: &SimulatedDisk) -> Log {
    Log::create(Arc::new(disk.clone()), 1, 0, Arc::new(AtomicU64::new(0))).unwrap()
}

fn recover_numbers(disk: &SimulatedDisk) -> Result<(Vec<u64>, Recovery), StoreError> {
    let mut numbers = Vec::new();
    let recovery = recover(disk, |number, _| numbers.push(number))?;
    Ok((numbers, recovery))
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Append(usize),
    Sync,
    /// Orders a sync of what is there, for another thread.
    Order,
    /// That thread does it.
    SyncOrdered,
    Seal,
    Rotate,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..30_000_usize).prop_map(Step::Append),
        4 => (0..300_usize).prop_map(Step::Append),
        6 => Just(Step::Sync),
        3 => Just(Step::Order),
        3 => Just(Step::SyncOrdered),
        1 => Just(Step::Seal),
        1 => Just(Step::Rotate),
    ];
    proptest::collection::vec(step, 1..40)
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![Just(Fate::Lost), Just(Fate::Written), Just(Fate::Garbage)];
    proptest::collection::vec(fate, 1..20)
}

/// Runs the steps and returns how many transactions were appended and how many acknowledged.
fn run(log: &mut Log, steps: &[Step]) -> (u64, u64) {
    let (mut appended, mut synced) = (0, 0);
    let mut ordered = None;
    for step in steps {
        match step {
            Step::Append(size) => {
                appended += 1;
                log.append(&[(appended, &transaction(appended, *size))]).unwrap();
                continue;
            }
            Step::Order => {
                ordered = Some((log.unsynced(), appended));
                continue;
            }
            Step::SyncOrdered => {
                if let Some((unsynced, count)) = ordered.take() {
                    unsynced.sync().unwrap();
                    synced = synced.max(count);
                }
                continue;
            }
            Step::Sync => log.sync().unwrap(),
            Step::Seal => {
                log.sync().unwrap();
                log.seal().unwrap();
            }
            Step::Rotate => log.rotate().unwrap(),
        }
        synced = appended;
    }
    (appended, synced)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn power_loss_keeps_what_was_synced_and_a_prefix_of_the_rest(
        steps in steps(), fates in fates(),
    ) {
        let disk = SimulatedDisk::default();
        let (appended, synced) = run(&mut new_log(&disk), &steps);
        disk.lose_power(&fates);
        let (numbers, _) = recover_numbers(&disk).unwrap();
        prop_assert_eq!(&numbers, &(1..=numbers.len() as u64).collect::<Vec<_>>());
        prop_assert!(numbers.len() as u64 >= synced && numbers.len() as u64 <= appended);
        let (again, recovery) = recover_numbers(&disk).unwrap();
        prop_assert_eq!(again, numbers);
        prop_assert_eq!(recovery.cut, None);
    }

    #[test]
    fn damage_to_anything_sealed_is_an_error(
        steps in steps(), at in any::<prop::sample::Index>(),
    ) {
        let disk = SimulatedDisk::default();
        let mut log = new_log(&disk);
        run(&mut log, &steps);
        run(&mut log, &[Step::Append(10), Step::Sync]);
        let sealed_to = log.len() as usize;
        let id = log.id();
        log.seal().unwrap();
        drop(log);
        disk.flip(id, at.index(sealed_to));
        let outcome = recover_numbers(&disk);
        prop_assert!(matches!(outcome, Err(StoreError::Corrupt { .. })), "{:?}", outcome);
    }

    #[test]
    fn damage_to_an_earlier_segment_is_an_error(
        sizes in proptest::collection::vec(0..5_000_usize, 1..10), at in any::<prop::sample::Index>(),
    ) {
        let disk = SimulatedDisk::default();
        let mut log = new_log(&disk);
        run(&mut log, &sizes.into_iter().map(Step::Append).collect::<Vec<_>>());
        let end = log.len() as usize;
        log.rotate().unwrap();
        disk.flip(1, at.index(end));
        let outcome = recover_numbers(&disk);
        prop_assert!(matches!(outcome, Err(StoreError::Corrupt { .. })), "{:?}", outcome);
    }
}

#[test]
fn an_earlier_segment_that_ends_too_soon_is_an_error() {
    let disk = SimulatedDisk::default();
    let mut log = new_log(&disk);
    run(&mut log, &[Step::Append(10), Step::Append(10)]);
    let end = log.len() as usize;
    log.rotate().unwrap();
    disk.0.lock().get_mut(&1).unwrap().written[end - 60..].fill(0);
    let error = recover_numbers(&disk).unwrap_err().to_string();
    assert!(error.contains("1.log is damaged"), "{error}");
}

#[test]
fn a_missing_segment_is_an_error() {
    let disk = SimulatedDisk::default();
    let mut log = new_log(&disk);
    log.rotate().unwrap();
    log.rotate().unwrap();
    disk.remove(2).unwrap();
    let error = recover_numbers(&disk).unwrap_err().to_string();
    assert!(error.contains("2.log is damaged: the segment is missing"), "{error}");
    disk.remove(1).unwrap();
    assert!(recover_numbers(&disk).is_ok(), "the oldest segments go away by design");
}

#[test]
fn a_torn_tail_is_cut_and_reported() {
    let disk = SimulatedDisk::default();
    let mut log = new_log(&disk);
    run(&mut log, &[Step::Append(10), Step::Sync]);
    let durable = log.len();
    run(&mut log, &[Step::Append(20_000)]);
    disk.lose_power(&[Fate::Written, Fate::Lost, Fate::Written]);
    let (numbers, recovery) = recover_numbers(&disk).unwrap();
    assert_eq!(numbers, [1]);
    let cut = recovery.cut.unwrap();
    assert_eq!(cut.offset, durable);
    assert!(cut.bytes > 4096, "{cut:?}");
}
