//! The partitions of one table or global index, and what they admit of a fluid load.
//!
//! AWS documents the limits of a partition, five minutes of burst, splits for size and for sustained heat, and on-demand
//! tables that are ready for twice their previous peak once it is half an hour old. How long heat must last is not
//! documented; three minutes are assumed, as in the throttling of Keyloom's server.

use std::collections::VecDeque;

use keyloom_keys::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};

use crate::asked::{Admission, ByValue, Load};
use crate::bucket::Bucket;
use crate::lanes::{Lane, Lanes};
use crate::run::Limit;
use crate::splits::{Positions, apart, halves, split};
use crate::spread::{NoSplit, Spread};

const LIMITS: Lanes<f64> = Lanes { read: PARTITION_READ_UNITS, write: PARTITION_WRITE_UNITS };
/// What a partition holds.
const PARTITION_BYTES: f64 = 10e9;
/// The partitions of a new on-demand table.
const NEW_PARTITIONS: f64 = 4.0;
/// The share of its limit from which a partition is hot.
const HOT_SHARE: f64 = 0.8;
/// How many minutes in a row it must be.
const HOT_MINUTES: u32 = 3;
/// After how many minutes a peak is a previous one.
const SETTLING_MINUTES: usize = 30;
/// What an on-demand table takes of its previous peak.
const GROWTH: f64 = 2.0;
/// The share of a partition's load from which on a key is named as one of those that are too much for it.
const BUSY: f64 = 0.05;
/// A share that admits this much refuses nothing.
const NEARLY_ALL: f64 = 0.999_9;

/// A part of the load of one listed key value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The position of the spread.
    pub spread: usize,
    /// The position of the value.
    pub value: usize,
    /// How much of it is here: less than all once its collection has been split.
    pub fraction: f64,
}

/// A partition; or several that cannot be told apart, because no listed key is in them.
#[derive(Clone, Debug)]
pub struct Part {
    /// How many there are.
    pub count: f64,
    /// Where it begins among all hashes, from 0 to 1; of several, anywhere.
    pub start: f64,
    /// The share of all hashes that it covers.
    pub width: f64,
    /// The listed keys in it.
    pub pieces: Vec<Piece>,
    /// What it admits of reads and writes.
    pub(crate) buckets: Lanes<Bucket>,
    /// What it was asked for in this minute, as units per second.
    pub(crate) asked: Lanes<f64>,
    pub(crate) hot_minutes: u32,
    /// Why it is not split although it is hot.
    pub no_split: Option<NoSplit>,
}

/// What a place may take as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Whole {
    /// On demand: no limit but that of partitions, and a maximum if there is one.
    OnDemand {
        /// Units per second, reads and writes.
        most: Lanes<Option<f64>>,
    },
    /// Provisioned units per second, reads and writes.
    Provisioned(Lanes<f64>),
}

/// What became of a place before the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Before {
    /// The greatest load that it has met, in units per second.
    pub met: Lanes<f64>,
    /// The warm throughput that was set.
    pub warm: Lanes<f64>,
    /// The bytes in it.
    pub bytes: f64,
}

/// All partitions of a place.
#[derive(Clone, Debug)]
pub struct Space {
    /// The partitions of the table or index.
    pub parts: Vec<Part>,
    burst_seconds: f64,
    whole: Whole,
    limits: Lanes<Option<Bucket>>,
    /// What all partitions may take together while halving has made too many of them.
    ceilings: Option<Lanes<Bucket>>,
    peaks: Lanes<Peak>,
    grown_to: f64,
    /// How many partitions there are beyond those that are meant, because halves are not always what is wanted.
    surplus: f64,
    positions: Positions,
    /// How often partitions were split for heat.
    pub splits_for_heat: f64,
}

