//! Entities: what happens to the items that are stored already.
//!
//! An item is untouched, rewritten in place (attributes or index keys change), or gets another primary key, which in
//! DynamoDB is a new item and a deletion of the old one. Everything that the new item needs must be derivable from the
//! old one; where it is not, or where two old items could end up under one key, that is a [`Hazard`].

use std::fmt::Write as _;
use std::sync::Arc;

use keyloom_core::capacity::{
    IndexChange, READ_UNIT_BYTES, ReadMode, Units, item_write_units, read_units,
};
use keyloom_keys::FieldFormat;

use super::{Hazard, Pair, TableDiff, hazards, paired};
use crate::cost::{Prices, entry_size, item_size};
use crate::key::{Piece, may_hold_separator};
use crate::model::{Design, Entity, EntityKey, Escape, Field, FieldKind, Index, IndexKind};

/// An entity of either design.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityDiff {
    /// The entity's name.
    pub name: String,
    /// Its name in the old design, if that is another one.
    pub was: Option<String>,
    /// What happens to its stored items.
    pub items: ItemChange,
    /// The key attributes that differ.
    pub keys: Vec<KeyChange>,
    /// The other attributes that differ.
    pub attributes: Vec<AttributeChange>,
    /// What must be decided before the change can be made.
    pub hazards: Vec<Hazard>,
    /// How many items are stored, as far as the old design says.
    pub count: Option<f64>,
    /// Write units for one item: the table and its indexes.
    pub write_units: f64,
}

/// What happens to the stored items of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemChange {
    /// They stay as they are.
    Untouched,
    /// The entity is new: there are none.
    Added,
    /// The new design does not have the entity; its items are left over.
    Removed,
    /// Attributes or index keys change; the primary key does not.
    Rewritten,
    /// The primary key changes: a new item is written and the old one deleted.
    Rekeyed,
    /// They move to another table.
    Moved {
        /// The old table.
        from: String,
        /// The new table.
        to: String,
    },
}

/// A key attribute that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    /// The name of the attribute.
    pub attribute: String,
    /// What happens to the attribute's keys.
    pub kind: KeyMove,
    /// The indexes whose key it is part of; `table` for the primary key.
    pub indexes: Vec<String>,
    /// The template before, with its condition.
    pub before: Option<String>,
    /// The template after, with its condition.
    pub after: Option<String>,
}

/// What happens to a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMove {
    /// It is written now: items join the index.
    Joins,
    /// It is no longer written: items leave the index.
    Leaves,
    /// It has another value.
    Recomputed,
}

/// An attribute that differs and is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeChange {
    /// Items have it from now on.
    Added {
        /// The name of the attribute.
        name: String,
        /// Whether items may lack it, so that stored ones can stay as they are.
        optional: bool,
    },
    /// The new design does not have it; stored items keep it until they are rewritten.
    Removed {
        /// The name of the attribute.
        name: String,
    },
    /// It has another name.
    Renamed {
        /// The attribute before.
        before: String,
        /// The attribute after.
        after: String,
    },
    /// It has another type.
    Retyped {
        /// The name of the attribute.
        name: String,
        /// The type before.
        before: String,
        /// The type after.
        after: String,
    },
}

/// The cost of changing all stored items once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Items that are written.
    pub items: f64,
    /// Read units of the scans that find them.
    pub read_units: f64,
    /// How many write units it takes.
    pub write_units: f64,
    /// Dollars, on demand.
    pub dollars: f64,
    /// Whether a changed entity has no declared count, so that the figures are a lower bound.
    pub is_partial: bool,
}

impl EntityDiff {
    /// Whether nothing at all differs.
    pub fn is_unchanged(&self) -> bool {
        self.items == ItemChange::Untouched
            && self.keys.is_empty()
            && self.attributes.is_empty()
            && self.hazards.is_empty()
            && self.was.is_none()
    }

    /// Its name in the old design.
    fn old_name(&self) -> &str {
        self.was.as_deref().unwrap_or(&self.name)
    }

