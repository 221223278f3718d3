//! What an observer is told of writes, and what it may refuse.

use keyloom_core::capacity::{Units, item_write_units};
use keyloom_core::observation::{Operation, Outcome, Refused, Touch, Work};
use keyloom_core::size::item_size;

use crate::database::Inner;
use crate::watch::{Ended, Paused, Watching, place_of, touch, vector_place};

use super::effect::Effect;
use super::{Edit, Failure, Origin, Refusal, Write};

/// Writes of one request that are watched.
pub(super) struct Watched<'a> {
    watching: Watching<'a>,
    operation: Operation,
    /// Whether their capacity has been taken: once, however often the store has them tried.
    is_admitted: bool,
}

/// Begins to watch the write of a user.
pub(super) fn one<'a>(database: &'a Inner, write: &Write) -> Option<Watched<'a>> {
    let operation = match &write.edit {
        Edit::Put(_) => Operation::PutItem,
        Edit::Update(_) | Edit::Check => Operation::UpdateItem,
        Edit::Delete => Operation::DeleteItem,
    };
    many(database, operation, std::slice::from_ref(write))
}

/// Begins to watch the writes of a user.
pub(super) fn many<'a>(
    database: &'a Inner,
    operation: Operation,
    writes: &[Write],
) -> Option<Watched<'a>> {
    if writes.first().is_none_or(|write| write.origin != Origin::User) {
        return None;
    }
    let watching = database.watch(operation)?;
    Some(Watched { watching, operation, is_admitted: false })
}

/// What is known of watched writes while they wait for the disk on no thread.
pub(super) struct PausedWrites {
    watching: Paused,
    operation: Operation,
    is_admitted: bool,
}

impl PausedWrites {
    /// Goes on watching.
    pub(super) fn resume(self, database: &Inner) -> Option<Watched<'_>> {
        let Self { watching, operation, is_admitted } = self;
        Some(Watched { watching: watching.resume(database)?, operation, is_admitted })
    }
}

