//! Designs as OneTable schemas, format 1.1.

use serde_json::{Map, Value as Json, json};

use super::{attribute_type, template, unread};
use crate::exchange::Lost;
use crate::model::{Design, Entity, Field, FieldKind, Index, IndexKind, Projection, Table};

pub(super) fn schema(design: &Design, lost: &mut Vec<Lost>) -> Json {
    let Some(table) = design.tables().first() else { return Json::Null };
    for other in design.tables().iter().skip(1) {
        let why = "a schema has one table: export the others from designs of their own";
        lost.push(Lost::new(format!("table {}", other.name), why));
    }
    let mut indexes = Map::new();
    for it in &table.indexes {
        if it.hash.len() > 1 || it.range.len() > 1 {
            let why = "the format has no keys of several attributes";
            lost.push(Lost::new(format!("index {}", it.label()), why));
        } else {
            let is_primary = it.kind == IndexKind::Primary;
            indexes.insert(if is_primary { "primary" } else { it.label() }.to_owned(), index(it));
        }
    }
    let models: Map<String, Json> = design
        .entities_in(table)
        .map(|entity| (entity.name.clone(), model(entity, lost)))
        .collect();
    if table.type_attribute.is_none() {
        let why =
            "OneTable writes the name of the model into `_type`, which the design does not have";
        lost.push(Lost::new(format!("table {}", table.name), why));
    }
    unread(design, lost, &[]);
    json!({
        "format": "onetable:1.1.0", "version": "0.0.1", "indexes": indexes, "models": models,
        "params": {
            "isoDates": true, "timestamps": false,
            "typeField": table.type_attribute.as_deref().unwrap_or("_type"),
        },
    })
}

fn index(index: &Index) -> Json {
    let mut entry = Map::new();
    let local = index.kind == IndexKind::Local;
    entry.extend(
        index.hash.first().filter(|_| !local).map(|it| ("hash".to_owned(), json!(it.name))),
    );
    entry.extend(index.range.first().map(|it| ("sort".to_owned(), json!(it.name))));
    if local {
        entry.insert("type".to_owned(), json!("local"));
    }
    match &index.projection {
        Projection::All => {}
        Projection::Keys => drop(entry.insert("project".to_owned(), json!("keys"))),
        Projection::Include(names) => drop(entry.insert("project".to_owned(), json!(names))),
    }
    Json::Object(entry)
}

fn model(entity: &Entity, lost: &mut Vec<Lost>) -> Json {
    let mut fields = Map::new();
    let write = |name: &str, width: Option<usize>| match width {
        Some(width) => format!("${{{name}:{width}:0}}"),
        None => format!("${{{name}}}"),
    };
    for key in entity.keys.iter().filter(|key| !key.shape.is_native()) {
        let value = template(entity, key, true, write, lost);
        fields.insert(key.attribute.clone(), json!({ "type": "string", "value": value }));
    }
    for field in &entity.fields {
        if field.is_stored() {
            fields.insert(field.name.clone(), described(&entity.table, field));
            continue;
        }
        if !matches!(field.kind, FieldKind::Shard(_)) {
            let what = format!("entity {}: {}: key_only", entity.name, field.name);
            lost.push(Lost::new(what, "OneTable stores every field that a template names"));
        }
        fields.insert(field.name.clone(), json!({ "type": "string", "required": true }));
    }
    Json::Object(fields)
}

fn described(table: &Table, field: &Field) -> Json {
    let kind = match attribute_type(field) {
        "N" => "number",
        "B" => "binary",
        "BOOL" => "boolean",
        "L" => "array",
        "M" => "object",
        "SS" | "NS" => "set",
        _ => "string",
    };
    let mut entry = Map::new();
    entry.insert("type".to_owned(), json!(kind));
    if let Some(values) = field.values() {
        entry.insert("enum".to_owned(), json!(values));
    }
    if !field.optional {
        entry.insert("required".to_owned(), json!(true));
    }
    if table.ttl.as_deref() == Some(&field.name) {
        entry.insert("ttl".to_owned(), json!(true));
    }
    Json::Object(entry)
}
