//! Non-blocking calls: the write has been submitted, and the caller awaits its durability without holding a thread.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, ready};
use std::thread::{self, Thread};

use keyloom_api::{Body, Operation, Reply};
use keyloom_core::{Error, Result};
use keyloom_store::{CommitError, Lookup, PageLookup, Submission};

use crate::database::Database;
use crate::elsewhere::Elsewhere;
use crate::ops::{self, Handler, PlannedWrite, WriteAnswer};
use crate::read::asking::{self, Answer, Question};
use crate::store_error;
use crate::write::{self, DecidedWrite};

/// The state of a call.
#[derive(Debug)]
pub enum Call {
    /// It is complete; here is the reply.
    Answered(Reply),
    /// Its writes are submitted and ordered, but not durable yet; or a store behind a network was asked for what it
    /// reads.
    Waiting(WaitingCall),
    /// It was not started, because it would block: on a change of its table, on an item lock, on the item
    /// counts after a crash or on a store behind a network that it has several questions for; or it is a lot of work.
    /// Run it with [`Database::call`] on a thread that may block.
    NotBegun,
}

/// A call that waits for its writes to be durable, or for what it reads: a future, or something to
/// [`wait`](Self::wait) for.
///
/// Poll it or wait for it soon: until then its writes are not counted, and they become durable only if another
/// write is committed. Dropping it discards the reply, not the writes that are submitted; then the drop blocks until
/// they are durable, so that they are counted.
#[must_use = "dropping it waits, too, and throws the reply away"]
pub struct WaitingCall {
    /// None when the reply has been given.
    waiting: Option<Box<Waiting>>,
}

struct Waiting {
    database: Database,
    operation: Operation,
    stage: Stage,
}

/// What a call waits for.
#[expect(clippy::large_enum_variant, reason = "it lies in a box with its call")]
enum Stage {
    /// What it reads; then it is run.
    Reading { read: Read, question: Question, request: Request },
    /// The item that it writes.
    LookingUp { lookup: Lookup, planned: Box<PlannedWrite>, request: Request },
    /// That its writes are durable.
    Submitted { submission: Submission, decided: DecidedWrite, answer: WriteAnswer },
    /// A thread that may block.
    Elsewhere(Elsewhere),
}

/// A question that the store was asked.
enum Read {
    Value(Lookup),
    Page(PageLookup),
}

/// What was asked for, and the epoch of the tables by which it was looked at first.
struct Request {
    body: Box<[u8]>,
    epoch: u64,
}

impl WaitingCall {
    /// Submits a write; responds at once if there is nothing to wait for.
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
        let stage = Stage::Submitted { submission, decided, answer };
        let call = Self::new(database, operation, stage);
        Ok(if is_durable { Call::Answered(call.wait()) } else { Call::Waiting(call) })
    }

    /// Asks a store behind a network for what an operation needs first.
    pub(crate) fn ask(database: &Database, operation: Operation, body: &[u8]) -> Call {
        let inner = database.inner();
        let request = Request { body: body.into(), epoch: inner.catalog.epoch() };
        let stage = match ops::handler(operation) {
            Handler::Write(plan) => {
                let planned =
                    Body::parse(operation, body).and_then(|body| plan(inner, body.fields()));
                // What the tables in memory say is wrong has to be confirmed.
                let Some(planned) = planned.ok().filter(PlannedWrite::needs_one_lookup) else {
                    return Call::NotBegun;
                };
                let Some(lookup) = inner.store.look_up(&[planned.write.store_key.as_slice()], true)
                else {
                    return Call::NotBegun;
                };
                Stage::LookingUp { lookup, planned: Box::new(planned), request }
            }
            Handler::Run(run) if matches!(operation, Operation::GetItem | Operation::Query) => {
                let attempt = || run(inner, Body::parse(operation, body)?.fields());
                let Some(question) = asking::asking(attempt) else { return Call::NotBegun };
                let read = match &question {
                    Question::Value(key) => {
                        inner.store.look_up(&[key.as_slice()], false).map(Read::Value)
                    }
                    Question::Page(range, direction, expected) => {
                        inner.store.look_up_page(range, *direction, *expected).map(Read::Page)
                    }
                };
                let Some(read) = read else { return Call::NotBegun };
                Stage::Reading { read, question, request }
            }
            Handler::Run(_) | Handler::Body(_) => return Call::NotBegun,
        };
        Call::Waiting(Self::new(database, operation, stage))
    }

    fn new(database: &Database, operation: Operation, stage: Stage) -> Self {
        let waiting = Waiting { database: database.clone(), operation, stage };
        Self { waiting: Some(Box::new(waiting)) }
    }

    /// Whether the thread that waits for this call would run the group commit itself, because no other thread
    /// does. That saves a thread switch, but blocks for as long as the disk takes.
    pub fn would_lead(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| {
            matches!(&waiting.stage, Stage::Submitted { submission, .. } if submission.would_lead())
        })
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

/// How a call goes on.
enum Next {
    Answered(Reply),
    Waits(Box<Waiting>),
}

impl Waiting {
    fn wait(self) -> Reply {
        let Self { database, operation, stage } = self;
        match stage {
            Stage::Submitted { submission, decided, answer } => {
                conclude(&database, operation, decided, answer, submission.wait())
            }
            stage => block_on(WaitingCall {
                waiting: Some(Box::new(Self { database, operation, stage })),
            }),
        }
    }

