//! Background work: periodic maintenance and long-running jobs.
//!
//! Two threads per database run periodically: one removes expired items and old stream records, the other empties
//! dropped keyspaces, so that neither delays the other. Each job (an index backfill, a backup copy) has its own
//! thread, so that jobs do not queue behind each other. When the last handle of the database is dropped, all threads
//! are stopped and joined. A database without background threads keeps its jobs until
//! [`crate::Database::run_maintenance`] is called.
//!
//! A store may refuse writes for a while, for example while its disk is full. Periodic work is retried at the next
//! interval; a job waits and retries the failed step ([`Inner::patiently`]). [`crate::Database::background_failures`]
//! lists what is currently failing.

mod duties;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use keyloom_core::{Error, Result};
use keyloom_store::Health;
use parking_lot::{Condvar, Mutex};

use crate::database::Inner;
use crate::{coordination, ttl};

use duties::{Duty, Task};

/// How often a job retries a step that fails although the store accepts writes: such an error may be permanent.
const ATTEMPTS: u32 = 5;
/// How long a job waits before its first retry; the pause grows with each.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a database has been open before dropped keyspaces are emptied.
const BEFORE_REMOVAL: Duration = Duration::from_millis(100);

/// How often a server looks for abandoned jobs, in heartbeats.
const BEATS_PER_LOOK: usize = 3;

/// Work that would block a request for too long. It checks [`Background::is_ending`] between steps.
pub(crate) type Job = Box<dyn FnOnce(&Inner) -> Result<()> + Send>;

/// The background threads of a database and the queue of work for them.
#[derive(Default)]
pub(crate) struct Background {
    state: Mutex<State>,
    changed: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The work that is failing, and the reason.
    failures: Mutex<BTreeMap<&'static str, String>>,
}

#[derive(Default)]
struct State {
    /// The periodic work that was asked to run now.
    wanted: Vec<Duty>,
    ending: bool,
    /// Jobs that no thread has taken.
    jobs: Vec<Job>,
    /// How many of them could not get a thread.
    stranded: usize,
}

impl Background {
    /// Starts the threads that work at intervals, if the options want them.
    pub(crate) fn start(&self, inner: &Arc<Inner>) {
        if inner.options.background && inner.store.is_shared() {
            let inner = Arc::clone(inner);
            // Without heartbeats, other servers count this one as dead and take over its jobs.
            drop(self.spawn("keyloom-heartbeat", move || keep_beating(&inner)));
        }
        if inner.options.background {
            // Keyspaces that were dropped before the database was closed are emptied first of all.
            self.state.lock().wanted.push(Duty::Removal);
            let inner = Arc::clone(inner);
            // One thread starts the other after a delay, so that opening the database waits for neither. If no
            // thread can be started, maintenance runs only when it is called.
            drop(self.spawn(Duty::Maintenance.thread_name(), move || {
                if inner.background.pause(BEFORE_REMOVAL) {
                    let removal = Arc::clone(&inner);
                    let run = move || work_at_intervals(&removal, Duty::Removal);
                    drop(inner.background.spawn(Duty::Removal.thread_name(), run));
                }
                work_at_intervals(&inner, Duty::Maintenance);
            }));
        }
    }

    /// Wakes the threads to look for work now.
    pub(crate) fn wake(&self) {
        self.state.lock().wanted = Duty::ALL.to_vec();
        self.changed.notify_all();
    }

    /// Whether the database is being closed.
    pub(crate) fn is_ending(&self) -> bool {
        self.state.lock().ending
    }

    /// Stops all threads and waits for them, and for those that they have started meanwhile.
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

    /// The work that is failing, and the reason.
    pub(crate) fn failures(&self) -> Vec<(String, String)> {
        let failures = self.failures.lock();
        failures.iter().map(|(what, why)| ((*what).to_owned(), why.clone())).collect()
    }

    /// Notes how some work went.
    fn note(&self, what: &'static str, outcome: Result<(), &Error>) {
        let mut failures = self.failures.lock();
        match outcome {
            Ok(()) => drop(failures.remove(what)),
            Err(error) => drop(failures.insert(what, error.message())),
        }
    }

