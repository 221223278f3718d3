//! Coverage: whether an index holds every attribute that a pattern returns.

use std::sync::Arc;

use crate::model::{Access, Entity, EntityKey, Field, FieldKind, Index, IndexKind, Projection};
use crate::mutation::{Mutation, is_on};

/// The fields a pattern wants of an entity that an index does not hold, but the item does.
pub(crate) fn uncovered(access: &Access, entities: &[Arc<Entity>], index: &Index) -> Vec<String> {
    // Links lead on by what their keys tell, too.
    if access.via.is_some() {
        return entities.iter().flat_map(|link| untold(link, index, &access.returns)).collect();
    }
    unreturned(access, entities, index)
}

/// The fields a pattern wants that an index does not return, but the table does.
pub(crate) fn unreturned(access: &Access, entities: &[Arc<Entity>], index: &Index) -> Vec<String> {
    let returns = |entity: &Entity, field: &Field| {
        holds(entity, index, field) || !holds(entity, entity.table.primary(), field)
    };
    wanted_unless(access, entities, returns)
}

/// The fields a pattern wants that can be read nowhere: they have no attribute, and keys hold only a part of them.
pub(crate) fn lost(access: &Access, entities: &[Arc<Entity>]) -> Vec<String> {
    wanted_unless(access, entities, |entity, field| holds(entity, entity.table.primary(), field))
}

/// The names of wanted fields that do not satisfy a condition, once each.
fn wanted_unless(
    access: &Access,
    entities: &[Arc<Entity>],
    satisfied: impl Fn(&Entity, &Field) -> bool,
) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for entity in entities {
        for field in wanted(access, entity) {
            if !satisfied(entity, field) && !missing.contains(&field.name) {
                missing.push(field.name.clone());
            }
        }
    }
    missing
}

fn wanted<'a>(access: &'a Access, entity: &'a Entity) -> impl Iterator<Item = &'a Field> {
    entity
        .fields
        .iter()
        .filter(|field| access.returns.is_empty() || access.returns.contains(&field.name))
        .filter(|field| !matches!(field.kind, FieldKind::Shard(_)))
}

/// A field is there when its attribute is projected. A request returns attributes, not what is written inside
/// of keys; only a field that has no attribute of its own is read from the keys.
fn holds(entity: &Entity, index: &Index, field: &Field) -> bool {
    if field.is_stored() {
        return entity.table.projects(index, &field.name) || is_on(Mutation::IndexesHoldAll);
    }
    is_told_by_keys(entity, index, field)
}

/// The fields of a link that lead on to other items, as far as neither an attribute nor a key of the index
/// tells them.
fn untold(link: &Entity, index: &Index, names: &[String]) -> Vec<String> {
    let told = |name: &str| {
        link.field(name).is_some_and(|field| {
            let projected = field.is_stored() && link.table.projects(index, name);
            projected || is_told_by_keys(link, index, field)
        })
    };
    names.iter().filter(|name| !told(name)).cloned().collect()
}

/// Whether a key attribute that every entry of the index has tells the field.
fn is_told_by_keys(entity: &Entity, index: &Index, field: &Field) -> bool {
    let table = &entity.table;
    let is_there = |key: &&EntityKey| {
        let own =
            index.has_attribute(&key.attribute) || table.primary().has_attribute(&key.attribute);
        own || table.projects(index, &key.attribute) && is_always_written(entity, key, field)
    };
    let tells = |key: &EntityKey| key.tells(field) || is_on(Mutation::KeysTellTheirFields);
    let mut keys = entity.keys.iter().filter(is_there);
    keys.any(|key| key.shape.template().fields().any(|name| *name == field.name) && tells(key))
}

/// Whether every item that has the field has the key.
fn is_always_written(entity: &Entity, key: &EntityKey, field: &Field) -> bool {
    let mut others = key.shape.template().fields().filter(|name| *name != field.name);
    if is_on(Mutation::KeysAreAlwaysWritten) {
        return true;
    }
    key.when.is_none() && others.all(|name| entity.field(name).is_some_and(|other| !other.optional))
}

/// Whether missing attributes are read from the table behind the scenes, as local indexes do.
pub(crate) fn fetches(index: &Index) -> bool {
    index.kind == IndexKind::Local && index.projection != Projection::All
}
