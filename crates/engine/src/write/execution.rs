//! The one driver of writes: planned → staged → decided → done.
//!
//! An [`Execution`] holds the planned writes of one request. [`Execution::stage`] locks the items, evaluates the
//! conditions on their images and submits the effects; the [`Decision`] is what to report once the submission is
//! durable; [`Execution::conclude`] reports it. All conflicts in the store are retried in one loop with one limit.

use std::time::Duration;

use keyloom_core::error::request;
use keyloom_core::image::Stored;
use keyloom_core::{Operation, Result};
use keyloom_store::{Bytes, CommitError, LookedUp, Submission, Transaction};
use smallvec::SmallVec;

use crate::catalog::record::Status;
use crate::catalog::{Table, note_written};
use crate::database::Inner;
use crate::{idempotency, layout, replication, store_error};

use super::effect::{self, Effect};
use super::observed::{self, ObservedWrites, PausedWrites};
use super::{Failure, OneOrMore, Origin, Refusal, Write, Written};

/// A list that needs no allocation for the usual single write.
type Few<T> = SmallVec<[T; 1]>;

/// How often writes are tried when the store reports a conflict.
const MAX_ATTEMPTS: usize = 64;

/// How long a non-blocking write waits for its item lock before it moves to the pool: about one thread hop.
const PATIENCE: Duration = Duration::from_micros(50);

/// The record of a client token that is stored in the same commit as the writes, unless there is one.
#[derive(Debug)]
pub(crate) struct Companion {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// When it was made: what expired before is overwritten.
    pub(crate) now_ms: u64,
}

/// Whether to wait for changes of tables and for item locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// As long as it takes.
    Blocking,
    /// Not at all for table changes, and [`PATIENCE`] for item locks.
    NonBlocking,
}

/// The writes of one request on their way.
pub(super) struct Execution<'a> {
    database: &'a Inner,
    writes: OneOrMore<Write>,
    companion: Option<Companion>,
    observed: Option<ObservedWrites<'a>>,
    attempts_left: usize,
    /// What was looked up for the first attempt.
    known: Option<LookedUp>,
}

/// How an attempt to stage writes ended.
enum Staged {
    /// Submitted: only the durability is still open.
    Submitted(Submission, Decision),
    /// The store reported a conflict: try again.
    Conflict,
    /// A table or an item was not free at once, and the write must not wait.
    Busy,
}

/// What will be reported of writes once everything they depend on is durable.
enum Decision {
    Done(OneOrMore<Box<Effect>>),
    Refused(OneOrMore<(usize, Refusal)>),
    /// The transaction of this token's record was done before.
    Repeated(Bytes),
}

impl<'a> Execution<'a> {
    /// Writes that are not observed yet.
    pub(super) fn new(database: &'a Inner, writes: OneOrMore<Write>) -> Self {
        let (companion, observed, known) = (None, None, None);
        Self { database, writes, companion, observed, attempts_left: MAX_ATTEMPTS, known }
    }

    /// Writes that are observed as this operation from now on.
    pub(super) fn observed(
        database: &'a Inner,
        writes: OneOrMore<Write>,
        operation: Operation,
    ) -> Self {
        let observed = observed::begin(database, operation, &writes);
        Self { observed, ..Self::new(database, writes) }
    }

    /// The same with what was looked up before.
    pub(super) fn knowing(self, found: LookedUp) -> Self {
        Self { known: Some(found), ..self }
    }

    /// The same with a record in the same commit.
    pub(super) fn with(self, companion: Option<Companion>) -> Self {
        Self { companion, ..self }
    }

    /// The planned writes.
    pub(super) fn writes(&self) -> &OneOrMore<Write> {
        &self.writes
    }

    /// The planned writes, by value.
    pub(super) fn into_writes(self) -> OneOrMore<Write> {
        self.writes
    }

    /// The same without the writes at these positions; none if none remains.
    pub(super) fn without<T>(self, positions: &OneOrMore<(usize, T)>) -> Option<Self> {
        let mut left_out = positions.iter().map(|(position, _)| *position).peekable();
        let writes = self.writes.into_iter().enumerate();
        let rest = writes.filter(|(position, _)| left_out.next_if_eq(position).is_none());
        let writes = OneOrMore::of(rest.map(|(_, write)| write))?;
        Some(Self { writes, ..self })
    }

