//! One page in partitions of different sizes: the cost must not grow with the partition.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::database::member;
use super::{Loaded, partition, sort_key};
use crate::bench::{Bench, turns};
use crate::figures::count;
use crate::results::{Metric, Section};
use crate::workload::{Random, TABLE};

/// A page: its name, and the limit that makes it small.
pub(crate) const PAGES: [(&str, Option<usize>); 2] =
    [("a page of 1 MB", None), ("a page of 20 items", Some(20))];

/// More items than a page of 1 MB holds.
const ITEMS_OF_A_PAGE: usize = 1_100;

/// How long a partition is read before pages of it are measured.
const WARM_UP: Duration = Duration::from_secs(5);

/// As a setting is called in the results.
pub(crate) fn partition_label(size: usize) -> String {
    format!("partition of {}", count(size))
}

pub(super) fn run(bench: &mut Bench, section: Section, loaded: &[Loaded]) -> Result<()> {
    if !bench.wants("large memory disk partitions") {
        return Ok(());
    }
    let sizes = bench.settings.partitions.clone();
    let mut random = Random::new(11);
    for size in &sizes {
        for loaded in loaded {
            warm_up(loaded, *size)?;
        }
    }
    for (page, limit) in PAGES {
        bench.say(&format!("{section:?}: {page}"));
        for round in 0..bench.settings.rounds {
            for size in turns(round, sizes.len()).filter_map(|turn| sizes.get(turn)) {
                for loaded in loaded {
                    let millis = sample(bench, loaded, *size, limit, &mut random)?;
                    let setting = partition_label(*size);
                    let place = (section, page, setting.as_str());
                    bench.add(place, loaded.contender, Metric::Millis, millis);
                }
            }
        }
    }
    Ok(())
}

/// Reads a partition once, as far as there is time: the samples read the small ones many times, and
/// only then do all of them find the same in the caches.
fn warm_up(loaded: &Loaded, size: usize) -> Result<()> {
    let start = Instant::now();
    for from in (0..size).step_by(ITEMS_OF_A_PAGE * 3 / 4) {
        if start.elapsed() > WARM_UP {
            break;
        }
        loaded.database.call("Query", &question(size, from, None))?;
    }
    Ok(())
}

/// Milliseconds per page, each beginning somewhere else in the partition.
fn sample(
    bench: &Bench,
    loaded: &Loaded,
    size: usize,
    limit: Option<usize>,
    random: &mut Random,
) -> Result<f64> {
    let wanted = limit.unwrap_or(ITEMS_OF_A_PAGE).min(size);
    let start = Instant::now();
    let mut pages = 0;
    while pages < 2 || start.elapsed() < bench.settings.sample / 4 {
        let from = random.below((size - wanted + 1) as u64) as usize;
        let body = question(size, from, limit);
        let answer = loaded.database.call("Query", &body)?;
        if pages == 0 {
            let text = std::str::from_utf8(&answer)?;
            let count = member(text, "Count").context("the page has no Count")?;
            let count: usize = count.parse().context("the Count is odd")?;
            ensure!(count >= wanted * 9 / 10, "a page of {wanted} items has {count}");
        }
        pages += 1;
    }
    Ok(start.elapsed().as_secs_f64() * 1e3 / f64::from(pages))
}

fn question(size: usize, from: usize, limit: Option<usize>) -> String {
    let limit = limit.map_or(String::new(), |limit| format!(r#","Limit":{limit}"#));
    format!(
        r#"{{"TableName":"{TABLE}","KeyConditionExpression":"pk = :pk AND sk >= :sk","ExpressionAttributeValues":{{":pk":{{"S":"{}"}},":sk":{{"S":"{}"}}}}{limit}}}"#,
        partition(size),
        sort_key(from)
    )
}
