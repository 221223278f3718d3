//! Power loss on a simulated disk: each unsynced page survives or not, in any combination, and some
//! pages become garbage.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use proptest::prelude::*;

use super::Log;
use super::directory::LogDirectory;
use super::recovery::{Access, Recovery, recover};
use crate::StoreError;
use crate::disk::files::simulated::{Dice, SimulatedFiles};
use crate::transaction::WriteSet;

/// A log on a simulated disk.
struct Subject {
    files: SimulatedFiles,
    log: Arc<LogDirectory>,
}

fn directory() -> PathBuf {
    PathBuf::from("/log")
}

impl Subject {
    fn new() -> Self {
        Self::on(SimulatedFiles::new(&[&directory()]))
    }

    fn on(files: SimulatedFiles) -> Self {
        let log = LogDirectory::new(Arc::new(files.clone()), &directory());
        Self { files, log: Arc::new(log) }
    }

    fn lose_power(&mut self, seed: u64) {
        *self = Self::on(self.files.lose_power(&mut Dice::new(seed)));
    }

    fn damage(&self, id: u64, change: impl FnOnce(&mut Vec<u8>)) {
        self.files.damage(&self.log.name(id), change);
    }

    fn flip(&self, id: u64, offset: usize) {
        self.damage(id, |content| content[offset] ^= 0x10);
    }
}

fn transaction(number: u64, size: usize) -> WriteSet {
    let mut random = fastrand::Rng::with_seed(number);
    let value: Bytes = std::iter::repeat_with(|| random.u8(..)).take(size).collect();
    WriteSet::from([(Bytes::copy_from_slice(&number.to_be_bytes()), Some(value))])
}

fn new_log(disk: &Subject) -> Log {
    Log::create(Arc::clone(&disk.log), 1, 0, Arc::new(AtomicU64::new(0))).unwrap()
}

fn recover_numbers(disk: &Subject) -> Result<(Vec<u64>, Recovery), StoreError> {
    let mut numbers = Vec::new();
    let recovery = recover(&disk.log, None, Access::Repair, |_, number, _| {
        numbers.push(number);
        Ok(())
    })?;
    Ok((numbers, recovery))
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Append(usize),
    Sync,
    /// Requests a sync of what has been appended, for another thread.
    Order,
    /// That thread runs the sync.
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

fn rotate(log: &mut Log) {
    *log = log.next().unwrap();
}

/// Runs the steps; returns how many transactions were appended and how many acknowledged.
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
            Step::Rotate => rotate(log),
        }
        synced = appended;
    }
    (appended, synced)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn power_loss_keeps_synced_records_and_a_prefix_of_the_rest(
        steps in steps(), seed in any::<u64>(),
    ) {
        let mut disk = Subject::new();
        let (appended, synced) = run(&mut new_log(&disk), &steps);
        disk.lose_power(seed);
        let (numbers, _) = recover_numbers(&disk).unwrap();
        prop_assert_eq!(&numbers, &(1..=numbers.len() as u64).collect::<Vec<_>>());
        prop_assert!(numbers.len() as u64 >= synced && numbers.len() as u64 <= appended);
        let (again, recovery) = recover_numbers(&disk).unwrap();
        prop_assert_eq!(again, numbers);
        prop_assert_eq!(recovery.cut, None);
    }

    #[test]
    fn damage_to_sealed_records_is_an_error(
        steps in steps(), at in any::<prop::sample::Index>(),
    ) {
        let disk = Subject::new();
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
        let disk = Subject::new();
        let mut log = new_log(&disk);
        run(&mut log, &sizes.into_iter().map(Step::Append).collect::<Vec<_>>());
        let end = log.len() as usize;
        rotate(&mut log);
        disk.flip(1, at.index(end));
        let outcome = recover_numbers(&disk);
        prop_assert!(matches!(outcome, Err(StoreError::Corrupt { .. })), "{:?}", outcome);
    }
}

#[test]
fn a_truncated_earlier_segment_is_an_error() {
    let disk = Subject::new();
    let mut log = new_log(&disk);
    run(&mut log, &[Step::Append(10), Step::Append(10)]);
    let end = log.len() as usize;
    rotate(&mut log);
    disk.damage(1, |content| content[end - 60..].fill(0));
    let error = recover_numbers(&disk).unwrap_err().to_string();
    assert!(error.contains("1.log is damaged"), "{error}");
}

#[test]
fn a_missing_segment_is_an_error() {
    let disk = Subject::new();
    let mut log = new_log(&disk);
    rotate(&mut log);
    rotate(&mut log);
    disk.log.remove(2).unwrap();
    let error = recover_numbers(&disk).unwrap_err().to_string();
    assert!(error.contains("2.log is damaged: the segment is missing"), "{error}");
    disk.log.remove(1).unwrap();
    assert!(recover_numbers(&disk).is_ok(), "the oldest segments are removed by design");
}

#[test]
fn a_torn_tail_is_truncated_and_reported() {
    let disk = Subject::new();
    let mut log = new_log(&disk);
    run(&mut log, &[Step::Append(10), Step::Sync]);
    let durable = log.len();
    run(&mut log, &[Step::Append(20_000)]);
    disk.damage(1, |content| content[8192..12_288].fill(0));
    let (numbers, recovery) = recover_numbers(&disk).unwrap();
    assert_eq!(numbers, [1]);
    let cut = recovery.cut.unwrap();
    assert_eq!(cut.offset, durable);
    assert!(cut.bytes > 4096, "{cut:?}");
}
