//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights.

use std::sync::Arc;

use keyloom_api::parameters::described_table;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_core::error::request;

use crate::catalog::{Insight, InsightMode, Table};
use crate::database::Inner;
use crate::observe::rules_of;
use crate::ops::paging;
use crate::ops::tables::description;

use super::change_table;

const MAX_PAGE: usize = 100;

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let index = fields.string("IndexName");
    let mut constraints = Constraints::new();
    constraints.index_name(index);
    let action = fields.string("ContributorInsightsAction");
    constraints.required(action.is_some(), "contributorInsightsAction");
    let actions = [("ENABLE", true), ("DISABLE", false)];
    let enables = constraints.one_of(action, "contributorInsightsAction", &actions);
    let mode = fields.string("ContributorInsightsMode");
    let mode = constraints.one_of(mode, "contributorInsightsMode", &InsightMode::ALL);
    constraints.finish()?;

    // Without a mode, ENABLE goes back to the default; DISABLE does not look at it.
    let mode = enables.unwrap_or(false).then(|| mode.unwrap_or_default());
    let find = || with_index(database, name, index);
    let now_ms = database.clock.now_ms();
    let (_, (status, mode)) = change_table(database, find, |record| {
        let mut insights = record.insights();
        let own = insights.get(index.unwrap_or_default());
        let is_so = own.is_some_and(|own| own.enabled && Some(own.mode) == mode);
        let insight = match (own, mode) {
            (Some(own), Some(_)) if is_so => own.clone(),
            (own, Some(mode)) => Insight::enable(own, mode, now_ms),
            (own, None) => Insight::disable(own, now_ms),
        };
        let mode = insight.mode;
        insights.insert(index.unwrap_or_default().to_owned(), insight);
        record.set_insights(&insights);
        let status = match enables {
            Some(true) if is_so => "ENABLED",
            Some(true) => "ENABLING",
            _ => "DISABLING",
        };
        Ok((status, mode))
    })?;
    let mut json = JsonWriter::object();
    json.string("TableName", name);
    json.optional_string("IndexName", index);
    json.string("ContributorInsightsStatus", status);
    json.string("ContributorInsightsMode", mode.as_str());
    Ok(json.finish())
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let index = fields.string("IndexName");
    let mut constraints = Constraints::new();
    constraints.index_name(index);
    constraints.finish()?;
    let table = with_index(database, name, index)?;
    let insights = table.record.insights();
    let insight = insights.get(index.unwrap_or_default());
    let mut json = JsonWriter::object();
    json.string("TableName", name);
    json.optional_string("IndexName", index);
    if let Some(insight) = insight.filter(|insight| insight.enabled) {
        let rules = rules_of(&table, index, insight).map(|rule| rule.name);
        json.strings("ContributorInsightsRuleList", rules);
    }
    json.string("ContributorInsightsStatus", status(insight));
    if let Some(insight) = insight {
        description::seconds(&mut json, "LastUpdateDateTime", insight.changed_ms);
        json.string("ContributorInsightsMode", insight.mode.as_str());
    }
    Ok(json.finish())
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = fields.string("TableName");
    let limit = fields.integer("MaxResults");
    let mut constraints = Constraints::new();
    if table.is_some() {
        constraints.table_name(table);
    }
    constraints.range(limit, "maxResults", 1, MAX_PAGE as i64);
    constraints.finish()?;
    let after = paging::decode_token(fields.string("NextToken"))?;
    let after = after.as_deref().map(|last| last.split_once('/').unwrap_or((last, "")));
    let tables: Vec<Arc<Table>> = match table {
        Some(name) => vec![database.catalog.described_table(name)?],
        None => database.catalog.all().values().cloned().collect(),
    };
    let entries = tables.iter().flat_map(|table| {
        let insights = table.record.insights().into_iter();
        insights.map(|(index, insight)| (table.name(), index, insight))
    });
    let limit = limit.map_or(MAX_PAGE, |limit| limit as usize);
    let (page, more) = paging::page(entries, limit, |(table, index, _)| {
        // In the order of the entries, which is not that of `table/index` as one text.
        Some((*table, index.as_str())) > after
    });
    let mut json = JsonWriter::object();
    json.list("ContributorInsightsSummaries", &page, |json, (table, index, insight)| {
        json.nested(|json| {
            json.string("TableName", table);
            json.optional_string(
                "IndexName",
                Some(index.as_str()).filter(|index| !index.is_empty()),
            );
            json.string("ContributorInsightsStatus", status(Some(insight)));
            json.string("ContributorInsightsMode", insight.mode.as_str());
        });
    });
    if let Some((table, index, _)) = page.last().filter(|_| more) {
        json.string("NextToken", &paging::token(&format!("{table}/{index}")));
    }
    Ok(json.finish())
}

/// The table, which must have the global index if one is named.
fn with_index(database: &Inner, name: &str, index: Option<&str>) -> Result<Arc<Table>> {
    let table = database.catalog.described_table(name)?;
    if index.is_some_and(|index| !table.record.has_insights(index)) {
        return Err(request::resource_not_found());
    }
    Ok(table)
}

fn status(insight: Option<&Insight>) -> &'static str {
    if insight.is_some_and(|insight| insight.enabled) { "ENABLED" } else { "DISABLED" }
}