impl Space {
    /// Partitions for a table that is new, or has met some peak before.
    pub fn new(whole: Whole, before: Before, spreads: &[Spread], options: (f64, u64)) -> Self {
        let (burst_seconds, seed) = options;
        let Before { met, warm, bytes } = before;
        let for_load = match whole {
            Whole::OnDemand { .. } => {
                NEW_PARTITIONS.max(partitions_for(met.map(|peak| peak * GROWTH)))
            }
            Whole::Provisioned(units) => provisioned_for(units),
        };
        let for_load = for_load.max(partitions_for(warm));
        let count = for_load.max((bytes / PARTITION_BYTES).ceil()).max(1.0);
        let mut space = Self {
            parts: Vec::new(),
            burst_seconds,
            whole,
            limits: Lanes::default(),
            ceilings: None,
            peaks: met.map(Peak::after),
            grown_to: count,
            surplus: 0.0,
            positions: Positions::new(spreads, seed),
            splits_for_heat: 0.0,
        };
        space.set_whole(whole);
        space.limits = space.limits.map(|limit| limit.map(|it| Bucket { level: it.size, ..it }));
        let all = Part {
            count,
            start: 0.0,
            width: 1.0 / count,
            pieces: Vec::new(),
            buckets: LIMITS.map(|limit| Bucket::new(limit, burst_seconds)),
            asked: Lanes::default(),
            hot_minutes: 0,
            no_split: None,
        };
        space.parts = apart(&all, &space.positions.in_order());
        space
    }

    /// Buys other capacity. More than the partitions take together brings more partitions; less leaves them.
    pub fn provision(&mut self, units: Lanes<f64>) {
        self.set_whole(Whole::Provisioned(units));
        let wanted = provisioned_for(units);
        if wanted > self.count() {
            self.halve_to(wanted);
        }
    }

    /// Sets what the place may take as a whole; what has been saved is kept.
    fn set_whole(&mut self, whole: Whole) {
        self.whole = whole;
        let rates = match whole {
            Whole::OnDemand { most } => most,
            Whole::Provisioned(units) => units.map(Some),
        };
        let burst = if matches!(whole, Whole::OnDemand { .. }) { 1.0 } else { self.burst_seconds };
        let before = self.limits;
        self.limits = Lanes::from_fn(|lane| {
            rates[lane].map(|rate| {
                let mut bucket = before[lane].unwrap_or(Bucket { rate, size: 0.0, level: 0.0 });
                bucket.set_rate(rate, burst);
                bucket
            })
        });
    }

    /// How many partitions there are.
    pub fn count(&self) -> f64 {
        self.parts.iter().map(|part| part.count).sum()
    }

    /// The demand on a part, in units per second, if the values of each spread get so much.
    fn demand(part: &Part, rates: &[ByValue]) -> f64 {
        let rest: f64 = rates.iter().map(|it| it.rest).sum();
        let listed: f64 = part.pieces.iter().map(|piece| of_piece(piece, rates)).sum();
        rest * part.width + listed
    }

    /// What a load finds, without changing anything. Rates are by lane and spread.
    pub fn admission(&self, rates: &Lanes<Vec<ByValue>>, spreads: &[Spread]) -> Admission {
        let mut admission = Admission::default();
        for lane in Lane::BOTH {
            let rates = &rates[lane];
            let total: f64 = rates.iter().map(ByValue::total).sum();
            let whole = self.limits[lane].map_or(1.0, |limit| limit.admits(total).0);
            let ceiling = self.ceilings.map_or(1.0, |all| all[lane].admits(total).0);
            let whole = whole.min(ceiling);
            let admitted = self
                .parts
                .iter()
                .map(|part| part.buckets[lane].admits(Self::demand(part, rates) * whole).0);
            admission.parts[lane] = admitted.collect();
            admission.whole[lane] = whole;
            admission.shares[lane] = self.shares(lane, rates, &admission, spreads);
        }
        admission
    }

    /// The share of each value that parts admit, times what the whole does.
    fn shares(
        &self,
        lane: Lane,
        rates: &[ByValue],
        admission: &Admission,
        spreads: &[Spread],
    ) -> Vec<ByValue> {
        let mut shares: Vec<ByValue> = spreads.iter().map(|it| ByValue::all(it, 0.0)).collect();
        let (mut even, mut covered) = (0.0, 0.0);
        for (part, admitted) in self.parts.iter().zip(&admission.parts[lane]) {
            even += part.width * part.count * admitted;
            covered += part.width * part.count;
            for piece in &part.pieces {
                let sum = shares.get_mut(piece.spread).and_then(|it| it.hot.get_mut(piece.value));
                if let Some(sum) = sum {
                    *sum += admitted * part.count * piece.fraction * admission.whole[lane];
                }
            }
        }
        let even = if covered > 0.0 { even / covered } else { 1.0 };
        for ((shares, spread), rates) in shares.iter_mut().zip(spreads).zip(rates) {
            shares.rest = even.min(even_key(lane, rates.rest, spread)) * admission.whole[lane];
        }
        shares
    }

