//! All partitions of one table or global index.

use std::collections::BTreeMap;
use std::ops::Range;

use keyloom_core::hash::partition_hash;
use keyloom_core::observation::{Place, ThrottleLimit, Throughput, Touch, Work};

use super::bucket::Bucket;
use super::growth::Growth;
use super::partition::{Lane, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, Partition};
use super::sample::{NoSplit, Position};

/// What a partition holds before it is split.
const PARTITION_BYTES: u64 = 10_000_000_000;
/// The partitions of a new on-demand table: 12,000 reads and 4,000 writes per second.
const ON_DEMAND_PARTITIONS: usize = 4;
/// More partitions than this are not followed.
const MAX_PARTITIONS: usize = 1024;
/// The default quota of an on-demand table, in units per second.
const TABLE_QUOTA: f64 = 40_000.0;

/// What a request costs at least: a read of nothing.
const LEAST_UNITS: f64 = 0.5;

/// The partitions of a table or a global index, and what it may take as a whole.
#[derive(Debug)]
pub(super) struct Space {
    throughput: Throughput,
    burst_seconds: f64,
    read_limit: Limit,
    write_limit: Limit,
    /// In the order of their keys; the first begins at zero.
    pub(super) partitions: Vec<Partition>,
    pub(super) splits_for_heat: u64,
    pub(super) splits_for_size: u64,
    pub(super) splits_for_growth: u64,
    growth: Growth,
    /// How many partitions there are at least because of that.
    grown_to: usize,
    /// How many partitions there are beyond that, because halves are not always what is wanted.
    surplus: usize,
    /// What all partitions may take together while there are too many, reads and writes.
    ceilings: Option<[Bucket; 2]>,
    /// Requests that were refused, or would have been, by direction and limit.
    pub(super) throttled: BTreeMap<(bool, ThrottleLimit), u64>,
}

/// What the table or index may take as a whole.
#[derive(Debug)]
struct Limit {
    bucket: Bucket,
    kind: ThrottleLimit,
}

impl Limit {
    fn new(throughput: Throughput, units: Option<u64>, burst_seconds: f64, now_ms: u64) -> Self {
        let (rate, seconds, kind) = match units {
            Some(units) if throughput.on_demand => (units as f64, 1.0, ThrottleLimit::MaxOnDemand),
            Some(units) => (units as f64, burst_seconds, ThrottleLimit::Provisioned),
            None => (TABLE_QUOTA, 1.0, ThrottleLimit::Account),
        };
        Self { bucket: Bucket::new(rate, seconds, now_ms), kind }
    }

    fn change(
        &mut self,
        throughput: Throughput,
        units: Option<u64>,
        burst_seconds: f64,
        now_ms: u64,
    ) {
        let new = Self::new(throughput, units, burst_seconds, now_ms);
        if new.kind == self.kind {
            self.bucket.set_rate(new.bucket.rate(), now_ms);
        } else {
            *self = new;
        }
    }
}

/// Some work at one place of the keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    lane: Lane,
    units: f64,
    /// How many requests it stands for.
    weight: f64,
    /// How many partitions were created by splits.
    requests: u64,
    /// The hash of the partition key; none if all partitions are meant.
    hash: Option<u64>,
    /// The sort key; empty if the whole item collection is meant.
    sort: &'a [u8],
    bytes: usize,
}

impl<'a> Ask<'a> {
    pub(super) fn new(touch: &Touch<'a>, weight: u32) -> Self {
        Self {
            lane: if matches!(touch.work, Work::Write(_)) { Lane::Write } else { Lane::Read },
            units: touch.work.units().as_f64() * f64::from(weight),
            weight: f64::from(weight),
            requests: weight.into(),
            hash: (!touch.partition.is_empty()).then(|| partition_hash(touch.partition)),
            sort: touch.sort,
            bytes: touch.bytes,
        }
    }

    /// The same as one request of this server, where so many servers do alike.
    pub(super) fn of_each(touch: &Touch<'a>, servers: u32) -> Self {
        Self { requests: 1, ..Self::new(touch, servers) }
    }

    /// The demand to count: work whose cost is not known yet costs a minimum.
    fn asked(&self) -> f64 {
        self.units.max(self.weight * LEAST_UNITS)
    }
}

impl Space {
    pub(super) fn new(place: &Place<'_>, burst_seconds: f64, now_ms: u64) -> Self {
        let throughput = place.throughput;
        let count = wanted_partitions(throughput, place.size_bytes).clamp(1, MAX_PARTITIONS);
        let first = |number: usize| ((number as u128) << 64).div_ceil(count as u128) as u64;
        let partition = |number| {
            let start = Position { hash: first(number), sort: Box::default() };
            Partition::new(start, burst_seconds, now_ms)
        };
        Self {
            throughput,
            burst_seconds,
            read_limit: Limit::new(throughput, throughput.read, burst_seconds, now_ms),
            write_limit: Limit::new(throughput, throughput.write, burst_seconds, now_ms),
            partitions: (0..count).map(partition).collect(),
            splits_for_heat: 0,
            splits_for_size: 0,
            splits_for_growth: 0,
            growth: Growth::default(),
            grown_to: 0,
            surplus: 0,
            ceilings: None,
            throttled: BTreeMap::new(),
        }
    }

