//! Counts saved in the store at closing, for the next opening.
//!
//! The note is the last write of a database that is closed, and the next opening removes it before it admits writes.
//! So a note exists only while it is valid: after a crash there is none. It also contains the number of the opening
//! that wrote it, and only the next opening uses it, because an older build that does not know notes may have opened
//! the store in between. Stores that do not number their openings get no notes.
//!
//! Because of that number, a note that cannot be read or removed does not prevent a database on disk from opening: it
//! is ignored, now and later, and everything is counted.
//!
//! The note also holds the other result of full table scans: when each table's next item expires.

use std::collections::BTreeMap;

use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, CommitError, Openings, Store};
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::layout::{COUNTS_KEY, Keyspace};
use crate::{store_error, ttl};

/// How often a commit is tried that the store refuses as conflicting, or during which it moves on to
/// another number.
const MAX_ATTEMPTS: usize = 8;

/// Counts of all tables and indexes, as they are stored.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The opening in which it was written.
    opening: u64,
    /// Items and bytes of each keyspace.
    counts: BTreeMap<Keyspace, (i64, i64)>,
    /// Before which second nothing expires, of each table that has been looked through for it.
    expiries: BTreeMap<Keyspace, u64>,
}

impl Note {
    /// The counts of this moment; none if they cannot be right.
    fn of(catalog: &Catalog, opening: u64) -> Option<Self> {
        let mut note = Self { opening, counts: BTreeMap::new(), expiries: BTreeMap::new() };
        for table in catalog.all().values() {
            for (keyspace, stats) in table.counted() {
                note.counts.insert(keyspace, stats.exact()?);
            }
            if let Some(second) = ttl::next_expiry_s(table) {
                note.expiries.insert(table.record.keyspace, second);
            }
        }
        Some(note)
    }

    fn is_of(&self, openings: Openings) -> bool {
        self.opening == openings.previous || self.opening == openings.current
    }

    /// Hands everything to the tables; false, and nothing is changed, if counts are missing.
    fn apply(&self, catalog: &Catalog) -> bool {
        let tables = catalog.all();
        let wanted = || tables.values().flat_map(|table| table.counted());
        let noted = |keyspace| self.counts.get(&keyspace).copied();
        if wanted().any(|(keyspace, _)| noted(keyspace).is_none()) {
            return false;
        }
        for (keyspace, stats) in wanted() {
            if let Some((items, bytes)) = noted(keyspace) {
                stats.set(items, bytes);
            }
        }
        for table in tables.values() {
            if let Some(&second) = self.expiries.get(&table.record.keyspace) {
                ttl::expect_none_before(table, second);
            }
        }
        true
    }
}

/// Takes the note out of the store, as durably as any write, and hands its counts to the tables; false if
/// there is none that can be believed.
pub(super) fn take(store: &dyn Store, catalog: &Catalog) -> Result<bool> {
    let Some(openings) = store.openings().map_err(store_error)? else { return Ok(false) };
    // What stays in the store must not be believed by who comes after us.
    let may_stay = openings.are_told_apart();
    let stored = match store.get(COUNTS_KEY) {
        Ok(None) => return Ok(false),
        Ok(Some(stored)) => stored,
        Err(_) if may_stay => return Ok(false),
        Err(error) => return Err(store_error(error)),
    };
    match write(store, None) {
        Ok(()) => {}
        Err(_) if may_stay => return Ok(false),
        Err(error) => return Err(error),
    }
    let note = serde_json::from_slice::<Note>(&stored).ok();
    Ok(note.is_some_and(|note| note.is_of(openings) && note.apply(catalog)))
}

/// The counts that a closed database has left, items and bytes of each keyspace, if they can be believed.
/// Nothing is written.
pub(crate) fn noted(store: &dyn Store) -> Result<Option<BTreeMap<Keyspace, (i64, i64)>>> {
    let Some(openings) = store.openings().map_err(store_error)? else { return Ok(None) };
    let Some(stored) = store.get(COUNTS_KEY).map_err(store_error)? else { return Ok(None) };
    let note = serde_json::from_slice::<Note>(&stored).ok();
    Ok(note.filter(|note| note.is_of(openings)).map(|note| note.counts))
}

/// Leaves a note. Nothing may be written after it.
pub(super) fn leave(store: &dyn Store, catalog: &Catalog) -> Result<()> {
    for _ in 0..MAX_ATTEMPTS {
        let Some(before) = store.openings().map_err(store_error)? else { return Ok(()) };
        let Some(note) = Note::of(catalog, before.current) else { return forget(store) };
        let bytes = serde_json::to_vec(&note)
            .map_err(|error| Error::InternalServer(format!("counts cannot be stored: {error}")))?;
        write(store, Some(bytes))?;
        if store.openings().map_err(store_error)? == Some(before) {
            break;
        }
    }
    Ok(())
}

/// Removes a note that could not be taken: another database may come in the same opening of the store.
pub(super) fn forget(store: &dyn Store) -> Result<()> {
    match store.get(COUNTS_KEY) {
        Ok(None) => Ok(()),
        Ok(Some(_)) | Err(_) => write(store, None),
    }
}

/// Stores a note in place of the one that is there, or removes that.
fn write(store: &dyn Store, note: Option<Vec<u8>>) -> Result<()> {
    let key = || Bytes::from_static(COUNTS_KEY);
    for _ in 0..MAX_ATTEMPTS {
        let mut transaction = store.begin(&[COUNTS_KEY]).map_err(store_error)?;
        match &note {
            Some(note) => transaction.put(key(), note.clone().into()),
            None => transaction.delete(key()),
        }
        match transaction.commit() {
            Ok(()) => return Ok(()),
            Err(CommitError::Conflict | CommitError::Stale) => {}
            Err(error) => return Err(crate::commit_error(error)),
        }
    }
    Err(crate::commit_error(CommitError::Conflict))
}
