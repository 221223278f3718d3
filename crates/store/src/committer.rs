//! Group commit: transactions queue up while a sync runs, and the next sync takes them all.
//!
//! One thread at a time is *the committer*; it takes the queue, hands it to the [`Sink`] as one
//! group, and announces the outcome. A writer that blocks while no committer is active becomes the
//! committer for one group, so that a lone writer pays for no thread switch; a task, which must not
//! block, wakes the committer thread instead. If more transactions have queued up in the meantime,
//! the committer thread takes over until the queue is empty.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::condition::Condition;
use crate::locks::HeldLocks;
use crate::pending::{Pending, Queued};
use crate::submission::{Commit, Completion, Submission};
use crate::transaction::{Newest, Staged, Ticket, WriteSet};
use crate::{CommitError, Snapshot, StoreError};

/// How long the store must be idle before the sink does its idle work.
const QUIET: Duration = Duration::from_millis(20);

/// Where groups of transactions become durable.
pub(crate) trait Sink: Send + 'static {
    /// Makes a group durable and visible, atomically. Any error poisons the store, except
    /// [`StoreError::Full`], which means that nothing of the group was written. The sink then marks
    /// the store as full itself, and arranges for the mark to be removed.
    fn commit(&mut self, group: &[&WriteSet]) -> Result<(), CommitError>;

    /// Called when the store has been idle for [`QUIET`] after a commit; false to be called again
    /// after another idle period.
    fn on_idle(&mut self) -> Result<bool, StoreError>;

    /// Called once, after the last commit.
    fn close(&mut self) -> Result<(), StoreError>;
}

/// The queue, the sink, and the committer thread.
pub(crate) struct Committer<S: Sink> {
    shared: Arc<Shared<S>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared<S> {
    state: Mutex<State>,
    changed: Condvar,
    /// `None` once closed, so that its files are released even while submissions are still held.
    sink: Mutex<Option<S>>,
    condition: Condition,
    /// Copy of [`Pending::keys`], so that a reader can skip the lock when nothing is pending.
    pending_keys: AtomicUsize,
}

#[derive(Default)]
struct State {
    pending: Pending,
    /// A committer is active.
    busy: bool,
    /// The committer thread is to become the committer; `busy` is already set for it.
    handed_over: bool,
    /// Groups were committed since the sink's last idle work.
    idle_work_due: bool,
    /// Counts groups, so that the committer thread can detect idle periods.
    groups: u64,
    closing: bool,
}

impl<S: Sink> Committer<S> {
    /// Starts the committer thread over a sink.
    pub(crate) fn start(sink: S, condition: Condition) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            sink: Mutex::new(Some(sink)),
            condition,
            pending_keys: AtomicUsize::new(0),
        });
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("keyloom-commit".into())
            .spawn(move || for_thread.run())
            .map_err(|error| StoreError::io("start the committer thread", error))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Enqueues the writes and releases the locks. `seen` is the latest pending write that they
    /// depend on; `snapshot` shows what is durable.
    pub(crate) fn submit(
        &self,
        staged: Staged,
        locks: HeldLocks<'_>,
        seen: Ticket,
        snapshot: impl Fn() -> Result<Box<dyn Snapshot>, StoreError>,
    ) -> Result<Submission, CommitError> {
        self.shared.condition.check().map_err(CommitError::Failed)?;
        let mut state = self.shared.state.lock();
        // Read without the lock, since that may take a disk access; seldom needed twice.
        while let Some(missing) = state.pending.missing(&staged.unnumbered) {
            drop(state);
            let known = snapshot().and_then(|snapshot| missing.read(&*snapshot));
            let known = known.map_err(CommitError::Failed)?;
            state = self.shared.state.lock();
            state.pending.learn(known);
        }
        if state.pending.has_failed(seen) {
            return Err(CommitError::Conflict);
        }
        let completion = state.pending.enqueue(staged);
        self.shared.pending_keys.store(state.pending.keys(), Ordering::Release);
        drop(state);
        drop(locks);
        Ok(self.submission(completion))
    }

    /// Returns a submission that resolves once everything pending now, including `seen`, is
    /// durable.
    pub(crate) fn submit_nothing(&self, seen: Ticket) -> Result<Submission, CommitError> {
        let mut state = self.shared.state.lock();
        if state.pending.has_failed(seen) {
            return Err(CommitError::Conflict);
        }
        if !state.busy && state.pending.is_empty() {
            // With no committer active, `seen` is durable or has failed.
            drop(state);
            self.shared.condition.check_not_poisoned().map_err(CommitError::Failed)?;
            return Ok(Submission::durable());
        }
        let completion = state.pending.enqueue(Staged::default());
        drop(state);
        Ok(self.submission(completion))
    }

    /// Has the numbers of these logs and the sums of these counters read anew: they were deleted.
    pub(crate) fn forget_numbers(&self, prefix: &[u8]) {
        self.shared.state.lock().pending.forget_numbers(prefix);
    }

    /// Calls the sink between two groups. An error poisons the store.
    pub(crate) fn run_between_groups<T>(
        &self,
        operation: fn(&mut S) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = self.shared.with_sink(operation);
        self.shared.condition.check_not_poisoned()?;
        result.ok_or_else(closed)
    }

    fn submission(&self, completion: Arc<Completion>) -> Submission {
        Submission::pending(completion, Arc::clone(&self.shared) as Arc<dyn Commit>)
    }

    /// The pending value of a key; `None` if the engine has the newest one.
    pub(crate) fn pending(&self, key: &[u8]) -> Option<Newest> {
        if self.shared.pending_keys.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.shared.state.lock().pending.newest(key).cloned()
    }

    /// Commits the queue, closes the sink and joins the thread.
    pub(crate) fn close(&mut self) -> Result<(), StoreError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.shared.state.lock().closing = true;
        self.shared.changed.notify_all();
        if thread.join().is_err() {
            self.shared.condition.poison(&"the committer thread panicked");
        }
        self.shared.condition.check_not_poisoned()
    }
}

