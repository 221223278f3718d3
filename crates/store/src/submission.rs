//! Transactions between their place in the order of writes and their fate.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};

use crate::CommitError;

/// A transaction whose place in the order of all writes is fixed, and which is not durable yet.
///
/// Its fate can be waited for by a thread ([`wait`](Self::wait)) or by a task (it is a future). Dropping
/// a submission takes nothing back: its fate is decided all the same.
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
    /// One that waits for nothing.
    pub(crate) fn durable() -> Self {
        Self::decided(Ok(()))
    }

    /// One whose fate is known before anybody asks.
    pub(crate) fn decided(outcome: Result<(), CommitError>) -> Self {
        Self(Fate::Known(outcome))
    }

    pub(crate) fn pending(completion: Arc<Completion>, committer: Arc<dyn Commit>) -> Self {
        Self(Fate::Pending(Pending { completion, committer }))
    }

    /// Whether there is nothing to wait for.
    pub fn is_durable(&self) -> bool {
        matches!(&self.0, Fate::Known(Ok(())))
    }

    /// Whether a thread that waited for this submission now would do the disk's work itself, because
    /// nobody else is at it. That spares a thread switch; a task, which must not block, leaves it to
    /// the store's own thread.
    pub fn would_lead(&self) -> bool {
        match &self.0 {
            Fate::Known(_) => false,
            Fate::Pending(pending) => {
                !pending.completion.is_decided() && !pending.committer.is_busy()
            }
        }
    }

    /// Waits until the transaction, and everything it has read, is durable or has failed.
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

/// Where groups of transactions are committed.
pub(crate) trait Commit: Send + Sync {
    /// Whether somebody commits a group, or is about to.
    fn is_busy(&self) -> bool;

    /// Commits a group on this thread, unless somebody else is at it, who will go on until the queue is
    /// empty.
    fn lead(&self);

    /// Has the committer thread do it, unless somebody is at it.
    fn call(&self);
}

/// Where a writer learns the fate of its transaction.
#[derive(Default)]
pub(crate) struct Completion {
    state: Mutex<State>,
    decided: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Result<(), CommitError>>,
    /// The task that waits, if one does.
    waker: Option<Waker>,
}

impl Completion {
    /// Announces the outcome, of which only the first counts. The task that waits is for the caller to
    /// wake: what a waker does is not known here, and must not keep others from their outcomes.
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
        // Behind it may be a task that owns this very submission.
        drop(replaced);
        Poll::Pending
    }
}