    /// Adapts to changes of the table or index. Partitions are never merged.
    pub(super) fn follow(&mut self, place: &Place<'_>, now_ms: u64) {
        let throughput = place.throughput;
        if throughput != self.throughput {
            self.throughput = throughput;
            let burst = self.burst_seconds;
            self.read_limit.change(throughput, throughput.read, burst, now_ms);
            self.write_limit.change(throughput, throughput.write, burst, now_ms);
        }
        // A local index shares its table's partitions; its size does not tell theirs.
        let size_bytes =
            if place.index.is_none() || place.is_global_index() { place.size_bytes } else { 0 };
        let wanted = wanted_partitions(throughput, size_bytes).min(MAX_PARTITIONS);
        while self.partitions.len() < wanted && self.split_largest() {
            self.splits_for_size += 1;
        }
        if let Some(grown) = self.grown().filter(|grown| *grown > self.grown_to) {
            self.grow_to(grown);
        }
        self.follow_surplus(wanted, now_ms);
    }

    /// Halves partitions until there are so many and none covers more hashes than its even share: what is
    /// spread evenly must find room.
    fn grow_to(&mut self, count: usize) {
        self.grown_to = count;
        let meant = count.max(self.partitions.len() - self.surplus);
        let widest = u64::MAX / count as u64 + 1;
        while self.partitions.len() < MAX_PARTITIONS && self.split_wider_than(widest) {
            self.splits_for_growth += 1;
        }
        self.surplus = self.partitions.len().saturating_sub(meant);
    }

    /// Lets all partitions together take no more than those that are meant to be there.
    fn follow_surplus(&mut self, wanted: usize, now_ms: u64) {
        let meant = wanted.max(self.partitions.len() - self.surplus);
        if meant >= self.partitions.len() || !self.throughput.on_demand {
            self.ceilings = None;
            return;
        }
        let rates = [PARTITION_READ_UNITS, PARTITION_WRITE_UNITS].map(|units| units * meant as f64);
        let seconds = self.burst_seconds;
        let ceilings = self
            .ceilings
            .get_or_insert_with(|| rates.map(|rate| Bucket::new(rate, seconds, now_ms)));
        for (ceiling, rate) in ceilings.iter_mut().zip(rates) {
            if ceiling.rate() < rate {
                ceiling.set_rate(rate, now_ms);
            }
        }
    }

    fn ceiling(&mut self, lane: Lane) -> Option<&mut Bucket> {
        let [reads, writes] = self.ceilings.as_mut()?;
        Some(match lane {
            Lane::Read => reads,
            Lane::Write => writes,
        })
    }

    /// How many partitions its previous peak has made of an on-demand table; none if no more than it
    /// began with.
    pub(super) fn grown(&self) -> Option<usize> {
        let count = self.growth.partitions().min(MAX_PARTITIONS);
        (self.throughput.on_demand && count > ON_DEMAND_PARTITIONS).then_some(count)
    }

