//! DescribeInsightRules: the rules that are enabled.

use keyloom_engine::insights::{InsightKind, InsightRule};

use super::error::CloudwatchError;
use super::value::{Input, Value};
use crate::backend::Backend;

const MAX_RESULTS: i64 = 500;
/// What every rule's name begins with.
const PREFIX: &str = "DynamoDBContributorInsights-";
/// The schema of rules that a service has made.
const SCHEMA: &str = r#"{"Name":"ServiceLogRule","Version":1}"#;

pub(super) fn describe(backend: &dyn Backend, input: &Input) -> Result<Value, CloudwatchError> {
    let limit = input.whole("MaxResults")?.unwrap_or(MAX_RESULTS);
    if !(1..=MAX_RESULTS).contains(&limit) {
        let message = format!("The parameter MaxResults must be between 1 and {MAX_RESULTS}.");
        return Err(CloudwatchError::value_of(message));
    }
    // The token is the last name that was returned.
    let after = input.text("NextToken")?;
    if after.is_some_and(|after| !after.starts_with(PREFIX)) {
        return Err(CloudwatchError::new(
            "InvalidNextToken",
            400,
            "The next token specified is invalid.",
        ));
    }
    let rules = backend.insight_rules();
    let mut rest =
        rules.iter().filter(|rule| after.is_none_or(|after| rule.name.as_str() > after)).peekable();
    let page: Vec<&InsightRule> = rest.by_ref().take(limit as usize).collect();
    let last = page.last().filter(|_| rest.peek().is_some());
    Ok(Value::record([
        ("InsightRules", Value::list(page.iter().map(|rule| shown(rule)))),
        ("NextToken", last.map_or(Value::Null, |last| last.name.as_str().into())),
    ]))
}

fn shown(rule: &InsightRule) -> Value {
    Value::record([
        ("Name", rule.name.as_str().into()),
        ("State", "ENABLED".into()),
        ("Schema", SCHEMA.into()),
        ("Definition", definition(rule.kind).into()),
        ("ManagedRule", Value::Truth(true)),
    ])
}

/// What the keys of a rule's contributors are called.
pub(super) fn key_labels(kind: InsightKind) -> &'static [&'static str] {
    if kind.tells_items() { &["PartitionKey", "SortKey"] } else { &["PartitionKey"] }
}

fn definition(kind: InsightKind) -> String {
    let keys: Vec<String> = key_labels(kind).iter().map(|label| format!("\"$.{label}\"")).collect();
    let value = if kind.counts_throttles() { "ThrottleCount" } else { "ConsumedThroughputUnits" };
    format!(
        r#"{{"Schema":{SCHEMA},"AggregateOn":"Sum","Contribution":{{"Keys":[{}],"ValueOf":"$.{value}","Filters":[]}}}}"#,
        keys.join(",")
    )
}
