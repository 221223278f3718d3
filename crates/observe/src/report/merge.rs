//! Merges two reports of the same tables.

use super::{ErrorCount, HeatMap, Key, Pattern, PlaceReport, Report};
use crate::partitions::PlaceHeat;
use crate::window::merged;

/// Slots that a merged report keeps.
const SECONDS: usize = 120;
const MINUTES: usize = 180;
const HOURS: usize = 168;
/// Keys that a merged report keeps.
const KEYS: usize = 100;

impl Report {
    /// Adds what another report saw: of another process, or of another time.
    pub fn merge(&mut self, other: &Self) {
        self.since_ms = match (self.since_ms, other.since_ms) {
            (0, since) | (since, 0) => since,
            (a, b) => a.min(b),
        };
        self.until_ms = self.until_ms.max(other.until_ms);
        // A database's facts about tables are more complete than those of a client.
        let keeps_facts = other.of_one_program && !self.of_one_program;
        self.of_one_program &= other.of_one_program;
        self.sampled += other.sampled;
        self.requests += other.requests;
        self.left_out += other.left_out;
        let strictest = self.redaction.stricter(other.redaction);
        self.redact(strictest);
        let mut other = other.clone();
        other.redact(strictest);
        for place in &other.places {
            let known =
                |mine: &&mut PlaceReport| mine.table == place.table && mine.index == place.index;
            match self.places.iter_mut().find(known) {
                Some(mine) => mine.merge(place),
                None => self.places.push(place.clone()),
            }
        }
        for error in other.errors {
            let same = |mine: &&mut ErrorCount| {
                mine.operation == error.operation && mine.code == error.code
            };
            match self.errors.iter_mut().find(same) {
                Some(mine) => mine.count += error.count,
                None => self.errors.push(error),
            }
        }
        for facts in other.tables {
            match self.tables.iter_mut().find(|mine| mine.name == facts.name) {
                Some(_) if keeps_facts => {}
                Some(mine) => *mine = facts,
                None => self.tables.push(facts),
            }
        }
        for heat in other.partitions {
            let same = |mine: &&mut PlaceHeat| mine.table == heat.table && mine.index == heat.index;
            match self.partitions.iter_mut().find(same) {
                Some(mine) => mine.merge(heat),
                None => self.partitions.push(heat),
            }
        }
        for map in other.heat {
            let same = |mine: &&mut HeatMap| mine.table == map.table && mine.index == map.index;
            match self.heat.iter_mut().find(same) {
                Some(mine) => mine.merge(map),
                None => self.heat.push(map),
            }
        }
    }
}

impl PlaceReport {
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.reads += other.reads;
        self.writes += other.writes;
        for (reason, count) in &other.throttled {
            *self.throttled.entry(reason.clone()).or_default() += count;
        }
        self.distinct.merge(&other.distinct);
        self.distinct_keys = self.distinct.estimate();
        let load = self.load + other.load;
        (self.keys, self.keys_floor) =
            keys((&self.keys, self.keys_floor), (&other.keys, other.keys_floor), load);
        (self.items, self.items_floor) =
            keys((&self.items, self.items_floor), (&other.items, other.items_floor), load);
        self.load = load;
        self.minute_leaders.extend(other.minute_leaders.iter().cloned());
        self.minute_leaders.sort_by_key(|leader| leader.start_ms);
        self.hour_leaders.extend(other.hour_leaders.iter().cloned());
        self.hour_leaders.sort_by_key(|leader| leader.start_ms);
        self.seconds = merged(&self.seconds, &other.seconds, SECONDS);
        self.minutes = merged(&self.minutes, &other.minutes, MINUTES);
        self.hours = merged(&self.hours, &other.hours, HOURS);
        let peak = |of: fn(&crate::Slot) -> f64| self.seconds.iter().map(of).fold(0.0, f64::max);
        self.peak_reads = self.peak_reads.max(other.peak_reads).max(peak(|slot| slot.reads));
        self.peak_writes = self.peak_writes.max(other.peak_writes).max(peak(|slot| slot.writes));
        if other.sizes.max() > self.sizes.max() {
            self.largest.clone_from(&other.largest);
        }
        self.sizes.merge(&other.sizes);
        self.unknown_keys += other.unknown_keys;
        self.unknown_samples.extend(other.unknown_samples.iter().cloned());
        self.unknown_samples.truncate(5);
        for pattern in &other.patterns {
            let same = |mine: &&mut Pattern| {
                mine.operation == pattern.operation && mine.label() == pattern.label()
            };
            match self.patterns.iter_mut().find(same) {
                Some(mine) => mine.merge(pattern),
                None => self.patterns.push(pattern.clone()),
            }
        }
    }
}

impl Pattern {
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.reads += other.reads;
        self.writes += other.writes;
        self.max_units = self.max_units.max(other.max_units);
        for (mine, theirs) in [
            (&mut self.scanned, other.scanned),
            (&mut self.returned, other.returned),
            (&mut self.expired, other.expired),
            (&mut self.bytes, other.bytes),
            (&mut self.empty, other.empty),
            (&mut self.condition_failed, other.condition_failed),
            (&mut self.conflicts, other.conflicts),
            (&mut self.throttled, other.throttled),
            (&mut self.retries, other.retries),
            (&mut self.failed, other.failed),
            (&mut self.projected, other.projected),
            (&mut self.consistent, other.consistent),
            (&mut self.limited, other.limited),
            (&mut self.filtered, other.filtered),
            (&mut self.continued, other.continued),
            (&mut self.after_read, other.after_read),
            (&mut self.batchable, other.batchable),
            (&mut self.batch_runs, other.batch_runs),
        ] {
            *mine += theirs;
        }
        for attribute in &other.filter_attributes {
            if !self.filter_attributes.contains(attribute) {
                self.filter_attributes.push(attribute.clone());
            }
        }
        self.early_pages = self.early_pages.min(other.early_pages);
        self.late_pages = self.late_pages.max(other.late_pages);
        self.latency.merge(&other.latency);
    }
}

/// The heaviest of two lists. A key that only one of them has may have had up to the floor of the
/// other, so that much is added to its load and to its error.
fn keys(a: (&[Key], f64), b: (&[Key], f64), load: f64) -> (Vec<Key>, f64) {
    let mut all: Vec<Key> = Vec::with_capacity(a.0.len() + b.0.len());
    for key in a.0 {
        let mut key = key.clone();
        if let Some(other) = b.0.iter().find(|other| other.hash == key.hash) {
            key.load += other.load;
            key.error += other.error;
            key.reads += other.reads;
            key.writes += other.writes;
            key.requests += other.requests;
            key.throttled += other.throttled;
            key.written_bytes += other.written_bytes;
            key.peak_reads = key.peak_reads.max(other.peak_reads);
            key.peak_writes = key.peak_writes.max(other.peak_writes);
        } else {
            key.load += b.1;
            key.error += b.1;
        }
        all.push(key);
    }
    for key in b.0.iter().filter(|key| a.0.iter().all(|mine| mine.hash != key.hash)) {
        let mut key = key.clone();
        key.load += a.1;
        key.error += a.1;
        all.push(key);
    }
    for key in &mut all {
        key.share = if load > 0.0 { key.load / load } else { 0.0 };
    }
    all.sort_by(|x, y| y.load.total_cmp(&x.load));
    let floor = all.get(KEYS).map_or(0.0, |key| key.load).max(a.1 + b.1);
    all.truncate(KEYS);
    (all, floor)
}