    /// Waits for so long; false if the database is being closed.
    pub(crate) fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.state.lock();
        while !state.ending && !self.changed.wait_until(&mut state, until).timed_out() {}
        !state.ending
    }

    /// Gives a job to a thread of its own; false if there is none, and the job is kept for the next
    /// maintenance.
    fn submit(&self, inner: Option<Arc<Inner>>, job: Job) -> bool {
        self.state.lock().jobs.push(job);
        let Some(inner) = inner.filter(|inner| inner.options.background) else { return false };
        let run = move || {
            if let Some(job) = inner.background.take_job() {
                run_job(&inner, job);
            }
        };
        let is_spawned = self.spawn("keyloom-job", run).is_ok();
        if !is_spawned {
            self.state.lock().stranded += 1;
        }
        is_spawned
    }

    fn take_job(&self) -> Option<Job> {
        self.state.lock().jobs.pop()
    }

    /// A job for which no thread could be started.
    fn take_stranded(&self) -> Option<Job> {
        let mut state = self.state.lock();
        state.stranded = state.stranded.checked_sub(1)?;
        state.jobs.pop()
    }

    pub(crate) fn spawn(
        &self,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
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

    /// Takes a step of a job, and takes it again while the store refuses it but may accept it later.
    /// The step must do no harm when it is repeated, and the caller must hold no lock of the catalog.
    pub(crate) fn patiently<T>(
        &self,
        what: &'static str,
        mut step: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let (mut failed, mut pause) = (0, FIRST_PAUSE);
        loop {
            let error = match step() {
                Ok(done) => {
                    if failed > 0 {
                        self.background.note(what, Ok(()));
                    }
                    return Ok(done);
                }
                Err(error @ Error::InternalServer(_)) => error,
                Err(error) => return Err(error),
            };
            failed += 1;
            self.background.note(what, Err(&error));
            let may_recover = match self.store.health() {
                Health::Ready => failed < ATTEMPTS,
                Health::ReadOnly { restart_needed, .. } => {
                    // A borrowed thread does not wait forever.
                    !restart_needed && (self.options.background || failed < ATTEMPTS)
                }
            };
            if !may_recover || !self.background.pause(pause) {
                return Err(error);
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Waits before a job that failed for good begins anew; false if it must not.
    pub(crate) fn waits_again(&self) -> bool {
        self.options.background
            && self.has_failed_for_good()
            && self.background.pause(LONGEST_PAUSE)
    }

    /// Takes a step now or, if the store refuses it, in the background: a database can be opened while
    /// its store only reads.
    pub(crate) fn now_or_later(
        &self,
        what: &'static str,
        step: impl Fn(&Self) -> Result<()> + Send + 'static,
    ) {
        if step(self).is_err() {
            self.submit(Box::new(move |database| database.patiently(what, || step(database))));
        }
    }

    /// Whether a job that failed has failed for good: the database is not being closed, and the store
    /// is as well as it can be. Any other job is taken up when the database is opened again.
    pub(crate) fn has_failed_for_good(&self) -> bool {
        !self.background.is_ending() && self.store.health().is_ready()
    }
}

fn run_job(inner: &Inner, job: Job) {
    // What a job has to say of a failure it has stored where its resource is described, or noted.
    let outcome = catch_unwind(AssertUnwindSafe(|| job(inner)));
    if let Err(error) = outcome.unwrap_or_else(|_| Err(panicked())) {
        inner.background.note("a job", Err(&error));
    }
}

fn panicked() -> Error {
    Error::InternalServer("the work panicked; its message is on standard error".into())
}

/// Tells the other servers on the store that this one is alive, and takes up what they leave undone when they are
/// not.
fn keep_beating(inner: &Inner) {
    for beats in 1_usize.. {
        if !inner.background.pause(coordination::BEAT) {
            return;
        }
        run_beat(inner, beats % BEATS_PER_LOOK == 0);
    }
}

fn run_beat(inner: &Inner, looks_around: bool) {
    inner.background.note("heartbeat", inner.beat().as_ref().copied());
    inner.background.note("version of records", inner.raise_records().as_ref().copied());
    inner.background.note("notes of expiries", ttl::flush(inner).as_ref().copied());
    if looks_around {
        inner.background.note("adoption of jobs", inner.adopt().as_ref().copied());
    }
}

/// Whether this server does a duty: of those that share a store, one does.
fn is_on_duty(inner: &Inner, duty: Duty) -> Result<bool> {
    Ok(!inner.store.is_shared() || inner.hold(duty.thread_name())?.is_some())
}

fn work_at_intervals(inner: &Inner, duty: Duty) {
    let background = &inner.background;
    loop {
        let mut state = background.state.lock();
        if !state.wanted.contains(&duty) && !state.ending {
            background.changed.wait_for(&mut state, inner.options.maintenance_interval);
        }
        if state.ending {
            return;
        }
        state.wanted.retain(|wanted| *wanted != duty);
        drop(state);
        if duty == Duty::Maintenance {
            while let Some(job) = background.take_stranded() {
                run_job(inner, job);
            }
        }
        // A failure is noted, and the work is tried again at the next round.
        if let Ok(true) = is_on_duty(inner, duty) {
            for task in duty.tasks() {
                drop(run_task(inner, task));
            }
        }
    }
}

/// Does one task; neither its failure nor its panic keeps others from being done.
fn run_task(inner: &Inner, task: &Task) -> Result<()> {
    let outcome = catch_unwind(AssertUnwindSafe(|| (task.run)(inner)));
    let outcome = outcome.unwrap_or_else(|_| Err(panicked()));
    inner.background.note(task.name, outcome.as_ref().copied());
    outcome
}

/// Runs all periodic work that is due, and the queued jobs.
pub(crate) fn run(inner: &Inner) -> Result<()> {
    let mut outcome = Ok(());
    while let Some(job) = inner.background.take_job() {
        outcome = outcome.and(job(inner));
    }
    if inner.store.is_shared() {
        run_beat(inner, true);
        while let Some(job) = inner.background.take_job() {
            outcome = outcome.and(job(inner));
        }
    }
    for duty in Duty::ALL {
        if is_on_duty(inner, duty)? {
            for task in duty.tasks() {
                outcome = outcome.and(run_task(inner, task));
            }
        }
    }
    outcome
}
