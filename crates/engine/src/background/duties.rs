//! The periodic tasks of a database: it removes what was dropped, has expired or is past its retention.

use keyloom_core::Result;
use keyloom_store::{Bytes, CommitError, Direction, KeyRange};

use crate::database::Inner;
use crate::ops::backups;
use crate::stream::retention;
use crate::{history, idempotency, layout, replication, store_error, ttl};

/// Keys per transaction when a keyspace is emptied.
const DELETE_CHUNK: usize = 1000;

/// What one thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Emptying dropped keyspaces, which gives their space back.
    Removal,
    /// Everything but emptying dropped keyspaces.
    Maintenance,
}

/// A part of a duty.
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) run: fn(&Inner) -> Result<()>,
}

impl Duty {
    pub(super) const ALL: [Self; 2] = [Self::Removal, Self::Maintenance];

    pub(super) fn thread_name(self) -> &'static str {
        match self {
            Self::Removal => "keyloom-removal",
            Self::Maintenance => "keyloom-maintenance",
        }
    }

    pub(super) fn tasks(self) -> &'static [Task] {
        match self {
            Self::Removal => {
                &[Task { name: "removal of dropped keyspaces", run: empty_dropped_keyspaces }]
            }
            Self::Maintenance => &[
                Task { name: "removal of old client tokens", run: forget_old_tokens },
                Task { name: "removal of expired items", run: ttl::sweep },
                Task { name: "trimming of streams", run: retention::run },
                Task { name: "trimming of histories", run: history::trim },
                Task { name: "removal of old system backups", run: backups::remove_expired },
                Task { name: "removal of old tombstones", run: replication::remove_old_tombstones },
            ],
        }
    }
}

/// Removes the records of transactions whose tokens are no longer honoured.
fn forget_old_tokens(inner: &Inner) -> Result<()> {
    let now_ms = inner.clock.now_ms();
    let expired: Vec<Bytes> = {
        let snapshot = inner.store.snapshot().map_err(store_error)?;
        let tokens = snapshot.scan(KeyRange::prefix(&layout::tokens()), Direction::Forward);
        let mut expired = Vec::new();
        for entry in tokens {
            let (key, record) = entry.map_err(store_error)?;
            if idempotency::is_expired(&record, now_ms) {
                expired.push(key.into_bytes());
            }
        }
        expired
    };
    for key in expired {
        let mut transaction = inner.store.begin(&[&key]).map_err(store_error)?;
        // The token may have been used again since the snapshot.
        let current = transaction.get(&key).map_err(store_error)?;
        if current.is_some_and(|record| idempotency::is_expired(&record, now_ms)) {
            transaction.delete(key.clone());
            match transaction.commit() {
                // Another server has used it, or removed it.
                Ok(()) | Err(CommitError::Conflict | CommitError::Stale) => {}
                Err(error) => return Err(crate::commit_error(error)),
            }
        }
    }
    Ok(())
}

/// Removes the entries of dropped keyspaces.
fn empty_dropped_keyspaces(inner: &Inner) -> Result<()> {
    let notes: Vec<Bytes> = {
        let snapshot = inner.store.snapshot().map_err(store_error)?;
        let notes = snapshot.scan(KeyRange::prefix(&layout::all_dropped()), Direction::Forward);
        let keys = notes.map(|entry| entry.map(|(note, _)| note.into_bytes()));
        keys.collect::<Result<_, _>>().map_err(store_error)?
    };
    if notes.is_empty() {
        return Ok(());
    }
    // After the notes: what is dropped cannot become the source of another copy.
    let sources = backups::sources_in_use(inner)?;
    let mut outcome = Ok(());
    for note in notes {
        if inner.background.is_ending() {
            return outcome;
        }
        let keyspace = layout::dropped_keyspace(&note);
        if keyspace.is_some_and(|keyspace| sources.contains(&keyspace)) {
            continue;
        }
        // One that cannot be emptied does not keep the others.
        outcome = outcome.and(empty(inner, keyspace, &note));
    }
    outcome
}

/// Empties one keyspace and removes the note of it.
fn empty(inner: &Inner, keyspace: Option<layout::Keyspace>, note: &Bytes) -> Result<()> {
    if let Some(keyspace) = keyspace {
        let (entries, records) = (layout::entries(keyspace), layout::stream_records(keyspace));
        let versions = layout::versions(keyspace);
        let (history, counters) = (layout::history(keyspace), layout::counters(keyspace));
        for prefix in [entries, records, versions, history, counters] {
            inner.store.delete_prefix(&prefix, DELETE_CHUNK).map_err(store_error)?;
        }
    }
    let mut transaction = inner.store.begin(&[]).map_err(store_error)?;
    transaction.delete(note.clone());
    transaction.commit().map_err(crate::commit_error)
}
