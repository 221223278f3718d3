//! Heartbeats and job leases: rows in the store by which its servers coordinate.
//!
//! Every server renews its own row; a server whose row is too old counts as dead. A job (an index backfill, a backup,
//! the removal of expired items) is run by the server that holds its row, and taken over when the holder is dead. A
//! server that was only slow must not continue a job that was taken over: each step of a job checks the row in its
//! commit ([`Job::stage`]).
//!
//! On a store of a single process there is one server: any other holder of a job has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, CommitError, Direction, KeyRange, Store, Transaction};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::database::Inner;
use crate::{commit_error, identity, layout, records, store_error, ttl};

const SERVERS: &str = "server";
const JOBS: &str = "job";

/// A server whose row was not renewed for so long counts as dead.
const DEAD_AFTER_MS: u64 = 15_000;
/// How often a server renews its row.
pub(crate) const BEAT: Duration = Duration::from_secs(3);
/// Rows of servers that have been dead for so long are removed.
const FORGOTTEN_AFTER_MS: u64 = 10 * 60 * 1000;

/// The name under which failures are listed.
const WORK: &str = "rows of jobs";

/// A server on a shared store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRow {
    /// The server's unique id.
    pub id: String,
    /// The version of the program.
    pub version: String,
    /// The endpoint for clients.
    pub endpoint: String,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it last renewed its row.
    pub seen_ms: u64,
    /// The epoch of the tables that it has loaded.
    pub epoch: u64,
    /// The newest version of records that it can read.
    #[serde(default = "first_version")]
    pub records: u32,
}

fn first_version() -> u32 {
    records::FIRST
}

/// The lease of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    /// The name of the job.
    #[serde(default)]
    pub name: String,
    /// The server that holds it.
    pub holder: String,
    /// When the server took the job, in milliseconds since 1970.
    pub since_ms: u64,
    /// The progress: the last key that is done, in base64.
    #[serde(default)]
    pub after: Option<String>,
}

/// This process's id and its part in the coordination.
#[derive(Debug)]
pub(crate) struct Coordination {
    /// A unique id for this opening of the database.
    pub(crate) id: String,
    started_ms: u64,
    /// The jobs that run here.
    running: Mutex<BTreeSet<String>>,
    /// How many servers are alive, this one included.
    alive: AtomicU64,
}

impl Coordination {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self {
            id: identity::uuid(),
            started_ms: now_ms,
            running: Mutex::default(),
            alive: AtomicU64::new(1),
        }
    }
}

/// A job that this server holds, until dropped.
pub(crate) struct Job<'a> {
    database: &'a Inner,
    name: String,
    key: Vec<u8>,
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        self.database.coordination.running.lock().remove(&self.name);
    }
}

impl Inner {
    /// Sends a heartbeat: renews this server's row and counts the servers that are alive.
    pub(crate) fn beat(&self) -> Result<()> {
        if !self.store.is_shared() {
            return Ok(());
        }
        // An idle server reloads changed tables here, and publishes the epoch in its row.
        self.learn_epoch()?;
        self.catalog.refresh(self.store.as_ref())?;
        let now_ms = self.clock.now_ms();
        let row = ServerRow {
            id: self.coordination.id.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            endpoint: self.endpoint.read().clone(),
            started_ms: self.coordination.started_ms,
            seen_ms: now_ms,
            epoch: self.catalog.epoch(),
            records: self.catalog.records.known(),
        };
        put(self.store.as_ref(), &layout::coordination_row(SERVERS, &row.id), &row)?;
        let servers = servers(self.store.as_ref())?;
        let alive = servers.iter().filter(|server| is_fresh(server, now_ms)).count();
        let before = self.coordination.alive.swap(alive as u64, Ordering::Relaxed);
        for table in self.catalog.all().values() {
            table.shared.servers.store(alive.max(1) as u64, Ordering::Relaxed);
            if (alive as u64) < before {
                // A dead server may have had unpublished expiry times.
                ttl::look_through(table);
            }
        }
        for gone in &servers {
            if now_ms.saturating_sub(gone.seen_ms) > FORGOTTEN_AFTER_MS {
                remove(self.store.as_ref(), &layout::coordination_row(SERVERS, &gone.id))?;
            }
        }
        Ok(())
    }

