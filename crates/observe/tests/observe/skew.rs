//! Skewed loads: the true heaviest keys are found, with loads within the stated error, and an even
//! load has none.

use std::collections::HashMap;

use keyloom_core::Operation;

use crate::traffic::{Random, Traffic};

/// Draws ranks with a probability that falls with a power of the rank.
pub(crate) struct Zipf {
    below: Vec<f64>,
}

impl Zipf {
    pub(crate) fn new(keys: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let below = (1..=keys).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        Self { below: below.collect() }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let total = self.below.last().copied().unwrap_or(1.0);
        let at = random.unit() * total;
        self.below.partition_point(|below| *below < at)
    }
}

#[test]
fn the_true_top_ten_keys_are_found_within_the_stated_error() {
    for exponent in [0.8, 1.0, 1.2, 1.4] {
        let zipf = Zipf::new(50_000, exponent);
        let mut random = Random(42);
        let mut traffic = Traffic::new();
        let mut exact: HashMap<String, f64> = HashMap::new();
        for step in 0..60_000_u64 {
            let key = format!("USER#{}", zipf.draw(&mut random));
            let units = 1 + step % 3;
            if step % 4 == 0 {
                traffic.item(Operation::PutItem, &key, "A", units, 100);
                *exact.entry(key).or_default() += 3.0 * units as f64;
            } else {
                traffic.item(Operation::GetItem, &key, "A", units, 100);
                *exact.entry(key).or_default() += units as f64;
            }
            traffic.pass(u64::from(step % 10 == 0));
        }
        let report = traffic.report();
        let place = report.place("tasks", None).unwrap();
        for key in &place.keys {
            let truth = exact.get(&key.key).copied().unwrap_or(0.0);
            assert!(
                key.least() <= truth && truth <= key.load,
                "{exponent}: {} has {truth}, not {} to {}",
                key.key,
                key.least(),
                key.load
            );
        }
        let mut ranked: Vec<(&String, &f64)> = exact.iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(a.1));
        let found: Vec<&str> = place.keys.iter().take(10).map(|key| key.key.as_str()).collect();
        let (_, tenth) = ranked.get(9).copied().unwrap();
        for (key, load) in ranked.iter().take(10) {
            // Keys with the same load may change places.
            assert!(
                found.contains(&key.as_str()) || (*load - tenth).abs() < 1e-9,
                "{exponent}: {key} {found:?}"
            );
        }
        let off = (place.distinct_keys - exact.len() as f64).abs() / exact.len() as f64;
        assert!(off < 0.05, "{} keys, {} estimated", exact.len(), place.distinct_keys);
    }
}

#[test]
fn a_sampled_load_is_corrected_for() {
    // One request in eight is told, with weight eight: totals and shares come out the same.
    let mut traffic = Traffic::new();
    let mut random = Random(7);
    for step in 0..80_000 {
        let hot = random.below(10) < 3;
        let key = if hot { "USER#hot".to_owned() } else { format!("USER#{}", random.below(5000)) };
        if step % 8 == 0 {
            traffic.weight = 8;
            traffic.item(Operation::GetItem, &key, "A", 1, 100);
        }
        traffic.pass(1);
    }
    let report = traffic.report();
    let place = report.place("tasks", None).unwrap();
    assert_eq!(report.requests, 80_000);
    assert!((place.reads - 80_000.0).abs() < 1.0);
    let top = place.keys.first().unwrap();
    assert_eq!(top.key, "USER#hot");
    assert!((top.share - 0.3).abs() < 0.03, "{}", top.share);
    assert!((top.peak_reads - 300.0).abs() < 60.0, "{} units/s, not 300", top.peak_reads);
}

#[test]
fn an_even_load_has_no_hot_key() {
    let mut traffic = Traffic::new();
    let mut random = Random(3);
    for step in 0..50_000_u64 {
        // 20,000 requests a second.
        let key = format!("USER#{}", random.below(20_000));
        traffic.item_with(Operation::PutItem, &key, "A", (1, 100), Some((&key, "B")));
        traffic.pass(u64::from(step % 20 == 0));
    }
    let found = traffic.findings();
    let heat = [
        "hot-partition",
        "index-back-pressure",
        "moving-hot-key",
        "skewed-keys",
        "low-cardinality",
    ];
    let wrong: Vec<_> =
        found.iter().filter(|finding| heat.contains(&finding.id.as_str())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn one_hot_tenant_a_moving_date_and_a_status_index_are_each_named() {
    let mut tenant = Traffic::new();
    let mut random = Random(11);
    for step in 0..60_000_u64 {
        let hot = random.below(100) < 40;
        let name = if hot { "acme".to_owned() } else { format!("t{}", random.below(500)) };
        let key = format!("TENANT#{name}#USER#{}", random.below(4));
        tenant.put(&key, "A");
        tenant.pass(u64::from(step % 8 == 0));
    }
    let found = tenant.findings();
    let share = found.iter().find(|finding| finding.id == "tenant-share").unwrap();
    assert!(share.title.contains("TENANT#acme#"), "{share:?}");

    let mut date = Traffic::new();
    for day in 1..=4 {
        for minute in 0..30 {
            for step in 0..40 {
                let key = if step % 4 == 0 {
                    format!("X#{minute}{step}")
                } else {
                    format!("DAY#2024-01-0{day}")
                };
                date.put(&key, &format!("{minute}:{step}"));
                date.pass(1000);
            }
            date.pass(20_000);
        }
        date.pass(23 * 3_600_000);
    }
    let found = date.findings();
    let moving = found.iter().find(|finding| finding.id == "moving-hot-key").unwrap();
    assert!(moving.title.contains("DAY#2024-01-01") && moving.title.contains("DAY#2024-01-04"));

    let mut status = Traffic::new();
    for step in 0..20_000_u64 {
        let (user, open) = (format!("USER#{}", step % 3000), step % 5 > 0);
        let state = if open { "STATUS#ACTIVE" } else { "STATUS#DONE" };
        status.item_with(Operation::PutItem, &user, "A", (1, 200), Some((state, &user)));
        status.pass(u64::from(step % 2 == 0));
    }
    let found = status.findings();
    let pressed = found.iter().find(|finding| finding.id == "index-back-pressure").unwrap();
    assert_eq!(pressed.place, "tasks.GSI1");
    assert!(pressed.title.contains("STATUS#ACTIVE"), "{pressed:?}");
    assert!(found.iter().all(|finding| finding.id != "hot-partition"), "{found:#?}");
}
