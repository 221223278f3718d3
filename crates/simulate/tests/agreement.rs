//! The simulator against the partitions that Keyloom's server throttles by: the same random loads, request by request there,
//! fluid here. `KEYLOOM_RUNS` makes it longer.
#![expect(clippy::indexing_slicing, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;

use keyloom_core::capacity::Units;
use keyloom_core::hash::{SplitMix64, fraction};
use keyloom_core::observation::{Insights, Place as Seen, Throughput, Touch as Touched, Work};
use keyloom_core::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType,
};
use keyloom_design::model::{Billing, TableClass};
use keyloom_observe::partitions::Partitions;
use keyloom_simulate::run::{Limit, run};
use keyloom_simulate::workload::{Flow, Place, Touch};
use keyloom_simulate::{NoSplit, Options, Profile, Retries, Spread, Workload};

const MINUTES: u32 = 20;
/// Units of one request: large ones, so that few requests make much load.
const UNITS: u64 = 20;
const SEED: u64 = 5;

fn random_spread(random: &mut SplitMix64, label: &str) -> Spread {
    let values = [1.0, 3.0, 10.0, 100.0, 5_000.0][random.below(5)];
    let top = random.percent(50).then(|| 0.05 + 0.6 * fraction(random.draw()));
    let mut spread =
        Spread::new(label.to_owned(), Some(values), top.filter(|_| values > 1.0), None);
    spread.no_split = [None, Some(NoSplit::OneItem), Some(NoSplit::MovingSortKey)][random.below(3)];
    spread
}

/// A table with a global index, written and read.
fn random_workload(random: &mut SplitMix64) -> Workload {
    let place = |index: Option<&str>, spread: Spread| Place {
        table: "t".to_owned(),
        index: index.map(str::to_owned),
        stock: Vec::new(),
        billing: Billing::OnDemand,
        class: TableClass::Standard,
        spreads: vec![spread],
    };
    let touch = |place| Touch { place, spread: 0, units: UNITS as f64 };
    let rate = |random: &mut SplitMix64, most: f64| most * fraction(random.draw()) / UNITS as f64;
    let flow = |name: &str, is_write, rate, touches| Flow {
        name: name.to_owned(),
        is_write,
        average: rate,
        peak: rate,
        touches,
    };
    let writes = rate(random, 6_000.0);
    let reads = rate(random, 12_000.0);
    Workload {
        places: vec![
            place(None, random_spread(random, "T")),
            place(Some("i"), random_spread(random, "I")),
        ],
        flows: vec![
            flow("write", true, writes, vec![touch(0), touch(1)]),
            flow("read", false, reads, vec![touch(0)]),
        ],
        ..Workload::default()
    }
}

/// What the server's partitions refuse: shares by flow, and units by place, direction and value.
struct Measured {
    refused: [f64; 2],
    by_key: BTreeMap<(usize, bool, Option<usize>), f64>,
}

