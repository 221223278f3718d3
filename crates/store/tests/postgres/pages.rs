//! Pages end where their bytes say, whichever statement reads them.

use std::collections::BTreeMap;

use keyloom_store::{Bytes, Direction, Expected, FirstPage, KeyRange, Store};

use crate::{connect, schema, shared};

/// Lengths of values: long ones between short ones, and some around the length that is always expected.
const LENGTHS: [usize; 12] =
    [200, 200, 400_000, 511, 512, 513, 0, 100_000, 200, 3_000, 1_100, 399_999];

/// How many bytes a row's key has besides its entry's key.
const ROOT: usize = 1;

fn fill(
    store: &dyn Store,
    prefix: &str,
    lengths: impl Iterator<Item = usize>,
) -> BTreeMap<Bytes, Bytes> {
    let mut model = BTreeMap::new();
    for (n, length) in lengths.enumerate() {
        let (key, value) =
            (Bytes::from(format!("{prefix}{n:04}")), Bytes::from(vec![n as u8; length]));
        let mut transaction = store.begin(&[]).unwrap();
        transaction.put(key.clone(), value.clone());
        transaction.commit().unwrap();
        model.insert(key, value);
    }
    model
}

/// The page that a range begins with: one entry at least, then while there are fewer bytes in front.
fn first_of(
    model: &BTreeMap<Bytes, Bytes>,
    range: &KeyRange,
    direction: Direction,
    size: Expected,
) -> (Vec<(Bytes, Bytes)>, bool) {
    let mut inside: Vec<_> = model.iter().filter(|(key, _)| range.contains(key)).collect();
    if direction == Direction::Backward {
        inside.reverse();
    }
    let (mut page, mut bytes) = (Vec::new(), 0);
    for (key, value) in inside {
        if page.len() == size.entries || !page.is_empty() && bytes >= size.bytes {
            break;
        }
        bytes += ROOT + key.len() + value.len();
        page.push((key.clone(), value.clone()));
    }
    let is_whole = page.len() < size.entries && bytes < size.bytes;
    (page, is_whole)
}

#[test]
fn pages_of_very_different_values_end_at_the_same_place_by_either_statement() {
    let Some(server) = shared() else { return };
    let store = connect(&server.url(&schema()));
    // All keys begin alike, so pages of the small ones bring the plain statement back.
    let small = fill(&store, "entries/small/", std::iter::repeat_n(40, 20));
    let mixed = fill(&store, "entries/mixed/", LENGTHS.into_iter().cycle().take(30));
    let page = |range: &KeyRange, direction, size| {
        let FirstPage { entries, is_whole } =
            store.first_page(range, direction, size).unwrap().unwrap();
        (entries, is_whole)
    };
    for direction in [Direction::Forward, Direction::Backward] {
        for (entries, bytes) in [
            (usize::MAX, 1 << 20),
            (usize::MAX, 700),
            (4, 1 << 20),
            (1, 1),
            (100, 410_000),
            (30, usize::MAX),
        ] {
            let size = Expected { entries, bytes };
            let bounded = Expected { entries: entries.min(8192), bytes: bytes.min(4 << 20) };
            for first in [0, 2, 3, 9] {
                let range = KeyRange {
                    lower: std::ops::Bound::Included(format!("entries/mixed/{first:04}").into()),
                    ..KeyRange::prefix(b"entries/mixed/")
                };
                let expected = first_of(&mixed, &range, direction, bounded);
                for _ in 0..16 {
                    let all = KeyRange::prefix(b"entries/small/");
                    let found = page(&all, direction, Expected { entries: 50, bytes: 1 << 20 });
                    assert_eq!(found.0.len(), small.len());
                }
                // The first time by the plain statement, then by the cutting one.
                for time in 0..2 {
                    assert!(
                        page(&range, direction, size) == expected,
                        "{direction:?} {size:?} {first} {time}"
                    );
                }
            }
        }
        let snapshot = store.snapshot().unwrap();
        let found = snapshot.scan(KeyRange::all(), direction);
        let mut found: Vec<_> = found
            .map(|entry| entry.map(|(key, value)| (key.into_bytes(), value)).unwrap())
            .collect();
        if direction == Direction::Backward {
            found.reverse();
        }
        assert!(found.into_iter().eq(mixed.clone().into_iter().chain(small.clone())));
    }
}
