//! Observation and throttling of requests.
//!
//! The executors begin with [`Inner::observe`]. It returns `None` unless the observer samples this request or may
//! throttle it: without an observer that costs one branch, with sampling little more. Only for observed requests are
//! keys decoded and times measured.

pub mod insights;
mod page;
mod place;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use keyloom_core::capacity::{ReadMode, Units};
use keyloom_core::error::throttle;
use keyloom_core::observation::{
    Contributions, InsightQuery, NotAdmitted, NotCounted, Observation, Observer, Outcome, Place,
    Question, Touch, Work,
};
use keyloom_core::{Error, Operation, Result};

pub(crate) use insights::rules_of;
pub use place::{IndexFacts, TableFacts};
pub(crate) use place::{place_of, split_key, vector_place};

use crate::catalog::Table;
use crate::database::Inner;
use crate::read::asking;

/// The observer of a database, if it has one.
pub(crate) struct DatabaseObserver {
    observer: Option<Arc<dyn Observer>>,
    /// Whether the observer may refuse; asked once.
    is_gate: bool,
}

impl DatabaseObserver {
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        let is_gate = observer.as_ref().is_some_and(|observer| observer.is_gate());
        Self { observer, is_gate }
    }

    /// Tells the observer of a request that failed, unless the executors already did. Targets that name no
    /// operation share one name, so that clients cannot fill an observer's memory with names.
    pub(crate) fn failed(&self, operation: Option<Operation>, error: &Error) {
        if let Some(observer) = &self.observer
            && !Outcome::is_observed(error)
        {
            observer.failed(operation.map_or("unknown", Operation::name), error);
        }
    }

    /// What a table or index can take at once, if its traffic has made it grow.
    pub(crate) fn grown(&self, table: &str, index: Option<&str>) -> Option<(u64, u64)> {
        self.observer.as_ref()?.grown(table, index)
    }

    /// Which keys contributed most to a rule.
    fn contributors(&self, query: &InsightQuery<'_>) -> Result<Contributions, NotCounted> {
        self.observer.as_ref().ok_or(NotCounted::Nobody)?.contributors(query)
    }

    /// Tells the observer that a table or an index was deleted.
    pub(crate) fn forget(&self, table: &str, index: Option<&str>) {
        if let Some(observer) = &self.observer {
            observer.forget(table, index);
        }
    }
}

impl fmt::Debug for DatabaseObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseObserver").field("observer", &self.observer).finish_non_exhaustive()
    }
}

impl Inner {
    /// Begins to observe a request; none if it is neither sampled nor throttled.
    pub(crate) fn observe(&self, operation: Operation) -> Option<ObservedRequest<'_>> {
        let observer = self.observer.observer.as_deref().filter(|_| !asking::is_asking())?;
        let weight = observer.sample();
        let is_gate = self.observer.is_gate;
        if weight.is_none() && !is_gate {
            return None;
        }
        let sampled = weight.map(|weight| (weight, self.clock.ticks()));
        Some(ObservedRequest { database: self, observer, operation, sampled, is_gate })
    }
}

/// A request that is observed.
pub(crate) struct ObservedRequest<'a> {
    database: &'a Inner,
    observer: &'a dyn Observer,
    operation: Operation,
    /// How many requests this one stands for, and when it began.
    sampled: Option<(NonZeroU32, Duration)>,
    is_gate: bool,
}

/// An observed request while it waits for the disk without a thread.
#[derive(Clone, Copy)]
pub(crate) struct Paused {
    operation: Operation,
    sampled: Option<(NonZeroU32, Duration)>,
}

impl Paused {
    /// Continues the observation in the database where it began.
    pub(crate) fn resume(self, database: &Inner) -> Option<ObservedRequest<'_>> {
        let Self { operation, sampled } = self;
        let observer = database.observer.observer.as_deref()?;
        let is_gate = database.observer.is_gate;
        Some(ObservedRequest { database, observer, operation, sampled, is_gate })
    }
}

/// How a request ended, beside the keys it touched.
#[derive(Clone, Copy)]
pub(crate) struct Ended<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) question: Option<Question<'a>>,
    pub(crate) returned: usize,
    /// How many of those had expired.
    pub(crate) expired: usize,
    pub(crate) is_projected: bool,
    pub(crate) is_consistent: bool,
}

impl Ended<'_> {
    pub(crate) fn with(outcome: Outcome) -> Self {
        Self {
            outcome,
            question: None,
            returned: 0,
            expired: 0,
            is_projected: false,
            is_consistent: true,
        }
    }
}

impl Ended<'_> {
    /// A read as it was requested. The caller adds the results.
    pub(crate) fn of_read(is_projected: bool, mode: ReadMode) -> Self {
        let is_consistent = mode != ReadMode::Eventual;
        Self { is_projected, is_consistent, ..Self::with(Outcome::Done) }
    }
}