    /// Begins to observe a single write, and refuses it if a transaction holds its item.
    pub(super) fn begin_single(&mut self) -> Result<(), Failure> {
        let Self { database, writes, .. } = self;
        self.observed = observed::begin_single(database, writes);
        let is_held = |write: &Write| database.in_flight.check_single(&write.store_key).is_err();
        if writes.iter().any(is_held) { Err(self.conflict()) } else { Ok(()) }
    }

    /// Another request holds the items.
    pub(super) fn conflict(&self) -> Failure {
        self.conflict_of(vec![true; self.writes.len()])
    }

    /// Another request holds those items that `conflicts` says.
    pub(super) fn conflict_of(&self, conflicts: Vec<bool>) -> Failure {
        if let Some(observed) = &self.observed {
            observed.conflict(&self.writes);
        }
        Failure::Conflict(conflicts)
    }

    /// Runs the writes to their end and waits until they are durable.
    pub(super) fn run(&mut self) -> Result<OneOrMore<Written>, Failure> {
        let _counted = self.database.counted.doubted_on_panic();
        loop {
            let Staged::Submitted(submission, decision) = self.submitted(Waiting::Blocking)? else {
                return Err(self.conflict());
            };
            if let Some(written) = self.conclude(decision, submission.wait())? {
                return Ok(written);
            }
        }
    }

    /// Submits a single write without waiting for anything. `None` if it would have to wait before it has
    /// begun.
    pub(super) fn submit(mut self) -> Result<Option<(Submission, DecidedWrites)>, Failure> {
        let _counted = self.database.counted.doubted_on_panic();
        match self.submitted(Waiting::NonBlocking)? {
            Staged::Submitted(submission, decision) => {
                let observed = self.observed.as_ref().map(ObservedWrites::pause);
                Ok(Some((submission, DecidedWrites { writes: self.writes, decision, observed })))
            }
            // Once it is observed its throughput is taken, so that it cannot begin anew elsewhere; the
            // client may try again.
            _ if self.has_begun() => Err(self.conflict()),
            _ => Ok(None),
        }
    }

    fn has_begun(&self) -> bool {
        self.attempts_left < MAX_ATTEMPTS
    }

    /// Stages the writes, again after each conflict in the store while attempts are left.
    fn submitted(&mut self, waiting: Waiting) -> Result<Staged, Failure> {
        while self.attempts_left > 0 {
            match self.stage(waiting)? {
                Staged::Conflict => {}
                staged => return Ok(staged),
            }
        }
        Ok(Staged::Conflict)
    }

    /// Locks tables and items, decides what the writes do and submits it.
    fn stage(&mut self, waiting: Waiting) -> Result<Staged, Failure> {
        let database = self.database;
        let epoch = database.catalog.epoch();
        self.refresh_tables()?;
        let companion = self.companion.as_ref().map(|companion| companion.key.as_slice());
        let items = self.writes.iter().map(|write| write.store_key.as_slice());
        let locks: Few<&[u8]> = items.chain(companion).collect();
        let transaction = match (waiting, self.known.take()) {
            (Waiting::Blocking, _) => database.store.begin(&locks).map(Some),
            (Waiting::NonBlocking, Some(found)) => {
                database.store.begin_with(&locks, PATIENCE, found)
            }
            // What it knew is of no use any more, and it must not wait.
            (Waiting::NonBlocking, None) if database.store.waits() => Ok(None),
            (Waiting::NonBlocking, None) => database.store.begin_within(&locks, PATIENCE),
        };
        let Some(mut transaction) = transaction.map_err(store_error)? else {
            return Ok(Staged::Busy);
        };
        transaction.expect_epoch(epoch);
        let mut images = transaction.get_many(&locks).map_err(store_error)?;
        drop(locks);
        // Seldom: it was read together with the items. In a store of this process alone it cannot change any more.
        if database.store.epoch() != epoch {
            drop(transaction);
            return self.outdated(waiting);
        }
        if waiting == Waiting::NonBlocking && !self.has_begun() {
            self.begin_single()?;
        }
        self.attempts_left -= 1;
        if let Some(companion) = &self.companion
            && let Some(record) = images.pop().flatten()
            && !idempotency::is_expired(&record, companion.now_ms)
        {
            // It may rest on a write that is not durable yet.
            return self.after(transaction.submit_read(), Decision::Repeated(record));
        }
        self.submit_into(transaction, images.into_iter().map(|image| image.map(Stored::new)))
    }

