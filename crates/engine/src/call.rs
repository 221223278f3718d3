//! Non-blocking calls: their writes are submitted, but not durable yet.

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
    /// It is complete; here is the reply.
    Answered(Reply),
    /// Its writes are submitted and ordered, but not durable yet.
    Waiting(WaitingCall),
    /// It was not started, because it would block: on a change of its table, on an item lock, on the item
    /// counts after a crash or on a store behind a network; or it is a lot of work. Run it with [`Database::call`] on a thread that may block.
    NotBegun,
}

/// A call that waits for its writes to be durable: a future, or something to [`wait`](Self::wait) for.
///
/// Poll it or wait for it soon: until then its writes are not counted, and they become durable only if another
/// write is committed. Dropping it discards the reply, not the writes, which are submitted; the drop blocks until
/// they are durable, so that they are counted.
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

    /// Whether the thread that waits for this call would run the group commit itself, because no other thread
    /// does. That saves a thread switch, but blocks for as long as the disk takes.
    pub fn would_lead(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.submission.would_lead())
    }

    /// Waits on this thread.
    pub fn wait(mut self) -> Reply {
        match self.waiting.take() {
            Some(waiting) => waiting.wait(),
            // It was already polled to completion as a future.
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
            // Polled after completion: the contract of futures leaves the result open.
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
