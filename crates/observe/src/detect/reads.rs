//! Detects reads that consume far more than they return.

use keyloom_core::Operation;

use super::{Confidence, Finding, Judge, Severity, bytes, edit, percent, short};
use crate::report::{Pattern, PlaceReport};

/// Scans: any outside the design, and those that throw most away.
pub(super) fn scans(judge: &Judge<'_>) -> Vec<Finding> {
    let scans = judge.report.patterns().filter(|(_, p)| p.is(Operation::Scan) && p.name.is_none());
    let found = scans.map(|(place, pattern)| {
        let kept = pattern.returned as f64 / pattern.scanned.max(1) as f64;
        let wasteful = pattern.scanned > 0 && kept < 0.2;
        let (id, title) = if wasteful {
            let dropped = percent(1.0 - kept);
            ("inefficient-scan", format!("a scan throws {dropped} of what it reads away"))
        } else {
            ("scan", format!("{} is read from end to end", place.name()))
        };
        let once = pattern.calls() < 5 && !wasteful;
        let severity = if once { Severity::Info } else { Severity::Warning };
        let per_call = pattern.reads / pattern.calls() as f64;
        Finding::new(id, severity, Confidence::High, place, title)
            .shows(format!(
                "{} requests read {} entries, {}, and returned {}",
                short(pattern.requests as f64),
                short(pattern.scanned as f64),
                bytes(pattern.bytes as f64),
                short(pattern.returned as f64)
            ))
            .shows(format!("{} read units for one pass", short(per_call)))
            .concerns([pattern.label().to_owned()])
            .fix(
                "give the question a key: an index whose partition key is what the filter asks; for \
                 exports, allow rule A01 for the pattern in the design",
            )
            .costs(judge.monthly(place, pattern.reads, 0.0))
            .at_ten(format!(
                "ten times the items: {} read units for one pass",
                short(per_call * 10.0)
            ))
    });
    found.collect()
}

/// Scans that a filter narrows: the index that would answer them.
pub(super) fn missing_indexes(judge: &Judge<'_>) -> Vec<Finding> {
    let filtered = judge.report.patterns().filter(|(_, pattern)| {
        pattern.is(Operation::Scan)
            && pattern.name.is_none()
            && pattern.filtered > 5
            && !pattern.filter_attributes.is_empty()
    });
    let found = filtered.filter_map(|(place, pattern)| {
        let attribute = pattern.filter_attributes.first()?;
        let attributes = pattern.filter_attributes.join(", ");
        let title = format!(
            "{} scans filter on {attributes}, which no index has as its key",
            short(pattern.filtered as f64)
        );
        let table = judge.design.and_then(|design| {
            Some((design, design.tables().iter().find(|table| table.name == place.table)?))
        });
        let diff = table.and_then(|(design, table)| edit::add_index(design, table, attribute));
        let kept = pattern.returned as f64 / pattern.scanned.max(1) as f64;
        let saved = pattern.reads * (1.0 - kept);
        Some(
            Finding::new("missing-index", Severity::Warning, Confidence::Medium, place, title)
                .shows(format!(
                    "{} of {} read entries satisfied the filter",
                    short(pattern.returned as f64),
                    short(pattern.scanned as f64)
                ))
                .concerns([pattern.label().to_owned()])
                .fix(format!(
                    "a global index with partition key `{attribute}`; with few values of it, add a \
                     shard, and project only what is read"
                ))
                .diff(diff)
                .costs(judge.monthly(place, saved, 0.0))
                .at_ten(format!("{} read units thrown away in the same time", short(saved * 10.0))),
        )
    });
    found.collect()
}