impl ObservedRequest<'_> {
    /// What [`Paused::resume`] needs.
    pub(crate) fn pause(&self) -> Paused {
        Paused { operation: self.operation, sampled: self.sampled }
    }

    /// Whether the work may be refused.
    pub(crate) fn is_gate(&self) -> bool {
        self.is_gate
    }

    /// Whether the request is reported to the observer when it ends.
    pub(crate) fn is_sampled(&self) -> bool {
        self.sampled.is_some()
    }

    /// How many of the items that were read have expired; counted only if the request is reported.
    pub(crate) fn expired(&self, count: impl FnOnce() -> usize) -> usize {
        if self.is_sampled() { count() } else { 0 }
    }

    /// Charges the partitions; if one refuses, returns which access it was and reports the request.
    pub(crate) fn admit(&self, touches: &[Touch<'_>]) -> Result<(), NotAdmitted> {
        self.admit_as(touches, Ended::with(Outcome::Done))
    }

    /// [`ObservedRequest::admit`] for a read with these properties.
    fn admit_as(&self, touches: &[Touch<'_>], asked: Ended<'_>) -> Result<(), NotAdmitted> {
        if !self.is_gate {
            return Ok(());
        }
        let admitted = self.observer.admit(touches, self.database.clock.now_ms());
        if let Err(refused) = &admitted {
            let outcome = Outcome::Throttled(refused.reason, refused.touch);
            self.observe(touches, Ended { outcome, ..asked });
        }
        admitted
    }

    /// [`ObservedRequest::admit`] with the refusal as the client sees it.
    pub(crate) fn admit_or_error(&self, touches: &[Touch<'_>]) -> Result<()> {
        self.admit(touches).map_err(|refused| self.error(touches, refused))
    }

    /// [`ObservedRequest::admit_or_error`] for a read with these properties.
    pub(crate) fn admit_read(&self, touches: &[Touch<'_>], asked: Ended<'_>) -> Result<()> {
        self.admit_as(touches, asked).map_err(|refused| self.error(touches, refused))
    }

    /// Charges the partitions for completed work and reports the request.
    pub(crate) fn done(&self, touches: &[Touch<'_>], ended: Ended<'_>) {
        self.charge(touches);
        self.observe(touches, ended);
    }

    /// Takes what has been done from its partitions.
    pub(crate) fn charge(&self, touches: &[Touch<'_>]) {
        if self.is_gate {
            self.observer.charge(touches, self.database.clock.now_ms());
        }
    }

    /// Reports the request, if the observer samples it.
    pub(crate) fn observe(&self, touches: &[Touch<'_>], ended: Ended<'_>) {
        let Some((weight, began)) = self.sampled else { return };
        let clock = &self.database.clock;
        self.observer.observe(&Observation {
            operation: self.operation,
            at_ms: clock.now_ms(),
            touches,
            question: ended.question,
            returned: ended.returned,
            expired: ended.expired,
            is_projected: ended.is_projected,
            is_consistent: ended.is_consistent,
            is_retry: false,
            latency: clock.ticks().saturating_sub(began),
            outcome: ended.outcome,
            weight,
        });
    }

    /// A refusal as the client sees it.
    pub(crate) fn error(&self, touches: &[Touch<'_>], refused: NotAdmitted) -> Error {
        let Some(touch) = touches.get(refused.touch) else {
            return Error::InternalServer(
                "a request was refused at a key it does not touch".into(),
            );
        };
        let mut arn = self.database.table_arn(touch.place.table);
        if let Some(index) = touch.place.index_name().filter(|_| refused.reason.is_index) {
            arn.push_str("/index/");
            arn.push_str(index);
        }
        throttle::refused(refused.reason, touch.place.throughput.on_demand, arn)
    }

    /// [`ObservedRequest::admit`] for a transaction: one entry per touch, all but the refused one without
    /// fault.
    pub(crate) fn admit_all(&self, touches: &[Touch<'_>]) -> Vec<Result<()>> {
        let mut admitted: Vec<Result<()>> = touches.iter().map(|_| Ok(())).collect();
        if let Err(refused) = self.admit(touches)
            && let Some(slot) = admitted.get_mut(refused.touch)
        {
            *slot = Err(self.error(touches, refused));
        }
        admitted
    }
}

/// A lookup of one item by its key, with this cost.
pub(crate) fn lookup<'a>(table: &'a Table, key: &'a [u8], units: Units, bytes: usize) -> Touch<'a> {
    touch(place_of(table, None), key, Work::Read(units), bytes)
}

/// One entry of a place, by its store key.
pub(crate) fn touch<'a>(place: Place<'a>, key: &'a [u8], work: Work, bytes: usize) -> Touch<'a> {
    let (partition, sort) = split_key(place.key, key);
    Touch { place, partition, sort, work, bytes }
}