    /// Whether stored items have to be written.
    pub fn writes_items(&self) -> bool {
        matches!(self.items, ItemChange::Rewritten | ItemChange::Rekeyed | ItemChange::Moved { .. })
    }
}

/// Compares the entities of two designs.
pub(super) fn compare(old: &Design, new: &Design, tables: &[TableDiff]) -> Vec<EntityDiff> {
    let pairs = paired(old.entities(), new.entities(), |entity| &entity.name);
    let gone: Vec<&Arc<Entity>> = pairs
        .iter()
        .filter_map(|pair| match pair {
            Pair::Removed(old) => Some(*old),
            _ => None,
        })
        .collect();
    let mut renamed: Vec<&str> = Vec::new();
    let mut diffs = Vec::new();
    for pair in &pairs {
        match pair {
            Pair::Both(old, new) => diffs.push(changed(old, new, tables)),
            Pair::Added(new) => match gone.iter().find(|old| is_renamed(old, new)) {
                Some(old) if !renamed.contains(&old.name.as_str()) => {
                    renamed.push(&old.name);
                    let was = Some(old.name.clone());
                    diffs.push(EntityDiff { was, ..changed(old, new, tables) });
                }
                _ => diffs.push(only(new, ItemChange::Added, None)),
            },
            Pair::Removed(_) => {}
        }
    }
    let left = gone.iter().filter(|old| !renamed.contains(&old.name.as_str()));
    diffs.extend(left.map(|old| only(old, ItemChange::Removed, old.volume.count)));
    diffs
}

/// What happens to the items of an entity that becomes another one, their table aside.
pub(crate) fn between_entities(old: &Entity, new: &Entity) -> EntityDiff {
    changed(old, new, &[])
}

/// The name that a field of the new entity has in the old one.
pub(super) fn former<'f>(old: &Entity, new: &'f Entity, field: &'f str) -> &'f str {
    let was = new.field(field).and_then(|field| field.was.as_deref());
    was.filter(|was| old.field(was).is_some()).unwrap_or(field)
}

/// The fields that have another name: before and after.
pub(crate) fn renamed_fields(old: &Entity, new: &Entity) -> Vec<(String, String)> {
    let names = new.fields.iter().map(|field| (former(old, new, &field.name), &field.name));
    let renamed = names.filter(|(before, after)| before != after);
    renamed.map(|(before, after)| (before.to_owned(), after.clone())).collect()
}

/// The fields whose stored values have another type.
pub(crate) fn retyped_fields(old: &Entity, new: &Entity) -> Vec<String> {
    let retyped = attribute_changes(old, new).into_iter().filter_map(|change| match change {
        AttributeChange::Retyped { name, .. } => Some(name),
        _ => None,
    });
    retyped.collect()
}

/// Whether an entity has become another one: it says so, or has the same table and items under the same keys.
pub(crate) fn is_renamed(old: &Entity, new: &Entity) -> bool {
    if new.was.contains(&old.name) {
        return true;
    }
    let (before, after) = (old.primary_key(), new.primary_key());
    new.was.is_empty()
        && old.table.name == new.table.name
        && before.parts().count() == after.parts().count()
        && before.parts().zip(after.parts()).all(|(a, b)| same_key(old, a, new, b))
}

/// An entity that is in one of the designs only.
fn only(entity: &Entity, items: ItemChange, count: Option<f64>) -> EntityDiff {
    EntityDiff {
        name: entity.name.clone(),
        was: None,
        items,
        keys: Vec::new(),
        attributes: Vec::new(),
        hazards: Vec::new(),
        count,
        write_units: 0.0,
    }
}

