//! Loads made by hand: requests as an engine would describe them, at times that the test chooses.

use std::num::NonZeroU32;
use std::time::Duration;

use keyloom_core::capacity::Units;
use keyloom_core::expr::{Bindings, Condition, KeyOperator, ResolvedKeyCondition};
use keyloom_core::key::encode_key_value;
use keyloom_core::observation::{
    Insights, Observation, Observer, Outcome, Place, Question, ThrottleLimit, ThrottleReason,
    Throughput, Touch, Work,
};
use keyloom_core::{
    AttributeValue, IndexKind, IndexSchema, KeyAttribute, KeySchema, Operation, Projection,
    ScalarType,
};
use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_observe::{
    Finding, Judge, RecommendationEngine, Redaction, Report, Sampling, StatsCollector, StatsOptions,
};

pub(crate) const START_MS: u64 = 1_700_000_000_000;

/// A table `tasks` with key PK, SK and a global index `GSI1`, and its collector.
pub(crate) struct Traffic {
    pub(crate) collector: StatsCollector,
    pub(crate) now_ms: u64,
    pub(crate) design: Option<Design>,
    pub(crate) latency: Duration,
    pub(crate) outcome: Outcome,
    pub(crate) weight: u32,
    pub(crate) table: String,
    key: KeySchema,
    index: IndexSchema,
    pub(crate) has_local_indexes: bool,
    pub(crate) on_demand: bool,
}

/// One Query or Scan.
#[derive(Clone, Copy, Default)]
pub(crate) struct Read<'a> {
    pub(crate) partition: &'a str,
    pub(crate) begins: &'a str,
    pub(crate) sort: &'a str,
    pub(crate) filter: &'a str,
    pub(crate) on_index: bool,
    pub(crate) scanned: usize,
    pub(crate) returned: usize,
    pub(crate) expired: usize,
    pub(crate) bytes: usize,
    pub(crate) units: u64,
    pub(crate) is_continued: bool,
    pub(crate) limit: Option<usize>,
    pub(crate) is_projected: bool,
}

impl Traffic {
    pub(crate) fn new() -> Self {
        Self::redacted(Redaction::None)
    }

    /// With a collector that hides keys.
    pub(crate) fn redacted(redaction: Redaction) -> Self {
        let attribute = |name: &str| KeyAttribute::new(name, ScalarType::S);
        let key = |hash, range| KeySchema::simple(attribute(hash), Some(attribute(range)));
        let options =
            StatsOptions { sampling: Sampling::All, redaction, ..StatsOptions::default() };
        Self {
            collector: StatsCollector::new(options),
            now_ms: START_MS,
            design: None,
            latency: Duration::from_micros(200),
            outcome: Outcome::Done,
            weight: 1,
            table: "tasks".to_owned(),
            key: key("PK", "SK"),
            index: IndexSchema {
                name: "GSI1".into(),
                kind: IndexKind::Global,
                key: key("GSI1PK", "GSI1SK"),
                projection: Projection::All,
            },
            has_local_indexes: false,
            on_demand: true,
        }
    }

    /// With a design whose table is `tasks`.
    pub(crate) fn designed(text: &str) -> Self {
        let (design, problems) = Design::parse("t.toml", text);
        let design = design.unwrap_or_else(|| panic!("{problems:#?}"));
        let traffic = Self { design: Some(design.clone()), ..Self::new() };
        traffic.collector.load_designs(&[design]);
        traffic
    }

