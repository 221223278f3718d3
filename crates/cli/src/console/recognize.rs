//! What items are in a design: their entity, the fields in their keys, and the items that they refer to.

use std::sync::Arc;

use keyloom::Item;
use keyloom_core::{AttributeValue, json as wire};
use keyloom_design::Design;
use keyloom_design::evaluate::{Row, entity_of, stranger, typed};
use keyloom_design::key::{Piece, attribute_of};
use keyloom_design::model::{Entity, EntityKey, Field, FieldKind};
use keyloom_server::ConsoleReply;
use serde_json::{Map, Value as Json, json};

use super::{Answer, DesignConsole, Refusal, body, text, usable};
use crate::trial::{wire_item, wire_value};

/// Items that one question may be about.
const MOST: usize = 5000;

impl DesignConsole {
    pub(super) fn recognize(&self, name: &str, bytes: &[u8]) -> Answer {
        let report = self.usable(name)?;
        let design = usable(&report)?;
        let body = body(bytes)?;
        let table = text(&body, "table")?;
        let items = body.get("items").and_then(Json::as_array);
        let items = items.ok_or_else(|| Refusal::wrong("The body must have the list `items`"))?;
        if items.len() > MOST {
            return Err(Refusal::wrong(format_args!(
                "There are more than {MOST} items; ask in parts"
            )));
        }
        let entity = match body.get("entity").and_then(Json::as_str) {
            Some(name) => Some(entity(design, table, name)?),
            None => None,
        };
        let known = items.iter().enumerate().map(|(number, item)| {
            let item = item_of(item).ok_or_else(|| {
                Refusal::wrong(format_args!("Item {number} is not DynamoDB JSON"))
            })?;
            Ok(match entity {
                Some(entity) => remade(design, entity, item),
                None => recognized(design, table, &item),
            })
        });
        Ok(ConsoleReply::json(&Json::Array(known.collect::<Result<_, Refusal>>()?)))
    }
}

/// The entity with this name in a table.
fn entity<'d>(design: &'d Design, table: &str, name: &str) -> Result<&'d Arc<Entity>, Refusal> {
    let mut all = design.entities().iter();
    all.find(|entity| entity.name == name && entity.table.name == table).ok_or_else(|| {
        Refusal::wrong(format_args!("The design has no entity `{name}` in the table `{table}`"))
    })
}

/// What the design says of an item of this entity with the keys that its fields make, and that item; why not, if they make
/// none.
fn remade(design: &Design, entity: &Arc<Entity>, item: Item) -> Json {
    match made(entity, item) {
        Ok(item) => {
            let mut known = recognized(design, &entity.table.name, &item);
            if let Json::Object(members) = &mut known {
                members.insert("made".to_owned(), wire_item(&item));
            }
            known
        }
        Err(reason) => json!({
            "entity": null, "fields": {}, "keys": [], "references": [], "problems": [reason], "made": null,
        }),
    }
}

/// An item with the keys that its fields make.
fn made(entity: &Arc<Entity>, mut item: Item) -> Result<Item, String> {
    let unstored = || entity.fields.iter().filter(|field| !field.is_stored());
    let is_key = |field: &&Field| entity.key(&field.name).is_some();
    let is_calculated =
        |field: &&Field| matches!(&field.kind, FieldKind::Shard(shards) if !shards.by.is_empty());
    let is_shard = |field: &&Field| matches!(field.kind, FieldKind::Shard(_));
    // Users do not enter shards: most are calculated from other fields, and a random one keeps the value in the key.
    for field in unstored().filter(|it| is_calculated(it) || is_shard(it) && !is_key(it)) {
        item.remove(&field.name);
    }
    let told = Row::from_item(entity, &item);
    for key in entity.keys.iter().filter(|key| !key.shape.is_native()) {
        item.remove(&key.attribute);
    }
    for field in unstored().filter(|field| !is_calculated(field)) {
        if let Some(value) = told.values.get(&field.name) {
            item.insert(field.name.as_str(), attribute_of(field, value));
        }
    }
    let mut item = typed(entity, item)?;
    for field in unstored().filter(|field| !is_key(field)) {
        item.remove(&field.name);
    }
    Ok(item)
}

