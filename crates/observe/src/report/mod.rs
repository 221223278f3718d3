//! Reports: collected statistics as one value that can be stored, merged and analysed.

mod file;
mod heat;
mod merge;

use std::collections::BTreeMap;

use keyloom_core::Operation;
use serde::{Deserialize, Serialize};

use crate::partitions::PlaceHeat;
use crate::redaction::Redaction;
use crate::sketch::{Distinct, Histogram};
use crate::window::Slot;

pub use file::ReadError;
pub use heat::{HeatCell, HeatColumn, HeatKey, HeatLevel, HeatMap};

/// The version of the format; reports of a later one are refused.
pub const VERSION: u32 = 1;

/// What was collected up to one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// The version of the format.
    pub version: u32,
    /// Milliseconds since 1970 of the first request; zero if there was none.
    pub since_ms: u64,
    /// Milliseconds since 1970 of the last request.
    pub until_ms: u64,
    /// The name of the design that requests were attributed by.
    pub design: Option<String>,
    /// How much of the keys is shown.
    pub redaction: Redaction,
    /// How many requests were sampled.
    #[serde(alias = "looked_at")]
    pub sampled: u64,
    /// How many requests those stand for.
    pub requests: u64,
    /// Whether only one program's requests are in it, though others may use the same tables: what is not in it may
    /// happen all the same.
    pub of_one_program: bool,
    /// The tables and indexes that were used.
    pub places: Vec<PlaceReport>,
    /// Accesses to tables and indexes beyond the 64 that are counted.
    pub left_out: u64,
    /// Errors by operation and code, all of them counted.
    pub errors: Vec<ErrorCount>,
    /// The tables that exist, whether used or not, where that is known.
    pub tables: Vec<TableFacts>,
    /// The partitions that AWS would have, where they were followed.
    pub partitions: Vec<PlaceHeat>,
    /// The load over time and key space, in recordings that have it.
    pub heat: Vec<HeatMap>,
}

/// Errors of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The name of the operation.
    pub operation: String,
    /// The code, such as `ValidationException`.
    pub code: String,
    /// How many requests failed with it.
    pub count: u64,
}

/// What kind of place it is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The table itself.
    #[default]
    Table,
    /// A global index.
    Global,
    /// A local index.
    Local,
    /// An index over vectors, which is paid by the byte.
    Vector,
}

/// A table or index that was used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceReport {
    /// The name of the table.
    pub table: String,
    /// The index, if it is one.
    pub index: Option<String>,
    /// What kind it is.
    pub kind: Kind,
    /// The partition key attributes.
    pub partition_key: Vec<String>,
    /// The sort key attributes.
    pub sort_key: Vec<String>,
    /// Whether it is paid per request.
    pub on_demand: bool,
    /// The limit of reads per second, if there is one.
    pub read_limit: Option<u64>,
    /// The limit of writes per second, if there is one.
    pub write_limit: Option<u64>,
    /// Whether the table has local indexes.
    pub has_local_indexes: bool,
    /// Whether a design with this table was loaded.
    pub is_designed: bool,
    /// Requests that touched it.
    pub requests: u64,
    /// Read units that were consumed.
    pub reads: f64,
    /// Write units that were consumed.
    pub writes: f64,
    /// The busiest second.
    pub peak_reads: f64,
    /// The busiest second.
    pub peak_writes: f64,
    /// Requests refused for lack of throughput, by reason.
    pub throttled: BTreeMap<String, u64>,
    /// The partition keys that were touched.
    pub distinct: Distinct,
    /// How many they are, about.
    pub distinct_keys: f64,
    /// The load of all keys together; see [`Key::load`].
    pub load: f64,
    /// The partition keys with the greatest load.
    pub keys: Vec<Key>,
    /// The most load that a partition key which is not listed can have.
    pub keys_floor: f64,
    /// The items with the greatest load.
    pub items: Vec<Key>,
    /// The most load that an item which is not listed can have.
    pub items_floor: f64,
    /// The heaviest partition key of each minute.
    pub minute_leaders: Vec<Leader>,
    /// The heaviest partition key of each hour.
    pub hour_leaders: Vec<Leader>,
    /// The last seconds.
    pub seconds: Vec<Slot>,
    /// The last minutes.
    pub minutes: Vec<Slot>,
    /// The last hours.
    pub hours: Vec<Slot>,
    /// Bytes of the items that were written.
    pub sizes: Histogram,
    /// The largest item that was written, by its key.
    pub largest: String,
    /// How often a key was touched that no template of the design makes.
    pub unknown_keys: u64,
    /// Some of those keys.
    pub unknown_samples: Vec<String>,
    /// The access patterns.
    pub patterns: Vec<Pattern>,
}

