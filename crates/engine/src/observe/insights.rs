//! The rules of Contributor Insights: which exist, and what observers have found for them.

use keyloom_core::KeySchema;
use keyloom_core::observation::InsightQuery;
pub use keyloom_core::observation::{
    Contributions, Contributor, InsightKind, InsightSpan, NotCounted, PeriodValues, Rank,
};

use crate::catalog::{Insight, Table};
use crate::database::Database;

/// A rule of Contributor Insights that is enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsightRule {
    /// Its name, such as `DynamoDBContributorInsights-PKC-orders-1763280000000`.
    pub name: String,
    /// The name of the table.
    pub table: String,
    /// The index, if it is about one.
    pub index: Option<String>,
    /// What it counts.
    pub kind: InsightKind,
    /// Milliseconds since 1970 when it was made.
    pub since_ms: u64,
}

impl Database {
    /// The rules of Contributor Insights that are enabled, by name.
    ///
    /// ```
    /// use keyloom_engine::Database;
    ///
    /// assert!(Database::memory().insight_rules().is_empty());
    /// ```
    pub fn insight_rules(&self) -> Vec<InsightRule> {
        let mut rules = Vec::new();
        for table in self.inner().catalog.all().values() {
            for (index, insight) in table.record.insights() {
                let index = Some(index.as_str()).filter(|index| !index.is_empty());
                rules.extend(rules_of(table, index, &insight));
            }
        }
        rules.sort_by(|a, b| a.name.cmp(&b.name));
        rules
    }

    /// Which keys contributed most to a rule, as its database's observer has counted.
    ///
    /// There is no data from before the rule was created.
    pub fn contributors(
        &self,
        rule: &InsightRule,
        span: InsightSpan,
    ) -> Result<Contributions, NotCounted> {
        let inner = self.inner();
        let Some(table) = inner.catalog.all().get(rule.table.as_str()).cloned() else {
            return Ok(Contributions::default());
        };
        let index = rule.index.as_deref();
        inner.observer.contributors(&InsightQuery {
            table: &rule.table,
            index,
            key: key_of(&table, index),
            kind: rule.kind,
            since_ms: rule.since_ms,
            span: InsightSpan { from_ms: span.from_ms.max(rule.since_ms), ..span },
        })
    }
}

/// The rules that AWS makes for a table or one of its indexes; none while its insights are disabled.
pub(crate) fn rules_of(
    table: &Table,
    index: Option<&str>,
    insight: &Insight,
) -> impl Iterator<Item = InsightRule> {
    let has_items = !key_of(table, index).range.is_empty();
    let resource = match index {
        Some(index) => format!("{}-{index}", table.name()),
        None => table.name().to_owned(),
    };
    let rules = insight.rules();
    let kinds = InsightKind::ALL.into_iter().filter(move |kind| has_items || !kind.tells_items());
    kinds.filter_map(move |kind| {
        let since_ms = rules?.since_ms(kind)?;
        Some(InsightRule {
            name: format!("DynamoDBContributorInsights-{}-{resource}-{since_ms}", kind.code()),
            table: table.name().to_owned(),
            index: index.map(str::to_owned),
            kind,
            since_ms,
        })
    })
}

/// The key of a table, or of one of its indexes.
fn key_of<'t>(table: &'t Table, index: Option<&str>) -> &'t KeySchema {
    index.and_then(|index| table.index(index)).map_or(table.key(), |index| &index.schema.key)
}