    /// What partitions refuse of a load, in units per second, and which of their keys it is for.
    pub fn refusals(
        &self,
        lane: Lane,
        rates: &[ByValue],
        admission: &Admission,
        spreads: &[Spread],
    ) -> Vec<(Limit, f64)> {
        let mut found: Vec<(Limit, f64)> = Vec::new();
        // Refusals fall on keys by what they ask for.
        for (part, admitted) in self.parts.iter().zip(&admission.parts[lane]) {
            let demand = Self::demand(part, rates) * admission.whole[lane];
            let refused = demand * (1.0 - admitted) * part.count;
            if *admitted >= NEARLY_ALL || refused <= 0.0 {
                continue;
            }
            let mut others = refused;
            let load = |piece: &Piece| of_piece(piece, rates) * admission.whole[lane];
            let is_alone = |piece: &&Piece| load(piece) >= demand / 2.0;
            if let Some(piece) = part.pieces.iter().find(is_alone) {
                // It is to blame for what is refused of its neighbours, too.
                let (spread, value, no_split) = (piece.spread, piece.value, part.no_split);
                add(&mut found, Limit::Key { spread, value, no_split, is_alone: true }, refused);
                continue;
            }
            for piece in &part.pieces {
                let load = load(piece);
                if load < demand * BUSY {
                    continue;
                }
                let (spread, value, no_split) = (piece.spread, piece.value, part.no_split);
                let limit = Limit::Key { spread, value, no_split, is_alone: false };
                let own = refused * (load / demand).min(1.0);
                others -= own;
                add(&mut found, limit, own);
            }
            if others > refused / 1000.0 {
                add(&mut found, Limit::Partitions, others);
            }
        }
        for (spread, (it, rates)) in spreads.iter().zip(rates).enumerate() {
            let admitted = even_key(lane, rates.rest, it);
            if admitted < NEARLY_ALL {
                found.push((Limit::EveryKey { spread }, rates.rest * (1.0 - admitted)));
            }
        }
        found
    }

    /// Lets a minute pass under a load. What is asked for heats partitions, even if another place refuses it then; what they
    /// take is only what all places admit.
    pub fn pass(&mut self, load: &Load, admission: &Admission, spreads: &[Spread]) {
        for lane in Lane::BOTH {
            let (rates, asked) = (&load.taken[lane], &load.asked[lane]);
            let total: f64 = rates.iter().map(ByValue::total).sum();
            let pairs = rates.iter().zip(&admission.shares[lane]);
            let admitted: f64 = pairs.map(|(rates, shares)| rates.admitted(shares)).sum();
            if let Some(limit) = &mut self.limits[lane] {
                limit.level = limit.admits(total).1;
            }
            if let Some(all) = &mut self.ceilings {
                all[lane].level = all[lane].admits(total).1;
            }
            for part in &mut self.parts {
                let demand = Self::demand(part, rates);
                part.asked[lane] = Self::demand(part, asked);
                part.buckets[lane].level =
                    part.buckets[lane].admits(demand * admission.whole[lane]).1;
            }
            self.peaks[lane].pass(admitted);
        }
        self.split_hot(load, admission, spreads);
        self.grow();
        self.follow_surplus();
    }

    /// Splits the partitions that have been hot for long.
    fn split_hot(&mut self, load: &Load, admission: &Admission, spreads: &[Spread]) {
        let mut parts = Vec::with_capacity(self.parts.len());
        for (at, mut part) in std::mem::take(&mut self.parts).into_iter().enumerate() {
            let share = |lane: Lane| part.asked[lane] / LIMITS[lane];
            let is_hot = Lane::BOTH.into_iter().any(|lane| share(lane) >= HOT_SHARE);
            part.hot_minutes = if is_hot { part.hot_minutes + 1 } else { 0 };
            if part.hot_minutes < HOT_MINUTES {
                parts.push(part);
                continue;
            }
            let reads = admission.parts.read.get(at).copied().unwrap_or(1.0);
            match split(&part, &load.both(reads), spreads, &self.positions) {
                Ok(halves) => {
                    self.splits_for_heat += part.count;
                    parts.extend(halves);
                }
                Err(reason) => parts.push(Part { no_split: Some(reason), ..part }),
            }
        }
        self.parts = parts;
    }

