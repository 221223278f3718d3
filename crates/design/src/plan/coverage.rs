//! Coverage: whether an index holds every attribute that a pattern returns.

use std::sync::Arc;

use crate::model::{Access, Entity, Field, FieldKind, Index, IndexKind, Projection};

/// The fields a pattern wants of an entity that an index does not hold.
pub(crate) fn uncovered(access: &Access, entities: &[Arc<Entity>], index: &Index) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    if index.projection == Projection::All {
        return missing;
    }
    for entity in entities {
        for field in wanted(access, entity) {
            if !holds(entity, index, field) && !missing.contains(&field.name) {
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
        .filter(|field| !field.key_only && !matches!(field.kind, FieldKind::Shard(_)))
}

/// A field is there when its attribute is projected, or when a projected key holds all of it.
fn holds(entity: &Entity, index: &Index, field: &Field) -> bool {
    if entity.table.projects(index, &field.name) {
        return true;
    }
    let attributes = index.attributes().chain(entity.table.primary().attributes());
    let own = field.format().and_then(|format| format.precision());
    attributes.filter_map(|attribute| entity.key(&attribute.name)).any(|key| {
        key.shape
            .template()
            .field_pieces()
            .any(|piece| piece.name == field.name && piece.format.precision() >= own)
    })
}

/// Whether missing attributes are read from the table behind the scenes, as local indexes do.
pub(crate) fn fetches(index: &Index) -> bool {
    index.kind == IndexKind::Local
}
