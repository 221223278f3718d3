//! Recommendations that would make requests faster or cheaper.

mod capacity;

use keyloom_core::Operation;

use crate::detect::{
    AntiPatternDetector, Confidence, Finding, Judge, Severity, bytes, percent, rank, reads,
    sequences, short,
};
use crate::report::{Pattern, PlaceReport};

/// Recommends what would make requests faster or cheaper.
#[derive(Clone, Copy, Debug)]
pub struct RecommendationEngine<'a> {
    judge: Judge<'a>,
}

impl<'a> RecommendationEngine<'a> {
    /// Recommendations for one report.
    pub fn new(judge: Judge<'a>) -> Self {
        Self { judge }
    }

    /// The recommendations, the most useful first.
    pub fn recommend(&self) -> Vec<Finding> {
        let mut all = reads::fetch_to_filter(&self.judge);
        all.extend(slow(&self.judge));
        all.extend(expensive(&self.judge));
        all.extend(sequences::batches(&self.judge));
        all.extend(projections(&self.judge));
        all.extend(capacity::modes(&self.judge));
        rank(&mut all);
        all
    }

    /// Anti-patterns and recommendations together, worst first.
    pub fn diagnose(&self) -> Vec<Finding> {
        let mut all = AntiPatternDetector::new(self.judge).detect();
        all.extend(self.recommend());
        rank(&mut all);
        all
    }
}

/// Patterns whose slowest requests are slow.
fn slow(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        let (median, high) = (pattern.micros(0.5) / 1000.0, pattern.micros(0.99) / 1000.0);
        if high < judge.thresholds.slow_ms || pattern.requests < 10 {
            return None;
        }
        let title = format!("one in a hundred of these takes {high:.0} ms or more");
        Some(
            Finding::new("slow-requests", Severity::Warning, Confidence::High, place, title)
                .shows(format!(
                    "p50 {median:.1} ms, p99 {high:.0} ms, longest {:.0} ms, of {} requests",
                    pattern.latency.max() as f64 / 1e6,
                    short(pattern.requests as f64)
                ))
                .shows(cause(pattern))
                .concerns([pattern.label().to_owned()])
                .fix("read less with one request: a tighter key range, a limit, a smaller item")
                .at_ten("more of them at once wait for each other"),
        )
    });
    found.collect()
}

/// Requests that take many units at once.
fn expensive(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        // A scan is a finding of its own.
        let is_scan = pattern.is(Operation::Scan) && pattern.name.is_none();
        if pattern.max_units <= judge.thresholds.expensive_units || is_scan {
            return None;
        }
        let title = format!("one request takes {} units", short(pattern.max_units));
        let (reads, writes) = (pattern.reads, pattern.writes);
        Some(
            Finding::new("expensive-requests", Severity::Warning, Confidence::High, place, title)
                .shows(format!(
                    "{} units on average, of {} requests",
                    short((reads + writes) / pattern.requests.max(1) as f64),
                    short(pattern.requests as f64)
                ))
                .shows(cause(pattern))
                .concerns([pattern.label().to_owned()])
                .fix("a tighter key range, a limit, a narrower index, or smaller items")
                .costs(judge.monthly(place, reads, writes))
                .headroom(1000.0 / pattern.max_units)
                .at_ten("a few such requests in one second use a partition up"),
        )
    });
    found.collect()
}

/// The likely reason why a request is slow or expensive.
fn cause(pattern: &Pattern) -> String {
    use Operation::{
        BatchGetItem, BatchWriteItem, Query, Scan, TransactGetItems, TransactWriteItems,
    };
    let requests = pattern.requests.max(1) as f64;
    let size = bytes(pattern.bytes as f64 / requests);
    match pattern.operation() {
        Some(Scan) => format!("it reads everything: {size} a page"),
        Some(Query) if pattern.limited == 0 => format!("it has no limit: {size} a page"),
        Some(Query) => format!(
            "it reads {} entries, {size}, for {} returned",
            short(pattern.scanned as f64 / requests),
            short(pattern.returned as f64 / requests)
        ),
        Some(TransactWriteItems | TransactGetItems) => {
            "transactions cost twice as much as the same requests outside".to_owned()
        }
        Some(BatchGetItem | BatchWriteItem) => format!("it is many requests in one: {size}"),
        _ => format!("the item: {size}, and its copies in indexes"),
    }
}

/// Reads of whole items for which a projection might suffice.
fn projections(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.patterns().filter_map(|(place, pattern)| {
        let whole = pattern.requests.saturating_sub(pattern.projected);
        let share = pattern.projected as f64 / pattern.requests.max(1) as f64;
        let returned = pattern.returned.max(1) as f64;
        let per_item = pattern.bytes as f64 / pattern.scanned.max(pattern.returned).max(1) as f64;
        let reads = pattern.writes == 0.0 && !pattern.is(Operation::Scan);
        if !reads || whole <= 10 || share >= 0.5 || per_item < 2048.0 || pattern.returned == 0 {
            return None;
        }
        let title = format!("whole items of {} are sent each time", bytes(per_item));
        Some(
            Finding::new("projection", Severity::Info, Confidence::Low, place, title)
                .shows(format!(
                    "{} of {} requests name the attributes they want; {} sent for {} items",
                    percent(share),
                    short(pattern.requests as f64),
                    bytes(per_item * returned),
                    short(returned)
                ))
                .concerns([pattern.label().to_owned()])
                .fix(projection_fix(place))
                .at_ten(format!("{} sent in the same time", bytes(per_item * returned * 10.0))),
        )
    });
    found.collect()
}

fn projection_fix(place: &PlaceReport) -> &'static str {
    if place.index.is_some() {
        "a ProjectionExpression saves bandwidth, not units; a narrower projection of the index saves \
         both"
    } else {
        "a ProjectionExpression saves bandwidth, not units; to save units, keep what is large in an \
         item of its own"
    }
}