    /// Makes an on-demand table ready for twice its previous peak.
    fn grow(&mut self) {
        if !matches!(self.whole, Whole::OnDemand { .. }) {
            return;
        }
        let wanted = partitions_for(Lanes::from_fn(|lane| self.peaks[lane].settled * GROWTH));
        if wanted > self.grown_to {
            self.grown_to = wanted;
            self.halve_to(wanted);
        }
    }

    /// Splits for size: a partition holds 10 GB.
    pub fn hold(&mut self, bytes: f64) {
        let wanted = (bytes / PARTITION_BYTES).ceil();
        if wanted > self.count() {
            self.halve_to(wanted);
        }
    }

    /// Halves partitions until none covers more hashes than its even share of so many.
    fn halve_to(&mut self, wanted: f64) {
        while let Some(at) = self.parts.iter().position(|part| part.width > 1.0 / wanted + 1e-12) {
            let part = self.parts.swap_remove(at);
            self.parts.extend(halves(&part, part.start + part.width / 2.0, &self.positions));
        }
        self.surplus = (self.count() - wanted).max(0.0);
        self.follow_surplus();
    }

    /// Lets all partitions together take no more than those that are meant to be there.
    fn follow_surplus(&mut self) {
        let meant = self.count() - self.surplus;
        if self.surplus < 0.5 || !matches!(self.whole, Whole::OnDemand { .. }) {
            self.ceilings = None;
            return;
        }
        let new = || LIMITS.map(|limit| Bucket::new(limit * meant, self.burst_seconds));
        let mut ceilings = self.ceilings.unwrap_or_else(new);
        for lane in Lane::BOTH {
            ceilings[lane].set_rate(LIMITS[lane] * meant, self.burst_seconds);
        }
        self.ceilings = Some(ceilings);
    }

    /// The load of the hottest partition, as a share of its limit.
    pub fn heat(&self) -> f64 {
        self.parts.iter().map(Part::heat).fold(0.0, f64::max)
    }

    /// The load of so many of the hottest partitions, as shares of the limit, falling.
    pub fn hottest(&self, count: usize) -> Vec<f64> {
        let several =
            |part: &Part| std::iter::repeat_n(part.heat(), (part.count as usize).min(count));
        let mut heat: Vec<f64> = self.parts.iter().flat_map(several).collect();
        heat.sort_by(|a, b| b.total_cmp(a));
        heat.truncate(count);
        heat
    }
}

impl Part {
    /// What was asked of it in the last minute, as a share of its limit.
    pub fn heat(&self) -> f64 {
        (self.asked.read / LIMITS.read).max(self.asked.write / LIMITS.write)
    }
}

/// Adds refused units to those of the same limit.
fn add(found: &mut Vec<(Limit, f64)>, limit: Limit, refused: f64) {
    match found.iter_mut().find(|(known, _)| known.is_same(limit)) {
        Some((_, sum)) => *sum += refused,
        None => found.push((limit, refused)),
    }
}

/// The share that one of many even values is admitted: however many partitions there are, it has one.
fn even_key(lane: Lane, rate: f64, spread: &Spread) -> f64 {
    let each = rate / spread.others.max(1.0);
    if spread.no_split.is_none() || each <= LIMITS[lane] { 1.0 } else { LIMITS[lane] / each }
}

pub(crate) fn of_piece(piece: &Piece, rates: &[ByValue]) -> f64 {
    rates.get(piece.spread).map_or(0.0, |it| it.of(piece.value)) * piece.fraction
}

/// How many partitions are bought with provisioned capacity.
fn provisioned_for(units: Lanes<f64>) -> f64 {
    (units.read / PARTITION_READ_UNITS + units.write / PARTITION_WRITE_UNITS).ceil()
}

/// How many partitions take this.
fn partitions_for(units: Lanes<f64>) -> f64 {
    (units.read / PARTITION_READ_UNITS).max(units.write / PARTITION_WRITE_UNITS).ceil()
}

/// The busiest minute of a lane that is half an hour old.
#[derive(Clone, Debug, Default)]
struct Peak {
    recent: VecDeque<f64>,
    settled: f64,
}

impl Peak {
    fn after(settled: f64) -> Self {
        Self { recent: VecDeque::new(), settled }
    }

