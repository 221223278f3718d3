//! Damage of each kind is planted beneath a database, and found where it is.

use keyloom_engine::verify::{self, Finding, Kind, MAX_FINDINGS, Report};
use keyloom_engine::{COUNTS_KEY, DiskOptions};
use keyloom_store::{Bytes, DiskStore, Store};

use crate::{BACKUP, BY_G, BY_L, NEAR, PLAIN, STREAM, TABLE, entries, filled, prefix, write};

/// Plants something beneath a sound database and returns what is found, from above and from below.
fn found(plant: impl Fn(&dyn Store)) -> Report {
    let (store, db) = filled();
    plant(store.as_ref());
    let above = db.verify().unwrap();
    let below = verify::store(store.as_ref()).unwrap();
    let without_counts = |report: &Report| {
        let mut found = report.found.clone();
        found.remove(&Kind::WrongCount);
        found
    };
    assert_eq!(without_counts(&above), without_counts(&below));
    above
}

#[track_caller]
fn finding(report: &Report, kind: Kind) -> &Finding {
    let found = report.findings.iter().find(|finding| finding.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind:?} in {report:?}"))
}

#[test]
fn a_lost_index_entry() {
    for (keyspace, name) in [(BY_G, "by-g"), (BY_L, "by-l"), (NEAR, "near")] {
        let report = found(|store| {
            let (key, _) = entries(store, &prefix(0x10, keyspace))[3].clone();
            write(store, key, None);
        });
        assert_eq!(report.found.get(&Kind::MissingEntry), Some(&1), "{report:?}");
        let finding = finding(&report, Kind::MissingEntry);
        assert_eq!(finding.table.as_deref(), Some("music"));
        assert_eq!(finding.index.as_deref(), Some(name));
        // The key can be read.
        let key: serde_json::Value = serde_json::from_str(finding.key.as_ref().unwrap()).unwrap();
        assert!(key["pk"]["S"].is_string() && key["sk"]["N"].is_string(), "{key}");
        // And the counts of the index are no longer right.
        assert_eq!(report.found.get(&Kind::WrongCount), Some(&1), "{report:?}");
    }
}

#[test]
fn an_index_entry_of_no_item() {
    for (keyspace, name) in [(BY_G, "by-g"), (BY_L, "by-l"), (NEAR, "near")] {
        let report = found(|store| {
            let (key, value) = entries(store, &prefix(0x10, keyspace))[3].clone();
            // The same entry a second time, under a key that no item leads to.
            let other = [&key[..key.len() - 2], &[0x7f, 0, 1]].concat();
            write(store, other, Some(value));
        });
        assert_eq!(report.found.get(&Kind::OrphanEntry), Some(&1), "{report:?}");
        assert_eq!(finding(&report, Kind::OrphanEntry).index.as_deref(), Some(name));
    }
}

#[test]
fn a_lost_item() {
    let report = found(|store| {
        let (key, _) = entries(store, &prefix(0x10, TABLE))
            .into_iter()
            .find(|(_, value)| value.windows(2).any(|pair| pair == b"g2"))
            .unwrap();
        write(store, key, None);
    });
    assert!(report.found.contains_key(&Kind::OrphanEntry), "{report:?}");
    assert!(report.found.contains_key(&Kind::BrokenStream), "{report:?}");
    assert_eq!(finding(&report, Kind::WrongCount).table.as_deref(), Some("music"));
}

#[test]
fn an_index_entry_of_another_item() {
    for (keyspace, name) in [(BY_G, "by-g"), (BY_L, "by-l"), (NEAR, "near")] {
        let report = found(|store| {
            let all = entries(store, &prefix(0x10, keyspace));
            write(store, all[3].0.clone(), Some(all[9].1.clone()));
        });
        assert_eq!(finding(&report, Kind::WrongEntry).index.as_deref(), Some(name));
        assert_eq!(report.found.get(&Kind::OrphanEntry), None, "{report:?}");
    }
}