fn measured(workload: &Workload, random: &mut SplitMix64) -> Measured {
    let partitions = Partitions::with_burst(300);
    let attribute = |name: &str| KeyAttribute { name: name.into(), kind: ScalarType::S };
    let key = KeySchema::simple(attribute("pk"), Some(attribute("sk")));
    let index = IndexSchema {
        name: "i".into(),
        kind: IndexKind::Global,
        key: key.clone(),
        projection: Projection::All,
    };
    let throughput = Throughput { on_demand: true, ..Throughput::default() };
    let place = |at: usize| Seen {
        table: "t",
        index: (at == 1).then_some(&index),
        key: &key,
        throughput,
        has_local_indexes: false,
        size_bytes: 0,
        is_vector: false,
        insights: Insights::default(),
    };
    let mut measured = Measured { refused: [0.0; 2], by_key: BTreeMap::new() };
    let mut asked = [0.0_f64; 2];
    let mut serial = 0u64;
    for second in 0..u64::from(MINUTES) * 60 {
        for (number, flow) in workload.flows.iter().enumerate() {
            let requests =
                flow.peak.floor() as u64 + u64::from(fraction(random.draw()) < flow.peak.fract());
            for request in 0..requests {
                serial += 1;
                let keys: Vec<Drawn> = flow
                    .touches
                    .iter()
                    .map(|touch| {
                        let spread = &workload.places[touch.place].spreads[0];
                        let (value, partition) = drawn(spread, random);
                        let sort = match spread.no_split {
                            Some(NoSplit::OneItem) => b"one".to_vec(),
                            Some(_) => serial.to_be_bytes().to_vec(),
                            None => random.draw().to_be_bytes().to_vec(),
                        };
                        (touch.place, value, partition, sort)
                    })
                    .collect();
                let touches: Vec<Touched<'_>> = keys
                    .iter()
                    .map(|(at, _, partition, sort)| Touched {
                        place: place(*at),
                        partition,
                        sort,
                        work: Work::of(flow.is_write, Units::whole(UNITS)),
                        bytes: 0,
                    })
                    .collect();
                asked[number] += 1.0;
                let now = second * 1000 + request * 1000 / requests.max(1);
                if let Err(refusal) = partitions.admit(&touches, 960_000_000 + now) {
                    measured.refused[number] += 1.0;
                    let (at, value, ..) = &keys[refusal.touch];
                    *measured.by_key.entry((*at, flow.is_write, *value)).or_default() +=
                        UNITS as f64;
                }
            }
        }
    }
    for (refused, asked) in measured.refused.iter_mut().zip(asked) {
        *refused /= asked.max(1.0);
    }
    measured
}

/// The place, the listed value if it is one, the partition key and the sort key.
type Drawn = (usize, Option<usize>, Vec<u8>, Vec<u8>);

/// A value of a partition key, drawn by its share.
fn drawn(spread: &Spread, random: &mut SplitMix64) -> (Option<usize>, Vec<u8>) {
    let mut left = fraction(random.draw());
    for (value, share) in spread.hot.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return (Some(value), spread.key(value, SEED));
        }
    }
    (None, format!("other {}", random.below(spread.others.max(1.0) as usize)).into_bytes())
}

#[test]
fn the_simulator_refuses_what_the_server_would() {
    let runs: u64 =
        std::env::var("KEYLOOM_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(8);
    let options = Options {
        profile: Profile::Launch { minutes: 1.0 },
        minutes: Some(MINUTES),
        retries: Retries { attempts: 1, ..Retries::default() },
        quota: Some(40_000.0),
        seed: SEED,
        ..Options::default()
    };
    let (mut compared, mut same, mut wrong) = (0, 0, Vec::new());
    for seed in 0..runs {
        let mut random = SplitMix64::new(seed);
        let workload = random_workload(&mut random);
        let outcome = run(&workload, 1.0, &options);
        let real = measured(&workload, &mut random);
        for (flow, foreseen) in workload.flows.iter().zip(&outcome.flows) {
            let number = usize::from(!flow.is_write);
            let (a, b) = (foreseen.refused_share(), real.refused[number]);
            if (a - b).abs() > 0.05 {
                wrong.push(format!("run {seed} {}: foreseen {a:.3}, real {b:.3}", flow.name));
            }
        }
        let worst = real.by_key.iter().max_by(|a, b| a.1.total_cmp(b.1));
        if let Some(((place, is_write, value), most)) =
            worst.filter(|_| real.refused.iter().any(|it| *it > 0.01))
        {
            compared += 1;
            let first = outcome.bottlenecks.first().map(|it| {
                let value = match it.limit {
                    Limit::Key { value, .. } => Some(value),
                    _ => None,
                };
                (it.place, it.is_write, value)
            });
            // Of keys that are refused alike, either is first.
            let refused_there =
                first.and_then(|first| real.by_key.get(&first)).copied().unwrap_or(0.0);
            let is_same = refused_there >= 0.8 * most;
            same += u32::from(is_same);
            if !is_same {
                eprintln!("run {seed}: real {:?}, foreseen {first:?}", (place, is_write, value));
            }
        }
    }
    eprintln!("{runs} runs, {compared} with refusals, the same key first in {same}");
    assert!(wrong.is_empty(), "{} of {runs} runs differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(f64::from(same) >= 0.95 * f64::from(compared), "{same} of {compared}");
}
