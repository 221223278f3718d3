//! Converts planned reads into requests.

use keyloom_api::Expression;
use keyloom_api::items::GetItemInput;
use keyloom_api::queries::{QueryInput, ReadInput, Select};
use keyloom_core::expr::{Condition, Operand, Path};
use keyloom_core::{AttributeValue, Item};
use keyloom_design::condition::Comparison;
use keyloom_design::plan::{ConcreteRead, FilterTest, SortCondition};

use crate::expression::{all, equal};

/// The Query of a read.
pub(super) fn query_input(
    read: &ConcreteRead,
    limit: Option<usize>,
    consistent: bool,
    start: Option<Item>,
) -> QueryInput {
    let mut tests: Vec<Condition> =
        read.equal.iter().map(|(attribute, value)| equal(attribute, value.clone())).collect();
    if let Some((attribute, condition)) = &read.sort {
        tests.push(sort_test(attribute, condition));
    }
    let filter = read.filter.iter().map(|(attribute, test)| filter_test(attribute, test));
    let filter: Vec<Condition> = filter.collect();
    QueryInput {
        read: ReadInput {
            table_name: read.table.clone(),
            index_name: read.index.clone(),
            limit,
            exclusive_start_key: start,
            consistent_read: read.consistent || consistent,
            filter: (!filter.is_empty()).then(|| Expression::Tree(all(filter))),
            select: read.all_attributes.then_some(Select::AllAttributes),
            ..ReadInput::default()
        },
        key_condition: Some(Expression::Tree(all(tests))),
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

fn on(attribute: &str) -> Operand {
    Operand::Path(Path::attribute(attribute))
}

fn value(value: &AttributeValue) -> Operand {
    Operand::value(value.clone())
}

fn sort_test(attribute: &str, condition: &SortCondition<AttributeValue>) -> Condition {
    match condition {
        SortCondition::BeginsWith(text) => Condition::BeginsWith(on(attribute), value(text)),
        SortCondition::Between(low, high) => {
            Condition::Between(on(attribute), value(low), value(high))
        }
        SortCondition::Compare(operator, with) => {
            Condition::Compare(*operator, on(attribute), value(with))
        }
    }
}

fn filter_test(attribute: &str, test: &FilterTest<AttributeValue>) -> Condition {
    let on = on(attribute);
    match test {
        FilterTest::Compare(operator, with) => Condition::Compare(*operator, on, value(with)),
        FilterTest::Between(low, high) => Condition::Between(on, value(low), value(high)),
        FilterTest::BeginsWith(text) => Condition::BeginsWith(on, value(text)),
        FilterTest::In(values) => Condition::In(on, values.iter().map(value).collect()),
        FilterTest::Exists => Condition::Exists(Path::attribute(attribute)),
        FilterTest::Missing => Condition::NotExists(Path::attribute(attribute)),
        FilterTest::Contains(part) => Condition::Contains(on, value(part)),
        FilterTest::Lacks(part) => Condition::Not(Box::new(Condition::Contains(on, value(part)))),
    }
}
