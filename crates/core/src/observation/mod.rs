//! Observation of requests, and throttling by observers.
//!
//! The engine, a client or a server describes a sampled request as an [`Observation`]: which keys of which
//! table and indexes it touched, at what cost, and how it ended. An [`Observer`] counts, and may also
//! refuse work that a real table's partitions could not take. Everything is borrowed: without an observer
//! a request costs one branch.

mod contributors;

use std::num::NonZeroU32;
use std::time::Duration;

use crate::capacity::Units;
use crate::error::{CancellationCode, Error};
use crate::expr::{Condition, ResolvedKeyCondition};
use crate::key::decode_key_value;
use crate::operation::Operation;
use crate::schema::{IndexKind, IndexSchema, KeyAttribute, KeySchema};
use crate::value::AttributeValue;

pub use contributors::{
    Contributions, Contributor, InsightKind, InsightQuery, InsightRules, InsightSpan, Insights,
    NotCounted, PeriodValues, Rank,
};

/// How much a table or index may take, in units per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throughput {
    /// Whether the table pays per request. If not, the two limits are what was provisioned.
    pub on_demand: bool,
    /// The limit of reads, if there is one.
    pub read: Option<u64>,
    /// The limit of writes, if there is one.
    pub write: Option<u64>,
    /// The warm read throughput, if it was requested.
    pub warm_read: Option<u64>,
    /// The warm write throughput, if it was requested.
    pub warm_write: Option<u64>,
    /// How many servers share all of this, if there are several; each sees its own requests only.
    pub servers: u32,
}

/// A table, or one of its indexes.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The table's name.
    pub table: &'a str,
    /// The index, if it is one.
    pub index: Option<&'a IndexSchema>,
    /// The key of the table or of the index.
    pub key: &'a KeySchema,
    /// What it may take.
    pub throughput: Throughput,
    /// Whether the table has local indexes, whose item collections are never split.
    pub has_local_indexes: bool,
    /// How much it holds, in bytes.
    pub size_bytes: u64,
    /// Whether it is an index over vectors. Work there is paid by the byte and takes no units.
    pub is_vector: bool,
    /// Which of its keys are counted minute by minute; of a local index, those of its table.
    pub insights: Insights<'a>,
}

impl<'a> Place<'a> {
    /// The index's name, if it is one.
    pub fn index_name(&self) -> Option<&'a str> {
        self.index.map(|index| index.name.as_str())
    }

    /// Whether this is an index that lives in its table's partitions.
    pub fn is_local_index(&self) -> bool {
        !self.is_vector && self.index.is_some_and(|index| index.kind == IndexKind::Local)
    }

    /// Whether this has partitions of its own: a local index lives in its table's.
    pub fn is_global_index(&self) -> bool {
        !self.is_vector && self.index.is_some_and(|index| index.kind == IndexKind::Global)
    }
}

/// Units of capacity that a request takes from one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Units of reads.
    Read(Units),
    /// Units of writes.
    Write(Units),
}

impl Work {
    /// Units of writes, or else of reads.
    pub const fn of(is_write: bool, units: Units) -> Self {
        if is_write { Self::Write(units) } else { Self::Read(units) }
    }

    /// The units, of either kind.
    pub const fn units(self) -> Units {
        match self {
            Self::Read(units) | Self::Write(units) => units,
        }
    }

    /// Whether it writes.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write(_))
    }
}

/// One key, or the range of one partition, that a request touched.
///
/// The keys are encoded by [`crate::key`], so that equal keys are equal bytes and byte order is key
/// order.
#[derive(Clone, Copy, Debug)]
pub struct Touch<'a> {
    /// The table or index.
    pub place: Place<'a>,
    /// The encoded partition key; empty if the request went over all partitions.
    pub partition: &'a [u8],
    /// The encoded sort key; empty if there is none, or if the request went over a range.
    pub sort: &'a [u8],
    /// What it cost here.
    pub work: Work,
    /// The bytes of the item, or of all that was evaluated.
    pub bytes: usize,
}

impl Touch<'_> {
    /// The values of the partition key, in key order; fewer if the bytes are damaged.
    pub fn partition_values(&self) -> Vec<AttributeValue> {
        decoded(&self.place.key.hash, self.partition)
    }

    /// The values of the sort key, in key order; none for a range.
    pub fn sort_values(&self) -> Vec<AttributeValue> {
        decoded(&self.place.key.range, self.sort)
    }
}

