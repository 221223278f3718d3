//! Detectors: find problems in a report, and propose the change that fixes them.
//!
//! Each detector examines one report. A finding has the numbers that support it, what happens at ten times the load,
//! and the fix, as a change to the design file if one is loaded. With too few requests to judge, a detector reports
//! nothing.

mod drift;
mod edit;
mod heat;
mod indexes;
mod items;
mod partitions;
pub(crate) mod reads;
pub(crate) mod sequences;

use keyloom_design::Design;
use keyloom_design::cost::{ClassPrices, Prices};
use keyloom_design::model::{Entity, TableClass};
use serde::{Deserialize, Serialize};

use crate::report::{Pattern, PlaceReport, Report};

/// What one partition gives each second.
pub(crate) const PARTITION_READS: f64 = 3000.0;
pub(crate) const PARTITION_WRITES: f64 = 1000.0;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Info,
    /// It costs, or it will break when the load grows.
    Warning,
    /// Requests are refused, or would be on DynamoDB.
    Error,
}

impl Severity {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// How sure a detector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A hint: the same numbers can have a harmless cause.
    Low,
    /// The evidence suggests it, but another cause is possible.
    Medium,
    /// The numbers leave no doubt.
    High,
}

impl Confidence {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A problem or a possible improvement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Which detector found it.
    pub id: String,
    /// How bad it is.
    pub severity: Severity,
    /// How sure the detector is.
    pub confidence: Confidence,
    /// The table or index.
    pub place: String,
    /// The problem in one sentence.
    pub title: String,
    /// The numbers that show it.
    pub evidence: Vec<String>,
    /// The access patterns or shapes of requests that it affects.
    pub patterns: Vec<String>,
    /// What to change.
    pub fix: String,
    /// The change of the design file, if one is loaded and the change is known to be a design.
    pub diff: Option<String>,
    /// What it costs in a month if requests go on as they were, in dollars on demand.
    pub dollars_per_month: Option<f64>,
    /// By what factor the load can grow before requests are throttled.
    pub headroom: Option<f64>,
    /// What happens at ten times the load.
    pub at_ten: String,
}

impl Finding {
    pub(crate) fn new(
        id: &str,
        severity: Severity,
        confidence: Confidence,
        place: &PlaceReport,
        title: impl Into<String>,
    ) -> Self {
        Self {
            id: id.to_owned(),
            severity,
            confidence,
            place: place.name(),
            title: title.into(),
            evidence: Vec::new(),
            patterns: Vec::new(),
            fix: String::new(),
            diff: None,
            dollars_per_month: None,
            headroom: None,
            at_ten: String::new(),
        }
    }

    pub(crate) fn shows(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    pub(crate) fn concerns(mut self, patterns: impl IntoIterator<Item = String>) -> Self {
        self.patterns = patterns.into_iter().collect();
        self.patterns.sort();
        self.patterns.dedup();
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    pub(crate) fn diff(mut self, diff: Option<String>) -> Self {
        self.diff = diff;
        self
    }

    pub(crate) fn costs(mut self, dollars: f64) -> Self {
        self.dollars_per_month = (dollars > 0.0).then_some(dollars);
        self
    }

    pub(crate) fn headroom(mut self, times: f64) -> Self {
        self.headroom = times.is_finite().then_some(times);
        self
    }

    pub(crate) fn at_ten(mut self, text: impl Into<String>) -> Self {
        self.at_ten = text.into();
        self
    }
}

/// The thresholds of the detectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Requests without which shares and ratios are not judged.
    pub min_requests: u64,
    /// The share of a partition's throughput from which on a key is hot.
    pub hot: f64,
    /// The share of all load from which on a key stands out.
    pub skew: f64,
    /// Fewer distinct partition keys than this are few.
    pub few_keys: f64,
    /// Milliseconds from which on a request is slow.
    pub slow_ms: f64,
    /// Units from which on a request is expensive.
    pub expensive_units: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            min_requests: 200,
            hot: 0.5,
            skew: 0.1,
            few_keys: 100.0,
            slow_ms: 1000.0,
            expensive_units: 100.0,
        }
    }
}

/// The input of the detectors: a report, the design and prices.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// What was collected.
    pub report: &'a Report,
    /// The design that the requests were meant to follow.
    pub design: Option<&'a Design>,
    /// What units cost.
    pub prices: &'a Prices,
    /// From which numbers on something is a finding.
    pub thresholds: Thresholds,
}

impl<'a> Judge<'a> {
    /// Judges a report by built-in thresholds.
    pub fn new(report: &'a Report, design: Option<&'a Design>, prices: &'a Prices) -> Self {
        Self { report, design, prices, thresholds: Thresholds::default() }
    }

