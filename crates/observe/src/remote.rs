//! Observations for third-party clients, such as programs with an AWS SDK, derived from their responses. The client
//! of the `keyloom` crate reports more by itself.
//!
//! An engine knows every key that a request touched. A client knows the key it asked for, and
//! `ConsumedCapacity` says what it cost on the table and on each index; that is enough for load,
//! latency and heavy keys of the table itself.

use std::time::Duration;

use keyloom_core::capacity::Units;
use keyloom_core::key::encode_key_values;
use keyloom_core::observation::{Observation, Observer, Outcome, Place, Touch, Work};
use keyloom_core::{AttributeValue, Operation, Result};

/// A request of a client with its result.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// The operation that was called.
    pub operation: Operation,
    /// The table or index that was read or written.
    pub place: Place<'a>,
    /// The values of the partition key; none for a Scan.
    pub partition: &'a [AttributeValue],
    /// The values of the sort key; none for a range.
    pub sort: &'a [AttributeValue],
    /// The units that `ConsumedCapacity` states.
    pub units: Units,
    /// How many items came back.
    pub returned: usize,
    /// Milliseconds since 1970 when the answer came.
    pub at_ms: u64,
    /// How long it took.
    pub latency: Duration,
    /// How it ended.
    pub outcome: Outcome,
}

/// Reports a client's request to an observer, if the observer samples it.
///
/// Fails only if a value cannot be part of a key.
///
/// ```
/// use std::time::Duration;
///
/// use keyloom_core::capacity::Units;
/// use keyloom_core::Operation;
/// use keyloom_core::observation::{Insights, Outcome, Place, Throughput};
/// use keyloom_core::{KeyAttribute, KeySchema, ScalarType};
/// use keyloom_observe::remote::{Answered, tell};
/// use keyloom_observe::{StatsCollector, StatsOptions};
///
/// let statistics = StatsCollector::new(StatsOptions::default());
/// let key = KeySchema::simple(KeyAttribute::new("id", ScalarType::S), None);
/// let place = Place {
///     table: "orders",
///     index: None,
///     key: &key,
///     throughput: Throughput::default(),
///     has_local_indexes: false,
///     size_bytes: 0,
///     is_vector: false,
///     insights: Insights::Off,
/// };
/// tell(
///     &statistics,
///     &Answered {
///         operation: Operation::GetItem,
///         place,
///         partition: &["ORDER#7".into()],
///         sort: &[],
///         units: Units::HALF,
///         returned: 1,
///         at_ms: 1_700_000_000_000,
///         latency: Duration::from_millis(4),
///         outcome: Outcome::Done,
///     },
/// )?;
/// let report = statistics.snapshot();
/// assert_eq!(report.places[0].keys[0].key, "ORDER#7");
/// assert_eq!(report.places[0].reads, 0.5);
/// # Ok::<(), keyloom_core::Error>(())
/// ```
pub fn tell(observer: &dyn Observer, answered: &Answered<'_>) -> Result<()> {
    let Some(weight) = observer.sample() else { return Ok(()) };
    let partition = encode_key_values(answered.partition)?;
    let sort = encode_key_values(answered.sort)?;
    let work = Work::of(answered.operation.writes_items(), answered.units);
    let touch = Touch { place: answered.place, partition: &partition, sort: &sort, work, bytes: 0 };
    let Answered { operation, outcome, at_ms, latency, returned, .. } = *answered;
    observer.observe(&Observation {
        touches: &[touch],
        returned,
        latency,
        ..Observation::new(operation, outcome, at_ms, weight)
    });
    Ok(())
}
