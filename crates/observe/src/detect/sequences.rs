//! Detects costly sequences of requests: a read before each write, retry storms, loops instead of batches.

use keyloom_core::Operation;
use keyloom_core::limits::{MAX_BATCH_GET_KEYS, MAX_BATCH_WRITE_REQUESTS};

use super::{Confidence, Finding, Judge, Severity, percent, short};

/// An item is read and soon written: another writer may come between.
pub(super) fn read_before_write(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        let share = pattern.after_read as f64 / pattern.requests.max(1) as f64;
        if pattern.after_read < 3 || share < 0.1 {
            return None;
        }
        let severity = if pattern.condition_failed == 0 && pattern.is(Operation::PutItem) {
            Severity::Warning
        } else {
            Severity::Info
        };
        let title = format!("{} of these writes follow a read of the item", percent(share));
        let reads = pattern.after_read as f64 * 0.5;
        Some(
            Finding::new("read-before-write", severity, Confidence::Medium, place, title)
                .shows(format!(
                    "{} of {} writes came within 5 s of a GetItem of the same key",
                    short(pattern.after_read as f64),
                    short(pattern.requests as f64)
                ))
                .shows("what another writer does between the two is lost without a trace")
                .concerns([pattern.label().to_owned()])
                .fix(
                    "say it in one request: an update expression for a change, a condition or a \
                     version for a decision",
                )
                .costs(judge.monthly(place, reads, 0.0))
                .at_ten(
                    "ten times the requests between the two: lost updates grow with the square",
                ),
        )
    });
    found.collect()
}

/// Requests that are refused and come again.
pub(super) fn retry_storms(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        // Only clients report retries; elsewhere refused requests stand for them.
        let refused = (pattern.throttled + pattern.conflicts).max(pattern.retries);
        let share = refused as f64 / pattern.requests.max(1) as f64;
        if refused < 20 || share < 0.2 {
            return None;
        }
        let title = format!("{} of these requests are refused and made again", percent(share));
        Some(
            Finding::new("retry-storm", Severity::Warning, Confidence::Medium, place, title)
                .shows(format!(
                    "{} throttled, {} conflicts, {} known retries, of {} requests",
                    short(pattern.throttled as f64),
                    short(pattern.conflicts as f64),
                    short(pattern.retries as f64),
                    short(pattern.requests as f64)
                ))
                .concerns([pattern.label().to_owned()])
                .fix(
                    "back off with jitter, and mend what refuses them: a hot key, or many writers of \
                     one item",
                )
                .at_ten("nearly every request is a retry"),
        )
    });
    found.collect()
}

/// Requests that one caller makes back to back.
pub(crate) fn batches(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        let share = pattern.batchable as f64 / pattern.requests.max(1) as f64;
        if pattern.batch_runs < 3 || share < 0.25 {
            return None;
        }
        let (batch, most) = if pattern.is(Operation::GetItem) {
            (Operation::BatchGetItem.name(), MAX_BATCH_GET_KEYS)
        } else {
            (Operation::BatchWriteItem.name(), MAX_BATCH_WRITE_REQUESTS)
        };
        let title = format!("{} of these come in rows of five and more", percent(share));
        Some(
            Finding::new("batch-opportunity", Severity::Info, Confidence::Low, place, title)
                .shows(format!(
                    "{} requests in {} rows on one thread, less than 50 ms apart",
                    short(pattern.batchable as f64),
                    short(pattern.batch_runs as f64)
                ))
                .concerns([pattern.label().to_owned()])
                .fix(format!(
                    "if one caller waits for all of them, make it one {batch} of up to {most}: less \
                     waiting, the same units"
                ))
                .at_ten("ten times the round trips"),
        )
    });
    found.collect()
}