    fn pass(&mut self, units: f64) {
        self.recent.push_back(units);
        if self.recent.len() > SETTLING_MINUTES {
            let old = self.recent.pop_front().unwrap_or(0.0);
            self.settled = self.settled.max(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON_DEMAND: Whole = Whole::OnDemand { most: Lanes { read: None, write: None } };

    fn one_key() -> Vec<Spread> {
        vec![Spread::new("K".to_owned(), Some(1.0), None, None)]
    }

    fn minutes(space: &mut Space, spreads: &[Spread], writes: f64, minutes: u32) -> f64 {
        let rates =
            |rate| -> Vec<ByValue> { spreads.iter().map(|it| ByValue::spread(rate, it)).collect() };
        let rates = Lanes { read: rates(0.0), write: rates(writes) };
        let load = Load { taken: rates.clone(), asked: rates };
        let mut admitted = 0.0;
        for _ in 0..minutes {
            let admission = space.admission(&load.taken, spreads);
            let pairs = load.taken.write.iter().zip(&admission.shares.write);
            admitted = pairs.map(|(asked, shares)| asked.admitted(shares)).sum::<f64>() / writes;
            space.pass(&load, &admission, spreads);
        }
        admitted
    }

    #[test]
    fn a_bucket_lasts_as_long_as_its_burst() {
        let bucket = Bucket::new(1000.0, 300.0);
        let (share, level) = bucket.admits(1000.0);
        assert!(share >= 1.0 && level >= 300_000.0);
        let (share, level) = bucket.admits(2000.0);
        assert!((share - 1.0).abs() < 1e-12 && (level - 240_000.0).abs() < 1e-6);
        let empty = Bucket { level: 0.0, ..bucket };
        assert!((empty.admits(2000.0).0 - 0.5).abs() < 1e-12);
        let half_a_minute = Bucket { level: 30_000.0, ..bucket };
        assert!((half_a_minute.admits(2000.0).0 - 0.75).abs() < 1e-12);
    }

    #[test]
    fn one_item_takes_a_thousand_writes_after_its_burst() {
        let spreads: Vec<Spread> = one_key()
            .into_iter()
            .map(|it| Spread { no_split: Some(NoSplit::OneItem), ..it })
            .collect();
        let mut space = Space::new(ON_DEMAND, Before::default(), &spreads, (300.0, 1));
        assert!((minutes(&mut space, &spreads, 2000.0, 4) - 1.0).abs() < 1e-9);
        assert!((minutes(&mut space, &spreads, 2000.0, 20) - 0.5).abs() < 1e-9);
        assert!(space.parts.iter().any(|part| part.no_split == Some(NoSplit::OneItem)));
    }

    #[test]
    fn a_collection_that_can_be_split_is_split_until_it_is_cool() {
        let spreads = one_key();
        let mut space = Space::new(ON_DEMAND, Before::default(), &spreads, (300.0, 1));
        assert!((minutes(&mut space, &spreads, 3000.0, 60) - 1.0).abs() < 1e-9);
        assert!(space.splits_for_heat >= 2.0, "{}", space.splits_for_heat);
    }

    #[test]
    fn an_even_load_beyond_a_new_table_is_refused_until_it_has_grown() {
        let spreads = vec![Spread::new("K#{k}".to_owned(), Some(1e9), None, None)];
        let mut space = Space::new(ON_DEMAND, Before::default(), &spreads, (1.0, 1));
        let first = minutes(&mut space, &spreads, 8000.0, 1);
        assert!((first - 0.5).abs() < 0.01, "{first}");
        let later = minutes(&mut space, &spreads, 8000.0, 40);
        assert!((later - 1.0).abs() < 1e-9, "{later}");
    }

    #[test]
    fn provisioned_capacity_is_a_limit_of_its_own() {
        let spreads = vec![Spread::new("K#{k}".to_owned(), Some(1e9), None, None)];
        let mut space = Space::new(
            Whole::Provisioned(Lanes { read: 100.0, write: 100.0 }),
            Before::default(),
            &spreads,
            (300.0, 1),
        );
        assert!(space.count() < 1.5);
        assert!((minutes(&mut space, &spreads, 200.0, 4) - 1.0).abs() < 1e-9);
        assert!((minutes(&mut space, &spreads, 200.0, 4) - 0.5).abs() < 1e-9);
    }
}
