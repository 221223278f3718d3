//! Detects that a region has lost writes, for example because its server was started on an older backup.
//!
//! A database can only be replaced by an older one while it is closed. So each opening has a unique id, and a replica
//! keeps its earlier openings with the stream position at the end of each. Every response to another region contains
//! the id of the current opening and the stream position; the other region stores the last pair it received. If the
//! replica does not know that opening, or ended it at a lower position, it has lost writes, and the other region
//! copies the table to it again. Stream positions are sufficient because every write is in the stream, whichever
//! region it came from.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_core::Result;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::catalog::Table;
use crate::database::Inner;
use crate::stream::registry;
use crate::{identity, resource, store_error};

use super::link::position_name;
use super::message::ProbeAnswer;

/// The kind of the resources that hold the openings of a table.
pub(super) const OPENINGS: &str = "replica-openings";
/// The kind of the resources that hold what other regions have reported.
pub(super) const HEARD: &str = "replica-heard";

/// How many former openings are kept. A region that missed more of them gets everything again.
const MAX_FORMER: usize = 100;

/// The numbers that the next records of a stream can have, by shard.
pub(super) type Reached = BTreeMap<u32, u64>;

/// How far a replica had come at some time of an opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) opening: String,
    pub(super) reached: Reached,
}

/// The openings of a table, as they are stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Openings {
    group: String,
    current: String,
    /// How each former one ended.
    former: Vec<Progress>,
}

/// The stored reports of another region about its replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Heard {
    group: String,
    progress: Progress,
    /// Of openings that began since the last probe. Whether they continue the earlier one is still unknown.
    #[serde(default)]
    unprobed: Vec<Progress>,
}

impl Heard {
    fn new(group: &str, progress: Progress) -> Self {
        Self { group: group.to_owned(), progress, unprobed: Vec::new() }
    }

    fn all(&self) -> impl Iterator<Item = &Progress> {
        std::iter::once(&self.progress).chain(&self.unprobed)
    }

    /// Adds a report. Beyond the limit only one more is kept, and the region counts as behind.
    fn add(&mut self, report: Progress) {
        let known = std::iter::once(&mut self.progress).chain(&mut self.unprobed);
        if let Some(known) = known.into_iter().find(|known| known.opening == report.opening) {
            known.raise(&report.reached);
        } else if self.unprobed.len() <= MAX_FORMER {
            self.unprobed.push(report);
        }
    }

    fn is_behind(&self, answer: &ProbeAnswer) -> bool {
        self.unprobed.len() > MAX_FORMER || self.all().any(|known| is_behind(known, answer))
    }
}

impl Progress {
    fn raise(&mut self, reached: &Reached) {
        for (shard, number) in reached {
            let known = self.reached.entry(*shard).or_default();
            *known = (*known).max(*number);
        }
    }
}

/// This opening of the database.
#[derive(Debug)]
pub(crate) struct Lineage {
    opening: String,
    /// The versions of this opening are above this number, and those of earlier ones below it if clocks agree.
    since: AtomicU64,
    /// By table, and whether they are stored.
    tables: Mutex<BTreeMap<String, (Openings, bool)>>,
    /// Held while what was heard is changed.
    hearing: Mutex<()>,
    /// Held from the moment that a copy is owed until what it must contain is there.
    pub(super) owing: Mutex<()>,
    /// Counts up whenever writes of third regions are taken from a copy.
    pub(super) takes: AtomicU64,
}

impl Default for Lineage {
    fn default() -> Self {
        let opening = identity::uuid();
        Self {
            opening,
            since: AtomicU64::default(),
            tables: Mutex::default(),
            hearing: Mutex::default(),
            owing: Mutex::default(),
            takes: AtomicU64::default(),
        }
    }
}

/// Ends the former opening of each replica. Comes before the first write of this one.
pub(crate) fn begin(database: &Inner) -> Result<()> {
    for table in database.catalog.all().values() {
        let Some(replication) = &table.record.replication else { continue };
        let stored: Option<Openings> = resource::get(database, OPENINGS, table.name())?;
        let Some(mut openings) = stored.filter(|it| it.group == replication.group) else {
            continue;
        };
        let current = database.lineage.opening.clone();
        let opening = std::mem::replace(&mut openings.current, current);
        openings.former.push(Progress { opening, reached: reached(database, table)? });
        let excess = openings.former.len().saturating_sub(MAX_FORMER);
        openings.former.drain(..excess);
        // A store that takes no writes now opens for reading; it is stored before anybody hears of this opening.
        let is_stored = resource::put(database, OPENINGS, table.name(), &openings).is_ok();
        database.lineage.tables.lock().insert(table.name().to_owned(), (openings, is_stored));
    }
    database.lineage.since.store(database.streams.number(), Ordering::Relaxed);
    Ok(())
}

/// The number at which this opening began.
pub(super) fn since(database: &Inner) -> u64 {
    database.lineage.since.load(Ordering::Relaxed)
}

/// What is reported to other regions about a table of a group.
pub(super) fn progress(database: &Inner, table: &Table, group: &str) -> Result<Progress> {
    let lineage = &database.lineage;
    let mut tables = lineage.tables.lock();
    let new = || {
        let openings = Openings {
            group: group.to_owned(),
            current: lineage.opening.clone(),
            former: Vec::new(),
        };
        (openings, false)
    };
    let (openings, is_stored) = tables.entry(table.name().to_owned()).or_insert_with(new);
    if openings.group != group {
        (*openings, *is_stored) = new();
    }
    if !*is_stored {
        resource::put(database, OPENINGS, table.name(), openings)?;
        *is_stored = true;
    }
    drop(tables);
    Ok(Progress { opening: lineage.opening.clone(), reached: reached(database, table)? })
}

