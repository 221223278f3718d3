//! Submitted transactions: ordered, but not yet durable.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};

use crate::CommitError;

/// A transaction whose position in the total order of writes is fixed, and which may not be durable
/// yet.
///
/// A thread can block on its outcome ([`wait`](Self::wait)) and a task can await it (it is a
/// future). Dropping a submission does not cancel it: the writes are committed all the same.
#[must_use = "only its outcome says whether the writes are durable"]
pub struct Submission(Fate);

enum Fate {
    Known(Result<(), CommitError>),
    Pending(Pending),
}

struct Pending {
    completion: Arc<Completion>,
    committer: Arc<dyn Commit>,
}

impl Submission {
    /// A submission that is already durable.
    pub(crate) fn durable() -> Self {
        Self::decided(Ok(()))
    }

    /// A submission whose outcome is already known.
    pub(crate) fn decided(outcome: Result<(), CommitError>) -> Self {
        Self(Fate::Known(outcome))
    }

    pub(crate) fn pending(completion: Arc<Completion>, committer: Arc<dyn Commit>) -> Self {
        Self(Fate::Pending(Pending { completion, committer }))
    }

    /// Whether the writes are already durable, so that waiting returns at once.
    pub fn is_durable(&self) -> bool {
        matches!(&self.0, Fate::Known(Ok(())))
    }

    /// Whether a thread that waits now would run the group commit itself, because no committer is
    /// active. That saves a thread switch. A task, which must not block, leaves it to the committer
    /// thread.
    pub fn would_lead(&self) -> bool {
        match &self.0 {
            Fate::Known(_) => false,
            Fate::Pending(pending) => {
                !pending.completion.is_decided() && !pending.committer.is_busy()
            }
        }
    }

    /// Waits until the transaction and everything it has read are durable, or it has failed.
    pub fn wait(self) -> Result<(), CommitError> {
        match &self.0 {
            Fate::Known(outcome) => outcome.clone(),
            Fate::Pending(Pending { completion, committer }) => {
                if !completion.is_decided() {
                    committer.lead();
                }
                completion.wait()
            }
        }
    }
}

impl Future for Submission {
    type Output = Result<(), CommitError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &self.0 {
            Fate::Known(outcome) => Poll::Ready(outcome.clone()),
            Fate::Pending(Pending { completion, committer }) => {
                let poll = completion.poll(context);
                if poll.is_pending() {
                    committer.call();
                }
                poll
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.completion.is_decided() {
            self.committer.call();
        }
    }
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission").field("is_durable", &self.is_durable()).finish_non_exhaustive()
    }
}

/// Runs group commits.
pub(crate) trait Commit: Send + Sync {
    /// Whether a committer is active or about to be.
    fn is_busy(&self) -> bool;

    /// Commits a group on this thread unless a committer is active; an active one continues until
    /// the queue is empty.
    fn lead(&self);

    /// Wakes the committer thread unless a committer is active.
    fn call(&self);
}

/// Carries the outcome of a transaction to its writer.
#[derive(Default)]
pub(crate) struct Completion {
    state: Mutex<State>,
    decided: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Result<(), CommitError>>,
    /// The waker of the task that waits, if any.
    waker: Option<Waker>,
}

impl Completion {
    /// Announces the outcome; only the first counts. The caller must wake the returned task: a
    /// waker runs foreign code, which must not delay the outcomes of others.
    #[must_use]
    pub(crate) fn finish(&self, outcome: Result<(), CommitError>) -> Option<Waker> {
        let mut state = self.state.lock();
        state.outcome.get_or_insert(outcome);
        let waker = state.waker.take();
        drop(state);
        self.decided.notify_all();
        waker
    }

    fn is_decided(&self) -> bool {
        self.state.lock().outcome.is_some()
    }

    fn wait(&self) -> Result<(), CommitError> {
        let mut state = self.state.lock();
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone();
            }
            self.decided.wait(&mut state);
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Result<(), CommitError>> {
        let mut state = self.state.lock();
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone());
        }
        let replaced = state.waker.replace(context.waker().clone());
        drop(state);
        // The waker may own the task that owns this submission, so it is dropped without the lock.
        drop(replaced);
        Poll::Pending
    }
}
