//! Heat maps: a known moving hot key and a known Zipf load come back as they were, cell by cell.

use std::collections::{BTreeMap, HashMap};

use keyloom_core::Operation;
use keyloom_observe::report::{HeatLevel, HeatMap};
use keyloom_observe::{Redaction, Report};

use crate::skew::Zipf;
use crate::traffic::{Random, START_MS, Traffic, encoded};

const MINUTE_MS: u64 = 60_000;
const ROWS: u128 = 64;

/// Where a key lies, worked out anew: FNV-1a, a finalizer of MurmurHash3, and the share of 2^64.
fn row(key: &str) -> usize {
    let mut hash = 14_695_981_039_346_656_037_u64;
    for byte in encoded(key) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    for factor in [18_397_679_294_719_823_053_u64, 14_181_476_777_654_086_739] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^= hash >> 33;
    (u128::from(hash) * ROWS / (1_u128 << 64)) as usize
}

/// What was really asked: units of each row in each column of a width.
#[derive(Default)]
struct Truth {
    cells: BTreeMap<(u64, usize), [f64; 2]>,
    keys: HashMap<(u64, String), f64>,
}

impl Truth {
    fn add(&mut self, at_ms: u64, step_ms: u64, key: &str, is_write: bool, units: f64) {
        let start = at_ms / step_ms * step_ms;
        self.cells.entry((start, row(key))).or_default()[usize::from(is_write)] += units;
        let load = if is_write { 3.0 * units } else { units };
        *self.keys.entry((start, key.to_owned())).or_default() += load;
    }

    /// The cells of a level are these, no more and no fewer.
    fn compare(&self, level: &HeatLevel) {
        let mut seen = BTreeMap::new();
        for column in &level.columns {
            for cell in &column.cells {
                seen.insert((column.start_ms, cell.0), [f64::from(cell.1), f64::from(cell.2)]);
            }
        }
        let since = level.columns.first().unwrap().start_ms;
        let kept: BTreeMap<_, _> = self
            .cells
            .iter()
            .filter(|((start, _), _)| *start >= since)
            .map(|(k, v)| (*k, *v))
            .collect();
        assert_eq!(seen, kept);
    }

    fn heaviest(&self, start_ms: u64) -> &str {
        let of_column = self.keys.iter().filter(|((start, _), _)| *start == start_ms);
        let heaviest = of_column.max_by(|a, b| a.1.total_cmp(b.1));
        &heaviest.unwrap().0.1
    }
}

fn map(traffic: &Traffic) -> HeatMap {
    let mut maps = traffic.collector.heat(|table, index| table == "tasks" && index.is_none());
    assert_eq!(maps.len(), 1);
    maps.remove(0)
}

fn level(map: &HeatMap, step_ms: u64) -> &HeatLevel {
    map.levels.iter().find(|level| level.step_ms == step_ms).unwrap()
}

#[test]
fn a_hot_key_that_moves_every_minute_is_named_in_every_column() {
    let mut traffic = Traffic::new();
    let mut truth = Truth::default();
    let mut random = Random(3);
    let begin = START_MS / MINUTE_MS * MINUTE_MS;
    traffic.now_ms = begin;
    for minute in 0..60_u64 {
        for step in 0..300_u64 {
            traffic.now_ms = begin + minute * MINUTE_MS + step * 200;
            let is_hot = step % 3 != 0;
            let key = if is_hot {
                format!("PROJECT#{minute}")
            } else {
                format!("PROJECT#cold-{}", (random.unit() * 2000.0) as u64)
            };
            let is_write = step % 2 == 0;
            let operation = if is_write { Operation::PutItem } else { Operation::GetItem };
            traffic.item(operation, &key, "A", 1, 100);
            truth.add(traffic.now_ms, MINUTE_MS, &key, is_write, 1.0);
        }
    }
    let map = map(&traffic);
    assert_eq!(map.rows, 64);
    let minutes = level(&map, MINUTE_MS);
    truth.compare(minutes);
    assert_eq!(minutes.columns.len(), 60);
    for (minute, column) in minutes.columns.iter().enumerate() {
        let first = column.keys.first().unwrap();
        assert_eq!(first.key, format!("PROJECT#{minute}"), "minute {minute}");
        assert_eq!(first.row, row(&first.key));
        let real = truth.keys.get(&(column.start_ms, first.key.clone())).copied().unwrap();
        let told = first.reads + 3.0 * first.writes;
        assert!(told <= real && told > 0.98 * real, "{told} of {real}");
        // Nothing else stands out.
        assert!(column.keys.iter().skip(1).all(|key| key.load() < 0.05 * real), "minute {minute}");
    }
}

