//! The partitions that Keyloom's server throttles by, asked request by request.

use std::collections::BTreeMap;

use keyloom_core::capacity::Units;
use keyloom_core::hash::{SplitMix64, fraction};
use keyloom_core::observation::{
    Insights, NotAdmitted, Place as Seen, Throughput, Touch as Touched, Work,
};
use keyloom_core::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType,
};
use keyloom_observe::partitions::{Partitions, PlaceHeat};
use keyloom_simulate::run::{Limit, Outcome};
use keyloom_simulate::{Lanes, Options, Profile, Retries, Spread, Workload};

/// How long every load lasts.
pub(crate) const MINUTES: u32 = 20;
/// Where keys lie is drawn from this.
pub(crate) const SEED: u64 = 5;

/// A listed value: the spread and the value.
pub(crate) type Listed = Option<(usize, usize)>;
/// A place, the direction, and the value if it is a listed one.
type Key = (usize, bool, Listed);
/// What refused a request: the place, the value if it is a listed one, and the units.
pub(crate) type Refused = (usize, Listed, f64);

/// What a request asks of one place.
pub(crate) struct Asked {
    pub(crate) place: usize,
    pub(crate) value: Listed,
    pub(crate) partition: Vec<u8>,
    pub(crate) sort: Vec<u8>,
    pub(crate) units: Units,
}

/// What the server's partitions refuse: shares by flow, and units by key.
pub(crate) struct Measured {
    sent: Vec<f64>,
    refused: Vec<f64>,
    /// Requests and refused ones by flow and minute.
    series: Vec<Vec<(f64, f64)>>,
    by_key: BTreeMap<Key, f64>,
    /// The partitions at the end.
    pub(crate) heat: Vec<PlaceHeat>,
}

impl Measured {
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            sent: vec![0.0; flows],
            refused: vec![0.0; flows],
            series: vec![Vec::new(); flows],
            by_key: BTreeMap::new(),
            heat: Vec::new(),
        }
    }

    /// A request of a flow in a second, and what refused it, if it was.
    pub(crate) fn note(
        &mut self,
        second: u64,
        flow: usize,
        is_write: bool,
        refused: Option<Refused>,
    ) {
        let minute = (second / 60) as usize;
        let series = &mut self.series[flow];
        series.resize(series.len().max(minute + 1), (0.0, 0.0));
        self.sent[flow] += 1.0;
        series[minute].0 += 1.0;
        if let Some((place, value, units)) = refused {
            self.refused[flow] += 1.0;
            series[minute].1 += 1.0;
            *self.by_key.entry((place, is_write, value)).or_default() += units;
        }
    }

    fn shares(&self) -> Vec<f64> {
        self.refused.iter().zip(&self.sent).map(|(refused, sent)| refused / sent.max(1.0)).collect()
    }
}

/// The same on the simulator: a new table under all of its load from the first minute on; clients do not retry.
pub(crate) fn options(minutes: u32) -> Options {
    Options {
        profile: Profile::Launch { minutes: 1.0 },
        minutes: Some(minutes),
        retries: Retries { attempts: 1, ..Retries::default() },
        most: Lanes { read: Some(40_000.0), write: Some(40_000.0) },
        seed: SEED,
        ..Options::default()
    }
}