    /// The tables have changed since the plan.
    fn outdated(&mut self, waiting: Waiting) -> Result<Staged, Failure> {
        if waiting == Waiting::NonBlocking && !self.has_begun() {
            return Ok(Staged::Busy);
        }
        self.attempts_left -= 1;
        self.database.catalog.refresh(self.database.store.as_ref())?;
        Ok(Staged::Conflict)
    }

    /// Takes the current version of each table: an index may have been added or dropped since the plan.
    fn refresh_tables(&mut self) -> Result<()> {
        for write in self.writes.iter_mut() {
            let current = self.database.catalog.find(write.table.name());
            let current = current.ok_or_else(request::resource_not_found)?;
            if current.version != write.table.version {
                if current.record.id != write.table.record.id || is_open(write, &current) {
                    return Err(request::resource_not_found());
                }
                write.table = current;
            }
        }
        Ok(())
    }

    /// Decides what the writes do to these images and submits it. The transaction has locked the items.
    fn submit_into(
        &mut self,
        mut transaction: Box<dyn Transaction + '_>,
        mut images: impl Iterator<Item = Option<Stored>>,
    ) -> Result<Staged, Failure> {
        let judged = self.writes.map(|write| {
            let old = images.next().flatten();
            match replication::is_stale(write, transaction.as_ref()) {
                Ok(false) => effect::of(write, old),
                Ok(true) => Ok(effect::of_stale(old)),
                Err(error) => Err(Refusal::Invalid(error)),
            }
        });
        let mut effects = match judged.all_ok() {
            Ok(effects) => effects,
            // What was refused may rest on a write that is not durable yet.
            Err(refusals) => {
                return self.after(transaction.submit_read(), Decision::Refused(refusals));
            }
        };
        if let Some(observed) = &mut self.observed {
            observed.admit(&self.writes, &effects)?;
        }
        if self.companion.is_none() && !effects.iter().any(|effect| effect.changes_something()) {
            return self.after(transaction.submit_read(), Decision::Done(effects));
        }
        for (write, effect) in self.writes.iter().zip(effects.iter_mut()) {
            if write.table.filling().next().is_some() {
                effect.look_at_filling(write, transaction.as_ref())?;
            }
        }
        self.stage_effects(&effects, transaction.as_mut())?;
        if let Some(companion) = &self.companion {
            transaction.put(companion.key.clone().into(), companion.value.clone().into());
        }
        self.after(transaction.submit(), Decision::Done(effects))
    }

    /// Puts what the writes do into a transaction, with their stream records and what was before.
    fn stage_effects(
        &self,
        effects: &OneOrMore<Box<Effect>>,
        transaction: &mut dyn Transaction,
    ) -> Result<()> {
        let database = self.database;
        for (write, effect) in self.writes.iter().zip(effects) {
            effect.stage(write, transaction);
            if database.counted.is_in_store() {
                effect.stage_counts(write, transaction);
            }
            let mut version = None;
            if write.table.record.replication.is_some() {
                version = effect.is_streamed().then_some(database.streams.number());
                version = replication::next_version(write, version, transaction)?;
                effect.stage_version(write, version, &database.options.region, transaction);
            }
            if effect.is_streamed() {
                effect.stage_record(write, version, database.clock.now_ms(), transaction);
            }
        }
        if effects.iter().any(|effect| effect.is_recorded()) {
            self.stage_pasts(effects, transaction)?;
        }
        Ok(())
    }

