//! GetInsightRuleReport: which keys contributed most to a rule.

use keyloom_engine::insights::{
    Contributions, Contributor, InsightRule, InsightSpan, NotCounted, PeriodValues, Rank,
};

use super::error::CloudwatchError;
use super::rules::key_labels;
use super::value::{Input, Value};
use crate::backend::Backend;

/// The default and the maximum number of contributors in a response.
const CONTRIBUTORS: i64 = 10;
const MAX_CONTRIBUTORS: i64 = 25;
const MINUTE_S: i64 = 60;

/// A statistic of all contributors in one period.
type Metric = (&'static str, fn(&PeriodValues) -> f64);

const METRICS: [Metric; 7] = [
    ("UniqueContributors", |period| period.distinct.round()),
    ("MaxContributorValue", |period| period.greatest_contributor),
    ("SampleCount", |period| period.samples),
    ("Average", |period| period.sum / period.samples.max(1.0)),
    ("Sum", |period| period.sum),
    ("Minimum", |period| period.minimum),
    ("Maximum", |period| period.maximum),
];

pub(super) fn get(backend: &dyn Backend, input: &Input) -> Result<Value, CloudwatchError> {
    let name = input.text("RuleName")?.ok_or_else(|| CloudwatchError::missing("RuleName"))?;
    let (span, metrics) = (span(input)?, metrics(input)?);
    let rules = backend.insight_rules();
    let rule = rules
        .iter()
        .find(|rule| rule.name == name)
        .ok_or_else(|| CloudwatchError::no_such_rule(name))?;
    let found = backend.contributors(rule, span).map_err(|why| not_counted(rule, why))?;
    Ok(shown(rule, &found, &metrics))
}

/// The parameters of a report request, whatever the rule.
fn span(input: &Input) -> Result<InsightSpan, CloudwatchError> {
    let time = |name| input.time_ms(name)?.ok_or_else(|| CloudwatchError::missing(name));
    let (from_ms, until_ms) = (time("StartTime")?, time("EndTime")?);
    if from_ms >= until_ms {
        let message = "The parameter StartTime must be less than the parameter EndTime.";
        return Err(CloudwatchError::value_of(message));
    }
    let period_s = input.whole("Period")?.ok_or_else(|| CloudwatchError::missing("Period"))?;
    if period_s < MINUTE_S || period_s % MINUTE_S != 0 {
        return Err(CloudwatchError::value_of("The parameter Period must be a multiple of 60."));
    }
    let count = input.whole("MaxContributorCount")?.unwrap_or(CONTRIBUTORS);
    if !(1..=MAX_CONTRIBUTORS).contains(&count) {
        return Err(CloudwatchError::value_of(format!(
            "The parameter MaxContributorCount must be between 1 and {MAX_CONTRIBUTORS}, the most \
             that rules of DynamoDB tell."
        )));
    }
    let rank = match input.text("OrderBy")? {
        None | Some("Sum") => Rank::Sum,
        Some("Maximum") => Rank::Maximum,
        Some(other) => {
            let message = format!("The parameter OrderBy must be Sum or Maximum, not {other:?}.");
            return Err(CloudwatchError::value_of(message));
        }
    };
    let period_ms = period_s.unsigned_abs().saturating_mul(1000);
    Ok(InsightSpan { from_ms, until_ms, period_ms, rank, count: count as usize })
}

/// The metrics that are wanted, each once however often it is named.
fn metrics(input: &Input) -> Result<Vec<Metric>, CloudwatchError> {
    let mut metrics: Vec<Metric> = Vec::with_capacity(METRICS.len());
    for name in input.texts("Metrics")? {
        let metric = METRICS.into_iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let known = METRICS.map(|(name, _)| name).join(", ");
            CloudwatchError::value_of(format!("The parameter Metrics takes {known}, not {name:?}."))
        })?;
        if metrics.iter().all(|(known, _)| *known != name) {
            metrics.push(metric);
        }
    }
    Ok(metrics)
}

fn not_counted(rule: &InsightRule, why: NotCounted) -> CloudwatchError {
    let name = &rule.name;
    CloudwatchError::value_of(match why {
        NotCounted::Nobody => format!(
            "The rule {name} has no report, because this server does not count requests: start it \
             with --stats on."
        ),
        NotCounted::TooManyPlaces => format!(
            "The rule {name} has no report: 64 other tables and indexes with insights were used \
             before, and no more are counted. Delete some that are not needed, or serve them apart."
        ),
    })
}

fn shown(rule: &InsightRule, found: &Contributions, metrics: &[Metric]) -> Value {
    let periods = match metrics {
        [] => Value::Null,
        metrics => Value::list(found.periods.iter().map(|period| datapoint(period, metrics))),
    };
    Value::record([
        ("KeyLabels", Value::list(key_labels(rule.kind).iter().copied())),
        ("AggregationStatistic", "Sum".into()),
        ("AggregateValue", Value::Number(found.total)),
        ("ApproximateUniqueCount", Value::Whole(found.distinct.round() as i64)),
        ("Contributors", Value::list(found.contributors.iter().map(contributor))),
        ("MetricDatapoints", periods),
    ])
}

fn contributor(contributor: &Contributor) -> Value {
    let points = contributor.points.iter().map(|(start_ms, value)| {
        Value::record([
            ("Timestamp", Value::Time(*start_ms)),
            ("ApproximateValue", Value::Number(*value)),
        ])
    });
    Value::record([
        ("Keys", Value::list(contributor.keys.iter().map(String::as_str))),
        ("ApproximateAggregateValue", Value::Number(contributor.value)),
        ("Datapoints", Value::list(points)),
    ])
}

fn datapoint(period: &PeriodValues, metrics: &[Metric]) -> Value {
    let time = ("Timestamp".into(), Value::Time(period.start_ms));
    let values = metrics.iter().map(|(name, of)| ((*name).into(), Value::Number(of(period))));
    Value::Record(std::iter::once(time).chain(values).collect())
}
