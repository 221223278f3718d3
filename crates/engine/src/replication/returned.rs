//! Writes that come back from a region which did not make them.
//!
//! Each region sends its own writes, so a write that its region has lost, for example because it was restored from an
//! older backup, can only come back in the copy that another region sends ([`lineage`](super::lineage)). A region that
//! gets such a write of its own knows that it had lost it, and that nobody else need have it: before it applies the
//! write, it notes that it owes the table to all other regions, and copies the table to them once. That ends: a region
//! notes it only for a version that is greater than its own.
//!
//! A write of a third region that comes in a copy may be lost, too, or is only sooner here than from its own region;
//! while all regions are written, every copy has some of the latter, and if each led to more copies, they would never
//! end. So it is only noted that such writes were taken, until their region answers the next question. If its opening
//! began before they were made, it has them: should it lose them, that is noticed from here by what it has answered.
//! If it was opened since, it is owed the table, and does with it what is said above.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use keyloom_core::Result;
use keyloom_store::Snapshot;
use parking_lot::MutexGuard;
use serde::{Deserialize, Serialize};

use crate::catalog::record::Status;
use crate::catalog::{Table, TableRecord};
use crate::database::Inner;
use crate::layout;
use crate::write::Write;
use crate::{resource, store_error};

use super::link::position_name;
use super::version::{StoredVersion, Version};

/// The kind of the resources that hold which regions are owed a copy; each holds the table's group.
pub(super) const KIND: &str = "replica-owed";
/// The kind of the resources that hold which regions' writes came in copies of others.
pub(super) const TAKEN: &str = "replica-taken";

/// Writes of a region that came in copies of others since it was last asked.
#[derive(Debug, Serialize, Deserialize)]
struct Taken {
    group: String,
    /// The least number of their versions.
    at: u64,
}

/// Notes which writes from `from` are new here and were made by others: the other regions are owed a copy of those
/// that this region has lost. No such copy begins until the guard is dropped.
pub(super) fn note<'a>(
    database: &'a Inner,
    table: &Arc<Table>,
    from: &str,
    writes: &BTreeMap<Vec<u8>, Write>,
) -> Result<Option<MutexGuard<'a, ()>>> {
    // A table that is being filled gets the same from every region that has it.
    if table.record.status == Status::Creating {
        return Ok(None);
    }
    let Some(replication) = &table.record.replication else { return Ok(None) };
    // Only copies contain writes of third regions.
    let arrived = writes.values().filter_map(|write| Some((write, write.arrived.as_ref()?)));
    let mut copied = arrived.filter(|(_, version)| version.region != from).peekable();
    let Some(_) = copied.peek() else { return Ok(None) };
    let owing = database.lineage.owing.lock();
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let others: Vec<&str> = replication.others(&database.options.region).collect();
    let (mut is_owed, mut taken) = (false, BTreeMap::<&str, u64>::new());
    for (write, version) in copied {
        if !is_new(write, version, snapshot.as_ref())? {
            continue;
        }
        if others.contains(&version.region.as_str()) {
            let at = taken.entry(&version.region).or_insert(version.at);
            *at = version.at.min(*at);
        } else {
            // Lost here, or by a region that cannot be asked.
            is_owed = true;
        }
    }
    for region in others.iter().filter(|region| is_owed && **region != from) {
        owe(database, table.name(), region, &replication.group)?;
    }
    for (region, at) in &taken {
        take(database, &position_name(table.name(), region), &replication.group, *at)?;
    }
    Ok((is_owed || !taken.is_empty()).then_some(owing))
}

fn is_new(write: &Write, version: &Version, snapshot: &dyn Snapshot) -> Result<bool> {
    let stored = snapshot.get(&layout::version(&write.store_key)).map_err(store_error)?;
    let Some(stored) = stored.as_deref().map(StoredVersion::decode).transpose()? else {
        // An item from before the replication has no version where it was made.
        let is_older = *version == Version::default();
        return Ok(!is_older || snapshot.get(&write.store_key).map_err(store_error)?.is_none());
    };
    Ok(stored.version < *version)
}

fn owe(database: &Inner, table: &str, region: &str, group: &str) -> Result<()> {
    let name = position_name(table, region);
    if owed(database, &name)?.as_deref() == Some(group) {
        return Ok(());
    }
    resource::put(database, KIND, &name, &group)
}

fn take(database: &Inner, name: &str, group: &str, at: u64) -> Result<()> {
    database.lineage.takes.fetch_add(1, Ordering::Relaxed);
    if taken(database, name, group)?.is_some_and(|known| known.at <= at) {
        return Ok(());
    }
    resource::put(database, TAKEN, name, &Taken { group: group.to_owned(), at })
}

/// Changes whenever writes of third regions are taken from a copy.
pub(super) fn takes(database: &Inner) -> u64 {
    database.lineage.takes.load(Ordering::Relaxed)
}

/// Decides about the writes of a region that came in copies, now that what it answered is known of it. `since` is the
/// number at which its opening began; `before` is [`takes`] from before it was asked.
pub(super) fn settle(
    database: &Inner,
    (table, group, region): (&str, &str, &str),
    since: Option<u64>,
    before: u64,
) -> Result<()> {
    let name = position_name(table, region);
    if taken(database, &name, group)?.is_none() {
        return Ok(());
    }
    // What was taken is there before it is copied.
    let _owing = database.lineage.owing.lock();
    let Some(taken) = taken(database, &name, group)? else { return Ok(()) };
    if since.is_none_or(|since| taken.at < since) {
        owe(database, table, region, group)?;
    } else if takes(database) != before {
        // The answer may be older than what came meanwhile.
        return Ok(());
    }
    resource::delete(database, TAKEN, &name)
}

/// Calls `begin`, which stores that a copy begins, if the region is owed one; whether it was.
pub(super) fn repay(
    database: &Inner,
    record: &TableRecord,
    region: &str,
    begin: impl FnOnce() -> Result<()>,
) -> Result<bool> {
    let name = position_name(&record.name, region);
    let Some(replication) = &record.replication else { return Ok(false) };
    if owed(database, &name)?.as_ref() != Some(&replication.group) {
        return Ok(false);
    }
    let _owing = database.lineage.owing.lock();
    begin()?;
    resource::delete(database, KIND, &name)?;
    Ok(true)
}

/// Nothing is owed to a region any more, and nothing was taken.
pub(super) fn forget(database: &Inner, table: &str, region: &str) -> Result<()> {
    let name = position_name(table, region);
    resource::delete(database, KIND, &name)?;
    resource::delete(database, TAKEN, &name)
}

fn owed(database: &Inner, name: &str) -> Result<Option<String>> {
    resource::get(database, KIND, name)
}

fn taken(database: &Inner, name: &str, group: &str) -> Result<Option<Taken>> {
    let stored: Option<Taken> = resource::get(database, TAKEN, name)?;
    Ok(stored.filter(|taken| taken.group == group))
}