    /// Removes this server's row.
    pub(crate) fn leave(&self) {
        if self.store.is_shared() {
            // If this fails, the row ages and the server counts as dead.
            let _ = remove(
                self.store.as_ref(),
                &layout::coordination_row(SERVERS, &self.coordination.id),
            );
        }
    }

    /// Whether a server is alive; on a store of one process, only this one is.
    pub(crate) fn is_alive(&self, server: &str) -> Result<bool> {
        if server == self.coordination.id {
            return Ok(true);
        }
        if !self.store.is_shared() {
            return Ok(false);
        }
        let row =
            self.store.get(&layout::coordination_row(SERVERS, server)).map_err(store_error)?;
        let row: Option<ServerRow> = row.and_then(|row| serde_json::from_slice(&row).ok());
        Ok(row.is_some_and(|row| is_fresh(&row, self.clock.now_ms())))
    }

    /// Whether no live server holds a job.
    pub(crate) fn is_idle(&self, name: &str) -> Result<bool> {
        if self.coordination.running.lock().contains(name) {
            return Ok(false);
        }
        let stored = self.store.get(&layout::coordination_row(JOBS, name)).map_err(store_error)?;
        let row: Option<JobRow> = stored.as_deref().and_then(decode);
        row.map_or(Ok(true), |row| {
            // What this server has claimed waits for its thread.
            self.is_alive(&row.holder).map(|is_alive| !is_alive)
        })
    }

    /// The row of a job that this server will do, for the commit that makes the job necessary: no other server takes it
    /// before this server has begun.
    pub(crate) fn claim(&self, name: &str) -> Result<(Bytes, Bytes)> {
        let row = JobRow {
            name: name.to_owned(),
            holder: self.coordination.id.clone(),
            since_ms: self.clock.now_ms(),
            after: None,
        };
        Ok((layout::coordination_row(JOBS, name).into(), encode(&row)?))
    }

    /// [`Self::hold`], as soon as the store accepts writes.
    pub(crate) fn hold_job(&self, name: &str) -> Result<Option<Job<'_>>> {
        self.patiently(WORK, || self.hold(name))
    }

    /// Takes a job, unless it runs here already or another live server holds it.
    pub(crate) fn hold(&self, name: &str) -> Result<Option<Job<'_>>> {
        if !self.coordination.running.lock().insert(name.to_owned()) {
            return Ok(None);
        }
        let key = layout::coordination_row(JOBS, name);
        let job = Job { database: self, name: name.to_owned(), key };
        loop {
            let mut transaction = self.store.begin(&[&job.key]).map_err(store_error)?;
            let stored = transaction.get(&job.key).map_err(store_error)?;
            let known: Option<JobRow> = stored.as_deref().and_then(decode);
            if let Some(row) = &known
                && (row.holder == self.coordination.id || self.is_alive(&row.holder)?)
            {
                return Ok((row.holder == self.coordination.id).then_some(job));
            }
            let (name, holder) = (name.to_owned(), self.coordination.id.clone());
            let after = known.and_then(|row| row.after);
            let row = JobRow { name, holder, since_ms: self.clock.now_ms(), after };
            transaction.put(job.key.clone().into(), encode(&row)?);
            match transaction.commit() {
                Ok(()) => return Ok(Some(job)),
                Err(CommitError::Conflict | CommitError::Stale) => {}
                Err(error) => return Err(commit_error(error)),
            }
        }
    }
}

