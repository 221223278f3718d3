//! A case: a design, rows, one pattern with inputs; it can be judged, made smaller, written down and read again.

use std::collections::BTreeMap;

use keyloom_core::AttributeValue;
use keyloom_core::json::{self as wire_json, value_from, write_value};
use keyloom_design::Design;
use keyloom_design::model::{Entity, FieldKind};
use keyloom_design::oracle::{Datum, Record};
use serde_json::{Map, Value as Json, json};

use crate::bed::shipped;
use crate::engine::Engine;
use crate::inputs::{Texts, typed};
use crate::population::{Population, set_shards};
use crate::trial::{Outcome, call};
use crate::values::datum_from;

/// The values of a row by field.
pub(crate) type Values = BTreeMap<String, Datum>;

/// Everything but the design.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) pattern: String,
    pub(crate) inputs: Texts,
    /// Entities by name, with values.
    pub(crate) rows: Vec<(String, Values)>,
}

impl Case {
    /// Runs the case; nothing if it makes no sense for this design.
    pub(crate) fn outcome(&self, design: &Design) -> Option<Outcome> {
        let mut population = Population::new(self.records(design));
        if population.records.len() != self.rows.len() {
            return None;
        }
        let access = design.access(&self.pattern)?;
        let plan = shipped(design).into_iter().find(|plan| plan.name == self.pattern)?;
        let engine = Engine::new(design, &mut population).ok()?;
        let inputs = typed(access, &self.inputs)?;
        Some(call(&engine, &population, access, &plan, &inputs))
    }

    pub(crate) fn records(&self, design: &Design) -> Vec<Record> {
        let rows = self.rows.iter().filter_map(|(name, values)| {
            let entity = design.entity(name)?.clone();
            let known = values.iter().filter(|(field, _)| entity.field(field).is_some());
            let values: Values = known
                .filter_map(|(name, value)| {
                    Some((name.clone(), retyped(&entity.field(name)?.kind, value)?))
                })
                .collect();
            let whole = entity.fields.iter().all(|field| {
                field.optional || values.contains_key(&field.name) || is_shard(&field.kind)
            });
            let mut record = Record { entity, values };
            set_shards(&mut record);
            whole.then_some(record)
        });
        rows.collect()
    }

    pub(crate) fn to_json(&self) -> Json {
        let rows: Vec<Json> = self
            .rows
            .iter()
            .map(|(entity, values)| {
                let values: Map<String, Json> =
                    values.iter().map(|(field, datum)| (field.clone(), json_of(datum))).collect();
                json!({ "entity": entity, "values": values })
            })
            .collect();
        json!({ "pattern": self.pattern, "inputs": self.inputs, "rows": rows })
    }

    pub(crate) fn from_json(json: &Json, design: &Design) -> Self {
        let text = |json: &Json| json.as_str().unwrap().to_owned();
        let inputs = json["inputs"].as_object().unwrap().iter();
        let rows = json["rows"].as_array().unwrap().iter().map(|row| {
            let name = text(&row["entity"]);
            let entity = design.entity(&name).unwrap();
            let values = row["values"].as_object().unwrap().iter();
            (
                name,
                values
                    .map(|(field, json)| (field.clone(), datum_of(entity, field, json)))
                    .collect(),
            )
        });
        Self {
            pattern: text(&json["pattern"]),
            inputs: inputs.map(|(name, value)| (name.clone(), text(value))).collect(),
            rows: rows.collect(),
        }
    }
}

/// A value in the type that the field has now.
fn retyped(kind: &FieldKind, datum: &Datum) -> Option<Datum> {
    match datum {
        Datum::Scalar(value) => datum_from(kind, &value.to_string()),
        Datum::Document(_) => Some(datum.clone()),
    }
}

fn is_shard(kind: &FieldKind) -> bool {
    matches!(kind, FieldKind::Shard(shards) if !shards.by.is_empty())
}

/// Scalars as text, documents as DynamoDB JSON.
fn json_of(datum: &Datum) -> Json {
    match datum {
        Datum::Scalar(value) => json!(value.to_string()),
        Datum::Document(AttributeValue::N(number)) => json!(number.to_string()),
        Datum::Document(document) => {
            let mut bytes = Vec::new();
            write_value(document, &mut bytes);
            serde_json::from_slice(&bytes).unwrap()
        }
    }
}

fn datum_of(entity: &Entity, field: &str, json: &Json) -> Datum {
    let kind =
        &entity.field(field).unwrap_or_else(|| panic!("{} has no field {field}", entity.name)).kind;
    match json {
        Json::String(text) => {
            datum_from(kind, text).unwrap_or_else(|| panic!("{text} is not a value of {field}"))
        }
        document => {
            let text = document.to_string();
            let parsed = wire_json::parse(text.as_bytes()).unwrap();
            Datum::Document(value_from(&parsed).unwrap())
        }
    }
}