fn changed(old: &Entity, new: &Entity, tables: &[TableDiff]) -> EntityDiff {
    let keys = key_changes(old, new);
    let mut attributes = attribute_changes(old, new);
    let of_values = hazards::of_values(old, new);
    let rebuilt = tables.iter().any(|table| table.name == new.table.name && table.moves_items());
    let is_primary = |change: &&KeyChange| new.table.primary().has_attribute(&change.attribute);
    let fills = |change: &AttributeChange| match change {
        AttributeChange::Added { optional, .. } => !optional,
        AttributeChange::Retyped { .. } | AttributeChange::Renamed { .. } => true,
        AttributeChange::Removed { .. } => false,
    };
    let type_changes = type_changes(old, new);
    let items = if old.table.name != new.table.name || rebuilt {
        ItemChange::Moved { from: old.table.name.clone(), to: new.table.name.clone() }
    } else if keys.iter().any(|change| is_primary(&change)) {
        ItemChange::Rekeyed
    } else if !keys.is_empty() || !type_changes.is_empty() || attributes.iter().any(fills) {
        ItemChange::Rewritten
    } else {
        ItemChange::Untouched
    };
    let mut hazards = hazards::of_keys(old, new, &items, &keys, &attributes);
    hazards.extend(of_values);
    attributes.extend(type_changes);
    let mut diff = only(new, items, old.volume.count);
    diff.write_units = write_units(old, new, &diff.items, &keys);
    EntityDiff { keys, attributes, hazards, ..diff }
}

/// What happens to the attribute that names an item's entity.
fn type_changes(old: &Entity, new: &Entity) -> Vec<AttributeChange> {
    let (before, after) = (&old.table.type_attribute, &new.table.type_attribute);
    if before == after && (old.name == new.name || after.is_none()) {
        return Vec::new();
    }
    let gone = before.iter().filter(|_| before != after);
    let gone = gone.map(|name| AttributeChange::Removed { name: name.clone() });
    let set =
        after.iter().map(|name| AttributeChange::Added { name: name.clone(), optional: false });
    gone.chain(set).collect()
}

fn key_changes(old: &Entity, new: &Entity) -> Vec<KeyChange> {
    let change = |attribute: &str, kind, before: Option<&EntityKey>, after: Option<&EntityKey>| {
        let holder = if after.is_some() { new } else { old };
        let indexes = holder.table.indexes.iter();
        KeyChange {
            attribute: attribute.to_owned(),
            kind,
            indexes: indexes
                .filter(|index| index.has_attribute(attribute))
                .map(|index| index.label().to_owned())
                .collect(),
            before: before.map(|key| written(old, key)),
            after: after.map(|key| written(new, key)),
        }
    };
    paired(&old.keys, &new.keys, |key| &key.attribute)
        .into_iter()
        .filter_map(|pair| match pair {
            Pair::Both(before, after) => (!same_key(old, before, new, after)).then(|| {
                let mut change =
                    change(&after.attribute, KeyMove::Recomputed, Some(before), Some(after));
                // The same text may mean something else: then the formats tell.
                if change.before == change.after {
                    change.before = Some(spelled_out(before, after));
                    change.after = Some(spelled_out(after, before));
                }
                change
            }),
            Pair::Added(after) => Some(change(&after.attribute, KeyMove::Joins, None, Some(after))),
            Pair::Removed(before) => {
                Some(change(&before.attribute, KeyMove::Leaves, Some(before), None))
            }
        })
        .collect()
}

/// The template as the design writes it, with the shards of its fields and the condition under which it is written.
fn written(entity: &Entity, key: &EntityKey) -> String {
    let template = key.shape.template();
    let mut text = format!("\"{}\"", template.text());
    for field in template.fields() {
        if let Some(FieldKind::Shard(shards)) = entity.field(field).map(|field| &field.kind) {
            let _ = match shards.by.as_slice() {
                [] => write!(text, " ({} random shards)", shards.count),
                by => write!(text, " ({} shards by {})", shards.count, by.join(", ")),
            };
        }
    }
    if let Some(when) = &key.when {
        let _ = write!(text, " when {when}");
    }
    text
}

