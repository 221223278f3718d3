//! Statistics of one table or index.

use std::collections::{BTreeMap, HashMap};

use keyloom_core::key::decode_key_value;
use keyloom_core::observation::{self, Observation, Outcome, ThrottleLimit, ThrottleReason, Touch};
use keyloom_core::{AttributeValue, IndexKind, KeyAttribute, KeySchema, Operation};

use super::heat::Heat;
use super::leaders::{Leaders, Led, load_of};
use super::pattern::PatternStats;
use super::sequence::{RecentReads, batchable};
use crate::attribution::{Attributed, Constants};
use crate::redaction::{Redaction, label};
use crate::report::{HeatMap, Key, Kind, Leader, Pattern, PlaceReport};
use crate::sketch::{Distinct, Entry, Histogram, Load, Seen, TopKeys, hash_of, joined};
use crate::window::Ring;

/// Partition keys that are monitored, and the counters for all others.
const KEYS: usize = 256;
const KEY_COUNTERS: usize = 16_384;
/// Items that are monitored, and the counters for all others.
const ITEMS: usize = 128;
const ITEM_COUNTERS: usize = 4096;
/// What a small place has less of everything.
const SMALLER: usize = 8;
/// Keys that a report shows.
const REPORTED: usize = 100;
/// Kinds of requests that are kept apart; the rest is one.
const MAX_PATTERNS: usize = 32;
const MAX_SAMPLES: usize = 5;

/// What is known of one table or index.
#[derive(Debug)]
pub(super) struct PlaceStats {
    row: PlaceReport,
    schema: KeySchema,
    total: Load,
    reasons: BTreeMap<ThrottleReason, u64>,
    distinct: Distinct,
    keys: TopKeys,
    items: TopKeys,
    minutes: Leaders,
    hours: Leaders,
    /// None if it was not wanted.
    heat: Option<Heat>,
    seconds_ring: Ring,
    minutes_ring: Ring,
    hours_ring: Ring,
    reads: RecentReads,
    sizes: Histogram,
    largest: Box<[u8]>,
    patterns: HashMap<u64, PatternStats>,
    max_patterns: usize,
}

impl PlaceStats {
    pub(super) fn new(place: &observation::Place<'_>, is_small: bool, with_heat: bool) -> Self {
        let share = if is_small { SMALLER } else { 1 };
        let names = |attributes: &[KeyAttribute]| {
            attributes.iter().map(|attribute| attribute.name.to_string()).collect()
        };
        let row = PlaceReport {
            table: place.table.to_owned(),
            index: place.index_name().map(str::to_owned),
            kind: match place.index.map(|index| index.kind) {
                None => Kind::Table,
                Some(_) if place.is_vector => Kind::Vector,
                Some(IndexKind::Global) => Kind::Global,
                Some(IndexKind::Local) => Kind::Local,
            },
            partition_key: names(&place.key.hash),
            sort_key: names(&place.key.range),
            ..PlaceReport::default()
        };
        Self {
            row,
            schema: place.key.clone(),
            total: Load::default(),
            reasons: BTreeMap::new(),
            distinct: Distinct::default(),
            keys: TopKeys::new(KEYS / share, KEY_COUNTERS / share),
            items: TopKeys::new(ITEMS / share, ITEM_COUNTERS / share),
            minutes: Leaders::new(60_000, 60),
            hours: Leaders::new(3_600_000, 72),
            heat: with_heat.then(|| Heat::new(is_small)),
            seconds_ring: Ring::new(1000, 120),
            minutes_ring: Ring::new(60_000, 180),
            hours_ring: Ring::new(3_600_000, 168),
            reads: RecentReads::default(),
            sizes: Histogram::default(),
            largest: Box::default(),
            patterns: HashMap::new(),
            max_patterns: MAX_PATTERNS / share,
        }
    }

    /// Whether it is this index, or belongs to this table if none is named.
    pub(super) fn is_of(&self, table: &str, index: Option<&str>) -> bool {
        self.row.table == table && (index.is_none() || self.row.index.as_deref() == index)
    }