    /// Polls what it waits for, and goes on as far as that allows.
    fn advance(mut self: Box<Self>, context: &mut Context<'_>) -> Next {
        let found = match &mut self.stage {
            Stage::Reading { read, .. } => match poll_read(read, context) {
                Poll::Pending => return Next::Waits(self),
                Poll::Ready(answer) => return self.run_with(answer),
            },
            Stage::LookingUp { lookup, .. } => match lookup.as_mut().poll(context) {
                Poll::Pending => return Next::Waits(self),
                Poll::Ready(found) => found,
            },
            Stage::Submitted { submission, .. } => match Pin::new(submission).poll(context) {
                Poll::Pending => return Next::Waits(self),
                Poll::Ready(outcome) => return self.conclude(outcome),
            },
            Stage::Elsewhere(elsewhere) => match Pin::new(elsewhere).poll(context) {
                Poll::Pending => return Next::Waits(self),
                Poll::Ready(reply) => return Next::Answered(reply),
            },
        };
        let Self { database, operation, stage } = *self;
        let Stage::LookingUp { planned, request, .. } = stage else {
            return Next::Answered(database.refusal(Some(operation), &lost()));
        };
        let PlannedWrite { write, answer } = *planned;
        let item_on_failure = answer.returns.item_on_failure;
        let submitted = found
            .map_err(store_error)
            .and_then(|found| write::submit_with(database.inner(), write, item_on_failure, found));
        match submitted {
            Ok(Some((submission, decided))) => {
                let stage = Stage::Submitted { submission, decided, answer };
                Next::Waits(Box::new(Self { database, operation, stage }))
            }
            Ok(None) => in_thread(database, operation, request),
            Err(error) => Next::Answered(database.refusal(Some(operation), &error)),
        }
    }

    /// Runs a read whose question was answered.
    fn run_with(self: Box<Self>, answer: Result<Answer>) -> Next {
        let Self { database, operation, stage } = *self;
        let Stage::Reading { question, request, .. } = stage else {
            return Next::Answered(database.refusal(Some(operation), &lost()));
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Next::Answered(database.refusal(Some(operation), &error)),
        };
        let inner = database.inner();
        // The answer came with the epoch: of these tables, or the request begins anew.
        let is_current =
            || inner.store.epoch() == request.epoch && inner.catalog.epoch() == request.epoch;
        if !is_current() {
            return in_thread(database, operation, request);
        }
        let run = || database.answer_now(operation, &request.body);
        let replied = asking::with(question, answer, run);
        // Others may have read changed tables since.
        if !is_current() {
            return in_thread(database, operation, request);
        }
        match replied {
            Some(Ok(body)) => Next::Answered(Reply::ok(body)),
            Some(Err(error)) => Next::Answered(database.refusal(Some(operation), &error)),
            None => in_thread(database, operation, request),
        }
    }

    /// Replies to a write whose outcome is known; one that has met a conflict is tried again where that may block.
    fn conclude(self: Box<Self>, outcome: Result<(), CommitError>) -> Next {
        let Self { database, operation, stage } = *self;
        let Stage::Submitted { decided, answer, .. } = stage else {
            return Next::Answered(database.refusal(Some(operation), &lost()));
        };
        if outcome.is_ok() || !database.inner().store.waits() {
            return Next::Answered(conclude(&database, operation, decided, answer, outcome));
        }
        let again = database.clone();
        let work = move || conclude(&again, operation, decided, answer, outcome);
        let stage = Stage::Elsewhere(Elsewhere::run(&database.inner().workers, work));
        Next::Waits(Box::new(Self { database, operation, stage }))
    }
}

fn poll_read(read: &mut Read, context: &mut Context<'_>) -> Poll<Result<Answer>> {
    let answer = match read {
        Read::Value(lookup) => ready!(lookup.as_mut().poll(context))
            .map(|mut found| Answer::Value(found.values.pop().flatten())),
        Read::Page(page) => ready!(page.as_mut().poll(context)).map(Answer::Page),
    };
    Poll::Ready(answer.map_err(store_error))
}

/// Runs a request where it may block: the tables have changed meanwhile, or it has more questions than one. Seldom.
fn in_thread(database: Database, operation: Operation, request: Request) -> Next {
    let again = database.clone();
    let work = move || again.call_operation(operation, &request.body);
    let stage = Stage::Elsewhere(Elsewhere::run(&database.inner().workers, work));
    Next::Waits(Box::new(Waiting { database, operation, stage }))
}

/// A stage is what it was a moment ago.
fn lost() -> Error {
    Error::InternalServer("the call has lost its place".into())
}

impl Future for WaitingCall {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        // Polled after completion: the contract of futures leaves the result open.
        let Some(mut waiting) = self.waiting.take() else { return Poll::Pending };
        loop {
            let before = std::mem::discriminant(&waiting.stage);
            waiting = match waiting.advance(context) {
                Next::Answered(reply) => return Poll::Ready(reply),
                Next::Waits(waiting) => waiting,
            };
            if std::mem::discriminant(&waiting.stage) == before {
                self.waiting = Some(waiting);
                return Poll::Pending;
            }
            // It waits for something else, which may be there already.
        }
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take()
            && matches!(waiting.stage, Stage::Submitted { .. })
        {
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

/// Wakes a thread that waits for a call.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on(call: WaitingCall) -> Reply {
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut call = pin!(call);
    loop {
        match call.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(reply) => return reply,
            Poll::Pending => thread::park(),
        }
    }
}

fn conclude(
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
