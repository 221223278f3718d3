//! How large and how many: declared where the design says so, estimated from the fields otherwise.

use crate::key::{KeyTemplate, Piece};
use crate::model::{Design, Entity, Field, FieldKind, Index, IndexKey, Projection};

/// The average size of an item in bytes: declared, or the sum of its attributes.
pub fn item_size(entity: &Entity) -> f64 {
    entity.volume.size.unwrap_or_else(|| {
        let fields: f64 = entity.fields.iter().filter(|field| !field.key_only).map(stored).sum();
        let keys: f64 = entity.keys.iter().map(|key| key_bytes(entity, &key.attribute)).sum();
        fields + keys
    })
}

/// The average size of an item's entry in an index: what the projection copies.
pub fn entry_size(entity: &Entity, index: &Index) -> f64 {
    let names: Vec<&str> = match &index.projection {
        Projection::All => return item_size(entity),
        Projection::Keys => Vec::new(),
        Projection::Include(names) => names.iter().map(String::as_str).collect(),
    };
    let mut attributes: Vec<&str> = index
        .attributes()
        .chain(entity.table.primary().attributes())
        .map(|attribute| attribute.name.as_str())
        .collect();
    attributes.sort_unstable();
    attributes.dedup();
    let keys: f64 = attributes.iter().map(|attribute| key_bytes(entity, attribute)).sum();
    let fields = names.iter().filter_map(|name| entity.field(name)).map(stored);
    keys + fields.sum::<f64>()
}

fn stored(field: &Field) -> f64 {
    let share = field.present.unwrap_or(1.0);
    share * (field.name.len() as f64 + value_bytes(field))
}

/// A plausible size of a field's value.
fn value_bytes(field: &Field) -> f64 {
    if let Some(size) = field.size {
        return size;
    }
    match &field.kind {
        FieldKind::Scalar(format) => {
            let lengths = format.lengths();
            match lengths.max {
                Some(max) if max == lengths.min => max as f64,
                Some(max) => (lengths.min + max) as f64 / 2.0,
                None => 24.0,
            }
        }
        FieldKind::LooseTime => 24.0,
        FieldKind::Shard(_) => 0.0,
        FieldKind::Number => 6.0,
        FieldKind::Binary | FieldKind::List | FieldKind::Map => 100.0,
        FieldKind::TextSet | FieldKind::NumberSet => 60.0,
    }
}

fn key_bytes(entity: &Entity, attribute: &str) -> f64 {
    let Some(key) = entity.key(attribute) else { return 0.0 };
    if key.shape.is_native() && entity.field(attribute).is_some_and(|field| !field.key_only) {
        // Counted as a field already, unless only the key is projected.
        return attribute.len() as f64 + template_bytes(key.shape.template());
    }
    attribute.len() as f64 + template_bytes(key.shape.template())
}

fn template_bytes(template: &KeyTemplate) -> f64 {
    template
        .pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => text.len() as f64,
            Piece::Field(field) => {
                let lengths = field.format().lengths();
                match lengths.max {
                    Some(max) if max == lengths.min => max as f64,
                    _ => 16.0,
                }
            }
        })
        .sum()
}

/// How many different values a field of an entity has, as far as the design tells: declared, listed, or
/// the count of the entity that the field identifies.
pub fn cardinality(design: &Design, entity: &Entity, field: &str) -> Option<f64> {
    let own = entity.field(field)?.cardinality();
    own.or_else(|| design.identified.get(field).copied())
}

/// How many different partition key values an entity has in an index, as far as every field's number is known.
pub fn key_values(design: &Design, entity: &Entity, key: &IndexKey<'_>) -> Option<f64> {
    let mut values = 1.0;
    for field in entity.spreading_fields(key) {
        values *= cardinality(design, entity, field)?;
    }
    Some(values)
}

/// The share of the busiest partition key value of an entity in an index. All that happens now happens under one value of a
/// time, so a period spreads nothing.
pub fn hottest_share(design: &Design, entity: &Entity, key: &IndexKey<'_>) -> Option<f64> {
    let mut share = 1.0;
    for name in entity.spreading_fields(key) {
        if entity.field(name).is_some_and(Field::is_time) {
            continue;
        }
        let top = entity.field(name).and_then(|field| field.top_share);
        let even = cardinality(design, entity, name).map(|values| 1.0 / values.max(1.0));
        share *= match (top, even) {
            (Some(top), Some(even)) => top.max(even),
            (Some(top), None) => top,
            (None, Some(even)) => even,
            (None, None) => return None,
        };
    }
    Some(share)
}

/// How many items of an entity share the values of these fields, on average; nothing without a declared count.
pub fn items_under(design: &Design, entity: &Entity, fields: &[&str]) -> Option<f64> {
    let count = entity.volume.count?;
    let identity = entity.identity();
    if !identity.is_empty() && identity.iter().all(|field| fields.contains(field)) {
        return Some(1.0_f64.min(count));
    }
    let mut groups = 1.0;
    // A shard that follows from the others does not narrow further.
    let follows = |field: &&&str| {
        matches!(entity.field(field).map(|field| &field.kind), Some(FieldKind::Shard(shards))
            if !shards.by.is_empty() && shards.by.iter().all(|by| fields.contains(&by.as_str())))
    };
    for field in fields.iter().filter(|field| !follows(field)) {
        match cardinality(design, entity, field) {
            Some(distinct) => groups *= distinct.max(1.0),
            // An identifier of the item itself leaves one.
            None if entity.field(field).is_some_and(Field::is_identifier)
                && identity.contains(field)
                && identity.last() == Some(field) =>
            {
                return Some(1.0);
            }
            None => return None,
        }
    }
    Some(count / groups.min(count.max(1.0)))
}