    /// Counts one key that a request touched.
    pub(super) fn touch(
        &mut self,
        position: usize,
        touch: &Touch<'_>,
        observation: &Observation<'_>,
    ) {
        let weight = u64::from(observation.weight.get());
        let throttle = match observation.outcome {
            Outcome::Throttled(reason, at) if at == position => Some(reason),
            _ => None,
        };
        let done = observation.outcome == Outcome::Done;
        let load = load_of(touch.work, weight);
        self.count(touch, observation.at_ms, weight, load, throttle);
        if !matches!(observation.outcome, Outcome::Throttled(..)) {
            self.total.read_halves += load.read_halves;
            self.total.write_halves += load.write_halves;
        }
        if touch.partition.is_empty() {
            return;
        }
        let hash = hash_of(touch.partition);
        self.distinct.add(hash);
        // What is removed leaves no bytes.
        let put = done && touch.work.is_write() && touch.bytes > 0;
        let mut seen = Seen {
            hash,
            partition: touch.partition,
            sort: &[],
            load,
            weight,
            at_ms: observation.at_ms,
            // A throttle of the whole table is not a property of the key.
            is_throttled: throttle.is_some_and(|reason| reason.limit == ThrottleLimit::KeyRange),
            written_bytes: if put { touch.bytes as u64 * weight } else { 0 },
        };
        self.keys.add(&seen);
        self.minutes.add(&seen);
        self.hours.add(&seen);
        self.add_heat(&seen, observation.outcome, throttle);
        let single = touch.place.key.range.is_empty() || !touch.sort.is_empty();
        if single {
            seen.hash = joined(hash, hash_of(touch.sort));
            seen.sort = touch.sort;
            self.items.add(&seen);
        }
        if put && touch.place.index.is_none() {
            if touch.bytes as u64 > self.sizes.max() {
                self.largest = touch.partition.into();
            }
            self.sizes.add(touch.bytes as u64, weight);
        }
    }

    /// What was refused has no load, and what was refused elsewhere is not counted here.
    fn add_heat(&mut self, seen: &Seen<'_>, outcome: Outcome, throttle: Option<ThrottleReason>) {
        let Some(heat) = &mut self.heat else { return };
        match (outcome, throttle) {
            (Outcome::Throttled(..), None) => {}
            (_, Some(_)) => {
                let refused = Seen { load: Load::default(), is_throttled: true, ..*seen };
                heat.add(&refused, seen.weight);
            }
            (_, None) => heat.add(seen, 0),
        }
    }

    /// The load over time and key space, if it is wanted of this place.
    pub(super) fn heat(
        &self,
        redaction: Redaction,
        wanted: impl Fn(&str, Option<&str>) -> bool,
    ) -> Option<HeatMap> {
        if !wanted(&self.row.table, self.row.index.as_deref()) {
            return None;
        }
        let heat = self.heat.as_ref()?;
        let levels = heat.report(|bytes| redaction.apply(&self.partition(bytes)));
        let (table, index) = (self.row.table.clone(), self.row.index.clone());
        Some(HeatMap { table, index, rows: heat.rows(), levels })
    }

    fn count(
        &mut self,
        touch: &Touch<'_>,
        at_ms: u64,
        weight: u64,
        load: Load,
        throttle: Option<ThrottleReason>,
    ) {
        let row = &mut self.row;
        row.requests += weight;
        row.on_demand = touch.place.throughput.on_demand;
        row.read_limit = touch.place.throughput.read;
        row.write_limit = touch.place.throughput.write;
        row.has_local_indexes = touch.place.has_local_indexes;
        let throttled = if throttle.is_some() { weight } else { 0 };
        if let Some(reason) = throttle {
            *self.reasons.entry(reason).or_default() += weight;
        }
        for ring in [&mut self.seconds_ring, &mut self.minutes_ring, &mut self.hours_ring] {
            ring.add(at_ms, weight, load, throttled);
        }
        if let Some(second) = self.seconds_ring.last() {
            row.peak_reads = row.peak_reads.max(second.reads);
            row.peak_writes = row.peak_writes.max(second.writes);
        }
    }

    /// Counts a request to this table or index.
    pub(super) fn request(
        &mut self,
        place: u64,
        observation: &Observation<'_>,
        found: Attributed<'_>,
    ) {
        let weight = u64::from(observation.weight.get());
        let full = self.patterns.len() >= self.max_patterns;
        let id = if full && !self.patterns.contains_key(&found.id) {
            hash_of(observation.operation.name().as_bytes())
        } else {
            found.id
        };
        let operation = observation.operation.name();
        let pattern = self.patterns.entry(id).or_insert_with(|| {
            let (name, entity) = (found.name.map(str::to_owned), found.entity.map(str::to_owned));
            if full {
                let others = format!("{operation} (others)");
                return PatternStats::new(operation, None, [others.clone(), others], None);
            }
            let shape = |constants| found.shape(observation, constants);
            let shapes = [shape(Constants::Shown), shape(Constants::Hidden)];
            PatternStats::new(operation, name, shapes, entity)
        });
        pattern.add(observation, weight);
        let (batch, is_new) = batchable(observation.operation, place, observation.at_ms);
        pattern.row.batchable += batch * weight;
        pattern.row.batch_runs += if is_new { weight } else { 0 };
        self.follow(id, observation, weight);
    }

