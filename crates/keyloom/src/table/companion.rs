//! Companion writes of an entity: the guard items of unique fields, and counters kept in other items.

use keyloom_api::items::ConditionInput;
use keyloom_api::transactions::TransactEdit;
use keyloom_core::expr::{Condition, Operand, Path};
use keyloom_core::{AttributeValue, Item};

use crate::entity::{Entity, EntityModel, key_text};
use crate::error::Result;
use crate::expression::{Changes, presence, when};

use super::step::{Refused, Step};

/// The attribute of a guard that names the item it belongs to.
const OWNER: &str = "owner";

/// A change of a count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Count {
    table: String,
    key: Item,
    field: &'static str,
    version: Option<&'static str>,
    entity: &'static str,
    partition_attribute: String,
    by: i64,
}

/// The guards and counts that a change from one state to another needs.
pub(crate) fn companions<E: Entity>(
    model: &EntityModel,
    old: Option<&E>,
    new: Option<&E>,
) -> Result<(Vec<Step>, Vec<Count>)> {
    let mut steps = Vec::new();
    for guard in &model.guards {
        let key = |entity: Option<&E>| guard_key(&guard.model, entity);
        let owner = |entity: Option<&E>| {
            let key = entity.map(|entity| model.key_item(|name| entity.field(name)));
            key.transpose().map(|key| key.as_ref().map(key_text).unwrap_or_default())
        };
        let (before, after) = (key(old)?, key(new)?);
        let (old_owner, new_owner) = (owner(old)?, owner(new)?);
        if before == after && old_owner == new_owner {
            continue;
        }
        let refused = Refused::NotUnique { entity: E::NAME, rule: guard.rule.clone() };
        let name = guard.model.partition_attribute();
        if let Some(before) = before.filter(|before| Some(before) != after.as_ref()) {
            let condition = held_by(name, &old_owner, None);
            let edit = TransactEdit::Delete(before);
            steps.push(Step::new(guard.model.table(), edit, condition, refused.clone()));
        }
        if let (Some(mut item), Some(new)) = (after, new) {
            // A moved item keeps its guards.
            let previous = old.map(|_| old_owner.as_str());
            let condition = held_by(name, &new_owner, previous);
            for (field, value) in guard_fields(&guard.model, new) {
                item.insert(field, value);
            }
            item.insert(OWNER, new_owner);
            steps.push(Step::new(guard.model.table(), TransactEdit::Put(item), condition, refused));
        }
    }
    Ok((steps, counts(model, old, new)?))
}

/// The key of the guard of an entity's unique fields; none if one of them has no value.
fn guard_key<E: Entity>(guard: &EntityModel, entity: Option<&E>) -> Result<Option<Item>> {
    let Some(entity) = entity else { return Ok(None) };
    match guard.key_item(|name| entity.field(name)) {
        Ok(key) => Ok(Some(key)),
        Err(crate::Error::KeyFieldAbsent { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The unique fields themselves, so that a guard can be read by people.
fn guard_fields<E: Entity>(guard: &EntityModel, entity: &E) -> Vec<(String, AttributeValue)> {
    let fields = guard.field_names().filter(|name| *name != OWNER);
    fields
        .filter_map(|name| {
            let value = entity.field(name)?;
            Some((name.to_owned(), guard.attribute(name, &value)?))
        })
        .collect()
}

/// The condition that a guard is free or belongs to its owner.
fn held_by(partition_attribute: &str, owner: &str, previous: Option<&str>) -> ConditionInput {
    let mut owners = vec![Operand::value(owner.into())];
    if let Some(previous) = previous.filter(|previous| *previous != owner) {
        owners.push(Operand::value(previous.into()));
    }
    when(Some(Condition::Or(vec![
        Condition::NotExists(Path::attribute(partition_attribute)),
        Condition::In(Operand::Path(Path::attribute(OWNER)), owners),
    ])))
}

fn counts<E: Entity>(model: &EntityModel, old: Option<&E>, new: Option<&E>) -> Result<Vec<Count>> {
    let mut counts = Vec::new();
    for (counter, keeper) in &model.counted_in {
        let key = |entity: Option<&E>| {
            entity.map(|entity| keeper.key_item(|name| entity.field(name))).transpose()
        };
        let (before, after) = (key(old)?, key(new)?);
        if before == after {
            continue;
        }
        let mut count = |key: Option<Item>, by| {
            counts.extend(key.map(|key| Count {
                table: keeper.table().to_owned(),
                key,
                field: counter.field,
                version: counter.version,
                entity: counter.entity,
                partition_attribute: keeper.partition_attribute().to_owned(),
                by,
            }));
        };
        count(before, -1);
        count(after, 1);
    }
    Ok(counts)
}

/// Adds up counts of the same item, which a transaction may touch only once, and makes them steps.
pub(crate) fn count_steps(counts: Vec<Count>) -> Vec<Step> {
    let mut merged: Vec<Vec<Count>> = Vec::new();
    for count in counts {
        let same = merged.iter_mut().find(|group| {
            group.first().is_some_and(|first| first.table == count.table && first.key == count.key)
        });
        let Some(group) = same else {
            merged.push(vec![count]);
            continue;
        };
        match group.iter_mut().find(|known| known.field == count.field) {
            Some(known) => known.by += count.by,
            None => group.push(count),
        }
    }
    merged.into_iter().filter_map(|group| count_step(&group)).collect()
}

/// One update of all counts of an item; none if they add up to nothing.
fn count_step(group: &[Count]) -> Option<Step> {
    let first = group.first()?;
    let mut changes = Changes::default();
    for count in group.iter().filter(|count| count.by != 0) {
        changes.add(count.field, count.by);
    }
    if let Some(version) = first.version.filter(|_| !changes.is_empty()) {
        changes.add(version, 1);
    }
    let condition = presence(&first.partition_attribute, true);
    let refused = Refused::NotFound { entity: first.entity, key: key_text(&first.key) };
    let edit = TransactEdit::Update(first.key.clone(), changes.finish().ok()??);
    Some(Step::new(&first.table, edit, condition, refused))
}
