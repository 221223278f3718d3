//! Contributor Insights: which keys are counted minute by minute, and what was found.

use crate::schema::KeySchema;

/// Which keys of a table or index are counted minute by minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Insights<'a> {
    /// No contributors are counted.
    #[default]
    Off,
    /// Those that these rules are about.
    On(&'a InsightRules),
}

/// When the rules of a table or index were made, in milliseconds since 1970: what was counted before
/// belongs to rules that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsightRules {
    /// Those about requests that were refused for lack of throughput.
    pub throttled_since_ms: u64,
    /// Those about requests that were carried out, if there are such.
    pub accessed_since_ms: Option<u64>,
}

impl InsightRules {
    /// When the rule of this kind was made; none if there is none.
    pub const fn since_ms(&self, kind: InsightKind) -> Option<u64> {
        if kind.counts_throttles() { Some(self.throttled_since_ms) } else { self.accessed_since_ms }
    }
}

/// What a rule counts, and for which keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InsightKind {
    /// Units by partition key.
    AccessedPartitions,
    /// Refusals by partition key.
    ThrottledPartitions,
    /// Units by partition key and sort key.
    AccessedItems,
    /// Refusals by partition key and sort key.
    ThrottledItems,
}

impl InsightKind {
    /// All of them, in the order in which DynamoDB lists rules.
    pub const ALL: [Self; 4] = [
        Self::AccessedPartitions,
        Self::ThrottledPartitions,
        Self::AccessedItems,
        Self::ThrottledItems,
    ];

    /// How the names of rules say it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::AccessedPartitions => "PKC",
            Self::ThrottledPartitions => "PKT",
            Self::AccessedItems => "SKC",
            Self::ThrottledItems => "SKT",
        }
    }

    /// Whether it counts refusals rather than units.
    pub const fn counts_throttles(self) -> bool {
        matches!(self, Self::ThrottledPartitions | Self::ThrottledItems)
    }

    /// Whether it distinguishes items rather than partitions.
    pub const fn tells_items(self) -> bool {
        matches!(self, Self::AccessedItems | Self::ThrottledItems)
    }
}

/// What contributors are ranked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rank {
    /// What they contributed in all.
    #[default]
    Sum,
    /// What they contributed in their greatest period.
    Maximum,
}

/// A question about one rule.
#[derive(Clone, Copy, Debug)]
pub struct InsightQuery<'a> {
    /// The name of the table.
    pub table: &'a str,
    /// The index, if the rule is about one.
    pub index: Option<&'a str>,
    /// The key of the table or of the index.
    pub key: &'a KeySchema,
    /// What is counted.
    pub kind: InsightKind,
    /// Milliseconds since 1970 when the rule was created. Counts of an earlier rule are not returned.
    pub since_ms: u64,
    /// What is asked of it.
    pub span: InsightSpan,
}

/// What is asked of a rule: when, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsightSpan {
    /// Milliseconds since 1970 from which on; its minute counts whole.
    pub from_ms: u64,
    /// Milliseconds since 1970 up to which.
    pub until_ms: u64,
    /// The length of a period. Where only longer periods are kept, no data is returned.
    pub period_ms: u64,
    /// What contributors are ranked by.
    pub rank: Rank,
    /// How many contributors to tell.
    pub count: usize,
}

/// What a rule found. Values are `3 × write units + read units`, or refusals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contributions {
    /// The sum over all contributors, listed or not.
    pub total: f64,
    /// How many contributors there were, about.
    pub distinct: f64,
    /// The first of them.
    pub contributors: Vec<Contributor>,
    /// All contributors together, period by period.
    pub periods: Vec<PeriodValues>,
}

/// A key that contributed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contributor {
    /// The partition key, and the sort key if items are told apart, as far as they may be shown.
    pub keys: Vec<String>,
    /// What it contributed, at least.
    pub value: f64,
    /// How much more that may have been while it was among the heaviest.
    pub error: f64,
    /// When the periods in which it contributed begin, and what it contributed there.
    pub points: Vec<(u64, f64)>,
}

/// All contributors in one period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeriodValues {
    /// When it begins.
    pub start_ms: u64,
    /// How many contributors there were, about.
    pub distinct: f64,
    /// What the greatest of them contributed.
    pub greatest_contributor: f64,
    /// How many events there were.
    pub samples: f64,
    /// What all contributed.
    pub sum: f64,
    /// The least value of one event.
    pub minimum: f64,
    /// The greatest value of one event.
    pub maximum: f64,
}

/// Why nothing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCounted {
    /// Requests are not counted.
    Nobody,
    /// So many tables and indexes with insights are in use that this one is left out.
    TooManyPlaces,
}
