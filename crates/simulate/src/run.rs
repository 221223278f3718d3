//! A workload under a profile, minute by minute.

use keyloom_design::model::Billing;

use crate::ahead::MONTH_SECONDS;
use crate::asked::{Admission, ByValue, Load};
use crate::joint::{Fate, Joint};
use crate::lanes::{Lane, Lanes};
use crate::partitions::{Before, Space, Whole};
use crate::profile::{Capacity, Options};
use crate::retries::Retries;
use crate::scaling::Scaling;
use crate::spread::Spread;
use crate::workload::{Flow, Touch, Workload};

pub use crate::scaling::TARGET;

/// How often the shares of one minute are computed anew: what an index refuses is not asked of its table, retries follow
/// refusals.
const ROUNDS: usize = 12;
/// A smaller change than this is none.
const CLOSE: f64 = 1e-4;
/// A share that admits this much refuses nothing.
const ALL: f64 = 0.999_9;

/// What became of a workload.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// By flow of the workload.
    pub flows: Vec<FlowOutcome>,
    /// By place of the workload.
    pub places: Vec<PlaceOutcome>,
    /// What refused requests, the most first.
    pub bottlenecks: Vec<Bottleneck>,
}

/// What became of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowOutcome {
    /// How many calls were made.
    pub calls: f64,
    /// Requests: calls and retries.
    pub requests: f64,
    /// Of these, refused.
    pub refused: f64,
    /// Calls that were retried once or more, twice or more, and so on.
    pub retried: Vec<f64>,
    /// Calls whose retries were refused, too.
    pub failed: f64,
    /// The greatest share of refused requests in a minute.
    pub worst_refused: f64,
    /// The share refused in each minute.
    pub series: Vec<f64>,
}

impl FlowOutcome {
    /// The share of requests that were refused.
    pub fn refused_share(&self) -> f64 {
        if self.requests > 0.0 { self.refused / self.requests } else { 0.0 }
    }

    /// The time that retries added at a quantile of all calls, in milliseconds.
    pub fn added_ms(&self, retries: Retries, quantile: f64) -> f64 {
        let shares: Vec<f64> = self.retried.iter().map(|it| it / self.calls.max(1e-300)).collect();
        retries.added_ms(&shares, quantile)
    }

    /// The share of calls that failed for good.
    pub fn failed_share(&self) -> f64 {
        if self.calls > 0.0 { self.failed / self.calls } else { 0.0 }
    }
}

/// What became of a table or index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlaceOutcome {
    /// Partitions at the end.
    pub partitions: f64,
    /// Splits for heat.
    pub splits: f64,
    /// Units that were admitted, reads and writes.
    pub units: Lanes<f64>,
    /// The most units per second that were admitted in a minute.
    pub peak: Lanes<f64>,
    /// Provisioned units, summed over minutes; zero on demand.
    pub provisioned_minutes: Lanes<f64>,
    /// The hottest partition's load in each minute, as a share of its limit.
    pub heat: Vec<f64>,
    /// The load of the ten hottest partitions at the end, as shares of the limit.
    pub hottest: Vec<f64>,
}

/// What refuses requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The position of the table or index.
    pub place: usize,
    /// Whether writes are refused.
    pub is_write: bool,
    /// What it is.
    pub limit: Limit,
    /// Units that were refused.
    pub refused: f64,
    /// The minute of the first refusal.
    pub since: u32,
}

/// A limit that a load meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// One partition, because of one key value.
    Key {
        /// The position of the spread.
        spread: usize,
        /// The position of the value.
        value: usize,
        /// Why its collection is not split, if it cannot be.
        no_split: Option<crate::NoSplit>,
        /// Whether it has most of the partition's load by itself.
        is_alone: bool,
    },
    /// Every value of a key, each on a partition of its own.
    EveryKey {
        /// The position of the spread.
        spread: usize,
    },
    /// Partitions that keys share evenly: there are too few of them.
    Partitions,
    /// The provisioned capacity, or the quota of an on-demand table.
    Whole,
}

/// Runs a workload, so many times as large.
pub fn run(workload: &Workload, scale: f64, options: &Options) -> Outcome {
    let mut runner = Runner::new(workload, scale, options);
    for minute in 0..options.length() {
        runner.minute(minute);
    }
    runner.finish()
}