#[test]
fn a_zipf_load_comes_back_cell_by_cell_at_every_width() {
    let zipf = Zipf::new(20_000, 1.1);
    let mut random = Random(11);
    let mut traffic = Traffic::new();
    let steps = [5_000, MINUTE_MS, 30 * MINUTE_MS];
    let mut truths = steps.map(|_| Truth::default());
    for step in 0..60_000_u64 {
        traffic.now_ms = START_MS + step * 10;
        let key = format!("USER#{}", zipf.draw(&mut random));
        let is_write = step % 4 == 0;
        let operation = if is_write { Operation::PutItem } else { Operation::GetItem };
        let units = 1 + step % 3;
        traffic.item(operation, &key, "A", units, 100);
        for (truth, step_ms) in truths.iter_mut().zip(steps) {
            truth.add(traffic.now_ms, step_ms, &key, is_write, units as f64);
        }
    }
    let map = map(&traffic);
    for (truth, step_ms) in truths.iter().zip(steps) {
        let level = level(&map, step_ms);
        truth.compare(level);
        for column in &level.columns {
            let first = column.keys.first().unwrap();
            assert_eq!(first.key, truth.heaviest(column.start_ms), "{step_ms} {}", column.start_ms);
            for key in &column.keys {
                let real = truth.keys.get(&(column.start_ms, key.key.clone())).copied().unwrap();
                assert!(key.load() <= real + 1e-6, "{} has {real}", key.key);
            }
        }
    }
}

#[test]
fn columns_are_forgotten_and_levels_keep_their_spans() {
    let mut traffic = Traffic::new();
    for hour in 0..100_u64 {
        traffic.now_ms = START_MS + hour * 60 * MINUTE_MS;
        traffic.get("USER#1", "A");
    }
    for minute in 0..400_u64 {
        traffic.now_ms = START_MS + 6000 * MINUTE_MS + minute * MINUTE_MS;
        traffic.get("USER#1", "A");
    }
    let map = map(&traffic);
    let spans: Vec<u64> =
        map.levels.iter().map(|level| level.step_ms * level.kept as u64).collect();
    assert_eq!(spans, [600_000, 3 * 60 * MINUTE_MS, 72 * 60 * MINUTE_MS]);
    for level in &map.levels {
        assert!(level.columns.len() <= level.kept, "{}", level.step_ms);
    }
    assert_eq!(level(&map, MINUTE_MS).columns.len(), 180);
}

#[test]
fn keys_are_hidden_where_they_must_be_and_recordings_keep_the_map() {
    let mut traffic = Traffic::redacted(Redaction::Prefix);
    traffic.get("USER#secret", "A");
    let hidden = map(&traffic);
    assert_eq!(hidden.levels[0].columns[0].keys[0].key, "USER#…");
    let mut traffic = Traffic::new();
    for _ in 0..10 {
        traffic.get("USER#secret", "A");
    }
    let heat = vec![map(&traffic)];
    let report = Report { heat, ..traffic.report() };
    let mut read = Report::from_json(&report.to_json()).unwrap();
    assert_eq!(read.heat, report.heat);
    read.merge(&report);
    let cell = read.heat[0].levels[0].columns[0].cells[0];
    assert!((cell.1 - 20.0).abs() < 1e-6, "{cell:?}");
    read.redact(Redaction::Hash);
    assert!(!read.to_json().contains("secret"));
}
