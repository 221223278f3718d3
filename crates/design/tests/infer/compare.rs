//! Designs that people wrote, and how much of their keys is found again in items of theirs.

use std::collections::BTreeMap;

use keyloom_core::Item;
use keyloom_design::Design;
use keyloom_design::evaluate::{Row, entity_of};
use keyloom_design::model::{Entity, EntityKey};
use keyloom_keys::{FieldFormat, FieldType, Segment};

use crate::examples::examples;

/// The corrected designs of the corpus.
pub(crate) fn designs() -> Vec<(String, Design)> {
    let read = |(name, text): (String, String)| {
        let (design, problems) = Design::read(&name, &text);
        assert!(problems.is_empty(), "{name}: {problems:?}");
        (name, design)
    };
    examples(|name| !name.contains(".as-written")).into_iter().map(read).collect()
}

/// What is stored of a row.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stored {
    All,
    /// The fields live only inside the text of the keys.
    KeysOnly,
}

/// The item of a row, as it is stored.
pub(crate) fn item_of(row: &Row, stored: Stored) -> Item {
    let item = row.item();
    if stored == Stored::All {
        return item;
    }
    let keys = row.entity.table.key_attributes();
    let is_key = |name: &str| keys.iter().any(|key| key.name == name);
    let kept = item.iter().filter(|(name, _)| is_key(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A template without the names of its fields, and with types that write the same keys taken for one.
fn shape(key: &EntityKey) -> String {
    if key.shape.is_native() {
        return "native".to_owned();
    }
    let template = key.shape.template().template();
    let pieces = template.segments().iter().map(|segment| match segment {
        Segment::Literal(text) => text.clone(),
        Segment::Field(field) => format!("{{{}}}", class(field.format())),
    });
    pieces.collect()
}

fn class(format: &FieldFormat) -> String {
    let order = if format.is_desc() { ":desc" } else { "" };
    match format.kind() {
        FieldType::String | FieldType::Token | FieldType::Enum(_) | FieldType::Fixed => {
            format!("text{order}")
        }
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 if format.is_plain() => {
            "number".to_owned()
        }
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            format!("digits:{}{order}", format.width().unwrap_or_default())
        }
        _ => format.to_string(),
    }
}

/// The entity of the found design that most rows of an entity are read as.
fn counterpart<'d>(
    found: &'d Design,
    entity: &Entity,
    rows: &[Row],
    stored: Stored,
) -> Option<&'d Entity> {
    let mut counts: BTreeMap<&str, (usize, &Entity)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.entity.name == entity.name) {
        if let Some(other) = entity_of(found, &entity.table.name, &item_of(row, stored)) {
            counts.entry(&other.name).or_insert((0, other)).0 += 1;
        }
    }
    counts.into_values().max_by_key(|(count, _)| *count).map(|(_, entity)| entity)
}

/// The key attributes of a design that were found again, and those that were not.
pub(crate) fn compare(
    name: &str,
    design: &Design,
    rows: &[Row],
    found: &Design,
    stored: Stored,
    misses: &mut Vec<String>,
) -> (usize, usize) {
    let (mut all, mut right) = (0, 0);
    for entity in design.entities() {
        let is_there = |key: &EntityKey| {
            rows.iter().any(|row| {
                row.entity.name == entity.name && row.item().contains_key(&key.attribute)
            })
        };
        let other = counterpart(found, entity, rows, stored);
        for key in entity.keys.iter().filter(|key| is_there(key)) {
            all += 1;
            let wanted = shape(key);
            let got = other.and_then(|other| other.key(&key.attribute)).map(shape);
            if got.as_deref() == Some(&wanted) {
                right += 1;
            } else {
                misses.push(format!(
                    "{name}: {}.{}: {wanted} was found as {}",
                    entity.name,
                    key.attribute,
                    got.unwrap_or_else(|| "nothing".to_owned())
                ));
            }
        }
    }
    (all, right)
}