struct Runner<'a> {
    workload: &'a Workload,
    options: &'a Options,
    scale: f64,
    /// Which values the requests of each flow ask for together.
    joints: Vec<Joint>,
    spaces: Vec<Space>,
    scaling: Vec<Option<Scaling>>,
    outcome: Outcome,
}

impl<'a> Runner<'a> {
    fn new(workload: &'a Workload, scale: f64, options: &'a Options) -> Self {
        let met = options.profile.met_before() * scale;
        let mut spaces = Vec::new();
        let mut scaling = Vec::new();
        for (position, place) in workload.places.iter().enumerate() {
            let demand = workload.demand(position).map(|units| units * met);
            let target = match (options.capacity, place.billing) {
                (Capacity::Provisioned { target }, _) => Some(target),
                (Capacity::AsDesigned, Billing::Provisioned) => Some(TARGET),
                _ => None,
            };
            let provisioned = target.map(|target| Scaling::new(demand, target, options.most));
            let whole = match &provisioned {
                Some(scaling) => Whole::Provisioned(scaling.units),
                None => Whole::OnDemand { most: options.most },
            };
            let before =
                Before { met: demand, warm: options.warm, bytes: place.bytes(0.0) * scale };
            let inputs = (options.burst_seconds, options.seed);
            spaces.push(Space::new(whole, before, &place.spreads, inputs));
            scaling.push(provisioned);
        }
        let outcome = Outcome {
            flows: vec![
                FlowOutcome {
                    retried: vec![0.0; options.retries.retried(0.0).count()],
                    ..FlowOutcome::default()
                };
                workload.flows.len()
            ],
            places: vec![PlaceOutcome::default(); workload.places.len()],
            bottlenecks: Vec::new(),
        };
        let joints = workload.flows.iter().map(|flow| Joint::new(flow, &workload.places)).collect();
        Self { workload, options, scale, joints, spaces, scaling, outcome }
    }

    fn minute(&mut self, minute: u32) {
        let at = f64::from(minute);
        let months = at * 60.0 / MONTH_SECONDS;
        let grown = self.options.grown(months);
        let factor = self.options.profile.at(at) * self.scale * grown;
        let settled = self.settle(factor);
        for (position, (space, place)) in
            self.spaces.iter_mut().zip(&self.workload.places).enumerate()
        {
            let (Some(load), Some(admission)) =
                (settled.loads.get(position), settled.admissions.get(position))
            else {
                continue;
            };
            space.pass(load, admission, &place.spreads);
            space.hold(place.bytes(months) * self.scale * grown);
        }
        self.note(minute, factor, &settled);
        self.scale_capacity(&settled);
    }

    /// The shares that everything admits in a minute, once they agree with each other.
    fn settle(&self, factor: f64) -> Settled {
        let flows = &self.workload.flows;
        let all = |touch: &Touch| {
            self.spread(touch).map_or_else(ByValue::default, |it| ByValue::all(it, 1.0))
        };
        let mut shares: Vec<Vec<ByValue>> =
            flows.iter().map(|flow| flow.touches.iter().map(all).collect()).collect();
        let mut settled = Settled { fates: self.fates(&shares), ..Settled::default() };
        for _ in 0..ROUNDS {
            settled.requests = flows
                .iter()
                .zip(&settled.fates)
                .map(|(flow, fate)| {
                    flow.peak * factor * self.options.retries.requests(fate.refused())
                })
                .collect();
            settled.loads = self.loads(&settled);
            let spaces = self.spaces.iter().zip(&settled.loads).zip(&self.workload.places);
            settled.admissions = spaces
                .map(|((space, load), place)| space.admission(&load.taken, &place.spreads))
                .collect();
            let mut change: f64 = 0.0;
            for (flow, shares) in flows.iter().zip(&mut shares) {
                change = change.max(update(flow, shares, &settled.admissions));
            }
            settled.fates = self.fates(&shares);
            if change < CLOSE {
                break;
            }
        }
        settled
    }

    fn spread(&self, touch: &Touch) -> Option<&Spread> {
        self.workload.places.get(touch.place)?.spreads.get(touch.spread)
    }