impl Watched<'_> {
    /// What [`PausedWrites::resume`] needs.
    pub(super) fn pause(&self) -> PausedWrites {
        let Self { watching, operation, is_admitted } = self;
        PausedWrites {
            watching: watching.pause(),
            operation: *operation,
            is_admitted: *is_admitted,
        }
    }

    /// Takes the capacity for all writes, or none: for a batch, which is many requests, it is taken for
    /// those that can have it.
    pub(super) fn admit(
        &mut self,
        writes: &[Write],
        keys: &[Vec<u8>],
        effects: &[Effect],
    ) -> Result<(), Failure> {
        if self.is_admitted || !self.watching.is_gate() {
            return Ok(());
        }
        self.is_admitted = true;
        if self.operation == Operation::BatchWriteItem {
            return self.admit_each(writes, keys, effects);
        }
        self.with_touches(writes, keys, effects, |touches| {
            let Err(refused) = self.watching.admit(touches) else { return Ok(()) };
            let owner = owner_of(refused.touch, effects);
            Err(self.throttled(touches, refused, owner, writes.len()))
        })
    }

    fn admit_each(
        &self,
        writes: &[Write],
        keys: &[Vec<u8>],
        effects: &[Effect],
    ) -> Result<(), Failure> {
        let mut refusals = Vec::with_capacity(writes.len());
        for ((write, key), effect) in writes.iter().zip(keys).zip(effects) {
            let (write, key) = (std::slice::from_ref(write), std::slice::from_ref(key));
            let effect = std::slice::from_ref(effect);
            refusals.push(self.with_touches(write, key, effect, |touches| {
                self.watching.admit_or_error(touches).err()
            }));
        }
        if refusals.iter().all(Option::is_none) {
            return Ok(());
        }
        Err(Failure::Throttled(refusals))
    }

    /// The writes are done.
    pub(super) fn done(&self, writes: &[Write], keys: &[Vec<u8>], effects: &[Effect]) {
        if self.watching.is_sampled() {
            self.with_touches(writes, keys, effects, |touches| {
                self.watching.observe(touches, Ended::with(Outcome::Done));
            });
        }
    }

    /// Conditions were false. That costs as much as writing the item that is there, and so may be
    /// refused like it.
    pub(super) fn refused(
        &mut self,
        writes: &[Write],
        keys: &[Vec<u8>],
        refusals: &[Option<Refusal>],
    ) -> Result<(), Failure> {
        let is_condition =
            |refusal: &Option<Refusal>| matches!(refusal, Some(Refusal::Condition(_)));
        if !refusals.iter().any(is_condition) {
            // Reported as an error of the request.
            return Ok(());
        }
        let refused = writes.iter().zip(keys).zip(refusals);
        let touches: Vec<Touch<'_>> = refused
            .map(|((write, key), refusal)| {
                let size = match refusal {
                    Some(Refusal::Condition(item)) => item.as_ref().map(item_size),
                    _ => None,
                };
                let units = self.priced(item_write_units(size, None));
                touch(place_of(&write.table, None), key, Work::Write(units), 0)
            })
            .collect();
        if !std::mem::replace(&mut self.is_admitted, true)
            && let Err(refused) = self.watching.admit(&touches)
        {
            return Err(self.throttled(&touches, refused, refused.touch, writes.len()));
        }
        self.watching.observe(&touches, Ended::with(Outcome::ConditionFailed));
        Ok(())
    }

    /// What units are in this request: twice as many in a transaction.
    fn priced(&self, units: Units) -> Units {
        if self.operation == Operation::TransactWriteItems { units.transactional() } else { units }
    }

    /// The refusal of one touch, which the write at `owner` made.
    fn throttled(
        &self,
        touches: &[Touch<'_>],
        refused: Refused,
        owner: usize,
        writes: usize,
    ) -> Failure {
        let error = self.watching.error(touches, refused);
        let refusal = |position| (position == owner).then(|| error.clone());
        Failure::Throttled((0..writes).map(refusal).collect())
    }

    /// Another request holds the items.
    pub(super) fn conflict(&self, writes: &[Write], keys: &[Vec<u8>]) {
        if !self.watching.is_sampled() {
            return;
        }
        let nothing = Work::Write(Units::ZERO);
        let touches: Vec<Touch<'_>> = writes
            .iter()
            .zip(keys)
            .map(|(write, key)| touch(place_of(&write.table, None), key, nothing, 0))
            .collect();
        self.watching.observe(&touches, Ended::with(Outcome::Conflict));
    }

    fn with_touches<R>(
        &self,
        writes: &[Write],
        keys: &[Vec<u8>],
        effects: &[Effect],
        run: impl FnOnce(&[Touch<'_>]) -> R,
    ) -> R {
        // One item in no index is what most writes are: no list is needed for it.
        if let ([write], [key], [effect]) = (writes, keys, effects)
            && arms(effect) == 0
        {
            return run(&[self.table_touch(write, key, effect)]);
        }
        let mut touches = Vec::with_capacity(2 * writes.len());
        for ((write, key), effect) in writes.iter().zip(keys).zip(effects) {
            touches.push(self.table_touch(write, key, effect));
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
        run(&touches)
    }

    fn table_touch<'t>(&self, write: &'t Write, key: &'t [u8], effect: &Effect) -> Touch<'t> {
        let units = self.priced(effect.table_units());
        touch(place_of(&write.table, None), key, Work::Write(units), effect.item_bytes())
    }
}

/// How many entries of indexes a write touches.
fn arms(effect: &Effect) -> usize {
    effect.index_arms().count() + effect.vector_arms().count()
}

/// The position of the write that a touch belongs to.
fn owner_of(touch: usize, effects: &[Effect]) -> usize {
    let mut before = 0;
    for (position, effect) in effects.iter().enumerate() {
        before += 1 + arms(effect);
        if touch < before {
            return position;
        }
    }
    0
}