/// A template that is written like another and makes other keys: with the formats in which they differ, and how values
/// are escaped if that differs.
fn spelled_out(key: &EntityKey, other: &EntityKey) -> String {
    let (own, other) = (key.shape.template(), other.shape.template());
    let mut text = String::from("\"");
    for (piece, other) in own.pieces().iter().zip(other.pieces()) {
        let _ = match (piece, other) {
            (Piece::Field(own), Piece::Field(other)) if own.format() != other.format() => {
                write!(text, "{{{}:{}}}", own.name(), own.format())
            }
            (Piece::Field(own), _) => write!(text, "{{{}}}", own.name()),
            (Piece::Literal(literal), _) => {
                write!(text, "{}", literal.replace('{', "{{").replace('}', "}}"))
            }
        };
    }
    text.push('"');
    if own.escape() != other.escape() {
        let _ = write!(text, " with escape {}", own.escape().as_str());
    }
    text
}

/// Whether both write the same value into every item.
pub(crate) fn same_key(was: &Entity, old: &EntityKey, is: &Entity, new: &EntityKey) -> bool {
    let (before, after) = (old.shape.template(), new.shape.template());
    let shards = |entity: &Entity, name: &str| match entity.field(name).map(|field| &field.kind) {
        Some(FieldKind::Shard(shards)) => Some(shards.clone()),
        _ => None,
    };
    let same_piece = |(old, new): (&Piece, &Piece)| match (old, new) {
        (Piece::Literal(old), Piece::Literal(new)) => old == new,
        (Piece::Field(old), Piece::Field(new)) => {
            same_field(was, old.name(), is, new.name())
                && same_format(old.format(), new.format())
                && shards(was, old.name()) == shards(is, new.name())
        }
        _ => false,
    };
    let escapes = before.field_pieces().any(|field| may_hold_separator(field.format()));
    old.shape.is_native() == new.shape.is_native()
        && old.when.as_ref().map(ToString::to_string) == new.when.as_ref().map(ToString::to_string)
        && before.pieces().len() == after.pieces().len()
        && before.pieces().iter().zip(after.pieces()).all(same_piece)
        && (!escapes
            // What was refused before is in no stored key.
            || (matches!(before.escape(), Escape::Reject) || before.escape() == after.escape())
                && before.template().separator() == after.template().separator())
}

/// Whether a field of one entity is a field of the other, maybe under another name.
fn same_field(was: &Entity, old: &str, is: &Entity, new: &str) -> bool {
    former(was, is, new) == old || former(is, was, old) == new
}

/// Whether both write a value in the same way. The greatest length of a text changes no key.
fn same_format(before: &FieldFormat, after: &FieldFormat) -> bool {
    let texts = before.is_text() && after.is_text();
    before == after
        || (texts
            && before.kind() == after.kind()
            && before.case() == after.case()
            && before.is_desc() == after.is_desc())
}

fn attribute_changes(old: &Entity, new: &Entity) -> Vec<AttributeChange> {
    let stored = |entity: &Entity| -> Vec<Field> {
        entity.fields.iter().filter(|field| field.is_stored()).cloned().collect()
    };
    let mut after = stored(new);
    let renamed = renamed_fields(old, new);
    let mut changes: Vec<AttributeChange> = Vec::new();
    // A renamed attribute is compared under the name that it had.
    for field in &mut after {
        if let Some((before, name)) = renamed.iter().find(|(_, name)| *name == field.name) {
            let (before, after) = (before.clone(), name.clone());
            field.name.clone_from(&before);
            changes.push(AttributeChange::Renamed { before, after });
        }
    }
    let before = stored(old);
    let pairs = paired(&before, &after, |field| &field.name);
    changes.extend(pairs.into_iter().filter_map(|pair| match pair {
        Pair::Both(before, after) => {
            // The same attribute value, however keys write it.
            let same = before.comparison_class() == after.comparison_class();
            (!same).then(|| AttributeChange::Retyped {
                name: after.name.clone(),
                before: before.type_name(),
                after: after.type_name(),
            })
        }
        Pair::Added(after) => {
            Some(AttributeChange::Added { name: after.name.clone(), optional: after.optional })
        }
        Pair::Removed(before) => Some(AttributeChange::Removed { name: before.name.clone() }),
    }));
    changes
}