    /// What becomes of the requests of each flow, if these shares are admitted where it touches.
    fn fates(&self, shares: &[Vec<ByValue>]) -> Vec<Fate> {
        let flows = self.workload.flows.iter().zip(shares).zip(&self.joints);
        let fate = |((flow, shares), joint): ((&Flow, &Vec<ByValue>), &Joint)| {
            let spreads: Vec<&Spread> =
                flow.touches.iter().filter_map(|touch| self.spread(touch)).collect();
            if flow.is_write { joint.fate(shares, &spreads) } else { of_reads(shares, &spreads) }
        };
        flows.map(fate).collect()
    }

    /// What all flows ask of each place.
    fn loads(&self, settled: &Settled) -> Vec<Load> {
        let none = |spreads: &[Spread]| {
            Lanes::from_fn(|_| spreads.iter().map(|it| ByValue::all(it, 0.0)).collect())
        };
        let places = self.workload.places.iter().map(|place| &place.spreads);
        let mut loads: Vec<Load> =
            places.map(|it| Load { taken: none(it), asked: none(it) }).collect();
        for ((flow, requests), fate) in
            self.workload.flows.iter().zip(&settled.requests).zip(&settled.fates)
        {
            let lane = Lane::of(flow.is_write);
            let passed = fate.others.iter().zip(&fate.earlier);
            for (touch, (others, earlier)) in flow.touches.iter().zip(passed) {
                let (Some(spread), Some(load)) = (self.spread(touch), loads.get_mut(touch.place))
                else {
                    continue;
                };
                let rate = requests * touch.units;
                for (sums, passed) in [(&mut load.taken, others), (&mut load.asked, earlier)] {
                    let Some(sum) = sums[lane].get_mut(touch.spread) else { continue };
                    for ((sum, share), passed) in
                        sum.hot.iter_mut().zip(&spread.hot).zip(&passed.hot)
                    {
                        *sum += rate * share * passed;
                    }
                    sum.rest += rate * spread.rest * passed.rest;
                }
            }
        }
        loads
    }

    fn note(&mut self, minute: u32, factor: f64, settled: &Settled) {
        for (position, flow) in self.workload.flows.iter().enumerate() {
            let (Some(outcome), Some(fate)) =
                (self.outcome.flows.get_mut(position), settled.fates.get(position))
            else {
                continue;
            };
            let refused = Some(fate.refused()).filter(|it| *it > 1.0 - ALL).unwrap_or(0.0);
            let requests = settled.requests.get(position).copied().unwrap_or(0.0) * 60.0;
            let calls = flow.peak * factor * 60.0;
            outcome.calls += calls;
            outcome.requests += requests;
            outcome.refused += requests * refused;
            for (sum, share) in
                outcome.retried.iter_mut().zip(self.options.retries.retried(refused))
            {
                *sum += calls * share;
            }
            outcome.failed += calls * refused.powi(self.options.retries.attempts as i32);
            outcome.worst_refused = outcome.worst_refused.max(refused);
            outcome.series.push(refused);
        }
        for position in 0..self.workload.places.len() {
            self.note_place(minute, position, settled);
        }
    }

    fn note_place(&mut self, minute: u32, position: usize, settled: &Settled) {
        let (Some(space), Some(load), Some(admission), Some(outcome)) = (
            self.spaces.get(position),
            settled.loads.get(position),
            settled.admissions.get(position),
            self.outcome.places.get_mut(position),
        ) else {
            return;
        };
        for lane in Lane::BOTH {
            let admitted = admitted(load, admission, lane);
            outcome.units[lane] += admitted * 60.0;
            outcome.peak[lane] = outcome.peak[lane].max(admitted);
        }
        outcome.heat.push(space.heat());
        if let Some(Some(scaling)) = self.scaling.get(position) {
            for lane in Lane::BOTH {
                outcome.provisioned_minutes[lane] += scaling.units[lane];
            }
        }
        for lane in Lane::BOTH {
            for (limit, refused) in self.refusals(position, lane, settled) {
                self.note_bottleneck(position, lane, limit, refused * 60.0, minute);
            }
        }
    }

    /// What refuses units at a place, in units per second.
    fn refusals(&self, position: usize, lane: Lane, settled: &Settled) -> Vec<(Limit, f64)> {
        let (Some(space), Some(place), Some(load), Some(admission)) = (
            self.spaces.get(position),
            self.workload.places.get(position),
            settled.loads.get(position),
            settled.admissions.get(position),
        ) else {
            return Vec::new();
        };
        let asked = &load.asked[lane];
        let total: f64 = asked.iter().map(ByValue::total).sum();
        let mut found = Vec::new();
        if admission.whole[lane] < ALL {
            found.push((Limit::Whole, total * (1.0 - admission.whole[lane])));
        }
        for (limit, units) in space.refusals(lane, asked, admission, &place.spreads) {
            found.push((limit, units));
        }
        found
    }

