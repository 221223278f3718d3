//! What generated code must do with a design: the rows, their items, and calls with the rows that they return.

use std::path::Path;

use keyloom::{Backend, PlanRunner, Retry};
use keyloom_core::Item;
use keyloom_core::json::write_item;
use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::emit::create_table;
use keyloom_design::evaluate::{Inputs, Row, item_label};
use keyloom_design::generate::{GenerateOptions, generate, inputs_for};
use keyloom_design::model::{Access, Entity, Field};
use keyloom_design::plan::{Plan, RawForm, Verdict, plan};
use keyloom_engine::Database;
use keyloom_keys::Value;
use serde_json::{Map, Value as Json, json};

#[path = "changes.rs"]
mod changes;

/// Few items keep the suite fast; `KEYLOOM_ITEMS` asks for more.
const ITEMS: usize = 60;
const CALLS: usize = 6;

/// The name of a design's module.
pub(crate) fn module_name(design: &Path) -> String {
    design.file_stem().unwrap().to_string_lossy().replace('-', "_")
}

/// The cases of a design file.
pub(crate) fn of_design(file: &Path) -> Json {
    let text = std::fs::read_to_string(file).unwrap();
    let design = Design::parse("design.toml", &text).0.unwrap();
    let plans = plan(&design, &Prices::default());
    let items = std::env::var("KEYLOOM_ITEMS").ok().and_then(|items| items.parse().ok());
    let options = GenerateOptions { items: items.unwrap_or(ITEMS), seed: 7, adversarial: true };
    let rows = generate(&design, &options);
    let database = loaded(&design, &rows);
    let tables = design.tables().iter().map(|table| create_table(table));
    let entities = design.entities().iter().map(|entity| (entity.name.clone(), fields(entity)));
    let patterns = design.accesses().iter().zip(&plans);
    json!({
        "module": module_name(file),
        "life": changes::of_design(&design, &rows),
        "entity_life": changes::of_entities(&design, &rows),
        "tables": tables.collect::<Vec<_>>(),
        "entities": entities.collect::<Map<_, _>>(),
        // Random rows are not unique: those with rules for that are written as they are here.
        "guards": design.uniques().iter().flat_map(|rule| {
            std::iter::once(&rule.entity).chain(&rule.by).map(|entity| entity.name.clone())
        }).collect::<Vec<_>>(),
        "rows": rows.iter().map(|row| json!({
            "entity": row.entity.name,
            "values": texts(row),
            "table": row.entity.table.name,
            "item": wire(&row.item()),
        })).collect::<Vec<_>>(),
        "patterns": patterns.map(|(access, plan)| {
            pattern(&database, access, plan, &rows)
        }).collect::<Vec<_>>(),
    })
}

fn loaded(design: &Design, rows: &[Row]) -> Database {
    let database = Database::memory();
    let call = |operation: &str, body: &Json| {
        let target = format!("DynamoDB_20120810.{operation}");
        let reply = database.call(&target, body.to_string().as_bytes());
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    };
    for table in design.tables() {
        call("CreateTable", &create_table(table));
    }
    for row in rows {
        call("PutItem", &json!({ "TableName": row.entity.table.name, "Item": wire(&row.item()) }));
    }
    database
}

fn wire(item: &Item) -> Json {
    let mut bytes = Vec::new();
    write_item(item, &mut bytes);
    serde_json::from_slice(&bytes).unwrap()
}

/// The types of an entity's fields.
fn fields(entity: &Entity) -> Json {
    let types = entity.fields.iter().map(|field| (field.name.clone(), json!(field.type_name())));
    Json::Object(types.collect())
}

fn texts(row: &Row) -> Json {
    let values = row.values.iter().map(|(name, value)| (name.clone(), json!(value.to_string())));
    Json::Object(values.collect())
}

fn pattern(database: &Database, access: &Access, plan: &Plan, rows: &[Row]) -> Json {
    let asked = access.asked().unwrap();
    let (backend, retry) = (Backend::from(database), Retry::never());
    let runner = PlanRunner::new(&backend, &retry);
    let calls = calls(access, plan, rows).into_iter().map(|inputs| {
        let returned = runner.run(access, plan, &inputs);
        let returned = returned.map(|answer| found(access, rows, &answer.items));
        json!({
            "inputs": inputs.iter().map(|(name, value)| (name.clone(), input(asked, access, name, value))).collect::<Map<_, _>>(),
            "rows": returned.as_ref().ok(),
            "error": returned.as_ref().err().map(ToString::to_string),
        })
    });
    json!({
        "name": access.name,
        "returns": access.returns,
        "single": plan.verdict == Verdict::Get,
        "several": access.find.len() > 1,
        "paged": access.alternatives.is_empty() && plan.raw.is_none(),
        "calls": calls.collect::<Vec<_>>(),
    })
}

fn calls(access: &Access, plan: &Plan, rows: &[Row]) -> Vec<Inputs> {
    let asked = access.asked().unwrap();
    let mine = rows.iter().find(|row| row.entity.name == asked.name);
    let mut calls = inputs_for(access, rows, 7, CALLS);
    for inputs in &mut calls {
        // A hand-written request may name inputs that no condition declares.
        for name in plan.raw.iter().flat_map(RawForm::inputs) {
            if let Some(value) = mine.and_then(|row| row.values.get(&name)) {
                inputs.entry(name).or_insert_with(|| value.clone());
            }
        }
    }
    calls
}

/// An input with the type of the field that it is for.
fn input(asked: &Entity, access: &Access, name: &str, value: &Value) -> Json {
    let declared = access.inputs.iter().find(|input| input.name == name);
    let field = declared.map_or(name, |input| input.field.as_str());
    let kind = asked.field(field).map_or_else(|| "string".to_owned(), Field::type_name);
    json!({ "type": if value.as_str().is_some() { text_type(&kind) } else { &kind }, "text": value.to_string() })
}

/// The type of a value that is given as text: lists and sets are asked for one of their elements.
fn text_type(kind: &str) -> &str {
    match kind {
        "list" | "string_set" | "map" => "string",
        "number_set" => "number",
        kind => kind,
    }
}

/// The rows that were stored as these items, as they are read back.
fn found(access: &Access, rows: &[Row], items: &[Item]) -> Json {
    let of = |item: &Item| {
        let table = &access.find.first().unwrap().table;
        let label = item_label(table, item);
        let row =
            rows.iter().find(|row| row.entity.table.name == table.name && row.label() == label);
        let row = row.unwrap();
        let stored = Row::from_item(&row.entity, &row.item());
        json!({ "entity": row.entity.name, "values": texts(&stored) })
    };
    Json::Array(items.iter().map(of).collect())
}