fn decoded(attributes: &[KeyAttribute], mut bytes: &[u8]) -> Vec<AttributeValue> {
    let values = attributes.iter().map_while(|attribute| {
        (!bytes.is_empty()).then(|| decode_key_value(attribute.kind, &mut bytes).ok()).flatten()
    });
    values.collect()
}

/// What a Query, Scan or search asked, and how much of what it evaluated it returned.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The table or index that was asked.
    pub place: Place<'a>,
    /// The key condition; none for a Scan.
    pub condition: Option<&'a ResolvedKeyCondition>,
    /// What was thrown away after it was paid for.
    pub filter: Option<&'a Condition>,
    /// How many entries to evaluate at most.
    pub limit: Option<usize>,
    /// Whether the order is ascending.
    pub is_forward: bool,
    /// Whether it continues an earlier page.
    pub is_continued: bool,
    /// Whether another page follows.
    pub has_more: bool,
    /// Entries that were evaluated, before any filter.
    pub scanned: usize,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was carried out.
    Done,
    /// Its condition was false.
    ConditionFailed,
    /// Another request held its items.
    Conflict,
    /// It was refused for lack of throughput: this reason, at the touch with this position.
    Throttled(ThrottleReason, usize),
    /// It failed otherwise.
    Failed,
}

impl Outcome {
    /// Whether an error is the outcome of a request that touched keys, and so is part of an
    /// [`Observation`]; all others go to [`Observer::failed`].
    pub fn is_observed(error: &Error) -> bool {
        match error {
            Error::ConditionalCheckFailed { .. }
            | Error::DuplicateItem(_)
            | Error::TransactionConflict(_)
            | Error::ProvisionedThroughputExceeded(_)
            | Error::Throttling(_)
            | Error::RequestLimitExceeded(_) => true,
            Error::TransactionCanceled(reasons) => reasons.iter().any(|reason| {
                matches!(
                    reason.code,
                    CancellationCode::ConditionalCheckFailed
                        | CancellationCode::DuplicateItem
                        | CancellationCode::TransactionConflict
                        | CancellationCode::ProvisionedThroughputExceeded
                        | CancellationCode::ThrottlingError
                )
            }),
            _ => false,
        }
    }
}

/// One request, as it was carried out or refused.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// What was asked for; a PartiQL statement counts as the operation it lowers to.
    pub operation: Operation,
    /// Milliseconds since 1970 when it ended.
    pub at_ms: u64,
    /// The keys it touched, the table's own before those of its indexes.
    pub touches: &'a [Touch<'a>],
    /// What a Query, Scan or search asked.
    pub question: Option<Question<'a>>,
    /// How many items it returned.
    pub returned: usize,
    /// How many of those had expired, and were not removed yet.
    pub expired: usize,
    /// Whether it asked for some attributes only.
    pub is_projected: bool,
    /// Whether it read strongly.
    pub is_consistent: bool,
    /// Whether it is made again: it failed before, or it is a batch that holds something that an earlier
    /// one was refused. Only clients know.
    pub is_retry: bool,
    /// How long it took.
    pub latency: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// How many requests it stands for: what [`Observer::sample`] said.
    pub weight: NonZeroU32,
}

impl Observation<'_> {
    /// A request that took no time and of which nothing more is known. A write is as consistent as a
    /// read can be.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    ///
    /// use keyloom_core::Operation;
    /// use keyloom_core::observation::{Observation, Outcome};
    ///
    /// let one = NonZeroU32::MIN;
    /// let put = Observation::new(Operation::PutItem, Outcome::Done, 1_700_000_000_000, one);
    /// let again = Observation { is_retry: true, ..put };
    /// assert!(again.is_consistent && again.touches.is_empty());
    /// ```
    pub const fn new(
        operation: Operation,
        outcome: Outcome,
        at_ms: u64,
        weight: NonZeroU32,
    ) -> Self {
        Self {
            operation,
            at_ms,
            touches: &[],
            question: None,
            returned: 0,
            expired: 0,
            is_projected: false,
            is_consistent: operation.writes_items(),
            is_retry: false,
            latency: Duration::ZERO,
            outcome,
            weight,
        }
    }
}

