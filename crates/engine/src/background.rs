//! What happens without a request: maintenance at intervals, and jobs that take long.
//!
//! One thread per database does maintenance: dropped keyspaces are emptied, expired items removed,
//! old stream records trimmed. A job (filling a new index, copying a backup) has a thread of its own,
//! so that no job waits for another. All threads end, and are waited for, when the last handle of
//! the database is dropped. A database without background threads keeps its jobs until
//! [`crate::Database::run_maintenance`] is called.

use std::sync::Arc;
use std::thread::JoinHandle;

use keyloom_core::Result;
use keyloom_store::{Bytes, Direction, KeyRange};
use parking_lot::{Condvar, Mutex};

use crate::database::Inner;
use crate::stream::retention;
use crate::{idempotency, layout, store_error, ttl};

/// Keys per transaction when a keyspace is emptied.
const DELETE_CHUNK: usize = 1000;

/// Work that takes longer than a request should wait. It asks [`Background::is_ending`] now and then.
pub(crate) type Job = Box<dyn FnOnce(&Inner) -> Result<()> + Send>;

/// The threads of a database and the work that waits for one.
#[derive(Default)]
pub(crate) struct Background {
    state: Mutex<State>,
    changed: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    /// Whether somebody wants maintenance now.
    wanted: bool,
    ending: bool,
    /// Jobs that no thread has taken.
    jobs: Vec<Job>,
}

impl Background {
    /// Starts the maintenance thread, if the options want one.
    pub(crate) fn start(&self, inner: &Arc<Inner>) {
        if inner.options.background {
            let maintained = Arc::clone(inner);
            // Without a thread the database still works; maintenance then waits for a call.
            drop(self.spawn("keyloom-maintenance", move || maintain(&maintained)));
        }
    }

    /// Has the thread look for work now.
    pub(crate) fn wake(&self) {
        self.state.lock().wanted = true;
        self.changed.notify_all();
    }

    /// Whether the database is being closed.
    pub(crate) fn is_ending(&self) -> bool {
        self.state.lock().ending
    }

    /// Ends all threads and waits for them, and for those that they have started meanwhile.
    pub(crate) fn end(&self) {
        self.state.lock().ending = true;
        self.changed.notify_all();
        loop {
            let threads = std::mem::take(&mut *self.threads.lock());
            if threads.is_empty() {
                return;
            }
            for thread in threads {
                // A thread that panicked has ended too.
                drop(thread.join());
            }
        }
    }

    /// Gives a job to a thread of its own; false if there is none, and the job is kept for the next
    /// maintenance.
    fn submit(&self, inner: Option<Arc<Inner>>, job: Job) -> bool {
        self.state.lock().jobs.push(job);
        let Some(inner) = inner.filter(|inner| inner.options.background) else { return false };
        let run = move || {
            if let Some(job) = inner.background.take_job() {
                // What a job has to say of a failure it has stored where its resource is described.
                drop(job(&inner));
            }
        };
        self.spawn("keyloom-job", run).is_ok()
    }

    fn take_job(&self) -> Option<Job> {
        self.state.lock().jobs.pop()
    }

    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(run)?;
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }
}

impl Inner {
    /// Runs a job in the background.
    pub(crate) fn submit(&self, job: Job) {
        self.background.submit(self.me.upgrade(), job);
    }

    /// Runs a job in the background, or on the spot if there is no thread for it. Who waits for the job
    /// then never waits in vain; the caller must hold nothing that the job needs.
    pub(crate) fn submit_or_run(&self, job: Job) -> Result<()> {
        if self.background.submit(self.me.upgrade(), job) {
            return Ok(());
        }
        self.background.take_job().map_or(Ok(()), |job| job(self))
    }
}

fn maintain(inner: &Inner) {
    let background = &inner.background;
    loop {
        let mut state = background.state.lock();
        if !state.wanted && !state.ending {
            background.changed.wait_for(&mut state, inner.options.maintenance_interval);
        }
        if state.ending {
            return;
        }
        state.wanted = false;
        drop(state);
        // A failure shows itself to the next request; the work is tried again at the next round.
        drop(tidy(inner));
    }
}

/// Does everything that is due, and the jobs that wait.
pub(crate) fn run(inner: &Inner) -> Result<()> {
    loop {
        match inner.background.take_job() {
            Some(job) => job(inner)?,
            None => return tidy(inner),
        }
    }
}

/// Does everything that is due.
fn tidy(inner: &Inner) -> Result<()> {
    empty_dropped_keyspaces(inner)?;
    forget_old_tokens(inner)?;
    ttl::sweep(inner)?;
    retention::run(inner)
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
            transaction.commit().map_err(crate::commit_error)?;
        }
    }
    Ok(())
}

/// Removes the entries of keyspaces that nothing uses any more.
fn empty_dropped_keyspaces(inner: &Inner) -> Result<()> {
    let notes: Vec<Bytes> = {
        let snapshot = inner.store.snapshot().map_err(store_error)?;
        let notes = snapshot.scan(KeyRange::prefix(&layout::all_dropped()), Direction::Forward);
        let keys = notes.map(|entry| entry.map(|(note, _)| note.into_bytes()));
        keys.collect::<Result<_, _>>().map_err(store_error)?
    };
    for note in notes {
        if let Some(keyspace) = layout::dropped_keyspace(&note) {
            for prefix in [layout::entries(keyspace), layout::stream_records(keyspace)] {
                inner.store.delete_prefix(&prefix, DELETE_CHUNK).map_err(store_error)?;
            }
        }
        let mut transaction = inner.store.begin(&[&note]).map_err(store_error)?;
        transaction.delete(note.clone());
        transaction.commit().map_err(crate::commit_error)?;
    }
    Ok(())
}
