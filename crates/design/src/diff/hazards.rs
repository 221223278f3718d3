//! What must be decided before stored items can be changed: values they lack, values that no longer fit, keys that
//! two of them would share.

use std::collections::BTreeSet;

use keyloom_keys::{Case, FieldFormat};

use super::entities::former;
use super::{AttributeChange, ItemChange, KeyChange, KeyMove, narrowing};
use crate::model::{Entity, Field, FieldKind};

/// Something that must be decided before stored items can be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// A key needs a field that stored items do not have.
    NoValue {
        /// The key attribute.
        attribute: String,
        /// The name of the field.
        field: String,
    },
    /// Every item must have an attribute that no stored item has.
    NoAttribute {
        /// The name of the attribute.
        field: String,
    },
    /// Stored values are of another type.
    OtherType {
        /// The name of the field.
        field: String,
        /// The type before.
        before: String,
        /// The type after.
        after: String,
    },
    /// Stored items may lack an attribute that every item must have.
    MayLack {
        /// The name of the attribute.
        field: String,
    },
    /// Stored items may have values that are no longer listed.
    Unlisted {
        /// The name of the field.
        field: String,
        /// The values that are dropped.
        values: Vec<String>,
    },
    /// Stored items may have values that the field no longer takes: shorter texts, fewer digits, a closer period.
    Narrower {
        /// The name of the field.
        field: String,
        /// What no longer fits: `longer than 20 bytes`.
        beyond: Vec<String>,
    },
    /// Items expire by an attribute that stored items do not have.
    NeverExpires {
        /// The name of the attribute.
        attribute: String,
    },
    /// Two stored items that differ only in these fields would get the same primary key.
    Collision {
        /// The fields that told them apart.
        fields: Vec<String>,
    },
}

/// What stored values may not fit.
pub(super) fn of_values(old: &Entity, new: &Entity) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    for field in &new.fields {
        let Some(before) = old.field(former(old, new, &field.name)) else { continue };
        if before.optional && !field.optional {
            hazards.push(Hazard::MayLack { field: field.name.clone() });
        }
        let beyond = narrowing::beyond(before, field);
        if !beyond.is_empty() {
            hazards.push(Hazard::Narrower { field: field.name.clone(), beyond });
        }
        let (Some(listed), Some(was)) = (field.values(), before.values()) else { continue };
        let values: Vec<String> = was.into_iter().filter(|value| !listed.contains(value)).collect();
        if !values.is_empty() && !matches!(field.kind, FieldKind::Shard(_)) {
            hazards.push(Hazard::Unlisted { field: field.name.clone(), values });
        }
    }
    let moved = old.table.ttl.is_some() && old.table.ttl != new.table.ttl;
    if let Some(attribute) = new.table.ttl.as_ref().filter(|_| moved)
        && old.field(old.table.ttl.as_deref().unwrap_or_default()).is_some()
        && old.field(attribute).is_none()
    {
        hazards.push(Hazard::NeverExpires { attribute: attribute.clone() });
    }
    hazards
}

/// What stored items do not have, and keys that could collide.
pub(super) fn of_keys(
    old: &Entity,
    new: &Entity,
    items: &ItemChange,
    keys: &[KeyChange],
    attributes: &[AttributeChange],
) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    let mut named = BTreeSet::new();
    for change in keys.iter().filter(|change| change.kind != KeyMove::Leaves) {
        let Some(key) = new.key(&change.attribute) else { continue };
        for field in key.shape.template().fields() {
            let known = is_known(old, new, field);
            let may_lack = new.field(field).is_some_and(|field| field.optional);
            if !known && !may_lack && named.insert(field.to_owned()) {
                let attribute = change.attribute.clone();
                hazards.push(Hazard::NoValue { attribute, field: field.to_owned() });
            }
        }
    }
    for change in attributes {
        match change {
            AttributeChange::Added { name, optional: false }
                if !is_known(old, new, name) && named.insert(name.clone()) =>
            {
                hazards.push(Hazard::NoAttribute { field: name.clone() });
            }
            AttributeChange::Retyped { name, before, after } => hazards.push(Hazard::OtherType {
                field: name.clone(),
                before: before.clone(),
                after: after.clone(),
            }),
            _ => {}
        }
    }
    if matches!(items, ItemChange::Rekeyed | ItemChange::Moved { .. }) {
        let fields = lost_identity(old, new);
        if !fields.is_empty() {
            hazards.push(Hazard::Collision { fields });
        }
    }
    hazards
}

/// Whether a stored item tells the value of a field: as an attribute, inside its primary key, or, for a shard, by the
/// fields that it is calculated from.
fn is_known(old: &Entity, new: &Entity, field: &str) -> bool {
    let stored = |name: &str| tells(old, former(old, new, name));
    match new.field(field).map(|field| &field.kind) {
        Some(FieldKind::Shard(shards)) => shards.by.iter().all(|name| stored(name)),
        _ => stored(field),
    }
}

/// Whether items of an entity tell the value of a field: as an attribute, or inside their primary key.
pub(crate) fn tells(entity: &Entity, field: &str) -> bool {
    entity.field(field).is_some_and(Field::is_stored) || entity.identity().contains(&field)
}

/// The fields that tell stored items apart and are not in the new primary key, or only in part of their precision;
/// none if the new key has everything that makes an item unique.
fn lost_identity(old: &Entity, new: &Entity) -> Vec<String> {
    let kept: Vec<&str> = new.identity().into_iter().map(|field| former(old, new, field)).collect();
    let unique = |fields: &[String]| {
        !fields.is_empty() && fields.iter().all(|field| kept.contains(&field.as_str()))
    };
    if unique(&old.unique_by) {
        return Vec::new();
    }
    let identity = old.identity().into_iter().filter(|field| !is_random_shard(old, field));
    identity
        .filter(|field| !kept.contains(field) || is_coarser(old, new, field))
        .filter(|field| !is_derived(old, field, &kept))
        .map(str::to_owned)
        .collect()
}

/// A random shard tells nothing apart that another field does not: it only spreads.
fn is_random_shard(entity: &Entity, field: &str) -> bool {
    matches!(entity.field(field).map(|field| &field.kind), Some(FieldKind::Shard(shards)) if shards.by.is_empty())
}

/// Whether a field follows from others that are kept: a shard calculated from them.
fn is_derived(entity: &Entity, field: &str, kept: &[&str]) -> bool {
    matches!(entity.field(field).map(|field| &field.kind), Some(FieldKind::Shard(shards))
        if !shards.by.is_empty() && shards.by.iter().all(|by| kept.contains(&by.as_str())))
}

/// Whether the new key writes less of a field than the old one: a day of a moment, one case of a text.
fn is_coarser(old: &Entity, new: &Entity, field: &str) -> bool {
    let formats = |entity: &Entity| -> Vec<FieldFormat> {
        let key = entity.primary_key();
        let pieces = key.parts().flat_map(|part| part.shape.template().field_pieces());
        let named = pieces.filter(|piece| former(old, entity, piece.name()) == field);
        named.map(|piece| piece.format().clone()).collect()
    };
    let (before, after) = (formats(old), formats(new));
    !after.iter().any(|after| before.iter().any(|before| keeps_apart(before, after)))
}

/// Whether values that one format writes differently are different in the other one, too.
fn keeps_apart(before: &FieldFormat, after: &FieldFormat) -> bool {
    match (before.precision(), after.precision()) {
        (Some(before), Some(after)) => after >= before,
        // Two texts may name the same moment.
        (None, Some(_)) => false,
        (_, None) => after.case() == Case::AsIs || after.case() == before.case(),
    }
}