    fn note_bottleneck(
        &mut self,
        place: usize,
        lane: Lane,
        limit: Limit,
        refused: f64,
        minute: u32,
    ) {
        let is_write = lane == Lane::Write;
        let known = self.outcome.bottlenecks.iter_mut().find(|known| {
            (known.place, known.is_write) == (place, is_write) && known.limit.is_same(limit)
        });
        match known {
            Some(known) => {
                known.refused += refused;
                known.limit = limit;
            }
            None => self.outcome.bottlenecks.push(Bottleneck {
                place,
                is_write,
                limit,
                refused,
                since: minute,
            }),
        }
    }

    fn scale_capacity(&mut self, settled: &Settled) {
        let spaces = self.spaces.iter_mut().zip(&mut self.scaling);
        for ((space, scaling), (load, admission)) in
            spaces.zip(settled.loads.iter().zip(&settled.admissions))
        {
            let Some(scaling) = scaling else { continue };
            let consumed = Lanes::from_fn(|lane| admitted(load, admission, lane));
            if scaling.pass(consumed) {
                space.provision(scaling.units);
            }
        }
    }

    fn finish(mut self) -> Outcome {
        for (space, outcome) in self.spaces.iter().zip(&mut self.outcome.places) {
            outcome.partitions = space.count();
            outcome.splits = space.splits_for_heat;
            outcome.hottest = space.hottest(10);
        }
        self.outcome.bottlenecks.sort_by(|a, b| b.refused.total_cmp(&a.refused));
        self.outcome
    }
}

/// A minute in which all shares agree.
#[derive(Default)]
struct Settled {
    /// Requests per second, by flow, retries included.
    requests: Vec<f64>,
    /// What becomes of the requests of each flow.
    fates: Vec<Fate>,
    /// What is asked of each place.
    loads: Vec<Load>,
    admissions: Vec<Admission>,
}

impl Fate {
    /// The share of the requests that are refused.
    fn refused(&self) -> f64 {
        (1.0 - self.admitted).clamp(0.0, 1.0)
    }
}

/// The reads of one call are requests of their own, and the worst counts.
fn of_reads(shares: &[ByValue], spreads: &[&Spread]) -> Fate {
    let admitted = shares
        .iter()
        .zip(spreads)
        .map(|(shares, spread)| ByValue::spread(1.0, spread).admitted(shares))
        .fold(1.0, f64::min);
    let all: Vec<ByValue> = spreads.iter().map(|it| ByValue::all(it, 1.0)).collect();
    Fate { admitted, others: all.clone(), earlier: all }
}

/// Takes the shares that places admit over to a flow; how much they changed.
fn update(flow: &Flow, shares: &mut [ByValue], admissions: &[Admission]) -> f64 {
    let lane = Lane::of(flow.is_write);
    let mut change: f64 = 0.0;
    for (touch, shares) in flow.touches.iter().zip(shares) {
        let admission = admissions.get(touch.place);
        let Some(new) = admission.and_then(|it| it.shares[lane].get(touch.spread)) else {
            continue;
        };
        let own = shares.hot.iter_mut().chain([&mut shares.rest]);
        for (share, new) in own.zip(new.hot.iter().chain([&new.rest])) {
            change = change.max((new - *share).abs());
            // Half way: tables and indexes that refuse for each other would swing.
            *share = if *new >= 1.0 && *share >= 1.0 { 1.0 } else { f64::midpoint(*new, *share) };
        }
    }
    change
}

/// The units per second that a place admits.
fn admitted(load: &Load, admission: &Admission, lane: Lane) -> f64 {
    let pairs = load.taken[lane].iter().zip(&admission.shares[lane]);
    pairs.map(|(rates, shares)| rates.admitted(shares)).sum()
}

impl Limit {
    /// Whether it is the same key or limit, whatever is known about splits meanwhile.
    pub(crate) fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Key { spread: a, value: x, .. }, Self::Key { spread: b, value: y, .. }) => {
                (a, x) == (b, y)
            }
            (a, b) => a == b,
        }
    }
}