/// An item from DynamoDB JSON.
fn item_of(item: &Json) -> Option<Item> {
    let text = item.to_string();
    let parsed = wire::parse(text.as_bytes()).ok()?;
    wire::item_from(&parsed).ok()
}

/// What the design says of an item.
pub(super) fn recognized(design: &Design, table: &str, item: &Item) -> Json {
    let Some(entity) = entity_of(design, table, item) else {
        let known = design.tables().iter().find(|it| it.name == table);
        let problem = match known {
            Some(table) => stranger(table, item),
            None => format!("the design has no table `{table}`"),
        };
        return json!({
            "entity": null, "fields": {}, "keys": [], "references": [], "problems": [problem],
        });
    };
    let row = Row::from_item(entity, item);
    let fields = entity.fields.iter().filter_map(|field| {
        let value = attribute_of(field, row.values.get(&field.name)?);
        Some((field.name.clone(), wire_value(&value)))
    });
    let fields: Map<String, Json> = fields.collect();
    let keys = entity.keys.iter().filter_map(|key| {
        let value = item.get(&key.attribute)?;
        Some(json!({ "attribute": key.attribute, "parts": parts(key, &row, value) }))
    });
    json!({
        "entity": entity.name,
        "fields": fields,
        "keys": keys.collect::<Vec<_>>(),
        "references": references(design, entity, &row),
        // What would be refused if it were written as it is.
        "problems": typed(entity, item.clone()).err().into_iter().collect::<Vec<_>>(),
    })
}

/// The pieces of a key's text; one piece where it cannot be told apart.
fn parts(key: &EntityKey, row: &Row, value: &AttributeValue) -> Json {
    let AttributeValue::S(whole) = value else {
        let field = key.shape.template().fields().next();
        return json!([{ "text": shown(value), "field": field }]);
    };
    let template = key.shape.template();
    let mut parts = Vec::new();
    let mut joined = String::new();
    for piece in template.pieces() {
        let (text, part) = match piece {
            Piece::Literal(text) => (text.clone(), json!({ "text": text, "literal": true })),
            Piece::Field(field) => {
                let value = row.values.get(field.name());
                let text = value.and_then(|value| template.encode_field(field, value));
                let text = text.unwrap_or_default();
                (text.clone(), json!({ "text": text, "field": field.name() }))
            }
        };
        joined.push_str(&text);
        parts.push(part);
    }
    if joined == **whole { json!(parts) } else { json!([{ "text": &**whole, "literal": true }]) }
}

fn shown(value: &AttributeValue) -> String {
    match value {
        AttributeValue::N(number) => number.to_string(),
        other => wire_value(other).to_string(),
    }
}

/// The items of other entities whose whole identity the row has.
fn references(design: &Design, entity: &Arc<Entity>, row: &Row) -> Json {
    let leads_to = |other: &&Arc<Entity>| {
        let identity = other.identity();
        other.name != entity.name
            && !identity.is_empty()
            && identity.iter().all(|name| other.is_told_by(entity, name))
            // A child's own key leads to its parent; the other way round there is nothing to follow.
            && identity != entity.identity()
    };
    let found = design.entities().iter().filter(leads_to).filter_map(|other| {
        let link = Row { entity: Arc::clone(other), values: row.values.clone() };
        let primary = other.table.primary();
        let values = link.index_values(primary)?;
        let key: Map<String, Json> = primary
            .attributes()
            .zip(&values)
            .map(|(attribute, value)| (attribute.name.clone(), wire_value(value)))
            .collect();
        Some(json!({
            "field": other.identity().last(),
            "fields": other.identity(),
            "entity": other.name,
            "table": other.table.name,
            "key": key,
        }))
    });
    found.collect()
}
