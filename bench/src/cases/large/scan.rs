//! A scan of everything, page by page: is it linear, and do writes wait for it?

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::Loaded;
use super::database::{LargeDatabase, member};
use crate::bench::Bench;
use crate::figures::count;
use crate::results::{Metric, Section};
use crate::workload::{Random, TABLE, item};

/// Where the table is.
pub(crate) const IN_MEMORY: &str = "in memory";
pub(crate) const ON_DISK: &str = "on disk, relaxed";

/// The writes that are timed.
const WITHOUT_SCAN: &str = "longest write without a scan";
pub(crate) const DURING_SCAN: &str = "longest write during a scan";

/// A scan that takes longer than this is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between two writes, so that scan and writes do not fight for the cores.
const PAUSE: Duration = Duration::from_micros(300);

/// As a setting is called in the results.
pub(crate) fn first_items_label(items: usize) -> String {
    format!("first {} items", count(items))
}

pub(super) fn run(bench: &mut Bench, place: &str, loaded: &[Loaded]) -> Result<()> {
    if !bench.wants(&format!("large memory disk scan {place}")) {
        return Ok(());
    }
    let all: usize = bench.settings.partitions.iter().sum();
    let marks = [all / 100, all / 10, all];
    for loaded in loaded {
        bench.say(&format!("scan {place}: {}", loaded.contender.label()));
        for _ in 0..bench.settings.rounds.min(3) {
            for (mark, took) in scan(loaded.database.as_ref(), &marks)? {
                let micros = took.as_secs_f64() * 1e6 / mark as f64;
                let setting = first_items_label(mark);
                let key = (Section::Scan, place, setting.as_str());
                bench.add(key, loaded.contender, Metric::MicrosPerItem, micros);
            }
        }
    }
    for round in 0..bench.settings.rounds.min(3) {
        for loaded in loaded {
            bench.say(&format!("writes during a scan {place}: {}", loaded.contender.label()));
            for (case, is_scanned) in [(WITHOUT_SCAN, false), (DURING_SCAN, true)] {
                let duration = bench.settings.sample * 3;
                let longest = longest_write(loaded, is_scanned, duration, round)?;
                let millis = longest.as_secs_f64() * 1e3;
                let key = (Section::WriteDuringScan, case, place);
                bench.add(key, loaded.contender, Metric::Millis, millis);
            }
        }
    }
    Ok(())
}

/// Scans, and says when each of these numbers of items had been read.
fn scan(database: &dyn LargeDatabase, marks: &[usize]) -> Result<Vec<(usize, Duration)>> {
    let mut marks = marks.iter().copied().peekable();
    let mut passed = Vec::new();
    let mut cursor = None;
    let mut read = 0;
    let start = Instant::now();
    while let Some(mark) = marks.peek().copied() {
        if start.elapsed() > PATIENCE {
            break;
        }
        let (scanned, next) = page(database, cursor.as_deref())?;
        read += scanned;
        if read >= mark {
            // The last page goes beyond the mark; what it took is spread over its items.
            passed.push((mark, start.elapsed().mul_f64(mark as f64 / read as f64)));
            marks.next();
        }
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    Ok(passed)
}

/// One page: its items, and where the next one begins.
fn page(database: &dyn LargeDatabase, cursor: Option<&str>) -> Result<(usize, Option<String>)> {
    let cursor = cursor.map_or(String::new(), |key| format!(r#","ExclusiveStartKey":{key}"#));
    let answer = database.call("Scan", &format!(r#"{{"TableName":"{TABLE}"{cursor}}}"#))?;
    let text = std::str::from_utf8(&answer)?;
    let count = member(text, "ScannedCount").context("the page has no ScannedCount")?;
    let next = member(text, "LastEvaluatedKey").map(str::to_owned);
    Ok((count.parse().context("the ScannedCount is odd")?, next))
}

/// The longest of many writes, with or without a scan that goes on beside them.
fn longest_write(
    loaded: &Loaded,
    is_scanned: bool,
    duration: Duration,
    round: usize,
) -> Result<Duration> {
    let database = loaded.database.as_ref();
    let is_over = AtomicBool::new(false);
    scope(|scope| {
        let scanner = is_scanned.then(|| scope.spawn(|| scan_until(database, &is_over)));
        let longest = write_for(database, duration, round);
        is_over.store(true, Ordering::Relaxed);
        if let Some(scanner) = scanner {
            scanner.join().map_err(|_| anyhow!("the scan panicked"))??;
        }
        longest
    })
}

fn scan_until(database: &dyn LargeDatabase, is_over: &AtomicBool) -> Result<()> {
    let mut cursor = None;
    while !is_over.load(Ordering::Relaxed) {
        (_, cursor) = page(database, cursor.as_deref())?;
    }
    Ok(())
}

fn write_for(database: &dyn LargeDatabase, duration: Duration, round: usize) -> Result<Duration> {
    let mut random = Random::new(round as u64 + 1);
    let mut longest = Duration::ZERO;
    let start = Instant::now();
    while start.elapsed() < duration {
        let record = item(random.below(1000) as usize, &mut random);
        let body = format!(r#"{{"TableName":"{TABLE}","Item":{}}}"#, record.item);
        let asked = Instant::now();
        database.call("PutItem", &body)?;
        longest = longest.max(asked.elapsed());
        sleep(PAUSE);
    }
    Ok(longest)
}