/// How the former openings of a table ended.
pub(super) fn former(database: &Inner, table: &Table) -> Vec<Progress> {
    let tables = database.lineage.tables.lock();
    tables.get(table.name()).map(|(openings, _)| openings.former.clone()).unwrap_or_default()
}

fn reached(database: &Inner, table: &Table) -> Result<Reached> {
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let mut reached = Reached::new();
    let Some(setting) = &table.record.stream else { return Ok(reached) };
    let stream = registry::find(database.store.as_ref(), setting.keyspace)?;
    for shard in stream.iter().flat_map(|stream| &stream.shards) {
        let next = registry::next_number(snapshot.as_ref(), setting.keyspace, shard)?;
        reached.insert(shard.number, next);
    }
    Ok(reached)
}

/// Stores what a region reports about its replica, with a write or an answer.
pub(super) fn hear(
    database: &Inner,
    table: &str,
    group: &str,
    region: &str,
    report: Progress,
) -> Result<()> {
    let _hearing = database.lineage.hearing.lock();
    let known = heard(database, table, group, region)?;
    let mut heard = known.clone().unwrap_or_else(|| Heard::new(group, report.clone()));
    heard.add(report);
    if known.as_ref() == Some(&heard) {
        return Ok(());
    }
    keep(database, table, region, &heard)
}

/// Compares a region's answer with its earlier reports; from then on the answer is what is known of it. `before` is
/// what was known when the question was sent. If the replica lacks writes that it had, `on_loss` is called before the
/// earlier reports are forgotten.
pub(super) fn probed(
    database: &Inner,
    table: &str,
    before: Option<Heard>,
    (group, region): (&str, &str),
    answer: ProbeAnswer,
    on_loss: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let _hearing = database.lineage.hearing.lock();
    let known = heard(database, table, group, region)?;
    if known.as_ref().is_some_and(|known| known.is_behind(&answer)) {
        on_loss()?;
    }
    let mut heard = Heard::new(group, answer.progress);
    // A report that came meanwhile may be newer than the answer. Else a smaller number is right: records were trimmed.
    for report in known.iter().filter(|_| known != before).flat_map(Heard::all) {
        if report.opening == heard.progress.opening {
            heard.progress.raise(&report.reached);
        }
    }
    if known.as_ref() == Some(&heard) {
        return Ok(());
    }
    keep(database, table, region, &heard)
}

fn is_behind(known: &Progress, answer: &ProbeAnswer) -> bool {
    if known.opening == answer.progress.opening {
        return false;
    }
    let Some(ended) = answer.former.iter().find(|former| former.opening == known.opening) else {
        return true;
    };
    let newest = ended.reached.keys().next_back();
    known.reached.iter().any(|(shard, number)| match ended.reached.get(shard) {
        Some(reached) => reached < number,
        // Old shards go; one that is newer than all of them had not begun.
        None => newest.is_none_or(|newest| shard > newest),
    })
}

/// What a region has reported about its replica of a table.
pub(super) fn heard(
    database: &Inner,
    table: &str,
    group: &str,
    region: &str,
) -> Result<Option<Heard>> {
    let stored: Option<Heard> = resource::get(database, HEARD, &position_name(table, region))?;
    Ok(stored.filter(|heard| heard.group == group))
}

fn keep(database: &Inner, table: &str, region: &str, heard: &Heard) -> Result<()> {
    resource::put(database, HEARD, &position_name(table, region), heard)
}

/// Removes the reports about a table, and its openings.
pub(super) fn forget<'a>(
    database: &Inner,
    table: &str,
    regions: impl Iterator<Item = &'a str>,
) -> Result<()> {
    for region in regions {
        resource::delete(database, HEARD, &position_name(table, region))?;
    }
    database.lineage.tables.lock().remove(table);
    resource::delete(database, OPENINGS, table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(opening: &str, reached: &[(u32, u64)]) -> Progress {
        Progress { opening: opening.into(), reached: reached.iter().copied().collect() }
    }

    #[test]
    fn a_replica_is_behind_if_its_former_opening_ended_before_what_was_heard_of_it() {
        let answer = |former: Vec<Progress>| ProbeAnswer {
            table_id: "id".into(),
            progress: progress("now", &[(0, 9)]),
            former,
            since: None,
        };
        let known = progress("a", &[(0, 5), (1, 7)]);
        for (former, is_expected) in [
            (vec![progress("a", &[(0, 5), (1, 7)])], false),
            (vec![progress("a", &[(0, 6), (1, 8)]), progress("b", &[])], false),
            (vec![progress("a", &[(0, 4), (1, 9)])], true),
            // Shard 0 is gone with its records, shard 1 had not begun.
            (vec![progress("a", &[(1, 7)])], false),
            (vec![progress("a", &[(0, 5)])], true),
            (vec![progress("a", &[])], true),
            (vec![progress("b", &[(0, 5), (1, 7)])], true),
            (vec![], true),
        ] {
            assert_eq!(is_behind(&known, &answer(former.clone())), is_expected, "{former:?}");
        }
        assert!(!is_behind(&progress("now", &[(0, 99)]), &answer(vec![])));
    }
}
