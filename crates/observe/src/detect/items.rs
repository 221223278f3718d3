//! Detects items and item collections that grow too large.

use std::collections::BTreeSet;

use super::{Confidence, Finding, Judge, Severity, bytes, percent, short};
use crate::report::{Kind, PlaceReport};

const KILOBYTE: u64 = 1024;
const MAX_ITEM: f64 = 400.0 * 1024.0;
const MAX_COLLECTION: f64 = 10.0 * 1024.0 * 1024.0 * 1024.0;

/// Items above 100 KB; above 300 KB the limit of 400 KB is near.
pub(super) fn large_items(judge: &Judge<'_>) -> Vec<Finding> {
    let large = judge.report.places.iter().filter(|place| place.sizes.max() > 100 * KILOBYTE);
    let found = large.map(|place| {
        let largest = place.sizes.max();
        let severity = if largest > 300 * KILOBYTE { Severity::Warning } else { Severity::Info };
        let over = place.sizes.count() - place.sizes.at_most(100 * KILOBYTE);
        let title = format!("an item has {}", bytes(largest as f64));
        Finding::new("large-items", severity, Confidence::High, place, title)
            .shows(format!(
                "under `{}`; {} of {} writes were above 100 KB; median {}",
                place.largest,
                short(over as f64),
                short(place.sizes.count() as f64),
                bytes(place.sizes.quantile(0.5) as f64)
            ))
            .shows(format!(
                "one write costs {} units, and as much in every index that holds all attributes",
                largest.div_ceil(KILOBYTE)
            ))
            .concerns(Judge::labels(place, |pattern| pattern.writes > 0.0))
            .fix(
                "split what is large from what is read often: its own item under the same partition \
                 key, or a pointer to an object store",
            )
            .headroom(MAX_ITEM / largest as f64)
            .at_ten(if largest as f64 * 10.0 > MAX_ITEM {
                "an item ten times as large is refused: 400 KB is the limit"
            } else {
                "still below the limit of 400 KB"
            })
    });
    found.collect()
}

/// With a local index, everything under one key must fit into 10 GB.
pub(super) fn growing_collections(judge: &Judge<'_>) -> Vec<Finding> {
    let tables = judge
        .report
        .places
        .iter()
        .filter(|place| place.has_local_indexes && place.kind == Kind::Table);
    let found = tables.filter_map(|place| {
        let key = place.keys.iter().max_by_key(|key| key.written_bytes)?;
        let share = key.written_bytes as f64 / MAX_COLLECTION;
        if share < 0.1 {
            return None;
        }
        let severity = if share >= 0.5 { Severity::Error } else { Severity::Warning };
        let per_day = key.written_bytes as f64 / judge.report.seconds() * 86_400.0;
        let title = format!("up to {} were written under `{}`", bytes(key.written_bytes as f64), key.key);
        Some(
            Finding::new("collection-size", severity, Confidence::Low, place, title)
                .shows(format!(
                    "{} of the 10 GB that a key of a table with local indexes may hold, replaced \
                     items included; {} a day",
                    percent(share),
                    bytes(per_day)
                ))
                .concerns(Judge::labels(place, |pattern| pattern.writes > 0.0))
                .fix("replace the local index by a global one, or put a period into the partition key")
                .headroom(1.0 / share)
                .at_ten("writes under this key are refused: ItemCollectionSizeLimitExceeded"),
        )
    });
    found.collect()
}

/// Removal on AWS takes a few days at most.
const LATE_S: u64 = 2 * 86_400;

/// Items that have expired and are still there: they are paid for until they are removed, and read.
pub(super) fn expired_items(judge: &Judge<'_>) -> Vec<Finding> {
    let places = judge.report.places.iter().map(|place| place.table.as_str());
    // Of a table that is only read through an index, or not at all, the table itself was not touched.
    let tables: BTreeSet<&str> =
        places.chain(judge.report.tables.iter().map(|facts| facts.name.as_str())).collect();
    let found = tables.into_iter().filter_map(|table| {
        let place = &PlaceReport { table: table.to_owned(), ..PlaceReport::default() };
        let reads = judge.report.patterns().filter(|(at, _)| at.table == place.table);
        let (mut returned, mut expired, mut units, mut labels) = (0, 0, 0.0, Vec::new());
        for (_, pattern) in reads.filter(|(_, pattern)| pattern.returned > 0) {
            returned += pattern.returned;
            expired += pattern.expired;
            units += pattern.reads * pattern.expired as f64 / pattern.returned as f64;
            if pattern.expired > 0 {
                labels.push(pattern.label().to_owned());
            }
        }
        let share = expired as f64 / returned.max(1) as f64;
        let facts = judge.report.tables.iter().find(|facts| facts.name == place.table);
        let overdue_s = facts.map_or(0, |facts| facts.overdue_s);
        let is_read = expired >= 20 && share >= 0.1;
        if !is_read && overdue_s < LATE_S {
            return None;
        }
        let severity = if share >= 0.5 { Severity::Warning } else { Severity::Info };
        let confidence = if is_read { Confidence::High } else { Confidence::Medium };
        let title = if is_read {
            format!("{} of the items that are read have expired", percent(share))
        } else {
            "expired items are not removed".to_owned()
        };
        let mut finding = Finding::new("ttl-backlog", severity, confidence, place, title);
        if is_read {
            finding = finding.shows(format!(
                "{} of {} items, {} read units",
                short(expired as f64),
                short(returned as f64),
                short(units)
            ));
        }
        if overdue_s > 0 {
            let hours = overdue_s as f64 / 3600.0;
            finding = finding.shows(format!("the oldest expired {} hours ago", short(hours)));
        }
        Some(
            finding
                .concerns(labels)
                .fix(
                    "let readers pass over what has expired: put the time into the sort key and ask \
                     for what is later than now; a filter hides it, too, but is paid for. For bulk \
                     that ends together, one table for each period is dropped for nothing",
                )
                .costs(judge.monthly(place, units, 0.0))
                .at_ten("ten times as much waits for its removal, and is read until then"),
        )
    });
    found.collect()
}
