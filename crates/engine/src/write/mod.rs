//! The one executor of writes.
//!
//! Single writes, batches, transactions, PartiQL and the TTL sweeper all lower to [`Write`]s. An
//! execution locks its items, reads their images, judges the conditions, and commits the new images
//! together with every index entry and stream record that follows from them.

mod conflict;
mod effect;
mod entry;
mod vector;
mod watched;

use std::sync::Arc;
use std::time::Duration;

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::CancellationReason;
use keyloom_core::expr::{Condition, Update};
use keyloom_core::observation::Operation;
use keyloom_core::{Error, Item, Result};
use keyloom_store::{CommitError, Submission, Transaction};
use smallvec::SmallVec;

pub(crate) use conflict::InFlight;
use effect::Effect;
pub(crate) use entry::{Entry, entry_in};
use watched::{PausedWrites, Watched};

use crate::catalog::Table;
use crate::database::Inner;
use crate::store_error;
use keyloom_core::image::Stored;

/// A list that needs no allocation for the usual single write.
type Few<T> = SmallVec<[T; 1]>;

/// How often a write is tried again when the store reports a conflict.
const MAX_ATTEMPTS: usize = 64;

/// How long a write that must not wait waits for its item: not longer than going to another thread and
/// back would take. Who only writes the same item holds it for a few microseconds.
const PATIENCE: Duration = Duration::from_micros(50);

/// One item to write.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) table: Arc<Table>,
    /// The item's primary key, validated against the table's schema.
    pub(crate) key: Item,
    pub(crate) condition: Option<Condition>,
    pub(crate) edit: Edit,
    /// Who writes: the TTL sweeper signs its stream records.
    pub(crate) origin: Origin,
}

/// What happens to the item.
#[derive(Debug)]
pub(crate) enum Edit {
    /// It becomes this item.
    Put(Arc<Item>),
    /// It is changed by an update expression.
    Update(Update),
    /// It is removed.
    Delete,
    /// Nothing: only the condition is judged.
    Check,
}

/// Who asked for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Origin {
    /// A request.
    #[default]
    User,
    /// The removal of expired items.
    TimeToLive,
    /// A restore, an import or a bulk operation, which no table's throughput pays for.
    Loading,
}

/// What a write did.
#[derive(Debug)]
pub(crate) struct Written {
    /// The item before.
    pub(crate) old: Option<Stored>,
    /// The item after.
    pub(crate) new: Option<Arc<Item>>,
    /// What it costs outside a transaction.
    pub(crate) cost: ConsumedCapacity,
}

/// Why a write was refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Its condition was false; the item as it is.
    Condition(Option<Item>),
    /// The edit cannot be made on this item.
    Invalid(Error),
}

impl Refusal {
    /// The refusal as a single write reports it.
    pub(crate) fn into_error(self, return_item: bool) -> Error {
        match self {
            Self::Condition(item) => {
                Error::ConditionalCheckFailed { item: item.filter(|_| return_item) }
            }
            Self::Invalid(error) => error,
        }
    }
}

/// Why a set of writes failed as a whole.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Some writes were refused; one entry per write.
    Refused(Vec<Option<Refusal>>),
    /// Another request holds some of the items; one entry per write.
    Conflict(Vec<bool>),
    /// Some writes were refused for lack of throughput; one entry per write. The others of a batch
    /// may go on.
    Throttled(Vec<Option<Error>>),
    /// The writes could not be tried, or their outcome is not known.
    Error(Error),
}

