//! Transactions between their place in the order of writes and their fate.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};

use crate::CommitError;

/// A transaction whose place in the order of all writes is fixed, and which is not durable yet.
///
/// Its fate can be waited for by a thread ([`wait`](Self::wait)) or by a task (it is a future). It is
/// decided even if nobody asks: dropping a submission takes nothing back.
#[must_use = "only its outcome says whether the writes are durable"]
pub struct Submission(Fate);

enum Fate {
    Known(Result<(), CommitError>),
    Pending { completion: Arc<Completion>, lead: Option<Lead> },
}

impl Submission {
    /// One that waits for nothing.
    pub(crate) fn durable() -> Self {
        Self(Fate::Known(Ok(())))
    }

    pub(crate) fn pending(completion: Arc<Completion>, lead: Option<Lead>) -> Self {
        Self(Fate::Pending { completion, lead })
    }

    /// Whether there is nothing to wait for.
    pub fn is_durable(&self) -> bool {
        matches!(&self.0, Fate::Known(Ok(())))
    }

    /// Whether the thread that waits for this submission would do the disk's work itself, because
    /// nobody else is at it. That spares a thread switch; a task, which must not block, leaves it to
    /// the store's own thread.
    pub fn would_lead(&self) -> bool {
        matches!(&self.0, Fate::Pending { lead: Some(_), .. })
    }

    /// Waits until the transaction, and everything it has read, is durable or has failed.
    pub fn wait(self) -> Result<(), CommitError> {
        match self.0 {
            Fate::Known(outcome) => outcome,
            Fate::Pending { completion, lead } => {
                if let Some(lead) = lead {
                    lead.take();
                }
                completion.wait()
            }
        }
    }
}

impl Future for Submission {
    type Output = Result<(), CommitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Fate::Known(outcome) => Poll::Ready(outcome.clone()),
            Fate::Pending { completion, lead } => {
                // Dropping it calls the store's thread.
                *lead = None;
                completion.poll(context)
            }
        }
    }
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission").field("would_lead", &self.would_lead()).finish_non_exhaustive()
    }
}

/// Where groups of transactions are committed.
pub(crate) trait Leader: Send + Sync {
    /// Commits a group on this thread.
    fn lead(&self);

    /// Has the committer thread do it.
    fn hand_over(&self);
}

/// The duty to see to it that the next group is committed. Whoever drops it leaves it to the
/// committer thread.
pub(crate) struct Lead(Option<Arc<dyn Leader>>);

impl Lead {
    pub(crate) fn of(leader: Arc<dyn Leader>) -> Self {
        Self(Some(leader))
    }

    fn take(mut self) {
        if let Some(leader) = self.0.take() {
            leader.lead();
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if let Some(leader) = self.0.take() {
            leader.hand_over();
        }
    }
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
    /// Announces the outcome; only the first one counts.
    pub(crate) fn finish(&self, outcome: Result<(), CommitError>) {
        let mut state = self.state.lock();
        // A transaction ends once; a second announcement would be about nobody.
        state.outcome.get_or_insert(outcome);
        let waker = state.waker.take();
        drop(state);
        self.decided.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
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
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
