//! Observation and throttling of writes.

use std::iter;

use keyloom_core::Operation;
use keyloom_core::capacity::{Units, item_write_units};
use keyloom_core::observation::{NotAdmitted, Outcome, Touch, Work};
use keyloom_core::size::item_size;

use crate::database::Inner;
use crate::observe::{Ended, ObservedRequest, Paused, place_of, touch, vector_place};

use super::effect::Effect;
use super::{Edit, Failure, OneOrMore, Origin, Refusal, Write};

/// Writes of one request that are observed.
pub(super) struct ObservedWrites<'a> {
    observing: ObservedRequest<'a>,
    operation: Operation,
    /// Whether their capacity has been charged: once, however often the store retries them.
    is_admitted: bool,
}

/// Begins to observe a single write of a user.
pub(super) fn begin_single<'a>(
    database: &'a Inner,
    writes: &OneOrMore<Write>,
) -> Option<ObservedWrites<'a>> {
    let operation = match writes.first().edit {
        Edit::Put(_) => Operation::PutItem,
        Edit::Update(_) | Edit::Check => Operation::UpdateItem,
        Edit::Delete => Operation::DeleteItem,
    };
    begin(database, operation, writes)
}

/// Begins to observe the writes of a user.
pub(super) fn begin<'a>(
    database: &'a Inner,
    operation: Operation,
    writes: &OneOrMore<Write>,
) -> Option<ObservedWrites<'a>> {
    if writes.first().origin != Origin::User {
        return None;
    }
    let observing = database.observe(operation)?;
    Some(ObservedWrites { observing, operation, is_admitted: false })
}

/// Observed writes while they wait for the disk without a thread.
pub(super) struct PausedWrites {
    observing: Paused,
    operation: Operation,
    is_admitted: bool,
}

impl PausedWrites {
    /// Resumes the observation on the thread that completes the writes.
    pub(super) fn resume(self, database: &Inner) -> Option<ObservedWrites<'_>> {
        let Self { observing, operation, is_admitted } = self;
        Some(ObservedWrites { observing: observing.resume(database)?, operation, is_admitted })
    }
}

