//! What a plan returns, worked out on key bytes: the planner checks its counter-examples here.

use std::cmp::Ordering;

use keyloom_core::AttributeValue;
use keyloom_core::key::encode_key_value;

use super::Plan;
use super::concrete::{ConcreteRead, FilterTest, SortCondition, concretize};
use crate::condition::Comparison;
use crate::evaluate::{Inputs, Row, is_linked, order_of};
use crate::model::Access;

/// The rows that a read returns: what the engine would answer, worked out on key bytes.
pub fn simulate<'r>(read: &ConcreteRead, rows: &'r [Row]) -> Vec<&'r Row> {
    let mut found = evaluated(read, rows);
    found.retain(|row| {
        let item = row.item();
        read.filter.iter().all(|(name, test)| filter_holds(test, item.get(name)))
    });
    found
}

/// The rows that a read evaluates, before its filter.
pub(super) fn evaluated<'r>(read: &ConcreteRead, rows: &'r [Row]) -> Vec<&'r Row> {
    let mut found: Vec<(Vec<u8>, String, &Row)> = rows
        .iter()
        .filter(|row| row.entity.table.name == read.table)
        .filter_map(|row| Some((entry_in(read, row)?, row.label(), row)))
        .collect();
    found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    if !read.forward {
        found.reverse();
    }
    found.truncate(read.limit.map_or(usize::MAX, |limit| limit as usize));
    found.into_iter().map(|(_, _, row)| row).collect()
}

/// The sort key bytes of a row's entry, if the read covers it.
fn entry_in(read: &ConcreteRead, row: &Row) -> Option<Vec<u8>> {
    let table = &row.entity.table;
    let index = match &read.index {
        None => table.primary(),
        Some(name) => table.index(name)?,
    };
    let values = row.index_values(index)?;
    let named: Vec<(&str, &AttributeValue)> =
        index.attributes().map(|attribute| attribute.name.as_str()).zip(&values).collect();
    let value_of = |name: &str| named.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    if !read.equal.iter().all(|(name, wanted)| value_of(name) == Some(wanted)) {
        return None;
    }
    if let Some((name, condition)) = &read.sort
        && !sort_holds(condition, value_of(name)?)
    {
        return None;
    }
    let mut bytes = Vec::new();
    for value in values.iter().skip(index.hash.len()) {
        encode_key_value(value, &mut bytes).ok()?;
    }
    Some(bytes)
}

fn key_order(a: &AttributeValue, b: &AttributeValue) -> Option<Ordering> {
    if a.attribute_type() != b.attribute_type() {
        return None;
    }
    let (mut x, mut y) = (Vec::new(), Vec::new());
    encode_key_value(a, &mut x).ok()?;
    encode_key_value(b, &mut y).ok()?;
    Some(x.cmp(&y))
}

fn compares(comparison: Comparison, order: Option<Ordering>) -> bool {
    match (comparison, order) {
        (Comparison::NotEqual, order) => order != Some(Ordering::Equal),
        (_, None) => false,
        (Comparison::Equal, Some(order)) => order.is_eq(),
        (Comparison::Less, Some(order)) => order.is_lt(),
        (Comparison::LessOrEqual, Some(order)) => order.is_le(),
        (Comparison::Greater, Some(order)) => order.is_gt(),
        (Comparison::GreaterOrEqual, Some(order)) => order.is_ge(),
    }
}

fn sort_holds(condition: &SortCondition<AttributeValue>, value: &AttributeValue) -> bool {
    match condition {
        SortCondition::BeginsWith(prefix) => begins(value, prefix),
        SortCondition::Between(low, high) => {
            compares(Comparison::GreaterOrEqual, key_order(value, low))
                && compares(Comparison::LessOrEqual, key_order(value, high))
        }
        SortCondition::Compare(comparison, other) => compares(*comparison, key_order(value, other)),
    }
}

