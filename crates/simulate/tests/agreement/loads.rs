//! Random loads of a table with a global index, every key drawn by itself.

use keyloom_core::capacity::Units;
use keyloom_core::hash::{SplitMix64, fraction};
use keyloom_design::model::{Billing, TableClass};
use keyloom_simulate::run::run;
use keyloom_simulate::workload::{Flow, Place, Touch};
use keyloom_simulate::{NoSplit, Spread, Workload};

use crate::server::{Agreement, Asked, MINUTES, measured, options, seeds, value};

/// Units of one request: large ones, so that few requests make much load.
const UNITS: u64 = 20;

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
    let touch = |place| Touch { place, spread: 0, units: UNITS as f64, is_range: false };
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

/// A value of a partition key, drawn by its share.
fn rank(spread: &Spread, random: &mut SplitMix64) -> usize {
    let mut left = fraction(random.draw());
    for (value, share) in spread.hot.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return value;
        }
    }
    spread.hot.len() + random.below(spread.others.max(1.0) as usize)
}

#[test]
fn the_simulator_refuses_what_the_server_would() {
    let mut agreement = Agreement::default();
    for seed in seeds() {
        let mut random = SplitMix64::new(seed);
        let workload = random_workload(&mut random);
        let outcome = run(&workload, 1.0, &options(MINUTES));
        let mut serial = 0u64;
        let real = measured(&workload, false, &mut random, |flow, random| {
            serial += 1;
            let asked = workload.flows[flow].touches.iter().map(|touch| {
                let spread = &workload.places[touch.place].spreads[0];
                let rank = rank(spread, random);
                let (value, partition) = value(spread, 0, rank);
                let sort = match spread.no_split {
                    Some(NoSplit::OneItem) => b"one".to_vec(),
                    Some(_) => serial.to_be_bytes().to_vec(),
                    None => random.draw().to_be_bytes().to_vec(),
                };
                Asked { place: touch.place, value, partition, sort, units: Units::whole(UNITS) }
            });
            asked.collect()
        });
        agreement.compare(&format!("run {seed}"), &workload, &outcome, &real);
    }
    agreement.judge("loads");
}