/// A key with its load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Key {
    /// The partition key, as far as it is shown.
    pub key: String,
    /// The sort key, for an item.
    pub sort: String,
    /// The hash that stands for it.
    pub hash: u64,
    /// What it takes of a partition, in read units: a write unit counts as three, because a
    /// partition has 3,000 of the one and 1,000 of the other each second.
    pub load: f64,
    /// What `load` may be too great by.
    pub error: f64,
    /// Its share of all load.
    pub share: f64,
    /// Read units, at least.
    pub reads: f64,
    /// Write units, at least.
    pub writes: f64,
    /// Requests, at least.
    pub requests: u64,
    /// Requests that were refused because its partition could take no more.
    pub throttled: u64,
    /// Read units per second in its busiest window.
    pub peak_reads: f64,
    /// Write units per second in its busiest window.
    pub peak_writes: f64,
    /// Bytes of items that were put under it, replaced ones included.
    pub written_bytes: u64,
}

/// The heaviest key of one minute or hour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Leader {
    /// When the minute or hour begins.
    pub start_ms: u64,
    /// The partition key.
    pub key: String,
    /// The hash that stands for it.
    pub hash: u64,
    /// Its share of the load at that time, at least.
    pub share: f64,
    /// Requests at that time, to all keys.
    pub requests: u64,
}

/// One kind of request to one table or index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pattern {
    /// The name of the operation, as [`Pattern::operation`] reads it.
    pub operation: String,
    /// The access pattern or write of the design, if it is one.
    pub name: Option<String>,
    /// The shape of the request.
    pub shape: String,
    /// The shape without constants such as `PROFILE`, which are whole key values: what is shown when
    /// keys are hidden. Empty once they are.
    pub bare_shape: String,
    /// The entity, if the design identifies it.
    pub entity: Option<String>,
    /// How many requests.
    pub requests: u64,
    /// Read units that were consumed.
    pub reads: f64,
    /// Write units, those of indexes included.
    pub writes: f64,
    /// The most units that one request took.
    pub max_units: f64,
    /// Entries that were evaluated, before any filter.
    pub scanned: u64,
    /// Items that were returned, after any filter.
    pub returned: u64,
    /// Items returned that had expired, and were not removed yet.
    pub expired: u64,
    /// Bytes evaluated or written.
    pub bytes: u64,
    /// Requests that found nothing.
    pub empty: u64,
    /// Requests whose condition was false.
    pub condition_failed: u64,
    /// Requests that failed because of a conflicting transaction.
    pub conflicts: u64,
    /// Requests refused for lack of throughput.
    pub throttled: u64,
    /// Retries: requests that failed before, or batches with entries that an earlier one left unprocessed. Only
    /// clients report them, and not those that the program itself makes.
    pub retries: u64,
    /// Requests that failed otherwise.
    pub failed: u64,
    /// Requests with a projection.
    pub projected: u64,
    /// Requests that read strongly.
    pub consistent: u64,
    /// Requests with a limit.
    pub limited: u64,
    /// Requests with a filter.
    pub filtered: u64,
    /// The attributes that filters mention.
    pub filter_attributes: Vec<String>,
    /// Requests that continued an earlier page.
    pub continued: u64,
    /// Pages per call among the first calls.
    pub early_pages: f64,
    /// Pages per call among the last calls.
    pub late_pages: f64,
    /// Writes that followed a read of the same item within five seconds.
    pub after_read: u64,
    /// Requests that one caller made back to back and could have made as one batch.
    pub batchable: u64,
    /// How many runs of such requests there were.
    pub batch_runs: u64,
    /// Latencies in nanoseconds.
    pub latency: Histogram,
}

