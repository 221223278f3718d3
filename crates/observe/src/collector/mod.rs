//! The collector: records each sampled request.
//!
//! Every table and index has its own lock, and only sampled requests take it. Memory is
//! bounded whatever the traffic: up to 1.3 MB for each of the first 16 tables and indexes, less than
//! 650 KB for each of the next 48, which get smaller sketches; further ones are left out. Each rule of
//! Contributor Insights takes up to 310 KB more; where they are enabled for more than 16 tables and
//! indexes, the further ones take up to 90 KB.

mod heat;
mod leaders;
mod pattern;
mod place;
mod sequence;

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use keyloom_core::Error;
use keyloom_core::observation::{
    Contributions, InsightQuery, NotCounted, Observation, Observer, Place, Touch,
};
use keyloom_design::Design;
use parking_lot::{Mutex, RwLock};

use self::place::{PlaceStats, decoded};
use crate::attribution::{Attributed, Attribution};
use crate::insight::InsightPlaces;
use crate::redaction::Redaction;
use crate::report::{ErrorCount, HeatMap, Report, VERSION};
use crate::sampling::{Sampler, Sampling};
use crate::sketch::place_id;

/// How many tables and indexes get sketches of the full size, and how many are counted at all.
const FULL_PLACES: usize = 16;
const MAX_PLACES: usize = 64;
/// How many pairs of operation and error code are counted.
const MAX_ERRORS: usize = 256;

/// How statistics are collected.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatsOptions {
    /// Which requests are sampled.
    pub sampling: Sampling,
    /// How much of key values reports show.
    pub redaction: Redaction,
    /// Whether to leave out the load over time and key space, which takes a fifth of the memory.
    pub without_heat: bool,
}

/// Collects statistics of a database's requests, in bounded memory.
#[derive(Debug, Default)]
pub struct StatsCollector {
    redaction: Redaction,
    without_heat: bool,
    sampler: Sampler,
    attribution: ArcSwapOption<Attribution>,
    places: RwLock<HashMap<u64, Arc<Mutex<PlaceStats>>>>,
    insights: InsightPlaces,
    errors: Mutex<BTreeMap<(String, &'static str), u64>>,
    sampled: AtomicU64,
    requests: AtomicU64,
    /// Accesses to tables and indexes beyond the [`MAX_PLACES`] that are counted.
    left_out: AtomicU64,
    since_ms: AtomicU64,
    until_ms: AtomicU64,
}

impl StatsCollector {
    /// An empty collector.
    pub fn new(options: StatsOptions) -> Self {
        let StatsOptions { sampling, redaction, without_heat } = options;
        Self { redaction, without_heat, sampler: Sampler::new(sampling), ..Self::default() }
    }

    /// Attributes requests to the access patterns of these designs from now on.
    pub fn load_designs(&self, designs: &[Design]) {
        self.attribution.store(Some(Arc::new(Attribution::new(designs))));
    }

    /// A report of what was collected so far.
    pub fn snapshot(&self) -> Report {
        let redaction = self.redaction;
        let cells: Vec<_> = self.places.read().values().cloned().collect();
        let mut places: Vec<_> = cells.iter().map(|cell| cell.lock().report(redaction)).collect();
        let known = self.attribution.load();
        for place in &mut places {
            place.is_designed = known.as_ref().is_some_and(|known| known.knows(&place.table));
        }
        places.sort_by(|a, b| (&a.table, &a.index).cmp(&(&b.table, &b.index)));
        let errors = self.errors.lock();
        let errors = errors.iter().map(|((operation, code), count)| ErrorCount {
            operation: operation.clone(),
            code: (*code).to_owned(),
            count: *count,
        });
        Report {
            version: VERSION,
            since_ms: self.since_ms.load(Ordering::Relaxed),
            until_ms: self.until_ms.load(Ordering::Relaxed),
            design: known.as_ref().map(|known| known.names()),
            redaction,
            sampled: self.sampled.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            of_one_program: false,
            places,
            left_out: self.left_out.load(Ordering::Relaxed),
            errors: errors.collect(),
            tables: Vec::new(),
            partitions: Vec::new(),
            heat: Vec::new(),
        }
    }

