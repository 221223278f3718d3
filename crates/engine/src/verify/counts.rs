//! Compares stored item counts with the actual ones.
//!
//! Counts of an open database are in memory, and a write is counted a moment after it becomes visible. So they are
//! compared only with a snapshot taken while nothing was written, and a difference is confirmed with a second such
//! snapshot.

use std::collections::BTreeMap;
use std::time::Duration;

use keyloom_core::Result;
use keyloom_store::{Snapshot, Store};

use crate::catalog::Table;
use crate::counting;
use crate::database::Inner;
use crate::layout::Keyspace;
use crate::store_error;

use super::report::{Finding, Kind, Report};
use super::tables;

/// How long writes must pause around a snapshot for its counts to be comparable.
const QUIET: Duration = Duration::from_millis(20);
/// How many times to wait for such a pause.
const ATTEMPTS: usize = 5;
/// When what differs is looked at again: every write that was seen before has been counted by then.
const SECOND_LOOK: Duration = Duration::from_millis(500);

/// Items and bytes by keyspace, and whose they are.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Expected(BTreeMap<Keyspace, (i64, i64)>);

/// A stored count that differs from the actual one.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    keyspace: Keyspace,
    stored: (i64, i64),
    real: (i64, i64),
}

impl Expected {
    pub(super) fn insert(&mut self, keyspace: Keyspace, items: i64, bytes: i64) {
        self.0.insert(keyspace, (items, bytes));
    }

    /// How many counts are in both.
    pub(super) fn compared(&self, real: &Self) -> u64 {
        self.0.keys().filter(|keyspace| real.0.contains_key(keyspace)).count() as u64
    }

    pub(super) fn differences(&self, real: &Self) -> Vec<Difference> {
        let differs = |(keyspace, stored): (&Keyspace, &(i64, i64))| {
            let real = *real.0.get(keyspace)?;
            (real != *stored).then_some(Difference { keyspace: *keyspace, stored: *stored, real })
        };
        self.0.iter().filter_map(differs).collect()
    }

    /// Reports every difference.
    pub(super) fn compare(&self, real: &Self, report: &mut Report) {
        report.totals.counts += self.compared(real);
        for difference in self.differences(real) {
            report.add(difference.finding(format!("keyspace {}", difference.keyspace)));
        }
    }
}

impl Difference {
    fn finding(&self, of: String) -> Finding {
        let ((items, bytes), (real_items, real_bytes)) = (self.stored, self.real);
        let detail = format!(
            "{of} is said to have {items} items of {bytes} bytes, and has {real_items} of \
             {real_bytes}"
        );
        Finding::new(Kind::WrongCount, detail)
    }
}

/// The counts that a closed database has left, if they can be believed.
pub(super) fn noted(store: &dyn Store) -> Result<Expected> {
    Ok(Expected(counting::noted(store)?.unwrap_or_default()))
}

/// A snapshot, and the counts of its moment; none if there was no quiet moment.
pub(super) fn quiet_moment(database: &Inner) -> Result<(Box<dyn Snapshot>, Expected)> {
    if database.counted.are_exact() {
        for _ in 0..ATTEMPTS {
            let before = (commits(database)?, live(database));
            std::thread::sleep(QUIET);
            let snapshot = database.store.snapshot().map_err(store_error)?;
            if (commits(database)?, live(database)) == before {
                return Ok((snapshot, before.1));
            }
        }
    }
    Ok((database.store.snapshot().map_err(store_error)?, Expected::default()))
}

/// Looks at counts again that seemed to differ, and reports those that do so again, by as much.
pub(super) fn confirm(
    database: &Inner,
    suspected: &[Difference],
    report: &mut Report,
) -> Result<()> {
    if suspected.is_empty() {
        return Ok(());
    }
    std::thread::sleep(SECOND_LOOK);
    let (snapshot, expected) = quiet_moment(database)?;
    for table in database.catalog.all().values() {
        for (keyspace, name) in keyspaces(table) {
            let Some(first) = suspected.iter().find(|first| first.keyspace == keyspace) else {
                continue;
            };
            let Some(stored) = expected.0.get(&keyspace) else { continue };
            let Some(real) = tables::counted(snapshot.as_ref(), table, keyspace) else { continue };
            report.totals.counts += 1;
            let again = Difference { keyspace, stored: *stored, real };
            let by = |d: &Difference| (d.stored.0 - d.real.0, d.stored.1 - d.real.1);
            if by(&again) == by(first) {
                let what = name.as_ref().map_or("the table", |_| "the index");
                let finding = again.finding(what.to_owned()).of_table(table.name());
                report.add(match &name {
                    Some(name) => finding.of_index(name),
                    None => finding,
                });
            }
        }
    }
    Ok(())
}

/// The keyspaces of a table and of its indexes, these with their names.
fn keyspaces(table: &Table) -> impl Iterator<Item = (Keyspace, Option<String>)> {
    let indexes = table.record.indexes.iter().map(|i| (i.keyspace, Some(i.name.clone())));
    let vectors = table.record.vector_indexes.iter().map(|i| (i.keyspace, Some(i.name.clone())));
    [(table.record.keyspace, None)].into_iter().chain(indexes).chain(vectors)
}

fn commits(database: &Inner) -> Result<u64> {
    Ok(database.store.stats().map_err(store_error)?.commits)
}

fn live(database: &Inner) -> Expected {
    let tables = database.catalog.all();
    let counts = tables.values().flat_map(|table| table.counted());
    Expected(counts.map(|(keyspace, stats)| (keyspace, stats.raw())).collect())
}