impl Failure {
    /// The failure as a single write reports it.
    fn of_single(self, return_item: bool) -> Error {
        match self {
            Self::Refused(mut refusals) => match refusals.pop().flatten() {
                Some(refusal) => refusal.into_error(return_item),
                None => Error::InternalServer("a write was refused without a reason".into()),
            },
            Self::Conflict(_) => keyloom_core::error::request::transaction_conflict(),
            Self::Throttled(refusals) => throttled(&refusals),
            Self::Error(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A record that is stored in the same commit as the writes.
#[derive(Debug)]
pub(crate) struct Companion {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Writes one item; waits for others that write it.
pub(crate) fn one(database: &Inner, mut write: Write, return_item: bool) -> Result<Written> {
    let key = write.table.item_key(&write.key)?;
    let (writes, keys) = (std::slice::from_mut(&mut write), std::slice::from_ref(&key));
    let mut watched = watch_single(database, writes, keys)?;
    let written = attempt_until_decided(database, writes, keys, None, watched.as_mut());
    only(written, return_item)
}

/// Submits the write of one item, as [`one`] makes it, without waiting until it is durable. `None` if it
/// would have to wait first: for a change of its table, or for somebody who holds its item for long.
pub(crate) fn submit(
    database: &Inner,
    mut write: Write,
    return_item: bool,
) -> Result<Option<(Submission, DecidedWrite)>> {
    let key = write.table.item_key(&write.key)?;
    let shared = Arc::clone(&write.table.shared);
    let Some(_gate) = shared.gate.try_read() else { return Ok(None) };
    // Before it is watched: what is not begun will be watched when it is.
    let transaction = database.store.begin_within(&[&key], PATIENCE).map_err(store_error)?;
    let Some(mut transaction) = transaction else { return Ok(None) };
    let (writes, keys) = (std::slice::from_mut(&mut write), std::slice::from_ref(&key));
    let mut watched = watch_single(database, writes, keys)?;
    let _counted = database.counted.doubted_on_panic();
    for _ in 0..MAX_ATTEMPTS {
        refresh_tables(database, writes)?;
        match stage_inside(database, writes, keys, None, watched.as_mut(), transaction) {
            Ok(Some((submission, verdict))) => {
                let watched = watched.map(|watched| watched.pause());
                let decided = DecidedWrite { write, key, verdict, watched, return_item };
                return Ok(Some((submission, decided)));
            }
            Ok(None) => {
                let again = database.store.begin_within(&[&key], PATIENCE).map_err(store_error)?;
                // Its capacity is taken, so that it cannot be begun anew elsewhere: the client may.
                let Some(again) = again else { break };
                transaction = again;
            }
            Err(failure) => return Err(failure.of_single(return_item)),
        }
    }
    Err(given_up(writes, keys, watched.as_mut()).of_single(return_item))
}

/// Begins to watch a single write. Refuses it if a transaction holds its item.
fn watch_single<'a>(
    database: &'a Inner,
    writes: &[Write],
    keys: &[Vec<u8>],
) -> Result<Option<Watched<'a>>> {
    let watched = writes.first().and_then(|write| watched::one(database, write));
    if let Err(conflict) = keys.iter().try_for_each(|key| database.in_flight.check_single(key)) {
        if let Some(watched) = watched {
            watched.conflict(writes, keys);
        }
        return Err(conflict);
    }
    Ok(watched)
}

/// The result of a single write.
fn only(written: Result<Vec<Written>, Failure>, return_item: bool) -> Result<Written> {
    let mut written = written.map_err(|failure| failure.of_single(return_item))?;
    written.pop().ok_or_else(|| Error::InternalServer("a write left no result".into()))
}

/// A single write that is submitted: all that is left to know is whether it is durable.
pub(crate) struct DecidedWrite {
    write: Write,
    key: Vec<u8>,
    verdict: Verdict,
    watched: Option<PausedWrites>,
    return_item: bool,
}

impl DecidedWrite {
    /// What became of it.
    pub(crate) fn conclude(
        self,
        database: &Inner,
        outcome: Result<(), CommitError>,
    ) -> Result<Written> {
        let Self { write, key, verdict, watched, return_item } = self;
        let _counted = database.counted.doubted_on_panic();
        let (writes, keys) = (std::slice::from_ref(&write), std::slice::from_ref(&key));
        let mut watched = watched.and_then(|watched| watched.resume(database));
        let written = conclude(database, writes, keys, verdict, outcome, watched.as_mut());
        // A store that reports a conflict this late leaves it to the client to try again.
        let conflict = || Failure::Conflict(vec![true]);
        only(written.and_then(|written| written.ok_or_else(conflict)), return_item)
    }
}

/// Writes several items without conditions, each for itself, in one commit. `None` for an item that
/// a transaction holds, or for which there is no throughput; an error if there is none for any.
pub(crate) fn each(database: &Inner, writes: Vec<Write>) -> Result<Vec<Option<Written>>> {
    let mut is_free = Vec::with_capacity(writes.len());
    let (mut free, mut keys) = (Vec::new(), Vec::new());
    for write in writes {
        let key = write.table.item_key(&write.key)?;
        let is_held = database.in_flight.check_single(&key).is_err();
        is_free.push(!is_held);
        if !is_held {
            free.push(write);
            keys.push(key);
        }
    }
    let mut watched = watched::many(database, Operation::BatchWriteItem, &free);
    let mut outcome = attempt_until_decided(database, &mut free, &keys, None, watched.as_mut());
    if let Err(Failure::Throttled(refusals)) = &outcome {
        if refusals.iter().all(Option::is_some) {
            return Err(throttled(refusals));
        }
        // The others have their capacity: they are tried without those that were refused.
        retain_admitted(&mut free, refusals);
        retain_admitted(&mut keys, refusals);
        let mut admitted = refusals.iter().map(Option::is_none);
        for is_free in is_free.iter_mut().filter(|is_free| **is_free) {
            *is_free = admitted.next() == Some(true);
        }
        outcome = attempt_until_decided(database, &mut free, &keys, None, watched.as_mut());
    }
    let written = match outcome {
        Ok(written) => written,
        Err(Failure::Error(error)) => return Err(error),
        Err(Failure::Throttled(refusals)) => return Err(throttled(&refusals)),
        Err(Failure::Conflict(_)) => return Ok(is_free.iter().map(|_| None).collect()),
        Err(Failure::Refused(refusals)) => {
            let refusal = refusals.into_iter().flatten().next();
            return Err(refusal.map_or_else(
                || Error::InternalServer("a write was refused without a reason".into()),
                |refusal| refusal.into_error(false),
            ));
        }
    };
    let mut written = written.into_iter();
    Ok(is_free.into_iter().map(|is_free| is_free.then(|| written.next()).flatten()).collect())
}

/// Writes several items, each for itself, in one commit if all conditions hold, else one by one. One
/// result per write.
pub(crate) fn several(database: &Inner, mut writes: Vec<Write>) -> Result<Vec<Result<()>>, Error> {
    let keys: Vec<Vec<u8>> =
        writes.iter().map(|write| write.table.item_key(&write.key)).collect::<Result<_>>()?;
    if keys.iter().all(|key| database.in_flight.check_single(key).is_ok()) {
        match attempt_until_decided(database, &mut writes, &keys, None, None) {
            Ok(written) => return Ok(written.into_iter().map(|_| Ok(())).collect()),
            Err(Failure::Error(error)) => return Err(error),
            Err(Failure::Refused(_) | Failure::Conflict(_) | Failure::Throttled(_)) => {}
        }
    }
    Ok(writes.into_iter().map(|write| one(database, write, false).map(drop)).collect())
}

/// Writes all items or none. Items that another request holds make it fail at once, as on AWS.
pub(crate) fn all(
    database: &Inner,
    mut writes: Vec<Write>,
    companion: Option<Companion>,
) -> Result<Vec<Written>, Failure> {
    let keys: Vec<Vec<u8>> =
        writes.iter().map(|write| write.table.item_key(&write.key)).collect::<Result<_>>()?;
    let mut watched = watched::many(database, Operation::TransactWriteItems, &writes);
    let _transaction = match database.in_flight.enter_transaction(&keys) {
        Ok(transaction) => transaction,
        Err(conflicts) => {
            if let Some(watched) = watched {
                watched.conflict(&writes, &keys);
            }
            return Err(Failure::Conflict(conflicts));
        }
    };
    attempt_until_decided(database, &mut writes, &keys, companion.as_ref(), watched.as_mut())
}

/// Leaves those for which there was capacity.
fn retain_admitted<T>(list: &mut Vec<T>, refusals: &[Option<Error>]) {
    let mut refusals = refusals.iter();
    list.retain(|_| refusals.next().is_some_and(Option::is_none));
}

fn throttled(refusals: &[Option<Error>]) -> Error {
    let refusal = refusals.iter().flatten().next().cloned();
    refusal.unwrap_or_else(|| Error::InternalServer("a write was refused without a reason".into()))
}

/// The reasons of a cancelled transaction, one per write.
pub(crate) fn cancellation(
    refusals: Vec<Option<Refusal>>,
    return_items: &[bool],
) -> Vec<CancellationReason> {
    use keyloom_core::error::{CancellationCode, request};
    let reason = |(position, refusal): (usize, Option<Refusal>)| match refusal {
        None => CancellationReason::default(),
        Some(Refusal::Condition(item)) => CancellationReason {
            code: CancellationCode::ConditionalCheckFailed,
            message: Some(request::CONDITIONAL_REQUEST_FAILED.into()),
            item: item.filter(|_| return_items.get(position) == Some(&true)),
        },
        Some(Refusal::Invalid(error)) => CancellationReason {
            code: request::cancellation_code(&error),
            message: Some(error.message()),
            item: None,
        },
    };
    refusals.into_iter().enumerate().map(reason).collect()
}

fn attempt_until_decided(
    database: &Inner,
    writes: &mut [Write],
    keys: &[Vec<u8>],
    companion: Option<&Companion>,
    mut watched: Option<&mut Watched<'_>>,
) -> Result<Vec<Written>, Failure> {
    for _ in 0..MAX_ATTEMPTS {
        if let Some(written) = attempt(database, writes, keys, companion, watched.as_deref_mut())? {
            return Ok(written);
        }
    }
    Err(given_up(writes, keys, watched))
}

/// The store reported a conflict time and again.
fn given_up(writes: &[Write], keys: &[Vec<u8>], watched: Option<&mut Watched<'_>>) -> Failure {
    if let Some(watched) = watched {
        watched.conflict(writes, keys);
    }
    Failure::Conflict(vec![true; writes.len()])
}

/// One attempt; `None` if it met a conflict in the store and must be repeated.
fn attempt(
    database: &Inner,
    writes: &mut [Write],
    keys: &[Vec<u8>],
    companion: Option<&Companion>,
    mut watched: Option<&mut Watched<'_>>,
) -> Result<Option<Vec<Written>>, Failure> {
    let _counted = database.counted.doubted_on_panic();
    let staged = stage(database, writes, keys, companion, watched.as_deref_mut())?;
    let Some((submission, verdict)) = staged else { return Ok(None) };
    conclude(database, writes, keys, verdict, submission.wait(), watched)
}

/// What will be told of writes once everything they rest on is durable.
enum Verdict {
    /// They are done.
    Done(Vec<Effect>),
    /// Some were refused; one entry per write.
    Refused(Vec<Option<Refusal>>),
}

/// Waits until no table of the writes is being changed, and stages them.
fn stage(
    database: &Inner,
    writes: &mut [Write],
    keys: &[Vec<u8>],
    companion: Option<&Companion>,
    watched: Option<&mut Watched<'_>>,
) -> Result<Option<(Submission, Verdict)>, Failure> {
    let shared: Few<_> = writes.iter().map(|write| Arc::clone(&write.table.shared)).collect();
    // Held until the writes are submitted: who changes a table waits for them there.
    let _gates: Few<_> = {
        // One guard per table: a thread must not take the same gate twice.
        let mut tables: Few<_> = shared.iter().collect();
        tables.sort_by_key(|shared| Arc::as_ptr(shared));
        tables.dedup_by(|a, b| Arc::ptr_eq(a, b));
        tables.into_iter().map(|shared| shared.gate.read()).collect()
    };
    refresh_tables(database, writes)?;
    let locks: Few<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let transaction = database.store.begin(&locks).map_err(store_error)?;
    stage_inside(database, writes, keys, companion, watched, transaction)
}

/// Decides what the writes do and submits it; `None` if that met a conflict in the store. The caller
/// holds the gates of their tables, and the transaction has locked their items.
fn stage_inside(
    database: &Inner,
    writes: &[Write],
    keys: &[Vec<u8>],
    companion: Option<&Companion>,
    watched: Option<&mut Watched<'_>>,
    mut transaction: Box<dyn Transaction + '_>,
) -> Result<Option<(Submission, Verdict)>, Failure> {
    let locks: Few<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let images = transaction.get_many(&locks).map_err(store_error)?;

    let mut effects = Vec::with_capacity(writes.len());
    let mut refusals: Vec<Option<Refusal>> = Vec::new();
    for (position, (write, image)) in writes.iter().zip(images).enumerate() {
        match effect::of(write, image.map(Stored::new)) {
            Ok(effect) => effects.push(effect),
            Err(refusal) => {
                refusals.resize_with(position, || None);
                refusals.push(Some(refusal));
            }
        }
    }
    if !refusals.is_empty() {
        refusals.resize_with(writes.len(), || None);
        // What was refused may rest on a write that is not durable yet.
        return submitted(database, transaction.submit_read(), Verdict::Refused(refusals));
    }
    if let Some(watched) = watched {
        watched.admit(writes, keys, &effects)?;
    }
    if companion.is_none() && !effects.iter().any(Effect::changes_something) {
        return submitted(database, transaction.submit_read(), Verdict::Done(effects));
    }
    stage_effects(database, writes, keys, &effects, transaction.as_mut());
    if let Some(companion) = companion {
        transaction.put(companion.key.clone().into(), companion.value.clone().into());
    }
    submitted(database, transaction.submit(), Verdict::Done(effects))
}

/// Puts what the writes do into a transaction, with their stream records.
fn stage_effects(
    database: &Inner,
    writes: &[Write],
    keys: &[Vec<u8>],
    effects: &[Effect],
    transaction: &mut dyn Transaction,
) {
    let sequences = database.streams.reserve(effects.iter().filter(|e| e.is_streamed()).count());
    let mut numbers = sequences.numbers();
    for ((write, key), effect) in writes.iter().zip(keys).zip(effects) {
        effect.stage(key, transaction);
        if effect.is_streamed()
            && let Some(sequence) = numbers.next()
        {
            effect.stage_record(write, key, sequence, database.clock.now_ms(), transaction);
        }
    }
    if !sequences.numbers().is_empty() {
        // No stream is read beyond them before these writes can be seen.
        transaction.keep(Box::new(sequences));
    }
}

fn submitted(
    database: &Inner,
    submission: Result<Submission, CommitError>,
    verdict: Verdict,
) -> Result<Option<(Submission, Verdict)>, Failure> {
    match submission {
        Ok(submission) => Ok(Some((submission, verdict))),
        Err(error) => not_committed(database, error).map(|()| None),
    }
}

/// Nothing, if writes met a conflict in the store and may be tried again.
fn not_committed(database: &Inner, error: CommitError) -> Result<(), Failure> {
    match error {
        CommitError::Conflict => Ok(()),
        CommitError::Failed(error) => Err(Failure::Error(store_error(error))),
        CommitError::Unknown(error) => {
            database.counted.doubt();
            Err(Failure::Error(store_error(error)))
        }
    }
}

/// Tells what became of writes once their fate is known; `None` if the store reported a conflict.
fn conclude(
    database: &Inner,
    writes: &[Write],
    keys: &[Vec<u8>],
    verdict: Verdict,
    outcome: Result<(), CommitError>,
    watched: Option<&mut Watched<'_>>,
) -> Result<Option<Vec<Written>>, Failure> {
    if let Err(error) = outcome {
        return not_committed(database, error).map(|()| None);
    }
    match verdict {
        Verdict::Done(effects) => {
            for (write, effect) in writes.iter().zip(&effects) {
                effect.count(write);
                effect.note_expiry(database, write);
            }
            if let Some(watched) = watched {
                watched.done(writes, keys, &effects);
            }
            let written = |(write, effect): (&Write, Effect)| effect.into_written(write);
            Ok(Some(writes.iter().zip(effects).map(written).collect()))
        }
        Verdict::Refused(refusals) => {
            if let Some(watched) = watched {
                watched.refused(writes, keys, &refusals)?;
            }
            Err(Failure::Refused(refusals))
        }
    }
}

/// Takes the current version of each table: an index may have come or gone since the plan.
fn refresh_tables(database: &Inner, writes: &mut [Write]) -> Result<()> {
    for write in writes {
        let current = database.catalog.find(write.table.name());
        let current = current.ok_or_else(keyloom_core::error::request::resource_not_found)?;
        if current.version != write.table.version {
            if current.record.id != write.table.record.id {
                return Err(keyloom_core::error::request::resource_not_found());
            }
            write.table = current;
        }
    }
    Ok(())
}
