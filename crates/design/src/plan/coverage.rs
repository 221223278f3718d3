//! Coverage: whether an index holds every attribute that a pattern returns.

use std::sync::Arc;

use crate::key::{FieldPiece, may_hold_separator};
use crate::model::{Access, Entity, Escape, Field, FieldKind, Index, IndexKind, Projection};

/// The fields a pattern wants of an entity that an index does not hold.
pub(crate) fn uncovered(access: &Access, entities: &[Arc<Entity>], index: &Index) -> Vec<String> {
    // Links lead on by what their keys tell, too.
    if access.via.is_some() {
        return entities.iter().flat_map(|link| untold(link, index, &access.returns)).collect();
    }
    unreturned(access, entities, index)
}

/// The fields a pattern wants that an index does not return.
pub(crate) fn unreturned(access: &Access, entities: &[Arc<Entity>], index: &Index) -> Vec<String> {
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
        .filter(|field| !matches!(field.kind, FieldKind::Shard(_)))
}

/// A field is there when its attribute is projected. A request returns attributes, not what is written inside
/// of keys; only a field that has no attribute of its own is read from the keys.
fn holds(entity: &Entity, index: &Index, field: &Field) -> bool {
    if field.is_stored() {
        return entity.table.projects(index, &field.name);
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

/// Whether a projected key holds all of a field and can be taken apart.
fn is_told_by_keys(entity: &Entity, index: &Index, field: &Field) -> bool {
    let attributes = index.attributes().chain(entity.table.primary().attributes());
    let own = field.format().and_then(|format| format.precision());
    attributes.filter_map(|attribute| entity.key(&attribute.name)).any(|key| {
        let template = key.shape.template();
        let holds =
            |piece: &FieldPiece| piece.name() == field.name && piece.format().precision() >= own;
        let loose = template.field_pieces().filter(|piece| may_hold_separator(piece.format()));
        let parses =
            template.escape() != Escape::None || key.shape.is_native() || loose.count() == 0;
        parses && template.field_pieces().any(holds)
    })
}

/// Whether missing attributes are read from the table behind the scenes, as local indexes do.
pub(crate) fn fetches(index: &Index) -> bool {
    index.kind == IndexKind::Local && index.projection != Projection::All
}