/// Sends all flows for as long as that. `draw` makes one request of a flow.
pub(crate) fn measured(
    workload: &Workload,
    has_local_indexes: bool,
    random: &mut SplitMix64,
    mut draw: impl FnMut(usize, &mut SplitMix64) -> Vec<Asked>,
) -> Measured {
    let partitions = Partitions::with_burst(300);
    let attribute = |name: &str| KeyAttribute { name: name.into(), kind: ScalarType::S };
    let key = KeySchema::simple(attribute("pk"), Some(attribute("sk")));
    let index = |name: &str| IndexSchema {
        name: name.into(),
        kind: IndexKind::Global,
        key: key.clone(),
        projection: Projection::All,
    };
    let indexes: Vec<Option<IndexSchema>> =
        workload.places.iter().map(|place| place.index.as_deref().map(index)).collect();
    let place = |at: usize| Seen {
        table: "t",
        index: indexes[at].as_ref(),
        key: &key,
        throughput: Throughput { on_demand: true, ..Throughput::default() },
        has_local_indexes,
        size_bytes: 0,
        is_vector: false,
        insights: Insights::default(),
    };
    let mut measured = Measured::new(workload.flows.len());
    for second in 0..u64::from(MINUTES) * 60 {
        for (at, number) in schedule(workload, random) {
            let (flow, asked) = (&workload.flows[number], draw(number, random));
            let touches: Vec<Touched<'_>> = asked
                .iter()
                .map(|it| Touched {
                    place: place(it.place),
                    partition: &it.partition,
                    sort: &it.sort,
                    work: Work::of(flow.is_write, it.units),
                    bytes: 0,
                })
                .collect();
            let now = 960_000_000 + second * 1000 + at;
            let refused = ask(&partitions, &touches, now).err().map(|it| &asked[it.touch]);
            let refused = refused.map(|it| (it.place, it.value, it.units.as_f64()));
            measured.note(second, number, flow.is_write, refused);
        }
    }
    measured.heat = partitions.all(960_000_000 + u64::from(MINUTES) * 60_000);
    measured
}