fn begins(value: &AttributeValue, prefix: &AttributeValue) -> bool {
    match (value.as_s(), prefix.as_s()) {
        (Some(value), Some(prefix)) => value.starts_with(prefix),
        _ => false,
    }
}

fn filter_holds(test: &FilterTest<AttributeValue>, value: Option<&AttributeValue>) -> bool {
    let Some(value) = value else {
        return matches!(test, FilterTest::Missing | FilterTest::Lacks(_))
            || matches!(test, FilterTest::Compare(Comparison::NotEqual, _));
    };
    match test {
        FilterTest::Exists => true,
        FilterTest::Missing => false,
        FilterTest::Compare(Comparison::Equal, other) => value == other,
        FilterTest::Compare(Comparison::NotEqual, other) => value != other,
        FilterTest::Compare(comparison, other) => compares(*comparison, key_order(value, other)),
        FilterTest::Between(low, high) => {
            compares(Comparison::GreaterOrEqual, key_order(value, low))
                && compares(Comparison::LessOrEqual, key_order(value, high))
        }
        FilterTest::BeginsWith(prefix) => begins(value, prefix),
        FilterTest::In(list) => list.contains(value),
        FilterTest::Contains(part) => contains(value, part),
        FilterTest::Lacks(part) => !contains(value, part),
    }
}

fn contains(value: &AttributeValue, part: &AttributeValue) -> bool {
    match (value, part) {
        (AttributeValue::S(text), AttributeValue::S(part)) => text.contains(part.as_str()),
        (AttributeValue::L(list), part) => list.contains(part),
        (AttributeValue::Ss(set), AttributeValue::S(part)) => set.contains(part),
        _ => false,
    }
}

/// Runs a whole plan on rows, as an engine would: the rows it returns, in order.
pub fn run<'r>(
    access: &Access,
    plan: &Plan,
    inputs: &Inputs,
    rows: &'r [Row],
) -> Result<Vec<&'r Row>, String> {
    let reads = match &plan.raw {
        Some(raw) => vec![raw.concrete(inputs)?],
        None => concretize(access, plan, inputs)?,
    };
    Ok(answer(access, plan, &reads, rows))
}

/// The rows that a whole plan returns: its reads merged in the order asked for, then the second step,
/// then the limit.
pub(crate) fn answer<'r>(
    access: &Access,
    plan: &Plan,
    reads: &[ConcreteRead],
    rows: &'r [Row],
) -> Vec<&'r Row> {
    let parts: Vec<Vec<&Row>> = reads.iter().map(|read| simulate(read, rows)).collect();
    let mut merged = merge(access, parts);
    if plan.hydrate.is_some() && access.via.is_some() {
        merged = merged
            .into_iter()
            .flat_map(|link| {
                rows.iter().filter(|row| access.finds(&row.entity) && is_linked(link, row))
            })
            .collect();
    }
    let capped = access.raw.is_none();
    merged.truncate(access.limit.filter(|_| capped).map_or(usize::MAX, |limit| limit as usize));
    merged
}

/// Takes the next row of whichever read comes first; without an order, one read after the other.
fn merge<'r>(access: &Access, mut parts: Vec<Vec<&'r Row>>) -> Vec<&'r Row> {
    if access.order.is_empty() {
        return parts.concat();
    }
    for part in &mut parts {
        part.reverse();
    }
    let mut merged = Vec::new();
    loop {
        let heads = parts.iter().enumerate().filter_map(|(at, part)| Some((at, *part.last()?)));
        let Some((at, row)) = heads.min_by(|a, b| order_of(&access.order, a.1, b.1)) else {
            return merged;
        };
        merged.push(row);
        if let Some(part) = parts.get_mut(at) {
            part.pop();
        }
    }
}

/// The labels of rows, for comparison with [`Expected`](crate::evaluate::Expected).
pub(crate) fn labels(rows: &[&Row]) -> Vec<String> {
    rows.iter().map(|row| row.label()).collect()
}
