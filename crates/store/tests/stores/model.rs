//! Random histories, run in lockstep against an ordered map.

use std::collections::BTreeMap;
use std::ops::Bound;

use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};
use proptest::prelude::*;

use crate::subjects::Subject;

type Model = BTreeMap<Bytes, Bytes>;

#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<(Bytes, Option<Bytes>)>),
    Abandon(Vec<(Bytes, Option<Bytes>)>),
    Scan(KeyRange, Direction),
    GetMany(Vec<Bytes>),
    DeletePrefix(Bytes, usize),
    TakeSnapshot,
    CompareSnapshots,
    Reopen,
}

/// Short keys of few bytes, so that keys collide and share prefixes.
fn key() -> impl Strategy<Value = Bytes> {
    let byte = prop_oneof![Just(0_u8), Just(1), Just(b'a'), Just(b'b'), Just(254), Just(255)];
    proptest::collection::vec(byte, 1..4).prop_map(Bytes::from)
}

fn value() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        5 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => (0..2000_usize).prop_map(|len| vec![7; len]),
    ]
    .prop_map(Bytes::from)
}

fn range() -> impl Strategy<Value = KeyRange> {
    let bound = || {
        prop_oneof![
            2 => key().prop_map(Bound::Included),
            2 => key().prop_map(Bound::Excluded),
            1 => Just(Bound::Unbounded),
        ]
    };
    prop_oneof![
        3 => (bound(), bound()).prop_map(|(lower, upper)| KeyRange { lower, upper }),
        1 => key().prop_map(|prefix| KeyRange::prefix(&prefix)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let writes = || proptest::collection::vec((key(), proptest::option::of(value())), 0..8);
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Backward)];
    prop_oneof![
        10 => writes().prop_map(Step::Commit),
        1 => writes().prop_map(Step::Abandon),
        6 => (range(), direction).prop_map(|(range, direction)| Step::Scan(range, direction)),
        2 => proptest::collection::vec(key(), 0..6).prop_map(Step::GetMany),
        1 => (key(), 1..5_usize).prop_map(|(prefix, chunk)| Step::DeletePrefix(prefix, chunk)),
        2 => Just(Step::TakeSnapshot),
        1 => Just(Step::CompareSnapshots),
        1 => Just(Step::Reopen),
    ]
}

fn scan_model(model: &Model, range: &KeyRange, direction: Direction) -> Vec<(Bytes, Bytes)> {
    let pairs = model.iter().filter(|(key, _)| range.contains(key));
    let mut pairs: Vec<_> = pairs.map(|(key, value)| (key.clone(), value.clone())).collect();
    if direction == Direction::Backward {
        pairs.reverse();
    }
    pairs
}

fn scan_store(
    snapshot: &dyn Snapshot,
    range: &KeyRange,
    direction: Direction,
) -> Vec<(Bytes, Bytes)> {
    let entries = snapshot.scan(range.clone(), direction).map(Result::unwrap);
    entries.map(|(key, value)| (key.into_bytes(), value)).collect()
}

fn run(mut subject: Subject, steps: Vec<Step>) {
    let mut model = Model::new();
    let mut snapshots: Vec<(Box<dyn Snapshot>, Model)> = Vec::new();
    for step in steps {
        let store = subject.store();
        match step {
            Step::Commit(writes) => {
                let mut transaction = store.begin(&[]).unwrap();
                for (key, value) in writes {
                    match value.clone() {
                        Some(value) => transaction.put(key.clone(), value),
                        None => transaction.delete(key.clone()),
                    }
                    assert_eq!(transaction.get(&key).unwrap(), value);
                    match value {
                        Some(value) => model.insert(key, value),
                        None => model.remove(&key),
                    };
                }
                transaction.commit().unwrap();
            }
            Step::Abandon(writes) => {
                let mut transaction = store.begin(&[]).unwrap();
                for (key, _) in writes {
                    transaction.put(key, "never".into());
                }
            }
            Step::Scan(range, direction) => {
                let found = scan_store(&*store.snapshot().unwrap(), &range, direction);
                assert_eq!(found, scan_model(&model, &range, direction), "{range:?}");
            }
            Step::GetMany(keys) => {
                let wanted: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
                let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
                assert_eq!(store.get_many(&wanted).unwrap(), expected);
                let single: Vec<_> = wanted.iter().map(|key| store.get(key).unwrap()).collect();
                assert_eq!(single, expected);
            }
            Step::DeletePrefix(prefix, chunk) => {
                model.retain(|key, _| !key.starts_with(&prefix));
                store.delete_prefix(&prefix, chunk).unwrap();
            }
            Step::TakeSnapshot => snapshots.push((store.snapshot().unwrap(), model.clone())),
            Step::CompareSnapshots => compare_snapshots(&snapshots),
            Step::Reopen => {
                compare_snapshots(&snapshots);
                snapshots.clear();
                subject = subject.reopen();
            }
        }
    }
    compare_snapshots(&snapshots);
    let verification = subject.store().verify().unwrap();
    assert_eq!((verification.entries as usize, verification.damage), (model.len(), vec![]));
}

fn compare_snapshots(snapshots: &[(Box<dyn Snapshot>, Model)]) {
    for (snapshot, model) in snapshots {
        let found = scan_store(&**snapshot, &KeyRange::all(), Direction::Forward);
        assert_eq!(found, scan_model(model, &KeyRange::all(), Direction::Forward));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn memory_behaves_like_an_ordered_map(steps in proptest::collection::vec(step(), 1..80)) {
        run(Subject::memory(), steps);
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn postgres_behaves_like_an_ordered_map(steps in proptest::collection::vec(step(), 1..80)) {
        if let Some(subject) = Subject::postgres() {
            run(subject, steps);
        }
    }

    #[test]
    fn disk_behaves_like_an_ordered_map(steps in proptest::collection::vec(step(), 1..80)) {
        run(Subject::relaxed_disk(), steps);
    }

    #[test]
    fn disk_behaves_like_an_ordered_map_while_it_flushes_and_compacts(
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        run(Subject::busy_disk(), steps);
    }
}
