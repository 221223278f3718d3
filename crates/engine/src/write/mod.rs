//! The one executor of writes.
//!
//! Single writes, batches, transactions, PartiQL and the TTL sweeper all plan [`Write`]s. An execution
//! ([`execution`]) locks the items, reads their images, evaluates the conditions, and commits the new images together
//! with the index entries and stream records derived from them ([`effect`]).

mod conflict;
mod effect;
mod entry;
mod execution;
mod observed;
mod one_or_more;
mod outcome;
mod plan;
mod vector;

use keyloom_core::{Operation, Result};
use keyloom_store::{CommitError, LookedUp, Submission};

pub(crate) use conflict::InFlight;
pub(crate) use entry::{Entry, entry_in};
pub(crate) use execution::Companion;
use execution::{DecidedWrites, Execution};
pub(crate) use one_or_more::OneOrMore;
pub(crate) use outcome::{Failure, Refusal, Written, cancelled, reason_of};
pub(crate) use plan::{Edit, Origin, Write};

use crate::database::Inner;

/// Writes one item and blocks until the write is durable. Waits for the item lock.
pub(crate) fn one(database: &Inner, write: Write, return_item: bool) -> Result<Written> {
    let mut execution = Execution::new(database, OneOrMore::one(write));
    let written = execution.begin_single().and_then(|()| execution.run());
    single(written, return_item)
}

/// Submits the write of one item without waiting until it is durable. `None` if it would block before it is
/// submitted: on a change of its table, or on an item lock that is held for long.
pub(crate) fn submit(
    database: &Inner,
    write: Write,
    return_item: bool,
) -> Result<Option<(Submission, DecidedWrite)>> {
    let execution = Execution::new(database, OneOrMore::one(write));
    let submitted = execution.submit().map_err(|failure| failure.into_error(return_item))?;
    Ok(submitted.map(|(submission, decided)| (submission, DecidedWrite { decided, return_item })))
}

/// The same for a caller that has looked the item up in a store behind a network.
pub(crate) fn submit_with(
    database: &Inner,
    write: Write,
    return_item: bool,
    found: LookedUp,
) -> Result<Option<(Submission, DecidedWrite)>> {
    let execution = Execution::new(database, OneOrMore::one(write)).knowing(found);
    let submitted = execution.submit().map_err(|failure| failure.into_error(return_item))?;
    Ok(submitted.map(|(submission, decided)| (submission, DecidedWrite { decided, return_item })))
}

/// A submitted single write: only its durability is still open.
pub(crate) struct DecidedWrite {
    decided: DecidedWrites,
    return_item: bool,
}

impl DecidedWrite {
    /// Completes the write with the outcome of its commit.
    pub(crate) fn conclude(
        self,
        database: &Inner,
        outcome: Result<(), CommitError>,
    ) -> Result<Written> {
        single(self.decided.conclude(database, outcome), self.return_item)
    }
}

fn single(written: Result<OneOrMore<Written>, Failure>, return_item: bool) -> Result<Written> {
    written.map(OneOrMore::into_first).map_err(|failure| failure.into_error(return_item))
}

/// Writes several items without conditions, each for itself, in one commit. `None` for an item that
/// a transaction holds or that was throttled; an error if all were throttled.
pub(crate) fn each(database: &Inner, writes: Vec<Write>) -> Result<Vec<Option<Written>>> {
    let mut results: Vec<Option<Written>> = writes.iter().map(|_| None).collect();
    let is_free = |write: &Write| database.in_flight.check_single(&write.store_key).is_ok();
    let free = writes.into_iter().enumerate().filter(|(_, write)| is_free(write));
    let (mut positions, free): (Vec<usize>, Vec<Write>) = free.unzip();
    let Some(free) = OneOrMore::of(free) else { return Ok(results) };
    let mut execution = Execution::observed(database, free, Operation::BatchWriteItem);
    let mut outcome = execution.run();
    if let Err(Failure::Throttled(refusals)) = outcome {
        // Retry without the throttled writes; the others have their throughput.
        for (position, _) in refusals.iter().rev() {
            positions.remove(*position);
        }
        let Some(mut admitted) = execution.without(&refusals) else {
            return Err(refusals.into_first().1);
        };
        outcome = admitted.run();
    }
    match outcome {
        Ok(written) => {
            for (position, written) in positions.into_iter().zip(written) {
                if let Some(result) = results.get_mut(position) {
                    *result = Some(written);
                }
            }
            Ok(results)
        }
        Err(Failure::Conflict(_)) => Ok(results),
        Err(failure) => Err(failure.into_error(false)),
    }
}

/// Writes several items, each for itself, in one commit if all conditions hold, else one by one. One
/// result per write.
pub(crate) fn several(database: &Inner, writes: OneOrMore<Write>) -> Result<Vec<Result<()>>> {
    let mut execution = Execution::new(database, writes);
    let is_free = |write: &Write| database.in_flight.check_single(&write.store_key).is_ok();
    if execution.writes().iter().all(is_free) {
        match execution.run() {
            Ok(written) => return Ok(written.into_iter().map(|_| Ok(())).collect()),
            Err(Failure::Error(error)) => return Err(error),
            Err(_) => {}
        }
    }
    let writes = execution.into_writes().into_iter();
    Ok(writes.map(|write| one(database, write, false).map(drop)).collect())
}

/// Writes all items or none. Items that another request holds make it fail at once, as on AWS.
pub(crate) fn all(
    database: &Inner,
    writes: OneOrMore<Write>,
    companion: Option<Companion>,
) -> Result<OneOrMore<Written>, Failure> {
    let keys: Vec<Vec<u8>> = writes.iter().map(|write| write.store_key.clone()).collect();
    let execution = Execution::observed(database, writes, Operation::TransactWriteItems);
    let mut execution = execution.with(companion);
    let _transaction = match database.in_flight.enter_transaction(&keys) {
        Ok(transaction) => transaction,
        Err(conflicts) => return Err(execution.conflict_of(conflicts)),
    };
    execution.run()
}