#[test]
fn a_value_that_cannot_be_read() {
    for (keyspace, index) in [(TABLE, None), (BY_G, Some("by-g")), (NEAR, Some("near"))] {
        let report = found(|store| {
            let (key, value) = entries(store, &prefix(0x10, keyspace))[5].clone();
            write(store, key, Some(value.slice(..value.len() - 1)));
        });
        let finding = finding(&report, Kind::Undecodable);
        assert_eq!((finding.table.as_deref(), finding.index.as_deref()), (Some("music"), index));
    }
}

#[test]
fn an_item_under_another_key() {
    let report = found(|store| {
        let (key, value) = entries(store, &prefix(0x10, PLAIN))[5].clone();
        write(store, key.clone(), None);
        write(store, [&key[..key.len() - 2], &[0x7f, 0, 1]].concat(), Some(value));
    });
    assert_eq!(finding(&report, Kind::WrongKey).table.as_deref(), Some("plain"));
}

#[test]
fn a_count_that_is_wrong() {
    let report = found(|store| {
        let (key, _) = entries(store, &prefix(0x10, PLAIN))[5].clone();
        write(store, key, None);
    });
    assert_eq!(report.total_found(), 1, "{report:?}");
    let finding = finding(&report, Kind::WrongCount);
    assert_eq!(finding.table.as_deref(), Some("plain"));
    assert!(finding.detail.contains("20 items") && finding.detail.contains("has 19"));
}

#[test]
fn keys_that_mean_nothing() {
    for key in [&b"\x77abc"[..], b"\x30nonsense\0x", b"\x03\0", b"\x10\0", b"\x01\0", b"\x20"] {
        let report = found(|store| write(store, Bytes::copy_from_slice(key), Some("x".into())));
        assert_eq!(report.total_found(), 1, "{key:?}: {report:?}");
        assert!(finding(&report, Kind::UnknownKey).key.as_ref().unwrap().starts_with("0x"));
    }
}

#[test]
fn keyspaces_of_nothing() {
    for tag in [0x10, 0x20] {
        let report = found(|store| {
            let key = [&prefix(tag, 999)[..], b"abc"].concat();
            write(store, key, Some("x".into()));
        });
        assert_eq!(report.total_found(), 1, "{report:?}");
        assert!(finding(&report, Kind::OrphanKeyspace).detail.contains("999"));
    }
}

#[test]
fn records_that_contradict_each_other() {
    // A table's record that cannot be read: what it had belongs to nothing.
    let report = found(|store| write(store, &b"\x02music"[..], Some("{".into())));
    assert_eq!(report.found.get(&Kind::Undecodable), Some(&1), "{report:?}");
    assert_eq!(report.found.get(&Kind::OrphanKeyspace), Some(&4), "{report:?}");
    // One that is stored twice.
    let report = found(|store| {
        let (_, record) = entries(store, b"\x02plain")[0].clone();
        write(store, &b"\x02other"[..], Some(record));
    });
    assert!(report.found.contains_key(&Kind::WrongKey), "{report:?}");
    assert!(finding(&report, Kind::Catalog).detail.contains("the same keyspace"));
    // Keyspaces that would be given away a second time.
    let report = found(|store| write(store, &b"\x01"[..], Some(vec![0, 0, 0, 6].into())));
    assert!(finding(&report, Kind::Catalog).detail.contains("next table"), "{report:?}");
    // A table that writes to a stream that is gone.
    let report = found(|store| write(store, prefix(0x21, STREAM), None));
    assert_eq!(finding(&report, Kind::Catalog).table.as_deref(), Some("music"));
    // A backup that has lost an item.
    let report = found(|store| {
        let (key, _) = entries(store, &prefix(0x10, BACKUP))[5].clone();
        write(store, key, None);
    });
    assert_eq!(report.total_found(), 1, "{report:?}");
    assert!(finding(&report, Kind::WrongCount).detail.contains("backup"));
    // A client's token that is not one.
    let report = found(|store| {
        let (key, _) = entries(store, &[4])[0].clone();
        write(store, key, Some("short".into()));
    });
    assert_eq!(report.found.get(&Kind::Undecodable), Some(&1), "{report:?}");
}