impl Job<'_> {
    /// The row's key, to be locked by the transaction of each step.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The last key that the job has done.
    pub(crate) fn after(&self) -> Result<Option<Bytes>> {
        let stored = self.database.store.get(&self.key).map_err(store_error)?;
        let row: Option<JobRow> = stored.as_deref().and_then(decode);
        Ok(row
            .and_then(|row| row.after)
            .and_then(|after| BASE64.decode(after).ok())
            .map(Bytes::from))
    }

    /// Adds a step of the job to the transaction, which has locked the row and so fails with a conflict if another
    /// server takes the job over before the commit. False if one has already.
    pub(crate) fn stage(
        &self,
        transaction: &mut dyn Transaction,
        after: Option<&[u8]>,
    ) -> Result<bool> {
        let stored = transaction.get(&self.key).map_err(store_error)?;
        let Some(mut row) = stored.as_deref().and_then(decode::<JobRow>) else { return Ok(false) };
        if row.holder != self.database.coordination.id {
            return Ok(false);
        }
        if let Some(after) = after {
            row.after = Some(BASE64.encode(after));
        }
        transaction.put(self.key.clone().into(), encode(&row)?);
        Ok(true)
    }

    /// Whether this server still holds the job. Inside a change of the catalog, the result holds until the commit.
    pub(crate) fn is_held(&self) -> Result<bool> {
        let stored = self.database.store.get(&self.key).map_err(store_error)?;
        let row: Option<JobRow> = stored.as_deref().and_then(decode);
        Ok(row.is_some_and(|row| row.holder == self.database.coordination.id))
    }

    /// Completes the job: removes its row, unless another server holds it.
    pub(crate) fn finish(self) -> Result<()> {
        self.database.patiently(WORK, || self.remove_row())
    }

    fn remove_row(&self) -> Result<()> {
        let store = self.database.store.as_ref();
        let mut transaction = store.begin(&[&self.key]).map_err(store_error)?;
        let stored = transaction.get(&self.key).map_err(store_error)?;
        let row: Option<JobRow> = stored.as_deref().and_then(decode);
        if row.is_none_or(|row| row.holder != self.database.coordination.id) {
            return Ok(());
        }
        transaction.delete(self.key.clone().into());
        match transaction.commit() {
            // Another server has taken it over.
            Ok(()) | Err(CommitError::Conflict | CommitError::Stale) => Ok(()),
            Err(error) => Err(commit_error(error)),
        }
    }
}

/// All servers that have a row.
pub(crate) fn servers(store: &dyn Store) -> Result<Vec<ServerRow>> {
    rows(store, SERVERS).map(|rows| rows.into_values().collect())
}

/// All jobs that have a row.
pub(crate) fn jobs(store: &dyn Store) -> Result<Vec<JobRow>> {
    rows(store, JOBS).map(|rows| rows.into_values().collect())
}

/// Whether a server's heartbeat is recent.
pub(crate) fn is_fresh(server: &ServerRow, now_ms: u64) -> bool {
    now_ms.saturating_sub(server.seen_ms) <= DEAD_AFTER_MS
}

fn rows<T: DeserializeOwned>(store: &dyn Store, kind: &str) -> Result<BTreeMap<Bytes, T>> {
    let snapshot = store.late_snapshot().map_err(store_error)?;
    let entries =
        snapshot.scan(KeyRange::prefix(&layout::coordination_rows(kind)), Direction::Forward);
    let mut rows = BTreeMap::new();
    for entry in entries {
        let (key, value) = entry.map_err(store_error)?;
        if let Some(row) = decode(&value) {
            rows.insert(key.into_bytes(), row);
        }
    }
    Ok(rows)
}

fn put(store: &dyn Store, key: &[u8], row: &impl Serialize) -> Result<()> {
    let mut transaction = store.begin(&[]).map_err(store_error)?;
    transaction.put(Bytes::copy_from_slice(key), encode(row)?);
    transaction.commit().map_err(commit_error)
}

fn remove(store: &dyn Store, key: &[u8]) -> Result<()> {
    let mut transaction = store.begin(&[]).map_err(store_error)?;
    transaction.delete(Bytes::copy_from_slice(key));
    transaction.commit().map_err(commit_error)
}

fn encode(row: &impl Serialize) -> Result<Bytes> {
    serde_json::to_vec(row)
        .map(Bytes::from)
        .map_err(|error| Error::InternalServer(format!("a row cannot be stored: {error}")))
}

/// A row; one that cannot be read counts as none.
fn decode<T: DeserializeOwned>(row: &[u8]) -> Option<T> {
    serde_json::from_slice(row).ok()
}
