//! Detects unused indexes.

use keyloom_core::Operation;

use super::{Confidence, Finding, Judge, Severity, bytes, edit, short};
use crate::report::{Kind, PlaceReport};

const GIGABYTE: f64 = 1_073_741_824.0;
/// Bytes that are stored with every index entry.
const OVERHEAD_BYTES: f64 = 100.0;
const DAY: f64 = 86_400.0;

/// Indexes that were never read, although their table was used.
pub(super) fn unused_indexes(judge: &Judge<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (table, index, kind, size) in existing(judge) {
        let used = judge.report.place(&table, None).map_or(0, |place| place.requests);
        let place = judge.report.place(&table, Some(&index));
        if used < judge.thresholds.min_requests || place.is_some_and(is_read) {
            continue;
        }
        if place.is_none() && judge.report.left_out > 0 {
            // It may have been read outside the observed requests.
            continue;
        }
        let stand_in = PlaceReport { table, index: Some(index), kind, ..PlaceReport::default() };
        let place = place.unwrap_or(&stand_in);
        found.push(unused(judge, place, size));
    }
    found
}

/// Every index of the tables that exist; of those that were seen, where that is not known.
fn existing(judge: &Judge<'_>) -> Vec<(String, String, Kind, f64)> {
    if judge.report.tables.is_empty() {
        let seen =
            judge.report.places.iter().filter_map(|place| {
                Some((place.table.clone(), place.index.clone()?, place.kind, 0.0))
            });
        return seen.collect();
    }
    let facts = judge.report.tables.iter().flat_map(|table| {
        table.indexes.iter().map(|index| {
            let size = index.bytes as f64 + index.items as f64 * OVERHEAD_BYTES;
            (table.name.clone(), index.name.clone(), index.kind, size)
        })
    });
    facts.collect()
}

/// Whether an index was read, rather than only written.
fn is_read(place: &PlaceReport) -> bool {
    use Operation::{Query, Scan, SearchVectors};
    place.patterns.iter().any(|p| matches!(p.operation(), Some(Query | Scan | SearchVectors)))
}

fn unused(judge: &Judge<'_>, place: &PlaceReport, size: f64) -> Finding {
    let days = judge.report.seconds() / DAY;
    let is_sure = !judge.report.of_one_program;
    let (severity, confidence) = match days {
        _ if !is_sure => (Severity::Info, Confidence::Low),
        days if days >= 30.0 => (Severity::Warning, Confidence::High),
        days if days >= 7.0 => (Severity::Warning, Confidence::Medium),
        _ => (Severity::Info, Confidence::Low),
    };
    let name = place.index.as_deref().unwrap_or_default();
    let observed = if days >= 1.0 {
        format!("{days:.1} days")
    } else {
        format!("{} s", short(judge.report.seconds()))
    };
    let storage = size / GIGABYTE * judge.class(place).storage_gb_month;
    let table = judge.design.and_then(|design| {
        let table = design.tables().iter().find(|table| table.name == place.table)?;
        Some((design, table, table.index(name)?))
    });
    let planned = table.is_some_and(|(design, table, index)| {
        let plans = keyloom_design::plan::plan(design, judge.prices);
        let uses = keyloom_design::plan::index_uses(design, &plans);
        uses.iter()
            .any(|at| at.table == table.name && at.index == index.name && !at.patterns.is_empty())
    });
    let diff = table
        .filter(|_| is_sure && !planned)
        .and_then(|(design, table, index)| edit::remove_index(design, table, index));
    let fix = if planned {
        "access patterns of the design need it, but nothing made them yet: look again later"
    } else if !is_sure {
        "see whether other programs read it: the recording has only this one's requests"
    } else if place.kind == Kind::Local {
        "a local index can only be removed with its table: leave it out when the table is recreated"
    } else {
        "delete it; it can be made again at any time"
    };
    let title = if is_sure {
        format!("{name} was never read")
    } else {
        format!("this program never read {name}")
    };
    let (spent, at_ten) = if place.kind == Kind::Vector {
        // No units: what it costs is not counted.
        ("writes to it are paid by the byte".to_owned(), "ten times the bytes".to_owned())
    } else {
        let units = |times: f64| format!("{} write units", short(place.writes * times));
        (format!("{} spent on it", units(1.0)), format!("{} for it in the same time", units(10.0)))
    };
    Finding::new("unused-index", severity, confidence, place, title)
        .shows(format!("observed for {observed}: {spent}, {} stored", bytes(size)))
        .concerns(judge.users(place))
        .fix(fix)
        .diff(diff)
        .costs(judge.monthly(place, 0.0, place.writes) + storage)
        .at_ten(at_ten)
}