    fn place(&self, on_index: bool) -> Place<'_> {
        Place {
            table: &self.table,
            index: on_index.then_some(&self.index),
            key: if on_index { &self.index.key } else { &self.key },
            throughput: Throughput {
                on_demand: self.on_demand,
                read: None,
                write: None,
                ..Throughput::default()
            },
            has_local_indexes: self.has_local_indexes,
            size_bytes: 0,
            is_vector: false,
            insights: Insights::Off,
        }
    }

    fn send(&self, observation: Observation<'_>) {
        self.collector.observe(&Observation {
            at_ms: self.now_ms,
            latency: self.latency,
            outcome: self.outcome,
            weight: NonZeroU32::new(self.weight).unwrap(),
            ..observation
        });
    }

    pub(crate) fn item(
        &mut self,
        operation: Operation,
        partition: &str,
        sort: &str,
        units: u64,
        bytes: usize,
    ) {
        self.item_with(operation, partition, sort, (units, bytes), None);
    }

    /// One item, with the entry that a write makes in the index.
    pub(crate) fn item_with(
        &mut self,
        operation: Operation,
        partition: &str,
        sort: &str,
        (units, bytes): (u64, usize),
        entry: Option<(&str, &str)>,
    ) {
        let units = Units::whole(units);
        let work = if operation.writes_items() { Work::Write(units) } else { Work::Read(units) };
        let (hash, range) = (encoded(partition), encoded(sort));
        let (entry_hash, entry_range) =
            entry.map_or_else(Default::default, |(hash, range)| (encoded(hash), encoded(range)));
        let table = Touch { place: self.place(false), partition: &hash, sort: &range, work, bytes };
        let index =
            Touch { place: self.place(true), partition: &entry_hash, sort: &entry_range, ..table };
        let both = [table, index];
        let touches = if entry.is_some() { &both[..] } else { &both[..1] };
        let returned = usize::from(!operation.writes_items() && bytes > 0);
        self.send(Observation { operation, touches, returned, ..blank() });
    }

    /// Several items, written together.
    pub(crate) fn transact(&mut self, keys: &[(&str, &str)]) {
        let keys: Vec<_> =
            keys.iter().map(|(hash, range)| (encoded(hash), encoded(range))).collect();
        let (place, work) = (self.place(false), Work::Write(Units::whole(2)));
        let touches: Vec<Touch<'_>> = keys
            .iter()
            .map(|(partition, sort)| Touch { place, partition, sort, work, bytes: 300 })
            .collect();
        let operation = Operation::TransactWriteItems;
        self.send(Observation { operation, touches: &touches, ..blank() });
    }

    pub(crate) fn get(&mut self, partition: &str, sort: &str) {
        self.item(Operation::GetItem, partition, sort, 1, 300);
    }

    pub(crate) fn put(&mut self, partition: &str, sort: &str) {
        self.item(Operation::PutItem, partition, sort, 1, 300);
    }

    pub(crate) fn read(&mut self, read: Read<'_>) {
        let place = self.place(read.on_index);
        let hash = if read.partition.is_empty() { Vec::new() } else { encoded(read.partition) };
        let touch = Touch {
            place,
            partition: &hash,
            sort: &[],
            work: Work::Read(Units::whole(read.units)),
            bytes: read.bytes,
        };
        let begins = (!read.begins.is_empty())
            .then(|| KeyOperator::BeginsWith(AttributeValue::from(read.begins)));
        let condition = ResolvedKeyCondition {
            hash: vec![AttributeValue::from(read.partition)],
            range_prefix: match read.sort {
                "" => Vec::new(),
                sort => vec![AttributeValue::from(sort)],
            },
            range: begins,
        };
        let filter = (!read.filter.is_empty()).then(|| filter_on(read.filter));
        let is_query = !read.partition.is_empty();
        let question = Question {
            place,
            condition: is_query.then_some(&condition),
            filter: filter.as_ref(),
            limit: read.limit,
            is_forward: true,
            is_continued: read.is_continued,
            has_more: false,
            scanned: read.scanned,
        };
        self.send(Observation {
            operation: if is_query { Operation::Query } else { Operation::Scan },
            touches: &[touch],
            question: Some(question),
            returned: read.returned,
            expired: read.expired,
            is_projected: read.is_projected,
            ..blank()
        });
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    pub(crate) fn report(&self) -> Report {
        self.collector.snapshot()
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        findings(&self.report(), self.design.as_ref())
    }
}

pub(crate) fn findings(report: &Report, design: Option<&Design>) -> Vec<Finding> {
    let prices = Prices::default();
    RecommendationEngine::new(Judge::new(report, design, &prices)).diagnose()
}

pub(crate) fn throttled(is_index: bool, touch: usize) -> Outcome {
    throttled_by(ThrottleLimit::KeyRange, is_index, touch)
}

pub(crate) fn throttled_by(limit: ThrottleLimit, is_index: bool, touch: usize) -> Outcome {
    Outcome::Throttled(ThrottleReason { is_index, is_write: true, limit }, touch)
}

fn blank<'a>() -> Observation<'a> {
    Observation {
        operation: Operation::GetItem,
        at_ms: 0,
        touches: &[],
        question: None,
        returned: 0,
        is_projected: false,
        is_consistent: false,
        is_retry: false,
        expired: 0,
        latency: Duration::ZERO,
        outcome: Outcome::Done,
        weight: NonZeroU32::MIN,
    }
}

pub(crate) fn encoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key_value(&AttributeValue::from(text), &mut bytes).unwrap();
    bytes
}

fn filter_on(attribute: &str) -> Condition {
    let values = vec![(":v".into(), AttributeValue::from("x"))];
    let names = vec![("#a".into(), attribute.into())];
    Bindings::new(Some(names), Some(values)).unwrap().filter("#a = :v").unwrap()
}

/// A generator of numbers that look random and are not.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