/// A table that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableFacts {
    /// The table's name.
    pub name: String,
    /// The number of its items.
    pub items: u64,
    /// The size of its items in bytes.
    pub bytes: u64,
    /// Milliseconds since 1970 when it was made.
    pub created_ms: u64,
    /// For how many seconds the item that expired first waits to be removed, where that is known.
    pub overdue_s: u64,
    /// The indexes of the table.
    pub indexes: Vec<IndexFacts>,
}

/// An index that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexFacts {
    /// The index's name.
    pub name: String,
    /// What kind it is.
    pub kind: Kind,
    /// The number of its entries.
    pub items: u64,
    /// The size of its entries in bytes.
    pub bytes: u64,
}

impl Report {
    /// How long was observed, in seconds; one at least.
    pub fn seconds(&self) -> f64 {
        (self.until_ms.saturating_sub(self.since_ms) as f64 / 1000.0).max(1.0)
    }

    /// All patterns with their tables or indexes.
    pub fn patterns(&self) -> impl Iterator<Item = (&PlaceReport, &Pattern)> {
        self.places
            .iter()
            .flat_map(|place| place.patterns.iter().map(move |pattern| (place, pattern)))
    }

    /// The place with this name.
    pub fn place(&self, table: &str, index: Option<&str>) -> Option<&PlaceReport> {
        self.places.iter().find(|place| place.table == table && place.index.as_deref() == index)
    }

    /// Adds the partitions that AWS would have; where keys are hidden, without the sort keys between
    /// them.
    #[must_use]
    pub fn with_partitions(mut self, partitions: Vec<PlaceHeat>) -> Self {
        self.partitions = partitions;
        if self.redaction != Redaction::None {
            self.hide_bounds();
        }
        self
    }

    fn hide_bounds(&mut self) {
        for partition in self.partitions.iter_mut().flat_map(|place| &mut place.partitions) {
            partition.from_sort.clear();
        }
    }

    /// Hides keys. What was hidden before stays so.
    pub fn redact(&mut self, redaction: Redaction) {
        if redaction.stricter(self.redaction) == self.redaction {
            return;
        }
        let hide = |text: &mut String| {
            if !text.is_empty() {
                *text = redaction.apply(text);
            }
        };
        let was_shown = self.redaction == Redaction::None;
        for place in &mut self.places {
            if was_shown {
                place.patterns.iter_mut().for_each(Pattern::hide_constants);
            }
            for key in place.keys.iter_mut().chain(&mut place.items) {
                hide(&mut key.key);
                hide(&mut key.sort);
            }
            for leader in place.minute_leaders.iter_mut().chain(&mut place.hour_leaders) {
                hide(&mut leader.key);
            }
            place.unknown_samples.iter_mut().for_each(hide);
            hide(&mut place.largest);
        }
        self.heat.iter_mut().for_each(|map| map.redact(redaction));
        self.hide_bounds();
        self.redaction = redaction;
    }
}

impl PlaceReport {
    /// `table` or `table.index`.
    pub fn name(&self) -> String {
        match &self.index {
            Some(index) => format!("{}.{index}", self.table),
            None => self.table.clone(),
        }
    }
}

impl Key {
    /// The least load it can have.
    pub fn least(&self) -> f64 {
        (self.load - self.error).max(0.0)
    }
}

impl Pattern {
    /// The operation; none if a later release wrote the report and knows more of them.
    pub fn operation(&self) -> Option<Operation> {
        Operation::from_name(&self.operation)
    }

    /// Whether it is of this operation.
    pub fn is(&self, operation: Operation) -> bool {
        self.operation == operation.name()
    }

    /// Leaves no key value in the shape.
    pub(crate) fn hide_constants(&mut self) {
        self.shape = std::mem::take(&mut self.bare_shape);
        if self.shape.is_empty() {
            self.shape.clone_from(&self.operation);
        }
    }

    /// Its name in the design, or its shape.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.shape)
    }

    /// Calls: requests without those that fetch another page.
    pub fn calls(&self) -> u64 {
        self.requests.saturating_sub(self.continued).max(1)
    }

    /// A latency percentile in microseconds.
    pub fn micros(&self, share: f64) -> f64 {
        self.latency.quantile(share) as f64 / 1000.0
    }
}
