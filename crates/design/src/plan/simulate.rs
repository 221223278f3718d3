//! What a plan returns, worked out on key bytes: the planner checks its counter-examples here.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::rc::Rc;

use keyloom_core::key::encode_key_value;
use keyloom_core::{AttributeValue, Item};

use super::concrete::{ConcreteRead, FilterTest, SortCondition};
use super::runner::second_reads;
use super::{Hydrate, Plan};
use crate::condition::Comparison;
use crate::evaluate::{Inputs, Row, order_of};
use crate::model::Access;

/// The rows that a read returns: what the engine would answer, worked out on key bytes.
pub fn simulate<'r>(read: &ConcreteRead, rows: &'r [Row]) -> Vec<&'r Row> {
    Entries::new(rows).returned(read)
}

/// The rows that a read evaluates, before its filter.
pub fn evaluated<'r>(read: &ConcreteRead, rows: Vec<&'r Row>) -> Vec<&'r Row> {
    Entries::of_some(rows).evaluated(read).into_iter().map(|entry| entry.row).collect()
}

/// Rows with their entries in the indexes that were asked for: many reads of the same rows build each key once.
pub(super) struct Entries<'r> {
    rows: Vec<&'r Row>,
    indexes: Vec<(String, Option<String>, Vec<Rc<Entry<'r>>>)>,
}

/// A row in an index.
pub(super) struct Entry<'r> {
    pub(super) row: &'r Row,
    values: Vec<AttributeValue>,
    /// The sort key, then the primary key, which decides between equal sort keys.
    place: (Vec<u8>, Vec<u8>),
}

impl<'r> Entries<'r> {
    pub(super) fn new(rows: &'r [Row]) -> Self {
        Self::of_some(rows.iter().collect())
    }

    fn of_some(rows: Vec<&'r Row>) -> Self {
        Self { rows, indexes: Vec::new() }
    }

    fn of(&mut self, table: &str, index: Option<&str>) -> &[Rc<Entry<'r>>] {
        let known = |(t, i, _): &(String, Option<String>, _)| t == table && i.as_deref() == index;
        let at = self.indexes.iter().position(known).unwrap_or_else(|| {
            let here = self.rows.iter().copied().filter(|row| row.entity.table.name == table);
            let entries = here.filter_map(|row| Entry::new(row, index).map(Rc::new)).collect();
            self.indexes.push((table.to_owned(), index.map(str::to_owned), entries));
            self.indexes.len() - 1
        });
        self.indexes.get(at).map_or(&[], |(_, _, entries)| entries.as_slice())
    }

    /// What a read evaluates, in its order, before its filter.
    pub(super) fn evaluated(&mut self, read: &ConcreteRead) -> Vec<Rc<Entry<'r>>> {
        let entries = self.of(&read.table, read.index.as_deref());
        let mut found: Vec<Rc<Entry>> =
            entries.iter().filter(|entry| entry.is_in(read)).cloned().collect();
        found.sort_by(|a, b| a.place.cmp(&b.place));
        if !read.forward {
            found.reverse();
        }
        found.truncate(read.limit.map_or(usize::MAX, |limit| limit as usize));
        found
    }

    /// What a read returns.
    pub(super) fn returned(&mut self, read: &ConcreteRead) -> Vec<&'r Row> {
        let found = self.evaluated(read);
        found.iter().filter(|entry| entry.is_kept(read)).map(|entry| entry.row).collect()
    }

    /// The rows whose key in an index is exactly this.
    fn with_key(
        &mut self,
        table: &str,
        index: Option<&str>,
        key: &[AttributeValue],
    ) -> Vec<&'r Row> {
        let entries = self.of(table, index);
        entries.iter().filter(|entry| entry.values == key).map(|entry| entry.row).collect()
    }
}

impl<'r> Entry<'r> {
    fn new(row: &'r Row, index: Option<&str>) -> Option<Self> {
        let table = &row.entity.table;
        let index = match index {
            None => table.primary(),
            Some(name) => table.index(name)?,
        };
        let values = row.index_values(index)?;
        let (mut sort, mut tie) = (Vec::new(), Vec::new());
        for value in values.iter().skip(index.hash.len()) {
            encode_key_value(value, &mut sort).ok()?;
        }
        for value in row.index_values(table.primary())? {
            encode_key_value(&value, &mut tie).ok()?;
        }
        Some(Self { row, values, place: (sort, tie) })
    }

    fn is_in(&self, read: &ConcreteRead) -> bool {
        let table = &self.row.entity.table;
        let index = match &read.index {
            None => Some(table.primary()),
            Some(name) => table.index(name),
        };
        let value_of = |name: &str| {
            let at = index?.attributes().position(|attribute| attribute.name == name)?;
            self.values.get(at)
        };
        read.equal.iter().all(|(name, wanted)| value_of(name) == Some(wanted))
            && read.sort.as_ref().is_none_or(|(name, condition)| {
                value_of(name).is_some_and(|value| sort_holds(condition, value))
            })
    }

    /// Whether the filter of a read keeps it.
    pub(super) fn is_kept(&self, read: &ConcreteRead) -> bool {
        let mut tests = read.filter.iter();
        tests.all(|(name, test)| filter_holds(test, self.row.attribute(name).as_ref()))
    }
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
        (AttributeValue::Ns(set), AttributeValue::N(part)) => set.contains(part),
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
    Ok(answer(access, plan, &plan.first_reads(access, inputs)?, rows))
}

/// The rows that a whole plan returns: its reads merged in the order asked for, then the second step,
/// then the limit.
pub(crate) fn answer<'r>(
    access: &Access,
    plan: &Plan,
    reads: &[ConcreteRead],
    rows: &'r [Row],
) -> Vec<&'r Row> {
    let mut entries = Entries::new(rows);
    let parts: Vec<Vec<&Row>> = reads.iter().map(|read| entries.returned(read)).collect();
    let mut merged = merge(access, parts);
    if !access.alternatives.is_empty() {
        // A row that satisfies several alternatives comes once.
        let mut seen = HashSet::new();
        merged.retain(|row| seen.insert((row.entity.table.name.clone(), row.label())));
    }
    if let (Some(step), Some(_)) = (&plan.hydrate, &access.via) {
        let index = reads.first().and_then(|read| read.index.as_deref());
        merged = merged
            .into_iter()
            .flat_map(|link| followed(&mut entries, access, step, &projected(link, index)))
            .collect();
    }
    let capped = access.raw.is_none();
    merged.truncate(access.limit.filter(|_| capped).map_or(usize::MAX, |limit| limit as usize));
    merged
}

/// What an index holds of a row.
fn projected(row: &Row, index: Option<&str>) -> Item {
    let table = &row.entity.table;
    let item = row.item();
    let Some(index) = index.and_then(|name| table.index(name)) else { return item };
    let mut held = Item::new();
    for (name, value) in item.iter().filter(|(name, _)| table.projects(index, name)) {
        held.insert(name.as_str(), value.clone());
    }
    held
}

/// What the second step fetches for a link: whatever has the key that the link leads to.
fn followed<'r>(
    entries: &mut Entries<'r>,
    access: &Access,
    step: &Hydrate,
    link: &Item,
) -> Vec<&'r Row> {
    let mut found = Vec::new();
    for read in second_reads(access, step, link) {
        let key: Vec<AttributeValue> = read.equal.iter().map(|(_, value)| value.clone()).collect();
        found.extend(entries.with_key(&read.table, read.index.as_deref(), &key));
    }
    found
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
