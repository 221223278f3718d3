//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights.

use std::sync::Arc;

use keyloom_api::Fields;
use keyloom_api::settings::{
    ContributorInsights, DescribeContributorInsightsInput, ListContributorInsightsInput,
    ListContributorInsightsOutput, UpdateContributorInsightsInput,
};
use keyloom_core::Result;
use keyloom_core::error::{request, table as message};

use crate::catalog::record::Status;
use crate::catalog::{Insight, Table};
use crate::database::Inner;
use crate::observe::rules_of;
use crate::ops::paging;

use super::change_table;

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let UpdateContributorInsightsInput { table_name, index_name, enable } =
        UpdateContributorInsightsInput::decode(&fields);
    let find = || with_index(database, table_name, index_name);
    let now_ms = database.clock.now_ms();
    let (_, (status, mode)) = change_table(database, find, |record| {
        if enable.is_some() && record.status == Status::Creating {
            return Err(message::insights_while_creating());
        }
        let mut insights = record.insights();
        let own = insights.get(index_name.unwrap_or_default());
        let is_so = own.is_some_and(|own| own.enabled && Some(own.mode) == enable);
        let (insight, status) = match (own, enable) {
            (Some(own), Some(_)) if is_so => (own.clone(), "ENABLED"),
            (own, Some(mode)) => (Insight::enable(own, mode, now_ms), "ENABLING"),
            (own, None) => (Insight::disable(own, now_ms), "DISABLING"),
        };
        let mode = insight.mode;
        insights.insert(index_name.unwrap_or_default().to_owned(), insight);
        record.set_insights(&insights);
        Ok((status, mode))
    })?;
    let mode = Some(mode);
    let output = ContributorInsights { table_name, index_name, status, mode, ..Default::default() };
    Ok(output.encode())
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let DescribeContributorInsightsInput { table_name, index_name } =
        DescribeContributorInsightsInput::decode(&fields);
    let table = with_index(database, table_name, index_name)?;
    let insights = table.record.insights();
    let insight = insights.get(index_name.unwrap_or_default());
    let rules = insight
        .filter(|insight| insight.enabled)
        .map(|insight| rules_of(&table, index_name, insight).map(|rule| rule.name).collect());
    let output = ContributorInsights {
        table_name,
        index_name,
        rules,
        status: status(insight),
        changed_ms: insight.map(|insight| insight.changed_ms),
        mode: insight.map(|insight| insight.mode),
    };
    Ok(output.encode())
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ListContributorInsightsInput::decode(&fields);
    let after = paging::decode_token(input.next_token)?;
    let after = after.as_deref().map(|last| last.split_once('/').unwrap_or((last, "")));
    let tables: Vec<Arc<Table>> = match input.table_name {
        Some(name) => vec![database.catalog.described_table(name)?],
        None => database.catalog.all().values().cloned().collect(),
    };
    let entries = tables.iter().flat_map(|table| {
        let insights = table.record.insights().into_iter();
        insights.map(|(index, insight)| (table.name(), index, insight))
    });
    let (page, more) = paging::page(entries, input.max_results, |(table, index, _)| {
        // In the order of the entries, which is not that of `table/index` as one text.
        Some((*table, index.as_str())) > after
    });
    let last = page.last().filter(|_| more);
    let next_token = last.map(|(table, index, _)| paging::token(&format!("{table}/{index}")));
    let summaries = page.iter().map(|(table_name, index, insight)| ContributorInsights {
        table_name,
        index_name: Some(index.as_str()).filter(|index| !index.is_empty()),
        status: status(Some(insight)),
        mode: Some(insight.mode),
        ..ContributorInsights::default()
    });
    Ok(ListContributorInsightsOutput { summaries: summaries.collect(), next_token }.encode())
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
