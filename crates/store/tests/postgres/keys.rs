//! Keys that are longer than an index takes lie where they belong.

use std::collections::BTreeMap;
use std::ops::Bound;

use keyloom_store::{Bytes, Direction, KeyRange, Store};

use crate::{connect, schema, shared};

/// Keys around the lengths at which they are split, which share long beginnings.
fn keys() -> Vec<Bytes> {
    let mut keys = Vec::new();
    for length in [1, 2047, 2048, 2049, 4095, 4096, 4097, 6145, 21_000] {
        for last in [0, 1, 127, 255] {
            for middle in [b'm', b'n'] {
                let mut key = vec![b'k'; length];
                if let Some(byte) = key.get_mut(2040) {
                    *byte = middle;
                }
                *key.last_mut().unwrap() = last;
                keys.push(Bytes::from(key));
            }
        }
    }
    keys
}

#[test]
fn long_keys_are_ordered_like_short_ones() {
    let Some(server) = shared() else { return };
    let store = connect(&server.url(&schema()));
    let mut model = BTreeMap::new();
    for (n, key) in keys().into_iter().enumerate() {
        let mut transaction = store.begin(&[&key]).unwrap();
        transaction.get(&key).unwrap();
        transaction.put(key.clone(), n.to_string().into());
        transaction.commit().unwrap();
        model.insert(key, Bytes::from(n.to_string()));
    }
    let snapshot = store.snapshot().unwrap();
    let all: Vec<Bytes> = model.keys().cloned().collect();
    let mut ends: Vec<Bound<Bytes>> = vec![Bound::Unbounded];
    for key in all.iter().step_by(5) {
        ends.extend([Bound::Included(key.clone()), Bound::Excluded(key.clone())]);
    }
    for lower in &ends {
        for upper in &ends {
            let range = KeyRange { lower: lower.clone(), upper: upper.clone() };
            let mut expected: Vec<&Bytes> = all.iter().filter(|key| range.contains(key)).collect();
            for direction in [Direction::Forward, Direction::Backward] {
                let found = snapshot.scan(range.clone(), direction);
                let found: Vec<Bytes> = found.map(|entry| entry.unwrap().0.into_bytes()).collect();
                assert!(found.iter().eq(expected.iter().copied()), "{direction:?}");
                expected.reverse();
            }
        }
    }
    drop(snapshot);
    let wanted: Vec<&[u8]> = all.iter().map(AsRef::as_ref).collect();
    let values: Vec<Option<Bytes>> = model.values().cloned().map(Some).collect();
    assert_eq!(store.get_many(&wanted).unwrap(), values);
    assert_eq!(store.verify().unwrap().entries as usize, all.len());
    // Under a prefix that ends inside of the nodes, and then everywhere.
    let prefix = all.iter().find(|key| key.len() > 5000).unwrap().slice(..4000);
    store.delete_prefix(&prefix, 3).unwrap();
    let left = all.iter().filter(|key| !key.starts_with(&prefix)).count();
    assert_eq!(store.verify().unwrap().entries as usize, left);
    store.delete_prefix(b"", 10).unwrap();
    assert_eq!(store.verify().unwrap().entries, 0);
}