/// The requests of one second, in the order of their times: the millisecond, and the flow.
pub(crate) fn schedule(workload: &Workload, random: &mut SplitMix64) -> Vec<(u64, usize)> {
    let mut all = Vec::new();
    for (number, flow) in workload.flows.iter().enumerate() {
        let more = u64::from(fraction(random.draw()) < flow.peak.fract());
        let requests = flow.peak.floor() as u64 + more;
        // Flows do not begin together.
        let offset = fraction(random.draw());
        all.extend((0..requests).map(|request| {
            (((request as f64 + offset) * 1000.0 / requests as f64) as u64, number)
        }));
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Asks as the engine does: what a write takes is known before; what a read takes, when it has been served.
fn ask(partitions: &Partitions, touches: &[Touched<'_>], now_ms: u64) -> Result<(), NotAdmitted> {
    if touches.iter().all(|it| it.work.is_write()) {
        return partitions.admit(touches, now_ms);
    }
    let unknown = touches.iter().map(|it| Touched { work: Work::Read(Units::ZERO), ..*it });
    let unknown: Vec<Touched<'_>> = unknown.collect();
    partitions.admit(&unknown, now_ms)?;
    partitions.charge(touches, now_ms);
    Ok(())
}

/// The value of a spread at a rank, as partitions have it: a listed one lies where the simulator has it.
pub(crate) fn value(spread: &Spread, at: usize, rank: usize) -> (Listed, Vec<u8>) {
    if rank < spread.hot.len() {
        (Some((at, rank)), spread.key(rank, SEED))
    } else {
        (None, format!("other {rank} of {at}").into_bytes())
    }
}

/// How the simulator and the server agree on many loads.
#[derive(Default)]
pub(crate) struct Agreement {
    runs: u32,
    /// Runs in which every flow's share is within five points.
    close: u32,
    flows: u32,
    refusing: u32,
    /// Runs in which the key that is refused most is the one that was foreseen, or is refused as much as that.
    same: u32,
    /// Runs in which it is just that key.
    exactly: u32,
    greatest: f64,
    wrong: Vec<String>,
}

/// What may be between the share that is foreseen and the real one.
const POINTS: f64 = 0.05;
/// The share of all runs that must agree.
const AGREEING: f64 = 0.95;

impl Agreement {
    pub(crate) fn compare(
        &mut self,
        name: &str,
        workload: &Workload,
        foreseen: &Outcome,
        real: &Measured,
    ) {
        self.runs += 1;
        if std::env::var_os("KEYLOOM_VERBOSE").is_some() {
            show(name, workload, foreseen, real);
        }
        let shares = real.shares();
        let before = self.wrong.len();
        for ((flow, outcome), real) in workload.flows.iter().zip(&foreseen.flows).zip(&shares) {
            self.flows += 1;
            let foreseen = outcome.refused_share();
            let difference = (foreseen - real).abs();
            self.greatest = self.greatest.max(difference);
            if difference > POINTS {
                let text = format!("{name} {}: foreseen {foreseen:.3}, real {real:.3}", flow.name);
                self.wrong.push(text);
            }
        }
        self.close += u32::from(self.wrong.len() == before);
        let worst = real.by_key.iter().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((key, most)) = worst.filter(|_| shares.iter().any(|it| *it > 0.01)) else {
            return;
        };
        self.refusing += 1;
        let first = foreseen.bottlenecks.first().map(|it| {
            let value = match it.limit {
                Limit::Key { spread, value, .. } => Some((spread, value)),
                _ => None,
            };
            (it.place, it.is_write, value)
        });
        // Of keys that are refused alike, either is first.
        let there = first.and_then(|first| real.by_key.get(&first)).copied().unwrap_or(0.0);
        self.exactly += u32::from(first.as_ref() == Some(key));
        if there >= 0.8 * most {
            self.same += 1;
        } else {
            self.wrong.push(format!(
                "{name}: really {key:?} with {most:.0} units, foreseen {first:?} with {there:.0}"
            ));
        }
    }

    /// Says what was seen, and fails unless refused shares are within five points and the first key is the same in 95 % of the
    /// runs.
    pub(crate) fn judge(&self, what: &str) {
        let Self { runs, close, flows, refusing, same, exactly, greatest, wrong } = self;
        eprintln!(
            "{runs} random {what} with {flows} flows: all refused shares within 5 points in {close}, the greatest difference is {:.1}; \
             {refusing} with refusals: the same key first in {same}, by itself in {exactly}",
            greatest * 100.0
        );
        let list = wrong.join("\n");
        eprintln!("{list}");
        let enough = |agreeing: u32, of: u32| f64::from(agreeing) >= AGREEING * f64::from(of);
        assert!(*refusing * 3 >= *runs, "{refusing} of {runs} refuse anything");
        assert!(enough(*close, *runs), "within 5 points in {close} of {runs}:\n{list}");
        assert!(enough(*same, *refusing), "the same key in {same} of {refusing}:\n{list}");
    }
}

/// Everything about one run, for `KEYLOOM_VERBOSE`.
fn show(name: &str, workload: &Workload, foreseen: &Outcome, real: &Measured) {
    for place in &workload.places {
        for spread in &place.spreads {
            let hot: Vec<f64> = spread.hot.iter().copied().take(4).collect();
            let (label, rest, why) = (&spread.label, spread.rest, spread.no_split);
            eprintln!("{name}: {} {label} {hot:.3?} rest {rest:.3} {why:?}", place.name());
        }
    }
    for ((flow, it), share) in workload.flows.iter().zip(&foreseen.flows).zip(real.shares()) {
        let (asked, foreseen) = (flow.peak, it.refused_share());
        eprintln!("  {} {asked:.1}/s {:?}: {foreseen:.3} {share:.3}", flow.name, flow.touches);
    }
    for it in foreseen.bottlenecks.iter().take(4) {
        eprintln!("  foreseen {} {:?} {:.0} since {}", it.place, it.limit, it.refused, it.since);
    }
    let mut keys: Vec<_> = real.by_key.iter().collect();
    keys.sort_by(|a, b| b.1.total_cmp(a.1));
    for (key, units) in keys.iter().take(4) {
        eprintln!("  real {key:?} {units:.0}");
    }
    for ((flow, it), series) in workload.flows.iter().zip(&foreseen.flows).zip(&real.series) {
        let real: Vec<f64> = series.iter().map(|(sent, refused)| refused / sent).collect();
        eprintln!(
            "  {} foreseen {:.2?}\n  {} real     {real:.2?}",
            flow.name, it.series, flow.name
        );
    }
    for (place, it) in workload.places.iter().zip(&foreseen.places) {
        let there = real.heat.iter().find(|heat| heat.index == place.index);
        let there = there.map(|heat| (heat.partitions.len(), heat.splits_for_heat));
        let (name, partitions) = (place.name(), it.partitions);
        eprintln!("  {name}: {partitions} partitions, {} splits; really {there:?}", it.splits);
    }
}

/// The seeds of the random loads that are compared: `KEYLOOM_RUNS` of them, from `KEYLOOM_SEED` on, or few that agree. The long
/// form (`scripts/long agreement`) counts those that do not: one in twenty may.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("KEYLOOM_RUNS") {
        Some(runs) => {
            let first = number("KEYLOOM_SEED").unwrap_or(0);
            first..first + runs
        }
        None => 8..16,
    }
}