    /// Takes the work, or says which limit it meets. `beside` is what was taken for the same request
    /// before: together with it, the work may be larger than a bucket.
    pub(super) fn take<'a>(
        &mut self,
        ask: Ask<'a>,
        beside: impl Iterator<Item = Ask<'a>>,
        has_local: bool,
        now_ms: u64,
    ) -> Result<(), ThrottleLimit> {
        let at = self.prepare(ask, has_local, now_ms);
        if self.missing(ask, at.clone(), &[], now_ms).is_some() {
            let beside: Vec<Ask<'a>> = beside.collect();
            if let Some(limit) = self.missing(ask, at.clone(), &beside, now_ms) {
                self.refuse(ask, at, limit);
                return Err(limit);
            }
        }
        self.spend(ask, at, now_ms);
        Ok(())
    }

    /// Takes work that has been done, come what may.
    pub(super) fn charge(&mut self, ask: Ask<'_>, now_ms: u64) {
        let at = self.covering(ask);
        // The minimum was counted when the request was admitted.
        self.note_asked(ask, at.clone(), ask.units - ask.weight * LEAST_UNITS);
        self.spend(ask, at, now_ms);
    }

    /// Takes note of work that has been done, and of whether it would have been refused.
    pub(super) fn observe(
        &mut self,
        ask: Ask<'_>,
        has_local: bool,
        now_ms: u64,
    ) -> Option<ThrottleLimit> {
        let at = self.prepare(ask, has_local, now_ms);
        let limit = self.missing(ask, at.clone(), &[], now_ms);
        match limit {
            None => self.spend(ask, at, now_ms),
            Some(limit) => {
                self.meter(ask, at.clone(), now_ms);
                self.refuse(ask, at, limit);
            }
        }
        limit
    }

    /// Puts back work that was taken and then not done.
    pub(super) fn put_back(&mut self, ask: Ask<'_>, now_ms: u64) {
        let at = self.covering(ask);
        let parts = at.len().max(1) as f64;
        for partition in self.partitions.get_mut(at).into_iter().flatten() {
            let flow = partition.flow(ask.lane);
            flow.bucket.put_back(ask.units / parts);
            flow.meter.take_back(ask.units / parts, now_ms);
            if ask.lane == Lane::Write {
                partition.written_bytes -= ask.bytes as f64 * ask.weight / parts;
            }
        }
        self.limit(ask.lane).bucket.put_back(ask.units);
        if let Some(all) = self.ceiling(ask.lane) {
            all.put_back(ask.units);
        }
        self.growth.take_back(ask.lane, ask.units);
    }

    fn limit(&mut self, lane: Lane) -> &mut Limit {
        match lane {
            Lane::Read => &mut self.read_limit,
            Lane::Write => &mut self.write_limit,
        }
    }

    /// Takes note of what is asked, splits what has been hot for long, and says where the work falls.
    fn prepare(&mut self, ask: Ask<'_>, has_local: bool, now_ms: u64) -> Range<usize> {
        let mut at = self.covering(ask);
        for position in at.clone().rev() {
            let is_due = |partition: &mut Partition| partition.ends_hot_minutes(now_ms);
            if self.partitions.get_mut(position).is_some_and(is_due) {
                self.split_hot(position, has_local);
            }
        }
        at = self.covering(ask);
        self.note_asked(ask, at.clone(), ask.asked());
        at
    }

    fn note_asked(&mut self, ask: Ask<'_>, at: Range<usize>, units: f64) {
        let units = units / at.len().max(1) as f64;
        if units <= 0.0 {
            return;
        }
        for partition in self.partitions.get_mut(at).into_iter().flatten() {
            partition.ask(ask.lane, ask.hash.unwrap_or(partition.start.hash), ask.sort, units);
        }
    }

    /// The partitions that the work falls on: one for an item, perhaps several for a range.
    fn covering(&self, ask: Ask<'_>) -> Range<usize> {
        let Some(hash) = ask.hash else { return 0..self.partitions.len() };
        let begins_by = |sort: &[u8]| {
            self.partitions.partition_point(|p| (p.start.hash, &*p.start.sort) <= (hash, sort))
        };
        let first = begins_by(ask.sort).saturating_sub(1);
        if !ask.sort.is_empty() {
            return first..first + 1;
        }
        let end = self.partitions.partition_point(|partition| partition.start.hash <= hash);
        first..end.max(first + 1)
    }

    /// The limit that the work meets, if there is one. A range is read from one partition after the
    /// other: it can go on while any of them has something left.
    fn missing(
        &mut self,
        ask: Ask<'_>,
        at: Range<usize>,
        beside: &[Ask<'_>],
        now_ms: u64,
    ) -> Option<ThrottleLimit> {
        let taken = beside.iter().map(|ask| ask.units).sum();
        let limit = self.limit(ask.lane);
        if !limit.bucket.has(ask.units, taken, now_ms) {
            return Some(limit.kind);
        }
        if self.ceiling(ask.lane).is_some_and(|all| !all.has(ask.units, taken, now_ms)) {
            return Some(ThrottleLimit::KeyRange);
        }
        let units = ask.units / at.len().max(1) as f64;
        let mut has = |position: usize| {
            let taken = beside.iter().map(|ask| self.share_at(*ask, position)).sum();
            let partition = self.partitions.get_mut(position);
            partition.is_some_and(|it| it.flow(ask.lane).bucket.has(units, taken, now_ms))
        };
        (!at.into_iter().any(&mut has)).then_some(ThrottleLimit::KeyRange)
    }

    /// How much of the work falls on one partition.
    fn share_at(&self, ask: Ask<'_>, position: usize) -> f64 {
        let at = self.covering(ask);
        if at.contains(&position) { ask.units / at.len() as f64 } else { 0.0 }
    }

    fn spend(&mut self, ask: Ask<'_>, at: Range<usize>, now_ms: u64) {
        let units = ask.units / at.len().max(1) as f64;
        for partition in self.partitions.get_mut(at.clone()).into_iter().flatten() {
            partition.flow(ask.lane).bucket.take(units, now_ms);
        }
        self.limit(ask.lane).bucket.take(ask.units, now_ms);
        if let Some(all) = self.ceiling(ask.lane) {
            all.take(ask.units, now_ms);
        }
        self.growth.add(ask.lane, ask.units, now_ms);
        self.meter(ask, at, now_ms);
    }

    fn meter(&mut self, ask: Ask<'_>, at: Range<usize>, now_ms: u64) {
        let parts = at.len().max(1) as f64;
        for partition in self.partitions.get_mut(at).into_iter().flatten() {
            partition.flow(ask.lane).meter.add(ask.units / parts, now_ms);
            if ask.lane == Lane::Write {
                partition.written_bytes += ask.bytes as f64 * ask.weight / parts;
            }
        }
    }

    fn refuse(&mut self, ask: Ask<'_>, at: Range<usize>, limit: ThrottleLimit) {
        let requests = ask.requests;
        *self.throttled.entry((ask.lane == Lane::Write, limit)).or_default() += requests;
        if let Some(partition) = self.partitions.get_mut(at.start) {
            partition.flow(ask.lane).throttled += requests;
        }
    }

    /// Splits a partition in the middle of its traffic, if that helps.
    fn split_hot(&mut self, position: usize, has_local: bool) {
        let is_full = self.partitions.len() >= MAX_PARTITIONS;
        let next = self.partitions.get(position + 1).map(|next| next.start.clone());
        let Some(partition) = self.partitions.get_mut(position) else { return };
        let point = if is_full { Err(NoSplit::TooMany) } else { partition.split_point(has_local) };
        match point {
            Ok((point, left)) if next.is_none_or(|next| point < next) => {
                let right = partition.split_at(point, left);
                self.partitions.insert(position + 1, right);
                self.splits_for_heat += 1;
            }
            Ok(_) => partition.no_split = Some(NoSplit::OneItem),
            Err(reason) => partition.no_split = Some(reason),
        }
    }

    /// Splits the partition that holds the most, in the middle of its hashes.
    fn split_largest(&mut self) -> bool {
        let widths: Vec<u64> = (0..self.partitions.len()).map(|at| self.width(at)).collect();
        let candidates = self.partitions.iter().zip(&widths).enumerate();
        let largest = candidates
            .filter(|(_, (_, width))| **width > 1)
            .max_by(|(_, (a, a_width)), (_, (b, b_width))| {
                a.written_bytes.total_cmp(&b.written_bytes).then(a_width.cmp(b_width))
            })
            .map(|(position, _)| position);
        largest.is_some_and(|at| self.halve(at, |one, point| one.split_at(point, 0.5)))
    }

    /// Splits a partition with more hashes than this.
    fn split_wider_than(&mut self, most: u64) -> bool {
        let wide = (0..self.partitions.len()).find(|at| self.width(*at) > most);
        wide.is_some_and(|at| self.halve(at, Partition::grow_at))
    }

    /// Splits a partition in the middle of its hashes.
    fn halve(
        &mut self,
        position: usize,
        split: impl FnOnce(&mut Partition, Position) -> Partition,
    ) -> bool {
        let half = self.width(position) / 2;
        let Some(partition) = self.partitions.get_mut(position) else { return false };
        let hash = partition.start.hash + half;
        let right = split(partition, Position { hash, sort: Box::default() });
        self.partitions.insert(position + 1, right);
        true
    }

    /// How many hashes a partition covers, from its first to the next partition's.
    fn width(&self, position: usize) -> u64 {
        let next = self.partitions.get(position + 1).map_or(u64::MAX, |next| next.start.hash);
        self.partitions.get(position).map_or(0, |partition| next - partition.start.hash)
    }

    /// The last hash that a partition has keys of.
    pub(super) fn last_hash(&self, position: usize) -> u64 {
        match self.partitions.get(position + 1) {
            None => u64::MAX,
            Some(next) if !next.start.sort.is_empty() => next.start.hash,
            Some(next) => next.start.hash.saturating_sub(1),
        }
    }
}

/// How many partitions AWS would have for this.
fn wanted_partitions(throughput: Throughput, size_bytes: u64) -> usize {
    let for_size = size_bytes.div_ceil(PARTITION_BYTES) as usize;
    let units = |units: Option<u64>| units.unwrap_or(0) as f64;
    let warm = (units(throughput.warm_read) / PARTITION_READ_UNITS)
        .max(units(throughput.warm_write) / PARTITION_WRITE_UNITS);
    let for_throughput = if throughput.on_demand {
        ON_DEMAND_PARTITIONS
    } else {
        let reads = units(throughput.read) / PARTITION_READ_UNITS;
        let writes = units(throughput.write) / PARTITION_WRITE_UNITS;
        (reads + writes).ceil() as usize
    };
    for_size.max(for_throughput).max(warm.ceil() as usize).max(1)
}
