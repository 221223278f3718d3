//! A workload under a profile, minute by minute.

use keyloom_design::model::Billing;

use crate::ahead::MONTH_SECONDS;
use crate::lanes::{Lane, Lanes};
use crate::partitions::{Admission, Space, Whole};
use crate::profile::{Capacity, Options};
use crate::workload::{Flow, Workload};

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
    /// Calls.
    pub calls: f64,
    /// Requests: calls and retries.
    pub requests: f64,
    /// Of these, refused.
    pub refused: f64,
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
    /// The place.
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
        /// The spread.
        spread: usize,
        /// The value.
        value: usize,
        /// Why its collection is not split, if it cannot be.
        no_split: Option<crate::NoSplit>,
    },
    /// Every value of a key, each on a partition of its own.
    EveryKey {
        /// The spread.
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
            let provisioned = target.map(|target| Scaling::new(demand, target));
            let whole = match &provisioned {
                Some(scaling) => Whole::Provisioned(scaling.units),
                None => Whole::OnDemand { quota: options.quota },
            };
            let inputs = (options.burst_seconds, options.seed);
            spaces.push(Space::new(
                whole,
                demand,
                place.bytes(0.0) * scale,
                &place.spreads,
                inputs,
            ));
            scaling.push(provisioned);
        }
        let outcome = Outcome {
            flows: vec![FlowOutcome::default(); workload.flows.len()],
            places: vec![PlaceOutcome::default(); workload.places.len()],
            bottlenecks: Vec::new(),
        };
        Self { workload, options, scale, spaces, scaling, outcome }
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
            let (Some(rates), Some(admission)) =
                (settled.rates.get(position), settled.admissions.get(position))
            else {
                continue;
            };
            space.pass(rates, admission, &place.spreads);
            space.hold(place.bytes(months) * self.scale * grown);
        }
        self.note(minute, factor, &settled);
        self.scale_capacity(&settled);
    }

    /// The shares that everything admits in a minute, once they agree with each other.
    fn settle(&self, factor: f64) -> Settled {
        let flows = &self.workload.flows;
        let mut settled = Settled {
            requests: flows.iter().map(|flow| flow.peak * factor).collect(),
            touches: flows.iter().map(|flow| vec![1.0; flow.touches.len()]).collect(),
            rates: Vec::new(),
            admissions: Vec::new(),
        };
        for _ in 0..ROUNDS {
            settled.rates = self.rates(&settled);
            let spaces = self.spaces.iter().zip(&settled.rates).zip(&self.workload.places);
            settled.admissions = spaces
                .map(|((space, rates), place)| space.admission(rates, &place.spreads))
                .collect();
            let mut change: f64 = 0.0;
            for (position, flow) in flows.iter().enumerate() {
                change = change.max(self.update(flow, position, factor, &mut settled));
            }
            if change < CLOSE {
                break;
            }
        }
        settled
    }

    /// What all flows ask of each place, by lane and spread. What another place refuses is not asked here.
    fn rates(&self, settled: &Settled) -> Vec<Lanes<Vec<f64>>> {
        let places = &self.workload.places;
        let mut rates: Vec<Lanes<Vec<f64>>> =
            places.iter().map(|place| Lanes::from_fn(|_| vec![0.0; place.spreads.len()])).collect();
        for (position, flow) in self.workload.flows.iter().enumerate() {
            let requests = settled.requests.get(position).copied().unwrap_or(0.0);
            let shares = settled.touches.get(position).map_or(&[][..], Vec::as_slice);
            for (at, touch) in flow.touches.iter().enumerate() {
                let others =
                    shares.iter().enumerate().filter(|(other, _)| *other != at && flow.is_write);
                let pass: f64 = others.map(|(_, share)| share).product();
                let lane = Lane::of(flow.is_write);
                if let Some(rate) =
                    rates.get_mut(touch.place).and_then(|lanes| lanes[lane].get_mut(touch.spread))
                {
                    *rate += requests * touch.units * pass;
                }
            }
        }
        rates
    }

    /// Takes the shares over to a flow; how much they changed.
    fn update(&self, flow: &Flow, position: usize, factor: f64, settled: &mut Settled) -> f64 {
        let lane = Lane::of(flow.is_write);
        let mut change: f64 = 0.0;
        let Some(shares) = settled.touches.get_mut(position) else { return 0.0 };
        for (touch, share) in flow.touches.iter().zip(shares.iter_mut()) {
            let admission = settled.admissions.get(touch.place);
            let new =
                admission.and_then(|it| it.shares[lane].get(touch.spread)).copied().unwrap_or(1.0);
            change = change.max((new - *share).abs());
            // Half way: tables and indexes that refuse for each other would swing.
            *share = if new >= 1.0 && *share >= 1.0 { 1.0 } else { f64::midpoint(new, *share) };
        }
        let refused = refused(flow, shares);
        if let Some(requests) = settled.requests.get_mut(position) {
            *requests = flow.peak * factor * self.options.retries.requests(refused);
        }
        change
    }

    fn note(&mut self, minute: u32, factor: f64, settled: &Settled) {
        for (position, flow) in self.workload.flows.iter().enumerate() {
            let (Some(outcome), Some(shares)) =
                (self.outcome.flows.get_mut(position), settled.touches.get(position))
            else {
                continue;
            };
            let refused = Some(refused(flow, shares)).filter(|it| *it > 1.0 - ALL).unwrap_or(0.0);
            let requests = settled.requests.get(position).copied().unwrap_or(0.0) * 60.0;
            let calls = flow.peak * factor * 60.0;
            outcome.calls += calls;
            outcome.requests += requests;
            outcome.refused += requests * refused;
            outcome.failed += calls * refused.powi(self.options.retries.attempts as i32);
            outcome.worst_refused = outcome.worst_refused.max(refused);
            outcome.series.push(refused);
        }
        for position in 0..self.workload.places.len() {
            self.note_place(minute, position, settled);
        }
    }

    fn note_place(&mut self, minute: u32, position: usize, settled: &Settled) {
        let (Some(space), Some(rates), Some(admission), Some(outcome)) = (
            self.spaces.get(position),
            settled.rates.get(position),
            settled.admissions.get(position),
            self.outcome.places.get_mut(position),
        ) else {
            return;
        };
        for lane in Lane::BOTH {
            let pairs = rates[lane].iter().zip(&admission.shares[lane]);
            let admitted: f64 = pairs.map(|(rate, share)| rate * share).sum();
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
        let (Some(space), Some(place), Some(rates), Some(admission)) = (
            self.spaces.get(position),
            self.workload.places.get(position),
            settled.rates.get(position),
            settled.admissions.get(position),
        ) else {
            return Vec::new();
        };
        let total: f64 = rates[lane].iter().sum();
        let mut found = Vec::new();
        if admission.whole[lane] < ALL {
            found.push((Limit::Whole, total * (1.0 - admission.whole[lane])));
        }
        for (limit, units) in space.refusals(lane, &rates[lane], admission, &place.spreads) {
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
        for ((space, scaling), (rates, admission)) in
            spaces.zip(settled.rates.iter().zip(&settled.admissions))
        {
            let Some(scaling) = scaling else { continue };
            let consumed = Lanes::from_fn(|lane| {
                rates[lane]
                    .iter()
                    .zip(&admission.shares[lane])
                    .map(|(rate, share)| rate * share)
                    .sum()
            });
            if scaling.pass(consumed) {
                space.set_whole(Whole::Provisioned(scaling.units));
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
struct Settled {
    /// Requests per second, by flow, retries included.
    requests: Vec<f64>,
    /// The share that each touch of each flow admits.
    touches: Vec<Vec<f64>>,
    /// By place, lane and spread.
    rates: Vec<Lanes<Vec<f64>>>,
    admissions: Vec<Admission>,
}

/// The share of a flow's requests that are refused: a write needs all that it touches; the reads of one call are requests
/// of their own, and the worst counts.
fn refused(flow: &Flow, shares: &[f64]) -> f64 {
    let admitted = if flow.is_write {
        shares.iter().product()
    } else {
        shares.iter().copied().fold(1.0, f64::min)
    };
    (1.0 - admitted).clamp(0.0, 1.0)
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

/// The share of provisioned capacity that auto scaling aims at.
pub const TARGET: f64 = 0.7;
/// Consumption must be beyond the target for so many minutes before capacity is raised.
const MINUTES_UP: u32 = 2;
/// How long raising it takes.
const MINUTES_TO_RAISE: u32 = 2;
/// Consumption must be well below the target for so many minutes before capacity is lowered.
const MINUTES_DOWN: u32 = 15;

/// Provisioned capacity that follows consumption, as Application Auto Scaling does.
#[derive(Clone, Debug)]
struct Scaling {
    target: f64,
    units: Lanes<f64>,
    above: Lanes<u32>,
    below: Lanes<u32>,
}

impl Scaling {
    fn new(demand: Lanes<f64>, target: f64) -> Self {
        Self {
            target,
            units: demand.map(|it| (it / target).max(1.0)),
            above: Lanes::default(),
            below: Lanes::default(),
        }
    }

    /// A minute with this consumption; whether the capacity was changed.
    fn pass(&mut self, consumed: Lanes<f64>) -> bool {
        let mut changed = false;
        for lane in Lane::BOTH {
            let consumed = consumed[lane];
            let used = consumed / self.units[lane];
            self.above[lane] = if used > self.target { self.above[lane] + 1 } else { 0 };
            self.below[lane] = if used < self.target * 0.9 { self.below[lane] + 1 } else { 0 };
            if self.above[lane] >= MINUTES_UP + MINUTES_TO_RAISE || self.below[lane] >= MINUTES_DOWN
            {
                let new = (consumed / self.target).max(1.0);
                changed |= (new - self.units[lane]).abs() > 0.5;
                self.units[lane] = new;
                (self.above[lane], self.below[lane]) = (0, 0);
            }
        }
        changed
    }
}