    /// Puts what was before into a transaction, for the histories of the tables. One number for all: no time
    /// lies between the parts of a transaction.
    fn stage_pasts(
        &self,
        effects: &OneOrMore<Box<Effect>>,
        transaction: &mut dyn Transaction,
    ) -> Result<()> {
        let streams = &self.database.streams;
        let mut number = streams.number();
        let is_shared = self.database.store.is_shared();
        if is_shared {
            for (write, effect) in self.writes.iter().zip(effects) {
                if let Some(newest) = effect.newest_past(write, number, &*self.database.store)? {
                    streams.advance_past(newest);
                }
            }
            number = streams.number();
        }
        for (write, effect) in self.writes.iter().zip(effects) {
            effect.stage_past(write, number, is_shared, transaction);
        }
        if let Some(mark) = streams.new_mark(number) {
            transaction.put(layout::history_clock().into(), mark.to_be_bytes().to_vec().into());
        }
        Ok(())
    }

    fn after(
        &self,
        submission: Result<Submission, CommitError>,
        decision: Decision,
    ) -> Result<Staged, Failure> {
        match submission {
            Ok(submission) => Ok(Staged::Submitted(submission, decision)),
            Err(error) => self.not_committed(error).map(|()| Staged::Conflict),
        }
    }

    /// Nothing, if the store reported a conflict and the writes may be tried again.
    fn not_committed(&self, error: CommitError) -> Result<(), Failure> {
        self.database.streams.doubt_mark();
        match error {
            CommitError::Conflict => Ok(()),
            CommitError::Stale => {
                let database = self.database;
                Ok(database.catalog.refresh(database.store.as_ref())?)
            }
            CommitError::Failed(error) => Err(Failure::Error(store_error(error))),
            CommitError::Unknown(error) => {
                note_written();
                self.database.counted.doubt();
                Err(Failure::Error(store_error(error)))
            }
        }
    }

    /// Reports what became of decided writes once their fate is known; `None` after a conflict in the store.
    fn conclude(
        &mut self,
        decision: Decision,
        outcome: Result<(), CommitError>,
    ) -> Result<Option<OneOrMore<Written>>, Failure> {
        if let Err(error) = outcome {
            return self.not_committed(error).map(|()| None);
        }
        match decision {
            Decision::Done(effects) => {
                note_written();
                for (write, effect) in self.writes.iter().zip(&effects) {
                    if !self.database.counted.is_in_store() {
                        effect.count(write);
                    }
                    effect.note_expiry(self.database, write);
                }
                if let Some(observed) = &self.observed {
                    observed.done(&self.writes, &effects);
                }
                let written = |write: &Write, effect: Box<Effect>| effect.into_written(write);
                Ok(Some(self.writes.zip_with(effects, written)))
            }
            Decision::Refused(refusals) => {
                if let Some(observed) = &mut self.observed {
                    observed.refused(&self.writes, &refusals)?;
                }
                Err(Failure::Refused(refusals))
            }
            Decision::Repeated(record) => Err(Failure::Repeated(record)),
        }
    }
}

/// Whether a write of a restore or import is too late: another server has completed it, and the table is in use.
fn is_open(write: &Write, current: &Table) -> bool {
    write.origin == Origin::Loading
        && write.table.record.status == Status::Creating
        && current.record.status != Status::Creating
}

/// Submitted writes: only their durability is still open.
pub(crate) struct DecidedWrites {
    writes: OneOrMore<Write>,
    decision: Decision,
    observed: Option<PausedWrites>,
}

impl DecidedWrites {
    /// What became of them.
    pub(super) fn conclude(
        self,
        database: &Inner,
        outcome: Result<(), CommitError>,
    ) -> Result<OneOrMore<Written>, Failure> {
        let _counted = database.counted.doubted_on_panic();
        let observed = self.observed.and_then(|observed| observed.resume(database));
        let mut execution = Execution { observed, ..Execution::new(database, self.writes) };
        match execution.conclude(self.decision, outcome)? {
            Some(written) => Ok(written),
            // Such a store is asked again where that may block.
            None if database.store.waits() => execution.run(),
            // Any other store that reports a conflict this late leaves it to the client to try again.
            None => Err(Failure::Conflict(vec![true; execution.writes.len()])),
        }
    }
}
