//! Removes old tombstones.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_core::Result;
use keyloom_store::{Bytes, Direction, KeyRange};

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::NUMBERS_PER_MS;

use super::KEPT_TOMBSTONES_MS;
use super::version::StoredVersion;

/// How often all versions are scanned.
const INTERVAL_MS: u64 = 24 * 60 * 60 * 1000;
/// How many versions are scanned per snapshot.
const CHUNK: usize = 1000;

/// Removes the tombstones that are older than any write which may still arrive, once a day.
pub(crate) fn remove_old(database: &Inner) -> Result<()> {
    let now_ms = database.clock.now_ms();
    if !database.replication_notes.is_due(now_ms) {
        return Ok(());
    }
    let oldest = now_ms.saturating_sub(KEPT_TOMBSTONES_MS).saturating_mul(NUMBERS_PER_MS);
    for table in database.catalog.all().values() {
        if table.record.replication.is_some() {
            remove(database, table.record.keyspace, oldest)?;
        }
    }
    Ok(())
}

fn remove(database: &Inner, keyspace: Keyspace, oldest: u64) -> Result<()> {
    let mut range = KeyRange::prefix(&layout::versions(keyspace));
    let is_old = |value: &[u8]| {
        StoredVersion::decode(value).is_ok_and(|it| it.tombstone && it.version.at < oldest)
    };
    loop {
        if database.background.is_ending() {
            return Ok(());
        }
        let snapshot = database.store.snapshot().map_err(store_error)?;
        let (mut seen, mut old, mut last) = (0, Vec::new(), None);
        for entry in snapshot.scan(range.clone(), Direction::Forward).take(CHUNK) {
            let (key, value) = entry.map_err(store_error)?;
            let key = key.into_bytes();
            if is_old(&value) {
                old.push(key.clone());
            }
            (seen, last) = (seen + 1, Some(key));
        }
        old.iter().try_for_each(|key| remove_one(database, key, &is_old))?;
        match last {
            Some(last) if seen == CHUNK => range.lower = Bound::Excluded(last),
            _ => return Ok(()),
        }
    }
}

/// Removes a tombstone, unless the item has been written since.
fn remove_one(database: &Inner, key: &Bytes, is_old: &impl Fn(&[u8]) -> bool) -> Result<()> {
    let item = layout::item_of_version(key);
    let mut transaction = database.store.begin(&[&item]).map_err(store_error)?;
    if transaction.get(key).map_err(store_error)?.is_some_and(|value| is_old(&value)) {
        transaction.delete(key.clone());
        transaction.commit().map_err(crate::commit_error)?;
    }
    Ok(())
}

/// When all versions were last scanned.
#[derive(Debug, Default)]
pub(super) struct LastRun(AtomicU64);

impl LastRun {
    /// Whether the next scan is due; if so, it counts as begun.
    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let due = now_ms.saturating_sub(last) >= INTERVAL_MS;
        if due {
            self.0.store(now_ms, Ordering::Relaxed);
        }
        due
    }
}