#[test]
fn a_stream_that_is_broken() {
    let all = |store: &dyn Store| entries(store, &prefix(0x20, STREAM));
    // A record is missing: the next one of its item does not follow. Of items 3, 6, … each has two.
    let report = found(|store| {
        let records = all(store);
        let is_modification = |(_, value): &&(Bytes, Bytes)| value[0] == 1;
        let (key, _) = records.iter().rfind(is_modification).unwrap();
        write(store, key.clone(), None);
    });
    assert!(report.found.contains_key(&Kind::BrokenStream), "{report:?}");
    // The last record of an item is missing: the table has something else.
    let report = found(|store| write(store, all(store).last().unwrap().0.clone(), None));
    assert!(report.found.contains_key(&Kind::BrokenStream), "{report:?}");
    assert!(finding(&report, Kind::BrokenStream).key.is_some());
    // A record that cannot be read.
    let report = found(|store| {
        let (key, value) = all(store)[5].clone();
        write(store, key, Some(value.slice(..value.len() - 1)));
    });
    assert_eq!(report.found.get(&Kind::Undecodable), Some(&1), "{report:?}");
    // A record in a shard that there is not, and one before its shard began.
    for (at, byte) in [(8, 0x7f), (9, 0)] {
        let report = found(|store| {
            let (key, value) = all(store)[5].clone();
            let mut other = key.to_vec();
            other[at] = byte;
            write(store, other, Some(value));
        });
        assert!(report.found.contains_key(&Kind::BrokenStream), "{at}: {report:?}");
    }
    // Shards that leave partitions out, or do not follow each other.
    for (from, to) in [("\"first_hash\":0", "\"first_hash\":1"), ("\"end\":1", "\"end\":2")] {
        let report = found(|store| {
            let (key, value) = entries(store, &prefix(0x21, STREAM))[0].clone();
            let text = String::from_utf8(value.to_vec()).unwrap();
            assert!(text.contains(from), "{text}");
            write(store, key, Some(text.replace(from, to).into()));
        });
        assert!(report.found.contains_key(&Kind::BrokenStream), "{from}: {report:?}");
    }
}

#[test]
fn counts_that_were_noted_wrong() {
    let (store, db) = filled();
    drop(db);
    let (key, note) = entries(store.as_ref(), COUNTS_KEY)[0].clone();
    let note = String::from_utf8(note.to_vec()).unwrap();
    assert!(verify::store(store.as_ref()).unwrap().is_clean());
    assert!(note.contains("\"6\":[20,"), "{note}");
    write(store.as_ref(), key, Some(note.replace("\"6\":[20,", "\"6\":[21,").into()));
    let report = verify::store(store.as_ref()).unwrap();
    assert_eq!(report.found.get(&Kind::WrongCount), Some(&1), "{report:?}");
}

#[test]
fn many_findings_are_counted_and_some_are_listed() {
    let report = found(|store| {
        let mut transaction = store.begin(&[]).unwrap();
        for number in 0..2 * MAX_FINDINGS as u32 {
            let key = [&[0x77][..], &number.to_be_bytes()].concat();
            transaction.put(key.into(), "x".into());
        }
        transaction.commit().unwrap();
    });
    assert_eq!(report.findings.len(), MAX_FINDINGS);
    assert_eq!(report.total_found(), 2 * MAX_FINDINGS as u64);
}

#[test]
fn a_bit_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    // Small buffers, so that there are tables on disk.
    let options = DiskOptions { memtable_bytes: 20_000, ..DiskOptions::default() };
    let store = || DiskStore::open(directory.path(), options).unwrap().0;
    let db = crate::open(&std::sync::Arc::new(store()));
    crate::fill(&db);
    drop(db);
    assert!(verify::store(&store()).unwrap().is_clean());
    let tables = std::fs::read_dir(directory.path().join("tree/tables")).unwrap();
    let table =
        tables.map(|entry| entry.unwrap().path()).max_by_key(|p| p.metadata().unwrap().len());
    let table = table.unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[300] ^= 4;
    std::fs::write(&table, bytes).unwrap();
    match DiskStore::open(directory.path(), options) {
        // The database would not open either.
        Err(error) => assert!(error.to_string().contains("damaged"), "{error}"),
        Ok((store, _)) => {
            let report = verify::store(&store).unwrap();
            assert!(report.found.contains_key(&Kind::Damage), "{report:?}");
        }
    }
}