    fn follow(&mut self, id: u64, observation: &Observation<'_>, weight: u64) {
        let Some(touch) = observation.touches.first() else { return };
        let item = joined(hash_of(touch.partition), hash_of(touch.sort));
        match observation.operation {
            Operation::GetItem => self.reads.read(item, observation.at_ms),
            Operation::PutItem | Operation::UpdateItem | Operation::DeleteItem
                if self.reads.written(item, observation.at_ms) =>
            {
                if let Some(pattern) = self.patterns.get_mut(&id) {
                    pattern.row.after_read += weight;
                }
            }
            _ => {}
        }
    }

    /// Counts a key that no template of the design makes.
    pub(super) fn unknown_key(&mut self, touch: &Touch<'_>, weight: u64) {
        self.row.unknown_keys += weight;
        if self.row.unknown_samples.len() < MAX_SAMPLES {
            let key = shown(&label(&touch.partition_values()), &label(&touch.sort_values()));
            if !self.row.unknown_samples.contains(&key) {
                self.row.unknown_samples.push(key);
            }
        }
    }

    /// What is known now.
    pub(super) fn report(&self, redaction: Redaction) -> PlaceReport {
        let hide = |text: String| if text.is_empty() { text } else { redaction.apply(&text) };
        let (keys, keys_floor) = self.listed(&self.keys, hide);
        let (items, items_floor) = self.listed(&self.items, hide);
        let leaders = |all: Vec<Led>| -> Vec<Leader> {
            let leader = |led: Led| Leader {
                start_ms: led.start_ms,
                key: hide(self.partition(&led.partition)),
                hash: led.hash,
                share: led.share,
                requests: led.requests,
            };
            all.into_iter().map(leader).collect()
        };
        let mut patterns: Vec<_> = self.patterns.values().map(PatternStats::report).collect();
        if redaction != Redaction::None {
            patterns.iter_mut().for_each(Pattern::hide_constants);
        }
        patterns.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.label().cmp(b.label())));
        let samples = self.row.unknown_samples.iter();
        PlaceReport {
            reads: self.total.read_halves as f64 / 2.0,
            writes: self.total.write_halves as f64 / 2.0,
            throttled: self.reasons.iter().map(|(why, count)| (why.name(), *count)).collect(),
            distinct_keys: self.distinct.estimate(),
            distinct: self.distinct.clone(),
            load: self.keys.total() as f64 / 2.0,
            keys,
            keys_floor,
            items,
            items_floor,
            minute_leaders: leaders(self.minutes.all()),
            hour_leaders: leaders(self.hours.all()),
            seconds: self.seconds_ring.slots(),
            minutes: self.minutes_ring.slots(),
            hours: self.hours_ring.slots(),
            sizes: self.sizes.clone(),
            largest: hide(self.partition(&self.largest)),
            unknown_samples: samples.map(|sample| hide(sample.clone())).collect(),
            patterns,
            ..self.row.clone()
        }
    }

    fn listed(&self, top: &TopKeys, hide: impl Fn(String) -> String) -> (Vec<Key>, f64) {
        let (listed, floor) = top.heaviest(REPORTED);
        let total = top.total().max(1) as f64;
        let key = |(load, entry): (u64, &Entry)| Key {
            key: hide(self.partition(&entry.partition)),
            sort: hide(decoded(&self.schema.range, &entry.sort)),
            hash: entry.hash,
            load: load as f64 / 2.0,
            error: entry.error as f64 / 2.0,
            share: load as f64 / total,
            reads: entry.seen.read_halves as f64 / 2.0,
            writes: entry.seen.write_halves as f64 / 2.0,
            requests: entry.requests,
            throttled: entry.throttled,
            peak_reads: entry.peak_read,
            peak_writes: entry.peak_write,
            written_bytes: entry.written_bytes,
        };
        (listed.into_iter().map(key).collect(), floor as f64 / 2.0)
    }

    fn partition(&self, bytes: &[u8]) -> String {
        decoded(&self.schema.hash, bytes)
    }
}

/// A partition and a sort key as one text.
fn shown(partition: &str, sort: &str) -> String {
    if sort.is_empty() { partition.to_owned() } else { format!("{partition} / {sort}") }
}

/// A key as people read it; a long one is cut, and its last value may be missing its end.
pub(super) fn decoded(attributes: &[KeyAttribute], mut bytes: &[u8]) -> String {
    let mut values = Vec::new();
    for attribute in attributes {
        if bytes.is_empty() {
            break;
        }
        let Ok(value) = decode_key_value(attribute.kind, &mut bytes) else {
            let text = String::from_utf8_lossy(bytes).replace('\0', "");
            values.push(AttributeValue::from(format!("{text}…")));
            break;
        };
        values.push(value);
    }
    label(&values)
}
