//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::Result;
use keyloom_core::error::request;
use serde::{Deserialize, Serialize};

use crate::catalog::{Table, TableRecord};
use crate::database::Inner;
use crate::ops::parameters::described_table;
use crate::ops::{description, paging};
use crate::wire::{Constraints, Fields, JsonWriter};

use super::change_table;

const INSIGHTS: &str = "ContributorInsights";
const DEFAULT_MODE: &str = "ACCESSED_AND_THROTTLED_KEYS";
const MAX_PAGE: usize = 100;

/// The insights of a table and its indexes; the table's own have an empty name.
type Insights = BTreeMap<String, Insight>;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Insight {
    enabled: bool,
    mode: String,
    changed_ms: u64,
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let index = fields.string("IndexName")?;
    let mut constraints = Constraints::new();
    constraints.index_name(index);
    let action = fields.string("ContributorInsightsAction")?;
    constraints.required(action.is_some(), "contributorInsightsAction");
    let actions = [("ENABLE", true), ("DISABLE", false)];
    let enabled = constraints.one_of(action, "contributorInsightsAction", &actions);
    let modes = [(DEFAULT_MODE, DEFAULT_MODE), ("THROTTLED_KEYS", "THROTTLED_KEYS")];
    let mode = fields.string("ContributorInsightsMode")?;
    let mode = constraints.one_of(mode, "contributorInsightsMode", &modes);
    constraints.finish()?;

    let enabled = enabled.unwrap_or(false);
    let changed_ms = database.clock.now_ms();
    let find = || with_index(database, name, index);
    let (_, mode) = change_table(database, find, |record| {
        let mut insights = insights_of(record);
        let own = insights.get(index.unwrap_or_default()).map(|insight| insight.mode.clone());
        let mode = mode.map(str::to_owned).or(own).unwrap_or_else(|| DEFAULT_MODE.into());
        let insight = Insight { enabled, mode: mode.clone(), changed_ms };
        insights.insert(index.unwrap_or_default().to_owned(), insight);
        record.settings.insert(INSIGHTS.into(), serde_json::json!(insights));
        Ok(mode)
    })?;
    let mut json = JsonWriter::object();
    json.string("TableName", name);
    json.optional_string("IndexName", index);
    json.string("ContributorInsightsStatus", if enabled { "ENABLING" } else { "DISABLING" });
    json.string("ContributorInsightsMode", &mode);
    Ok(json.finish())
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let index = fields.string("IndexName")?;
    let mut constraints = Constraints::new();
    constraints.index_name(index);
    constraints.finish()?;
    let table = with_index(database, name, index)?;
    let insights = insights_of(&table.record);
    let insight = insights.get(index.unwrap_or_default());
    let mut json = JsonWriter::object();
    json.string("TableName", name);
    json.optional_string("IndexName", index);
    if let Some(insight) = insight.filter(|insight| insight.enabled) {
        json.strings("ContributorInsightsRuleList", rules(&table, index, insight));
    }
    json.string("ContributorInsightsStatus", status(insight));
    if let Some(insight) = insight {
        description::seconds(&mut json, "LastUpdateDateTime", insight.changed_ms);
        json.string("ContributorInsightsMode", &insight.mode);
    }
    Ok(json.finish())
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = fields.string("TableName")?;
    let limit = fields.integer("MaxResults")?;
    let mut constraints = Constraints::new();
    if table.is_some() {
        constraints.table_name(table);
    }
    constraints.range(limit, "maxResults", 1, MAX_PAGE as i64);
    constraints.finish()?;
    let after = paging::decode_token(fields.string("NextToken")?)?;
    let tables: Vec<Arc<Table>> = match table {
        Some(name) => vec![database.catalog.described_table(name)?],
        None => database.catalog.all().values().cloned().collect(),
    };
    let entries = tables.iter().flat_map(|table| {
        let insights = insights_of(&table.record).into_iter();
        insights.map(|(index, insight)| (format!("{}/{index}", table.name()), insight))
    });
    let limit = limit.map_or(MAX_PAGE, |limit| limit as usize);
    let (page, more) = paging::page(entries, limit, |(id, _)| Some(id) > after.as_ref());
    let mut json = JsonWriter::object();
    json.list("ContributorInsightsSummaries", &page, |json, (id, insight)| {
        let (table, index) = id.split_once('/').unwrap_or((id, ""));
        json.nested(|json| {
            json.string("TableName", table);
            json.optional_string("IndexName", Some(index).filter(|index| !index.is_empty()));
            json.string("ContributorInsightsStatus", status(Some(insight)));
            json.string("ContributorInsightsMode", &insight.mode);
        });
    });
    if let Some((last, _)) = page.last().filter(|_| more) {
        json.string("NextToken", &paging::token(last));
    }
    Ok(json.finish())
}

/// The table, which must have the index if one is named.
fn with_index(database: &Inner, name: &str, index: Option<&str>) -> Result<Arc<Table>> {
    let table = database.catalog.described_table(name)?;
    if index.is_some_and(|index| table.index(index).is_none()) {
        return Err(request::resource_not_found());
    }
    Ok(table)
}

fn insights_of(record: &TableRecord) -> Insights {
    let kept = record.settings.get(INSIGHTS).cloned();
    kept.and_then(|kept| serde_json::from_value(kept).ok()).unwrap_or_default()
}

fn status(insight: Option<&Insight>) -> &'static str {
    if insight.is_some_and(|insight| insight.enabled) { "ENABLED" } else { "DISABLED" }
}

/// The names of the rules that AWS makes: partition and sort keys, consumed and throttled.
fn rules(table: &Table, index: Option<&str>, insight: &Insight) -> Vec<String> {
    let key = match index {
        Some(index) => table.index(index).map_or(table.key(), |index| &index.schema.key),
        None => table.key(),
    };
    let index = index.map(|index| format!("-{index}")).unwrap_or_default();
    let mut rules = Vec::new();
    for kind in ["PKC", "PKT", "SKC", "SKT"] {
        let throttled_only = insight.mode == "THROTTLED_KEYS" && kind.ends_with('C');
        if throttled_only || (kind.starts_with('S') && key.range.is_empty()) {
            continue;
        }
        let name = table.name();
        let ms = insight.changed_ms;
        rules.push(format!("DynamoDBContributorInsights-{kind}-{name}{index}-{ms}"));
    }
    rules
}