impl<S: Sink> Drop for Committer<S> {
    fn drop(&mut self) {
        // Call `close` to learn of errors.
        let _ = self.close();
    }
}

impl<S: Sink> Commit for Shared<S> {
    fn is_busy(&self) -> bool {
        self.state.lock().busy
    }

    fn lead(&self) {
        if self.state.lock().become_committer() {
            self.commit_one_group();
        }
    }

    fn call(&self) {
        let mut state = self.state.lock();
        if state.become_committer() {
            state.handed_over = true;
            drop(state);
            self.changed.notify_all();
        }
    }
}

impl State {
    /// Makes the caller the committer if there is work and no committer is active.
    fn become_committer(&mut self) -> bool {
        let is_free = !self.busy && !self.pending.is_empty();
        self.busy |= is_free;
        is_free
    }
}

impl<S: Sink> Shared<S> {
    /// Takes a group and makes it durable. The caller must be the committer, and ceases to be when
    /// this returns.
    fn commit_one_group(&self) {
        let mut group = self.state.lock().pending.take_group();
        let outcome = self.run_sink(&group);
        let mut state = self.state.lock();
        state.pending.settle(&group);
        state.groups += 1;
        let mut aborted = Vec::new();
        if outcome.is_err() {
            // They may depend on writes that failed.
            aborted = state.pending.take_all();
            state.pending.settle(&aborted);
            state.pending.remember_failure(&group, &aborted);
        }
        self.pending_keys.store(state.pending.keys(), Ordering::Release);
        self.step_down(&mut state);
        drop(state);
        for queued in group.iter_mut().chain(&mut aborted) {
            queued.guards.clear();
        }
        let mut tasks: Vec<Waker> = Vec::new();
        for queued in group {
            tasks.extend(queued.done.finish(outcome.clone()));
        }
        let refusal = outcome.as_ref().err().map(|error| self.refusal(error));
        for queued in aborted {
            tasks.extend(queued.done.finish(refusal.clone().map_or(Ok(()), Err)));
        }
        for task in tasks {
            // A waker may panic, for example when its executor has shut down; the others must still
            // be woken.
            let _ = catch_unwind(AssertUnwindSafe(|| task.wake()));
        }
    }

    /// The error for transactions queued behind a group that failed.
    fn refusal(&self, cause: &CommitError) -> CommitError {
        match cause {
            CommitError::Unknown(error) | CommitError::Failed(error) => {
                let refused = self.condition.check_not_poisoned().err();
                CommitError::Failed(refused.unwrap_or_else(|| error.clone()))
            }
            CommitError::Conflict | CommitError::Stale => CommitError::Conflict,
        }
    }