/// Reads that nearly always find nothing: typically the key is built wrongly.
pub(super) fn empty_results(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        let (min, limit, severity) = match pattern.operation() {
            Some(Operation::Query) => (20, 0.95, Severity::Warning),
            Some(Operation::GetItem) => (judge.thresholds.min_requests, 0.5, Severity::Info),
            _ => return None,
        };
        let share = pattern.empty as f64 / pattern.requests.max(1) as f64;
        // A filter that drops everything is another finding.
        let kept_out = pattern.scanned > pattern.returned;
        if pattern.requests < min || share < limit || kept_out {
            return None;
        }
        let title = format!("{} of these requests find nothing", percent(share));
        let confidence = if share > 0.999 { Confidence::High } else { Confidence::Medium };
        Some(
            Finding::new("empty-results", severity, confidence, place, title)
                .shows(format!(
                    "{} of {} requests, {} read units",
                    short(pattern.empty as f64),
                    short(pattern.requests as f64),
                    short(pattern.reads)
                ))
                .concerns([pattern.label().to_owned()])
                .fix(
                    "compare the key that is asked for with the keys that are written: a prefix \
                     without its separator, a number without its zeros or another case finds nothing \
                     and raises no error",
                )
                .costs(judge.monthly(place, pattern.reads * share, 0.0))
                .at_ten("ten times the units for nothing"),
        )
    });
    found.collect()
}

/// Calls that take more and more pages.
pub(super) fn page_growth(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        let grown = pattern.late_pages >= 2.0 && pattern.late_pages >= 1.5 * pattern.early_pages;
        if !grown || pattern.calls() < judge.thresholds.min_requests {
            return None;
        }
        let title = format!(
            "a call takes {:.1} pages, and took {:.1} at first",
            pattern.late_pages, pattern.early_pages
        );
        Some(
            Finding::new("page-growth", Severity::Warning, Confidence::Medium, place, title)
                .shows(format!(
                    "{} calls, {} further pages, {} a call",
                    short(pattern.calls() as f64),
                    short(pattern.continued as f64),
                    bytes(pattern.bytes as f64 / pattern.calls() as f64)
                ))
                .concerns([pattern.label().to_owned()])
                .fix(limit_fix(pattern))
                .costs(judge.monthly(place, pattern.reads, 0.0))
                .at_ten(format!("{:.0} pages for one call", pattern.late_pages * 10.0)),
        )
    });
    found.collect()
}

fn limit_fix(pattern: &Pattern) -> &'static str {
    if pattern.limited == 0 {
        "set a limit and read on only when somebody asks for more; or keep old items out of the \
         collection"
    } else {
        "keep old items out of the collection: a time in the partition key, or time to live"
    }
}

/// Queries whose filter drops most of what was read.
pub(crate) fn fetch_to_filter(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        let kept = pattern.returned as f64 / pattern.scanned.max(1) as f64;
        let filters = pattern.is(Operation::Query) && pattern.filtered >= 3;
        if !filters || pattern.scanned == 0 || kept >= 0.5 {
            return None;
        }
        Some(filtered(judge, place, pattern, kept))
    });
    found.collect()
}

fn filtered(judge: &Judge<'_>, place: &PlaceReport, pattern: &Pattern, kept: f64) -> Finding {
    let severity = if kept < 0.2 { Severity::Warning } else { Severity::Info };
    let title = format!("a filter drops {} of what the query reads", percent(1.0 - kept));
    let wasted = pattern.reads * (1.0 - kept);
    let attributes = pattern.filter_attributes.join(", ");
    let table = judge.design.and_then(|design| {
        Some((design, design.tables().iter().find(|table| table.name == place.table)?))
    });
    let attribute = pattern.filter_attributes.first();
    let diff = table
        .zip(attribute)
        .and_then(|((design, table), attribute)| edit::add_index(design, table, attribute));
    Finding::new("fetch-to-filter", severity, Confidence::High, place, title)
        .shows(format!(
            "{} entries read, {} returned; a filter never lowers what is paid",
            short(pattern.scanned as f64),
            short(pattern.returned as f64)
        ))
        .concerns([pattern.label().to_owned()])
        .fix(format!(
            "move the condition on {attributes} into the key: before the sort key's other fields, or \
             as a sparse index that holds only what is asked for"
        ))
        .diff(diff)
        .costs(judge.monthly(place, wasted, 0.0))
        .at_ten(format!("{} read units thrown away in the same time", short(wasted * 10.0)))
}
