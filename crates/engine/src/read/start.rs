//! `ExclusiveStartKey`: where a page begins.

use std::ops::Bound;

use keyloom_core::error::{message, request};
use keyloom_core::expr::ResolvedKeyCondition;
use keyloom_core::schema::{KeyAttribute, KeySchema};
use keyloom_core::{Item, Result};
use keyloom_store::{Direction, KeyRange};

use crate::catalog::{Index, Table};
use crate::layout;

use super::ReadPlan;
use super::range::of_key_condition;

/// Checks the start key of a Scan, or of another read that has no key condition, and gives its store key.
pub(crate) fn check_start_key(
    table: &Table,
    index: Option<&Index>,
    start: &Item,
) -> Result<Vec<u8>> {
    if let Some(index) = index {
        check_attribute_count(table, Some(index), start)?;
        check_attributes(&index.schema.key, index.schema.key.attributes(), start)?;
    }
    check_base_key(table, start, start.len() != attribute_count(table, index))?;
    store_key(table, index, start)
}

/// Checks the partition key of a Query's start key. AWS does so before it checks the key condition.
pub(crate) fn check_start_partition(plan: &ReadPlan, start: &Item) -> Result<()> {
    check_attribute_count(&plan.table, plan.index(), start)?;
    check_attributes(plan.key(), plan.key().hash.iter(), start)
}

/// Checks the rest of a Query's start key, and gives its store key.
pub(crate) fn check_start_in_query(
    plan: &ReadPlan,
    condition: &ResolvedKeyCondition,
    start: &Item,
) -> Result<Vec<u8>> {
    check_attributes(plan.key(), plan.key().range.iter(), start)?;
    check_base_key(&plan.table, start, false)?;
    let key = store_key(&plan.table, plan.index(), start)?;
    let hash = plan.key().hash.iter().filter_map(|attribute| start.get(&attribute.name));
    let hash: Vec<_> = hash.cloned().collect();
    let is_same_partition = hash == condition.hash;
    // Whether the sort key fits is judged first, whatever the partition.
    let in_own_partition = ResolvedKeyCondition { hash, ..condition.clone() };
    if !of_key_condition(plan.keyspace(), &in_own_partition)?.contains(&key) {
        return Err(request::start_key_outside_predicate());
    }
    let has_range = !condition.range_prefix.is_empty() || condition.range.is_some();
    match (is_same_partition, has_range) {
        (false, true) => Err(request::query_not_restartable()),
        (false, false) => Err(request::start_key_outside_range()),
        (true, _) if plan.index().is_none() && plan.key().range.is_empty() => {
            Err(request::start_key_of_hash_table(start))
        }
        (true, _) => Ok(key),
    }
}

/// How many attributes a start key has: those of the table's key, and those that the index's key adds.
fn attribute_count(table: &Table, index: Option<&Index>) -> usize {
    let index_key = index.into_iter().flat_map(|index| index.schema.key.attributes());
    table.key().len() + index_key.filter(|own| !table.key().contains(&own.name)).count()
}

fn check_attribute_count(table: &Table, index: Option<&Index>, start: &Item) -> Result<()> {
    if start.len() == attribute_count(table, index) {
        Ok(())
    } else {
        Err(request::start_key_invalid())
    }
}

/// Checks attributes of the key that is read.
fn check_attributes<'a>(
    key: &KeySchema,
    attributes: impl Iterator<Item = &'a KeyAttribute>,
    start: &Item,
) -> Result<()> {
    for attribute in attributes {
        let value = start.get(&attribute.name).ok_or_else(request::start_key_invalid)?;
        if !attribute.kind.accepts(value) {
            return Err(message::schema::key_mismatch());
        }
        key.check_value(&attribute.name, value)?;
    }
    Ok(())
}

/// Checks the table's own key inside a start key.
fn check_base_key(table: &Table, start: &Item, has_other_attributes: bool) -> Result<()> {
    let key: Item = table
        .key()
        .attributes()
        .filter_map(|own| Some((own.name.clone(), start.get(&own.name)?.clone())))
        .collect();
    let checked = table.schema.check_key(&key);
    let checked = if has_other_attributes {
        checked.and(Err(message::schema::key_mismatch()))
    } else {
        checked
    };
    checked.map_err(|reason| request::start_key_invalid_because(&reason))
}

fn store_key(table: &Table, index: Option<&Index>, start: &Item) -> Result<Vec<u8>> {
    match index {
        Some(index) => layout::index_entry(index.keyspace, &index.schema.key, table.key(), start),
        None => layout::item(table.record.keyspace, table.key(), start),
    }
}

/// The part of `range` that comes after `start` in this direction.
pub(crate) fn resume_after(range: KeyRange, start: Vec<u8>, direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => KeyRange { lower: Bound::Excluded(start.into()), upper: range.upper },
        Direction::Backward => {
            KeyRange { lower: range.lower, upper: Bound::Excluded(start.into()) }
        }
    }
}