    /// Hands over to the committer thread if there is work, and wakes it for idle work later.
    fn step_down(&self, state: &mut MutexGuard<'_, State>) {
        state.busy = !state.pending.is_empty();
        state.handed_over = state.busy;
        let is_first = !std::mem::replace(&mut state.idle_work_due, true);
        if state.handed_over || state.closing || is_first {
            self.changed.notify_all();
        }
    }

    fn run_sink(&self, group: &[Queued]) -> Result<(), CommitError> {
        self.condition.check().map_err(CommitError::Failed)?;
        let writes: Vec<&WriteSet> =
            group.iter().map(|queued| &queued.writes).filter(|writes| !writes.is_empty()).collect();
        if writes.is_empty() {
            return Ok(());
        }
        let commit = || match &mut *self.sink.lock() {
            Some(sink) => sink.commit(&writes),
            None => Err(CommitError::Failed(closed())),
        };
        let outcome = catch_unwind(AssertUnwindSafe(commit))
            .unwrap_or_else(|_| Err(CommitError::Unknown(panicked())));
        outcome.inspect_err(|error| {
            // The sink has marked the store as full and had it probed for space. That may have
            // succeeded by now: marking it again would leave it full without another probe.
            if !matches!(error, CommitError::Failed(StoreError::Full { .. })) {
                self.condition.poison(error);
            }
        })
    }

    /// Main loop of the committer thread.
    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            if state.handed_over || (state.closing && state.become_committer()) {
                state.handed_over = false;
                drop(state);
                self.commit_one_group();
                state = self.state.lock();
            } else if state.closing && !state.busy {
                state.busy = true;
                drop(state);
                self.with_sink(S::close);
                drop(self.sink.lock().take());
                return;
            } else if state.idle_work_due && !state.closing {
                let groups = state.groups;
                let quiet = self.changed.wait_for(&mut state, QUIET).timed_out();
                if quiet && !state.busy && state.groups == groups {
                    state.busy = true;
                    state.idle_work_due = false;
                    drop(state);
                    let is_done = self.with_sink(S::on_idle).unwrap_or(true);
                    state = self.state.lock();
                    state.idle_work_due |= !is_done;
                    state.busy = !state.pending.is_empty();
                    state.handed_over = state.busy;
                }
            } else {
                self.changed.wait(&mut state);
            }
        }
    }

    /// Calls the sink. `None` if it is closed or fails; a failure poisons the store.
    fn with_sink<T>(&self, operation: fn(&mut S) -> Result<T, StoreError>) -> Option<T> {
        self.condition.check_not_poisoned().ok()?;
        let call = || self.sink.lock().as_mut().map(operation).transpose();
        match catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(panicked())) {
            Ok(result) => result,
            Err(error) => {
                self.condition.poison(&error);
                None
            }
        }
    }
}

fn panicked() -> StoreError {
    StoreError::Engine { action: "commit".into(), detail: "the storage engine panicked".into() }
}

fn closed() -> StoreError {
    StoreError::Engine { action: "commit".into(), detail: "the store is closed".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::KeyLocks;

    /// Finds the disk full, and space on it before the failure is reported.
    struct BrieflyFull(Condition);

    impl Sink for BrieflyFull {
        fn commit(&mut self, _: &[&WriteSet]) -> Result<(), CommitError> {
            self.0.is_full(&"no space left");
            self.0.has_space();
            Err(CommitError::Failed(StoreError::Full { cause: "no space left".into() }))
        }

        fn on_idle(&mut self) -> Result<bool, StoreError> {
            Ok(true)
        }

        fn close(&mut self) -> Result<(), StoreError> {
            Ok(())
        }
    }

    #[test]
    fn space_found_before_a_failure_is_reported_is_not_forgotten() {
        let (condition, locks) = (Condition::default(), KeyLocks::new());
        let committer =
            Committer::start(BrieflyFull(condition.clone()), condition.clone()).unwrap();
        let mut staged = Staged::default();
        staged.put("key".into(), "value".into());
        let nothing_to_read = || unreachable!("nothing is numbered");
        let submitted = committer.submit(staged, locks.lock(&[]), 0, nothing_to_read).unwrap();
        assert!(matches!(submitted.wait(), Err(CommitError::Failed(StoreError::Full { .. }))));
        assert!(condition.check().is_ok(), "no one will look for space again");
    }
}
