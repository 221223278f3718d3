//! Calls whose writes are on their way to the disk.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use keyloom_api::{Operation, Reply};
use keyloom_core::{Error, Result};
use keyloom_store::{CommitError, Submission};

use crate::database::Database;
use crate::ops::{PlannedWrite, WriteAnswer};
use crate::write::{self, DecidedWrite};

/// How far a call has come.
#[derive(Debug)]
pub enum Call {
    /// To its end.
    Answered(Reply),
    /// Its writes have their place in the order of all writes, and are not durable yet.
    Waiting(WaitingCall),
    /// Nowhere: it would have to wait for a change of its table, for somebody who holds its item or, to show
    /// item counts, until they are counted after a crash; or it is much work. Make it with [`Database::call`], on a thread that may take long.
    NotBegun,
}

/// A call that waits for its writes to be durable: a future, or something to [`wait`](Self::wait) for.
///
/// Do not keep it waiting: until it is polled or waited for, its writes are not counted, and durable only if
/// somebody else writes meanwhile. Whoever drops it gives up the reply, not the writes: they were submitted. Dropping
/// it waits for them, so that they are counted.
#[must_use = "dropping it waits, too, and throws the reply away"]
pub struct WaitingCall {
    /// None when the reply has been given.
    waiting: Option<Box<Waiting>>,
}

struct Waiting {
    database: Database,
    operation: Operation,
    submission: Submission,
    decided: DecidedWrite,
    answer: WriteAnswer,
}

impl WaitingCall {
    /// Submits a write; answers at once if there is nothing to wait for.
    pub(crate) fn submit(
        database: &Database,
        operation: Operation,
        planned: PlannedWrite,
    ) -> Result<Call> {
        let PlannedWrite { write, answer } = planned;
        if answer.metrics.is_some() {
            // Measuring an item collection reads all of it.
            return Ok(Call::NotBegun);
        }
        let item_on_failure = answer.returns.item_on_failure;
        let submitted = write::submit(database.inner(), write, item_on_failure)?;
        let Some((submission, decided)) = submitted else { return Ok(Call::NotBegun) };
        let is_durable = submission.is_durable();
        let waiting =
            Waiting { database: database.clone(), operation, submission, decided, answer };
        if is_durable {
            return Ok(Call::Answered(waiting.wait()));
        }
        Ok(Call::Waiting(Self { waiting: Some(Box::new(waiting)) }))
    }

    /// Whether the thread that waits for this call would do the disk's work itself, because nobody else
    /// is at it. That spares a thread switch, but takes as long as the disk does.
    pub fn would_lead(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.submission.would_lead())
    }

    /// Waits on this thread.
    pub fn wait(mut self) -> Reply {
        match self.waiting.take() {
            Some(waiting) => waiting.wait(),
            // As a future it has been at its end.
            None => Reply::from(&Error::InternalServer("the reply was given before".into())),
        }
    }
}

impl Waiting {
    fn wait(self) -> Reply {
        let Self { database, operation, submission, decided, answer } = self;
        reply(&database, operation, decided, answer, submission.wait())
    }
}

impl Future for WaitingCall {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        let Some(waiting) = &mut self.waiting else {
            // Polled again after its end, which a future may answer as it likes.
            return Poll::Pending;
        };
        let outcome = ready!(Pin::new(&mut waiting.submission).poll(context));
        let Some(waiting) = self.waiting.take() else { return Poll::Pending };
        let Waiting { database, operation, decided, answer, .. } = *waiting;
        Poll::Ready(reply(&database, operation, decided, answer, outcome))
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.wait();
        }
    }
}

impl fmt::Debug for WaitingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingCall")
            .field("would_lead", &self.would_lead())
            .finish_non_exhaustive()
    }
}

fn reply(
    database: &Database,
    operation: Operation,
    decided: DecidedWrite,
    answer: WriteAnswer,
    outcome: Result<(), CommitError>,
) -> Reply {
    let returns = answer.returns;
    let written = decided.conclude(database.inner(), outcome);
    match written.and_then(|written| answer.of(database.inner(), written)) {
        Ok(output) => Reply::ok(output.encode(returns)),
        Err(error) => database.refusal(Some(operation), &error),
    }
}