    /// The prices of a place's table.
    pub(crate) fn class(&self, place: &PlaceReport) -> &'a ClassPrices {
        let tables = self.design.map_or(&[][..], Design::tables);
        let table = tables.iter().find(|table| table.name == place.table);
        self.prices.class(table.map_or(TableClass::Standard, |table| table.class))
    }

    /// Dollars a month on demand if this many units go on as they were.
    pub(crate) fn monthly(&self, place: &PlaceReport, reads: f64, writes: f64) -> f64 {
        let class = self.class(place);
        let times = self.prices.seconds_per_month() / self.report.seconds() / 1e6;
        times * (reads * class.read_million + writes * class.write_million)
    }

    /// The entity with this name.
    pub(crate) fn entity(&self, name: Option<&str>) -> Option<&'a Entity> {
        self.design?.entity(name?).map(std::convert::AsRef::as_ref)
    }

    /// The patterns that read an index, and those that write to its table and may have to pay for it.
    pub(crate) fn users(&self, index: &PlaceReport) -> Vec<String> {
        let mut users = Self::labels(index, |_| true);
        if let Some(table) = self.report.place(&index.table, None) {
            users.extend(Self::labels(table, |pattern| pattern.writes > 0.0));
        }
        users
    }

    /// The labels of the patterns of a place that satisfy a condition.
    pub(crate) fn labels(place: &PlaceReport, wanted: impl Fn(&Pattern) -> bool) -> Vec<String> {
        place.patterns.iter().filter(|p| wanted(p)).map(|p| p.label().to_owned()).collect()
    }
}

/// The detectors, in the order in which equal findings are shown.
type Detector = fn(&Judge<'_>) -> Vec<Finding>;
const DETECTORS: [Detector; 19] = [
    partitions::refused_work,
    heat::hot_partitions,
    heat::index_back_pressure,
    heat::moving_hot_key,
    heat::skewed_keys,
    heat::tenant_share,
    heat::low_cardinality,
    drift::unknown_keys,
    drift::unplanned_queries,
    drift::synthetic_indexes,
    reads::scans,
    reads::missing_indexes,
    reads::empty_results,
    reads::page_growth,
    indexes::unused_indexes,
    items::large_items,
    items::growing_collections,
    items::expired_items,
    sequences::read_before_write,
];

/// Runs the detectors on a report.
#[derive(Clone, Copy, Debug)]
pub struct AntiPatternDetector<'a> {
    judge: Judge<'a>,
}

impl<'a> AntiPatternDetector<'a> {
    /// A detector for one report.
    pub fn new(judge: Judge<'a>) -> Self {
        Self { judge }
    }

    /// All findings, worst first.
    pub fn detect(&self) -> Vec<Finding> {
        let mut all: Vec<Finding> =
            DETECTORS.iter().flat_map(|detector| detector(&self.judge)).collect();
        all.extend(sequences::retry_storms(&self.judge));
        rank(&mut all);
        all
    }
}

/// Worst first: by severity, then by how sure it is, then by what it costs.
pub(crate) fn rank(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let cost = |finding: &Finding| finding.dollars_per_month.unwrap_or(0.0);
        let by = b.severity.cmp(&a.severity).then(b.confidence.cmp(&a.confidence));
        by.then(cost(b).total_cmp(&cost(a))).then_with(|| a.place.cmp(&b.place))
    });
}

/// A number as people read it: `12.3 M`, `4.5 k`, `7`, `0.25`.
pub(crate) fn short(number: f64) -> String {
    let size = number.abs();
    let trim = |value: f64, unit: &str| {
        let text = if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") };
        format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    if size >= 1e9 {
        trim(number / 1e9, " G")
    } else if size >= 1e6 {
        trim(number / 1e6, " M")
    } else if size >= 1e4 {
        trim(number / 1e3, " k")
    } else if size >= 1.0 || number == 0.0 {
        trim(number, "")
    } else {
        format!("{number:.2}")
    }
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    if share >= 0.095 {
        format!("{:.0} %", share * 100.0)
    } else {
        format!("{:.1} %", share * 100.0)
    }
}

/// Bytes as people read them.
pub(crate) fn bytes(count: f64) -> String {
    const STEPS: [(f64, &str); 3] = [(1_073_741_824.0, "GB"), (1_048_576.0, "MB"), (1024.0, "KB")];
    match STEPS.iter().find(|(size, _)| count >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", count / size),
        None => format!("{count:.0} B"),
    }
}
