//! Rows into a table: several batches at once; the rows of one key go through one worker, so that the last one counts.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use keyloom::{Item, TableClient};
use keyloom_core::limits::MAX_BATCH_WRITE_REQUESTS;

use super::form::key_text;
use super::place::Target;
use super::problems::{Origin, Problems};

/// A row on its way.
pub(crate) struct Job {
    pub(crate) origin: Origin,
    pub(crate) item: Item,
}

/// What the workers share.
pub(crate) struct Shared<'a> {
    pub(crate) problems: &'a Mutex<Problems>,
    /// Items of the same key stay as they are.
    pub(crate) keeps: bool,
    pub(crate) written: AtomicU64,
    pub(crate) kept: AtomicU64,
    /// Why nothing more can be written.
    pub(crate) fatal: Mutex<Option<String>>,
    pub(crate) is_over: AtomicBool,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(problems: &'a Mutex<Problems>, keeps: bool) -> Self {
        Self {
            problems,
            keeps,
            written: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            fatal: Mutex::new(None),
            is_over: AtomicBool::new(false),
        }
    }

    fn stop(&self, reason: String) {
        self.is_over.store(true, Ordering::Relaxed);
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }

    fn refuse(&self, origin: &Origin, reason: &str) {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).add(origin, reason);
    }
}

/// The side that rows are given to.
pub(crate) struct Writer<'t> {
    target: &'t Target,
    lanes: Vec<(SyncSender<Vec<Job>>, Vec<Job>)>,
}

impl<'t> Writer<'t> {
    /// A writer, and what each worker receives.
    pub(crate) fn new(target: &'t Target, workers: usize) -> (Self, Vec<Receiver<Vec<Job>>>) {
        let mut lanes = Vec::new();
        let mut receivers = Vec::new();
        for _ in 0..workers.max(1) {
            let (send, receive) = sync_channel(2);
            lanes.push((send, Vec::new()));
            receivers.push(receive);
        }
        (Self { target, lanes }, receivers)
    }

    /// Gives a row to the worker of its key; false if nothing can be written any more.
    pub(crate) fn give(&mut self, job: Job) -> bool {
        let mut hasher = DefaultHasher::new();
        key_text(&self.target.keys, &job.item).hash(&mut hasher);
        let count = self.lanes.len().max(1);
        let Some((send, waiting)) = self.lanes.get_mut(hasher.finish() as usize % count) else {
            return false;
        };
        waiting.push(job);
        waiting.len() < MAX_BATCH_WRITE_REQUESTS || send.send(std::mem::take(waiting)).is_ok()
    }

    /// Gives what waits, and no more.
    pub(crate) fn finish(self) {
        for (send, waiting) in self.lanes {
            // A worker that stopped has said why.
            let _ = send.send(waiting);
        }
    }
}

/// Writes what comes until there is no more.
pub(crate) fn work(client: &TableClient, shared: &Shared<'_>, jobs: &Receiver<Vec<Job>>) {
    while let Ok(batch) = jobs.recv() {
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        let done = if shared.keeps {
            one_by_one(client, shared, &batch)
        } else {
            together(client, shared, &batch)
        };
        if let Err(reason) = done {
            return shared.stop(reason);
        }
    }
}

/// A batch in one request; if it is refused, each row for itself, so that only the wrong ones are left out.
fn together(client: &TableClient, shared: &Shared<'_>, batch: &[Job]) -> Result<(), String> {
    match client.batch_put(batch.iter().map(|job| job.item.clone())) {
        Ok(()) => {
            shared.written.fetch_add(batch.len() as u64, Ordering::Relaxed);
            Ok(())
        }
        Err(_) => one_by_one(client, shared, batch),
    }
}

fn one_by_one(client: &TableClient, shared: &Shared<'_>, batch: &[Job]) -> Result<(), String> {
    for job in batch {
        let item = job.item.clone();
        let put =
            if shared.keeps { client.put_if_absent(item) } else { client.put(item).map(|()| true) };
        match put {
            Ok(true) => drop(shared.written.fetch_add(1, Ordering::Relaxed)),
            Ok(false) => drop(shared.kept.fetch_add(1, Ordering::Relaxed)),
            Err(error) if is_of_row(&error) => shared.refuse(&job.origin, &error.to_string()),
            Err(error) => return Err(format!("{}:{}: {error}", job.origin.file, job.origin.line)),
        }
    }
    Ok(())
}

/// Whether another row may succeed.
fn is_of_row(error: &keyloom::Error) -> bool {
    match error {
        keyloom::Error::Database(error) => {
            matches!(
                error.code(),
                "ValidationException" | "ItemCollectionSizeLimitExceededException"
            )
        }
        keyloom::Error::Config(_) => true,
        _ => false,
    }
}
