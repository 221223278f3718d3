//! Items for a design: as typed values for the oracle, and as the writer stores them for the engine.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use keyloom_core::json::write_item;
use keyloom_core::{AttributeValue, Item};
use keyloom_design::Design;
use keyloom_design::evaluate::Row;
use keyloom_design::generate;
use keyloom_design::model::{Entity, Field, FieldKind};
use keyloom_design::oracle::{Datum, Record, shard_of};
use keyloom_keys::{Case, Value};

use crate::random::Random;
use crate::values::datum;

/// Records with the items that were written of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Population {
    pub(crate) records: Vec<Record>,
    pub(crate) items: Vec<Item>,
}

impl Population {
    /// Keeps what can be written, and of two items with one key the first.
    pub(crate) fn new(records: impl IntoIterator<Item = Record>) -> Self {
        let mut population = Self::default();
        let mut taken = HashSet::new();
        for record in records {
            let row = row_of(&record);
            if row.is_writable() && taken.insert((record.entity.table.name.clone(), row.label())) {
                population.items.push(item_of(&record, &row));
                population.records.push(record);
            }
        }
        population
    }

    /// Random items of every entity.
    pub(crate) fn random(design: &Design, random: &mut Random, each: usize) -> Self {
        let mut records = Vec::new();
        for entity in design.entities() {
            let shares: Vec<usize> =
                entity.fields.iter().map(|_| *random.pick(&[20, 60, 90])).collect();
            for _ in 0..each {
                records.push(record(random, entity, &shares, &records));
            }
        }
        Self::new(records)
    }
}

fn record(
    random: &mut Random,
    entity: &Arc<Entity>,
    shares: &[usize],
    others: &[Record],
) -> Record {
    // Some rows share all but a few values with another, so that they meet in ranges and links lead somewhere.
    let model = if random.percent(60) { random.some(others) } else { None };
    let mut values = BTreeMap::new();
    for (field, share) in entity.fields.iter().zip(shares) {
        if field.optional && !random.percent(*share) {
            continue;
        }
        let copied = model.filter(|_| random.percent(70)).and_then(|model| {
            let same =
                model.entity.field(&field.name).is_some_and(|other| other.kind == field.kind);
            model.values.get(&field.name).filter(|_| same).cloned()
        });
        if let Some(value) = copied.or_else(|| datum(random, field)) {
            values.insert(field.name.clone(), value);
        }
    }
    let mut record = Record { entity: entity.clone(), values };
    set_shards(&mut record);
    record
}

/// Calculated shards follow from the other fields.
pub(crate) fn set_shards(record: &mut Record) {
    let entity = record.entity.clone();
    for field in &entity.fields {
        let FieldKind::Shard(shards) = &field.kind else { continue };
        if shards.by.is_empty() {
            continue;
        }
        match shard_of(&entity, shards, record) {
            Some(shard) => {
                record.values.insert(field.name.clone(), Datum::Scalar(Value::from(shard)));
            }
            None => {
                record.values.remove(&field.name);
            }
        }
    }
}

/// A value as the writer takes it; documents are put into the item afterwards.
fn plain(datum: &Datum) -> Value<'static> {
    match datum {
        Datum::Scalar(value) => value.clone(),
        Datum::Document(AttributeValue::N(number)) => {
            let text = number.to_string();
            text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from)
        }
        Datum::Document(AttributeValue::B(bytes)) => Value::from(bytes.clone()),
        Datum::Document(_) => Value::from("document".to_owned()),
    }
}

/// A record as a program writes it, which does not fold what its field folds.
fn row_of(record: &Record) -> Row {
    let unfolded = |name: &str, datum: &Datum| {
        let case = record.entity.field(name).and_then(Field::format).map(|format| format.case());
        match (plain(datum), case) {
            (Value::Text(text), Some(Case::Lower)) => Value::from(text.to_ascii_uppercase()),
            (Value::Text(text), Some(Case::Upper)) => Value::from(text.to_ascii_lowercase()),
            (value, _) => value,
        }
    };
    let values =
        record.values.iter().map(|(name, datum)| (name.clone(), unfolded(name, datum))).collect();
    let mut row = Row { entity: record.entity.clone(), values };
    generate::set_shards(&mut row);
    row
}

fn item_of(record: &Record, row: &Row) -> Item {
    let mut item = row.item();
    let key_attributes = record.entity.table.key_attributes();
    for (name, datum) in &record.values {
        let is_key = key_attributes.iter().any(|key| key.name == *name);
        let key_only = record.entity.field(name).is_some_and(|field| field.key_only);
        if let (Datum::Document(document), false) = (datum, is_key || key_only) {
            item.insert(name.as_str(), document.clone());
        }
    }
    item
}

/// An item as DynamoDB JSON.
pub(crate) fn wire(item: &Item) -> serde_json::Value {
    let mut bytes = Vec::new();
    write_item(item, &mut bytes);
    serde_json::from_slice(&bytes).unwrap()
}