    /// The load over time and key space: of every table and index, or of those that `wanted` accepts.
    pub fn heat(&self, wanted: impl Fn(&str, Option<&str>) -> bool) -> Vec<HeatMap> {
        let cells: Vec<_> = self.places.read().values().cloned().collect();
        let maps = cells.iter().filter_map(|cell| cell.lock().heat(self.redaction, &wanted));
        let mut maps: Vec<HeatMap> = maps.collect();
        maps.sort_by(|a, b| (&a.table, &a.index).cmp(&(&b.table, &b.index)));
        maps
    }

    /// Forgets what was collected.
    pub fn reset(&self) {
        self.places.write().clear();
        self.insights.clear();
        self.errors.lock().clear();
        let counts = [&self.sampled, &self.requests, &self.left_out];
        for number in counts.into_iter().chain([&self.since_ms, &self.until_ms]) {
            number.store(0, Ordering::Relaxed);
        }
    }

    /// What is known of a place; none once too many are known.
    fn place(&self, id: u64, place: &Place<'_>) -> Option<Arc<Mutex<PlaceStats>>> {
        if let Some(known) = self.places.read().get(&id) {
            return Some(Arc::clone(known));
        }
        let mut places = self.places.write();
        if places.len() >= MAX_PLACES && !places.contains_key(&id) {
            return None;
        }
        let is_small = places.len() >= FULL_PLACES;
        let stats = || PlaceStats::new(place, is_small, !self.without_heat);
        let new = || Arc::new(Mutex::new(stats()));
        Some(Arc::clone(places.entry(id).or_insert_with(new)))
    }

    fn note_time(&self, at_ms: u64) {
        if self.since_ms.load(Ordering::Relaxed) == 0 {
            // First come, first served; a race is only between simultaneous requests.
            self.since_ms.store(at_ms, Ordering::Relaxed);
        }
        self.until_ms.fetch_max(at_ms, Ordering::Relaxed);
    }
}

/// The number that stands for a place.
fn id_of(place: &Place<'_>) -> u64 {
    place_id(place.table, place.index_name())
}

impl Observer for StatsCollector {
    fn sample(&self) -> Option<NonZeroU32> {
        self.sampler.next()
    }

    fn observe(&self, observation: &Observation<'_>) {
        self.sampled.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(u64::from(observation.weight.get()), Ordering::Relaxed);
        self.note_time(observation.at_ms);
        let asked = observation.question.map(|question| question.place);
        let home = asked.or_else(|| observation.touches.first().map(|touch| touch.place));
        let known = self.attribution.load();
        let is_unknown = |touch: &Touch<'_>| {
            known.as_ref().is_some_and(|known| known.is_unknown(touch, observation.operation))
        };
        for (position, touch) in observation.touches.iter().enumerate() {
            if let Some(cell) = self.place(id_of(&touch.place), &touch.place) {
                let is_unknown = is_unknown(touch);
                let mut place = cell.lock();
                place.touch(position, touch, observation);
                if is_unknown {
                    place.unknown_key(touch, u64::from(observation.weight.get()));
                }
            } else {
                let weight = u64::from(observation.weight.get());
                self.left_out.fetch_add(weight, Ordering::Relaxed);
            }
        }
        self.insights.observe(observation);
        let Some(home) = home else { return };
        let found = match known.as_deref() {
            Some(known) => known.find(&home, observation),
            None => Attributed::by_shape(&home, observation),
        };
        let id = id_of(&home);
        if let Some(cell) = self.place(id, &home) {
            cell.lock().request(id, observation, found);
        }
    }

    fn contributors(&self, query: &InsightQuery<'_>) -> Result<Contributions, NotCounted> {
        self.insights.answer(query, |partition, sort| {
            let mut keys = vec![self.redaction.apply(&decoded(&query.key.hash, partition))];
            if query.kind.tells_items() {
                keys.push(self.redaction.apply(&decoded(&query.key.range, sort)));
            }
            keys
        })
    }

    fn forget(&self, table: &str, index: Option<&str>) {
        self.places.write().retain(|_, cell| !cell.lock().is_of(table, index));
        self.insights.forget(table, index);
    }

    fn failed(&self, operation: &str, error: &Error) {
        let mut errors = self.errors.lock();
        let code = error.code();
        if let Some((_, count)) =
            errors.iter_mut().find(|((name, known), _)| name == operation && *known == code)
        {
            *count += 1;
        } else if errors.len() < MAX_ERRORS {
            errors.insert((operation.to_owned(), code), 1);
        }
    }
}