/// Write units for one stored item.
fn write_units(old: &Entity, new: &Entity, items: &ItemChange, keys: &[KeyChange]) -> f64 {
    let before = item_size(old).ceil() as usize;
    let after = item_size(new).ceil() as usize;
    let sum = |units: &mut dyn Iterator<Item = Units>| units.sum::<Units>().as_f64();
    let global = |entity: &Entity, change: &dyn Fn(usize) -> IndexChange| {
        let entries = entity.table.indexes.iter().filter(|index| index.kind != IndexKind::Primary);
        let entries = entries.filter(|index| entity.index_key(index).is_some());
        sum(&mut entries
            .filter_map(|index| change(entry_size(entity, index).ceil() as usize).units()))
    };
    match items {
        ItemChange::Untouched | ItemChange::Added | ItemChange::Removed => 0.0,
        ItemChange::Rewritten => {
            let table = item_write_units(Some(before), Some(after)).as_f64();
            table
                + sum(&mut new
                    .table
                    .indexes
                    .iter()
                    .filter_map(|index| index_units(old, new, index, keys)))
        }
        // One transaction: the new item and the deletion of the old one, twice the units on the table.
        ItemChange::Rekeyed => {
            let put = item_write_units(None, Some(after)).transactional().as_f64();
            let delete = item_write_units(Some(before), None).transactional().as_f64();
            put + delete
                + global(new, &|bytes| IndexChange::Insert { bytes })
                + global(old, &|bytes| IndexChange::Delete { bytes })
        }
        // The old table goes as a whole.
        ItemChange::Moved { .. } => {
            item_write_units(None, Some(after)).as_f64()
                + global(new, &|bytes| IndexChange::Insert { bytes })
        }
    }
}

/// What rewriting an item in place does to its entry in one index.
fn index_units(old: &Entity, new: &Entity, index: &Index, keys: &[KeyChange]) -> Option<Units> {
    if index.kind == IndexKind::Primary {
        return None;
    }
    let was_there = old.table.indexes.iter().find(|before| before.name == index.name);
    let before = was_there.filter(|before| old.index_key(before).is_some());
    let after = new.index_key(index).map(|_| entry_size(new, index).ceil() as usize);
    let moved = keys.iter().any(|change| index.has_attribute(&change.attribute));
    let change = match (before.map(|before| entry_size(old, before).ceil() as usize), after) {
        (None, Some(bytes)) => IndexChange::Insert { bytes },
        (Some(bytes), None) => IndexChange::Delete { bytes },
        (Some(old_bytes), Some(new_bytes)) if moved => IndexChange::Move { old_bytes, new_bytes },
        _ => return None,
    };
    change.units()
}

/// What changing all stored items costs: a scan of every table with such items, and the writes.
pub(super) fn total(old: &Design, entities: &[EntityDiff], prices: &Prices) -> Effort {
    let mut effort = Effort::default();
    for table in old.tables() {
        let stored: Vec<_> = old.entities_in(table).collect();
        let is_changed = |entity: &Entity| {
            entities.iter().any(|diff| diff.old_name() == entity.name && diff.writes_items())
        };
        if !stored.iter().any(|entity| is_changed(entity)) {
            continue;
        }
        let class = prices.class(table.class);
        let bytes: f64 =
            stored.iter().filter_map(|entity| Some(entity.volume.count? * item_size(entity))).sum();
        let reads = bytes / READ_UNIT_BYTES as f64 * read_units(1, ReadMode::Eventual).as_f64();
        let mut writes = 0.0;
        for diff in entities.iter().filter(|diff| diff.writes_items()) {
            let Some(entity) = stored.iter().find(|entity| entity.name == diff.old_name()) else {
                continue;
            };
            match entity.volume.count {
                Some(count) => {
                    effort.items += count;
                    writes += count * diff.write_units;
                }
                None => effort.is_partial = true,
            }
        }
        effort.read_units += reads;
        effort.write_units += writes;
        effort.dollars += reads / 1e6 * class.read_million + writes / 1e6 * class.write_million;
    }
    effort
}
