//! Planned reads as requests.

use keyloom_core::{AttributeValue, Item};
use keyloom_design::condition::Comparison;
use keyloom_design::plan::{ConcreteRead, FilterTest, SortCondition};
use keyloom_engine::{GetItemInput, ProjectionInput, QueryInput, ReadInput, Select};

use crate::expression::Placeholders;

/// The Query of a read.
pub(super) fn query_input(
    read: &ConcreteRead,
    limit: Option<usize>,
    consistent: bool,
    start: Option<Item>,
) -> QueryInput {
    let mut placeholders = Placeholders::default();
    let mut tests: Vec<String> = Vec::new();
    for (attribute, value) in &read.equal {
        tests.push(compare(&mut placeholders, attribute, "=", value));
    }
    if let Some((attribute, condition)) = &read.sort {
        tests.push(sort_test(&mut placeholders, attribute, condition));
    }
    let filter: Vec<String> = read
        .filter
        .iter()
        .map(|(attribute, test)| filter_test(&mut placeholders, attribute, test))
        .collect();
    let (names, values) = placeholders.into_parts();
    QueryInput {
        read: ReadInput {
            table_name: read.table.clone(),
            index_name: read.index.clone(),
            limit,
            exclusive_start_key: start,
            consistent_read: read.consistent || consistent,
            filter: (!filter.is_empty()).then(|| filter.join(" AND ")),
            select: read.all_attributes.then_some(Select::AllAttributes),
            projection: ProjectionInput { names, ..ProjectionInput::default() },
            values,
            ..ReadInput::default()
        },
        key_condition: Some(tests.join(" AND ")),
        forward: read.forward,
        ..QueryInput::default()
    }
}

/// The GetItem of a read.
pub(super) fn get_input(read: &ConcreteRead, consistent: bool) -> GetItemInput {
    let sort = read.sort.iter().filter_map(|(attribute, condition)| match condition {
        SortCondition::Compare(Comparison::Equal, value) => Some((attribute, value)),
        _ => None,
    });
    let key = read.equal.iter().map(|(attribute, value)| (attribute, value)).chain(sort);
    GetItemInput {
        table_name: read.table.clone(),
        key: key.map(|(name, value)| (name.as_str().into(), value.clone())).collect(),
        consistent_read: read.consistent || consistent,
        ..GetItemInput::default()
    }
}

fn compare(
    placeholders: &mut Placeholders,
    attribute: &str,
    operator: &str,
    value: &AttributeValue,
) -> String {
    format!("{} {operator} {}", placeholders.name(attribute), placeholders.value(value.clone()))
}

fn call(
    placeholders: &mut Placeholders,
    function: &str,
    attribute: &str,
    value: &AttributeValue,
) -> String {
    let name = placeholders.name(attribute);
    format!("{function}({name}, {})", placeholders.value(value.clone()))
}

fn between(
    placeholders: &mut Placeholders,
    attribute: &str,
    low: &AttributeValue,
    high: &AttributeValue,
) -> String {
    let name = placeholders.name(attribute);
    let low = placeholders.value(low.clone());
    format!("{name} BETWEEN {low} AND {}", placeholders.value(high.clone()))
}

fn sort_test(
    placeholders: &mut Placeholders,
    attribute: &str,
    condition: &SortCondition<AttributeValue>,
) -> String {
    match condition {
        SortCondition::BeginsWith(text) => call(placeholders, "begins_with", attribute, text),
        SortCondition::Between(low, high) => between(placeholders, attribute, low, high),
        SortCondition::Compare(operator, value) => {
            compare(placeholders, attribute, sign(*operator), value)
        }
    }
}

fn sign(operator: Comparison) -> &'static str {
    match operator {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn filter_test(
    placeholders: &mut Placeholders,
    attribute: &str,
    test: &FilterTest<AttributeValue>,
) -> String {
    match test {
        FilterTest::Compare(operator, value) => {
            compare(placeholders, attribute, sign(*operator), value)
        }
        FilterTest::Between(low, high) => between(placeholders, attribute, low, high),
        FilterTest::BeginsWith(text) => call(placeholders, "begins_with", attribute, text),
        FilterTest::In(values) => {
            let name = placeholders.name(attribute);
            let values: Vec<String> =
                values.iter().map(|value| placeholders.value(value.clone())).collect();
            format!("{name} IN ({})", values.join(", "))
        }
        FilterTest::Exists => format!("attribute_exists({})", placeholders.name(attribute)),
        FilterTest::Missing => format!("attribute_not_exists({})", placeholders.name(attribute)),
        FilterTest::Contains(value) => call(placeholders, "contains", attribute, value),
        FilterTest::Lacks(value) => {
            format!("NOT {}", call(placeholders, "contains", attribute, value))
        }
    }
}