/// Which limit a refused request met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThrottleLimit {
    /// A partition's 3,000 read or 1,000 write units per second.
    KeyRange,
    /// What was provisioned for the table or index.
    Provisioned,
    /// The maximum that was set for an on-demand table or index.
    MaxOnDemand,
    /// The account's quota.
    Account,
    /// Nobody said which: parts of a batch that were left, endpoints without `ThrottlingReasons`. Only
    /// clients meet it.
    Unstated,
}

impl ThrottleLimit {
    const ALL: [Self; 5] =
        [Self::KeyRange, Self::Provisioned, Self::MaxOnDemand, Self::Account, Self::Unstated];
}

/// Why a request was refused for lack of throughput: one of the 16 reasons of DynamoDB, or one that was
/// not stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThrottleReason {
    /// Whether a global index could not take it, rather than the table.
    pub is_index: bool,
    /// Whether it was a write.
    pub is_write: bool,
    /// Which limit it met.
    pub limit: ThrottleLimit,
}

impl ThrottleReason {
    /// The reason as `ThrottlingReasons` names it.
    pub fn name(self) -> String {
        let place = if self.is_index { "Index" } else { "Table" };
        let direction = if self.is_write { "Write" } else { "Read" };
        let limit = match self.limit {
            ThrottleLimit::KeyRange => "KeyRangeThroughputExceeded",
            ThrottleLimit::Provisioned => "ProvisionedThroughputExceeded",
            ThrottleLimit::MaxOnDemand => "MaxOnDemandThroughputExceeded",
            ThrottleLimit::Account => "AccountLimitExceeded",
            ThrottleLimit::Unstated => "ThroughputExceeded",
        };
        format!("{place}{direction}{limit}")
    }

    /// The reason with this name.
    ///
    /// ```
    /// use keyloom_core::observation::ThrottleReason;
    ///
    /// let reason = ThrottleReason::from_name("IndexWriteKeyRangeThroughputExceeded").unwrap();
    /// assert!(reason.is_index && reason.is_write);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let (is_index, rest) = match name.strip_prefix("Index") {
            Some(rest) => (true, rest),
            None => (false, name.strip_prefix("Table")?),
        };
        let is_write = rest.starts_with("Write");
        let mut reasons =
            ThrottleLimit::ALL.into_iter().map(|limit| Self { is_index, is_write, limit });
        reasons.find(|reason| reason.name() == name)
    }
}

/// Work that was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAdmitted {
    /// The position of the touch that met the limit.
    pub touch: usize,
    /// Which limit was exceeded.
    pub reason: ThrottleReason,
}

/// Observes the requests of a database, and may throttle them.
///
/// It is called from many threads at once, on the path of every request.
pub trait Observer: Send + Sync + std::fmt::Debug {
    /// Whether to sample the next request, and how many it stands for. Called before anything is
    /// measured, so it must be cheap.
    fn sample(&self) -> Option<NonZeroU32>;

    /// Whether [`Observer::admit`] may refuse. Asked once, when the database is opened.
    fn is_gate(&self) -> bool {
        false
    }

    /// Takes the work from the capacity of every partition it touches, or refuses and takes none of
    /// it. A read does not know its cost yet and states no units: it is admitted while anything is
    /// left, and its cost is taken by [`Observer::charge`].
    fn admit(&self, _touches: &[Touch<'_>], _now_ms: u64) -> Result<(), NotAdmitted> {
        Ok(())
    }

    /// Takes work that has been done from the capacity of its partitions, which may fall below zero.
    fn charge(&self, _touches: &[Touch<'_>], _now_ms: u64) {}

    /// One request, sampled and finished.
    fn observe(&self, observation: &Observation<'_>);

    /// A request that failed before it touched a key: the operation's name and the error.
    fn failed(&self, _operation: &str, _error: &Error) {}

    /// What a table or one of its global indexes can take at once, in read and write units per second, if
    /// its traffic has made that more than it began with.
    fn grown(&self, _table: &str, _index: Option<&str>) -> Option<(u64, u64)> {
        None
    }

    /// Which keys contributed most to a rule of Contributor Insights.
    fn contributors(&self, _query: &InsightQuery<'_>) -> Result<Contributions, NotCounted> {
        Err(NotCounted::Nobody)
    }

    /// A table, or one of its indexes, was deleted: another one of that name begins anew.
    fn forget(&self, _table: &str, _index: Option<&str>) {}
}