impl ObservedWrites<'_> {
    /// What [`PausedWrites::resume`] needs.
    pub(super) fn pause(&self) -> PausedWrites {
        let Self { observing, operation, is_admitted } = self;
        PausedWrites {
            observing: observing.pause(),
            operation: *operation,
            is_admitted: *is_admitted,
        }
    }

    /// Takes the throughput for all writes, or none: for a batch, which is many requests, it is taken for
    /// those that can have it.
    pub(super) fn admit(
        &mut self,
        writes: &OneOrMore<Write>,
        effects: &OneOrMore<Box<Effect>>,
    ) -> Result<(), Failure> {
        if self.is_admitted || !self.observing.is_gate() {
            return Ok(());
        }
        self.is_admitted = true;
        if self.operation == Operation::BatchWriteItem {
            return self.admit_each(writes, effects);
        }
        self.with_touches(writes.iter().zip(effects), |touches| {
            let Err(refused) = self.observing.admit(touches) else { return Ok(()) };
            Err(self.throttled(touches, refused, owner_of(refused.touch, effects)))
        })
    }

    fn admit_each(
        &self,
        writes: &OneOrMore<Write>,
        effects: &OneOrMore<Box<Effect>>,
    ) -> Result<(), Failure> {
        let mut effects = effects.iter();
        let admitted = writes.map(|write| {
            self.with_touches(iter::once(write).zip(effects.next()), |touches| {
                self.observing.admit_or_error(touches)
            })
        });
        admitted.all_ok().map(drop).map_err(Failure::Throttled)
    }

    /// The writes are done.
    pub(super) fn done(&self, writes: &OneOrMore<Write>, effects: &OneOrMore<Box<Effect>>) {
        if self.observing.is_sampled() {
            self.with_touches(writes.iter().zip(effects), |touches| {
                self.observing.observe(touches, Ended::with(Outcome::Done));
            });
        }
    }

    /// Conditions were false. A failed condition costs as much as writing the existing item, and may be
    /// throttled like it.
    pub(super) fn refused(
        &mut self,
        writes: &OneOrMore<Write>,
        refusals: &OneOrMore<(usize, Refusal)>,
    ) -> Result<(), Failure> {
        let conditions = refusals.iter().filter_map(|(position, refusal)| match refusal {
            Refusal::Condition(item) => Some((*position, item.as_ref().map(item_size))),
            Refusal::Invalid(_) => None,
        });
        let mut conditions = conditions.peekable();
        if conditions.peek().is_none() {
            // Reported as an error of the request.
            return Ok(());
        }
        let touches: Vec<Touch<'_>> = writes
            .iter()
            .enumerate()
            .map(|(position, write)| {
                let size = conditions.next_if(|(at, _)| *at == position).and_then(|(_, size)| size);
                let units = self.priced(item_write_units(size, None));
                touch(place_of(&write.table, None), &write.store_key, Work::Write(units), 0)
            })
            .collect();
        if !std::mem::replace(&mut self.is_admitted, true)
            && let Err(refused) = self.observing.admit(&touches)
        {
            return Err(self.throttled(&touches, refused, refused.touch));
        }
        self.observing.observe(&touches, Ended::with(Outcome::ConditionFailed));
        Ok(())
    }

    /// What units are in this request: twice as many in a transaction.
    fn priced(&self, units: Units) -> Units {
        if self.operation == Operation::TransactWriteItems { units.transactional() } else { units }
    }

    /// The refusal of one touch, which belongs to the write at `owner`.
    fn throttled(&self, touches: &[Touch<'_>], refused: NotAdmitted, owner: usize) -> Failure {
        Failure::Throttled(OneOrMore::one((owner, self.observing.error(touches, refused))))
    }

    /// Another request holds the items.
    pub(super) fn conflict(&self, writes: &OneOrMore<Write>) {
        if !self.observing.is_sampled() {
            return;
        }
        let nothing = Work::Write(Units::ZERO);
        let touches: Vec<Touch<'_>> = writes
            .iter()
            .map(|write| touch(place_of(&write.table, None), &write.store_key, nothing, 0))
            .collect();
        self.observing.observe(&touches, Ended::with(Outcome::Conflict));
    }

    fn with_touches<'t, R>(
        &self,
        mut writes: impl Iterator<Item = (&'t Write, &'t Box<Effect>)>,
        run: impl FnOnce(&[Touch<'_>]) -> R,
    ) -> R {
        let Some((write, effect)) = writes.next() else { return run(&[]) };
        let first = self.table_touch(write, effect);
        let mut writes = writes.peekable();
        // One item in no index is what most writes are: no list is needed for it.
        if writes.peek().is_none() && arms(effect) == 0 {
            return run(&[first]);
        }
        let mut touches = vec![first];
        add_index_touches(write, effect, &mut touches);
        for (write, effect) in writes {
            touches.push(self.table_touch(write, effect));
            add_index_touches(write, effect, &mut touches);
        }
        run(&touches)
    }

    fn table_touch<'t>(&self, write: &'t Write, effect: &Effect) -> Touch<'t> {
        let units = Work::Write(self.priced(effect.table_units()));
        touch(place_of(&write.table, None), &write.store_key, units, effect.item_bytes())
    }
}

/// Adds what a write touches in the table's indexes.
fn add_index_touches<'t>(write: &'t Write, effect: &'t Effect, touches: &mut Vec<Touch<'t>>) {
    for arm in effect.index_arms() {
        let place = place_of(&write.table, Some(arm.position));
        touches.push(touch(place, arm.key, Work::Write(arm.units), arm.bytes));
    }
    for (position, key, bytes) in effect.vector_arms() {
        let Some(index) = write.table.vector_indexes.get(position) else { continue };
        let place = vector_place(&write.table, index);
        touches.push(touch(place, key, Work::Write(Units::ZERO), bytes));
    }
}

/// How many entries of indexes a write touches.
fn arms(effect: &Effect) -> usize {
    effect.index_arms().count() + effect.vector_arms().count()
}

/// The position of the write that a touch belongs to.
fn owner_of(touch: usize, effects: &OneOrMore<Box<Effect>>) -> usize {
    let mut before = 0;
    for (position, effect) in effects.iter().enumerate() {
        before += 1 + arms(effect);
        if touch < before {
            return position;
        }
    }
    0
}
