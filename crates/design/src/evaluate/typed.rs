//! Stored items read with a design: whose they are, whether their attributes are of the types that it says, and the
//! keys that follow from them.

use std::sync::Arc;

use keyloom_core::json::{self, Json};
use keyloom_core::{AttributeType, AttributeValue, Item, Number};
use keyloom_keys::{FieldFormat, FieldType, Value, stable_hash};

use super::{Row, item_label};
use crate::generate::set_shards;
use crate::key::attribute_of;
use crate::model::{Design, Entity, Field, FieldKind, Table};

/// Whether an item is one of an entity's, by its type attribute and its primary key.
pub(crate) fn is_of(entity: &Entity, table: &str, item: &Item) -> bool {
    if entity.table.name != table {
        return false;
    }
    let kind = entity.table.type_attribute.as_deref().and_then(|name| item.get(name));
    if let Some(AttributeValue::S(kind)) = kind
        && *kind != entity.name
    {
        return false;
    }
    entity.primary_key().parts().all(|key| match item.get(&key.attribute) {
        Some(AttributeValue::S(text)) if !key.shape.is_native() => {
            key.shape.template().template().matches(text)
        }
        value => value.is_some() && key.shape.is_native(),
    })
}

/// The entity of an item in a table.
pub fn entity_of<'d>(design: &'d Design, table: &str, item: &Item) -> Option<&'d Arc<Entity>> {
    design.entities().iter().find(|entity| is_of(entity, table, item))
}

/// An item with its attributes in the types of the design, and with every key attribute that follows from them. Fails if
/// a value is of another type, if something is missing, or if a key says something else than the attributes.
pub fn typed(entity: &Arc<Entity>, mut item: Item) -> Result<Item, String> {
    for field in entity.fields.iter().filter(|field| field.is_stored()) {
        if let Some(stored) = item.get(&field.name) {
            let value = typed_value(field, stored)?;
            item.insert(field.name.as_str(), value);
        }
    }
    let mut row = Row::from_item(entity, &item);
    draw_shards(&mut row);
    set_shards(&mut row);
    for field in entity.fields.iter().filter(|field| field.is_stored() && !field.optional) {
        match row.values.get(&field.name) {
            Some(value) if !item.contains_key(&field.name) => {
                item.insert(field.name.as_str(), attribute_of(field, value));
            }
            None if !item.contains_key(&field.name) => {
                return Err(format!("`{}` of {} is missing", field.name, entity.name));
            }
            _ => {}
        }
    }
    add_keys(&row, &mut item)?;
    if let Some(name) = &entity.table.type_attribute {
        item.insert(name.as_str(), entity.name.as_str());
    }
    Ok(item)
}

/// Adds the key attributes that an item does not have, and compares those that it has.
fn add_keys(row: &Row, item: &mut Item) -> Result<(), String> {
    let entity = &row.entity;
    for attribute in entity.table.key_attributes() {
        let Some(key) = entity.key(&attribute.name) else { continue };
        // A field that is a key by itself is stored as it is; only shards are filled in.
        let is_given = || entity.field(&attribute.name).is_none_or(Field::is_stored);
        if key.shape.is_native() && (item.contains_key(&attribute.name) || is_given()) {
            continue;
        }
        let made = row.key_attribute(key, attribute.kind);
        match (item.get(&attribute.name), made) {
            (Some(stored), Some(made)) if *stored != made => {
                return Err(format!(
                    "`{}` is {}, and the attributes of {} make {}",
                    attribute.name,
                    shown(stored),
                    entity.name,
                    shown(&made)
                ));
            }
            (None, Some(made)) => drop(item.insert(attribute.name.as_str(), made)),
            _ => {}
        }
    }
    let missing = entity.table.primary().attributes().find(|key| !item.contains_key(&key.name));
    let Some(key) = missing else { return Ok(()) };
    let mut fields =
        entity.key(&key.name).into_iter().flat_map(|key| key.shape.template().fields());
    let reason = match fields.find(|field| !row.values.contains_key(*field)) {
        Some(field) => format!("`{field}` is missing"),
        None => "a value of its template does not fit into a key".to_owned(),
    };
    Err(format!("`{}` of {} cannot be made: {reason}", key.name, entity.name))
}

/// A shard that the program draws is the same whenever the same row is read.
fn draw_shards(row: &mut Row) {
    let label: Vec<String> = row.values.values().map(ToString::to_string).collect();
    let parts: Vec<&str> = label.iter().map(String::as_str).collect();
    let entity = Arc::clone(&row.entity);
    for field in &entity.fields {
        if let FieldKind::Shard(shards) = &field.kind
            && shards.by.is_empty()
            && !row.values.contains_key(&field.name)
        {
            let drawn = (stable_hash(&parts) % u64::from(shards.count.max(1))) as u32;
            row.values.insert(field.name.clone(), Value::from(drawn));
        }
    }
}

/// A stored value in the type of its field.
fn typed_value(field: &Field, stored: &AttributeValue) -> Result<AttributeValue, String> {
    let wrong =
        || format!("`{}` is {}, which is no {}", field.name, shown(stored), field.type_name());
    let made = match (&field.kind, stored) {
        (FieldKind::Scalar(format), _) => {
            let text = scalar_text(stored).ok_or_else(wrong)?;
            scalar(field, format, &text).map_err(|reason| match reason {
                Some(reason) => format!("`{}` is {}: {reason}", field.name, shown(stored)),
                None => wrong(),
            })?
        }
        (FieldKind::Number | FieldKind::Shard(_), AttributeValue::S(text)) => {
            AttributeValue::N(text.parse::<Number>().map_err(|_| wrong())?)
        }
        (FieldKind::Binary, AttributeValue::S(text)) => AttributeValue::B(
            json::shape::binary(&Json::Str(text.as_str().into())).map_err(|_| wrong())?,
        ),
        (
            FieldKind::List | FieldKind::Map | FieldKind::TextSet | FieldKind::NumberSet,
            AttributeValue::S(text),
        ) => {
            let parsed = json::parse(text.as_bytes()).ok();
            let value = parsed.and_then(|document| document_value(&document).ok());
            as_set(field, &value.ok_or_else(wrong)?)
        }
        _ => as_set(field, stored),
    };
    if !fits(field, made.attribute_type()) {
        return Err(wrong());
    }
    match too_large(field, &made) {
        Some(reason) => Err(format!("`{}` has {reason}", field.name)),
        None => Ok(made),
    }
}

/// A text as the scalar that its field is, in the form in which programs store it: conditions compare that. The error is the
/// reason why a value of the type does not fit, or nothing if it is none of the type.
fn scalar(
    field: &Field,
    format: &FieldFormat,
    text: &str,
) -> Result<AttributeValue, Option<String>> {
    // Stored values are not written as in keys, unless nothing else can be read.
    let value = Value::parse_for(format, text).or_else(|_| format.decode(text));
    let value = value.map_err(|_| None)?.into_owned();
    // A text that is in no key may be empty; others are refused when the key is made.
    if *format.kind() != FieldType::String {
        format.encode(&value).map_err(|error| Some(error.to_string()))?;
    }
    if let Value::Time(time) = &value {
        let (since, until) = field.period();
        if since.is_some_and(|since| time.millis() < since) {
            return Err(Some("the design says that no item is earlier than `since`".into()));
        }
        if until.is_some_and(|until| time.millis() > until) {
            return Err(Some("the design says that no item is later than `until`".into()));
        }
    }
    Ok(attribute_of(field, &value))
}

/// What a value has more of than the design allows.
fn too_large(field: &Field, value: &AttributeValue) -> Option<String> {
    let bytes = match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(bytes) => bytes.len(),
        _ => 0,
    };
    let elements = match value {
        AttributeValue::L(list) => list.len(),
        AttributeValue::Ss(set) => set.len(),
        AttributeValue::Ns(set) => set.len(),
        _ => 0,
    };
    let over = |most: Option<u64>, count: usize, of: &str| {
        let most = most.filter(|most| count as u64 > *most)?;
        Some(format!("{count} {of}, and the design allows {most}"))
    };
    over(field.max_bytes, bytes, "bytes").or_else(|| over(field.max_items, elements, "elements"))
}

/// A list as the set that the field is, if it is one.
fn as_set(field: &Field, value: &AttributeValue) -> AttributeValue {
    let AttributeValue::L(list) = value else { return value.clone() };
    let texts = || list.iter().map(|one| one.as_s().map(Into::into)).collect::<Option<Vec<_>>>();
    let numbers = || list.iter().map(|one| one.as_n().copied()).collect::<Option<Vec<_>>>();
    match field.kind {
        FieldKind::TextSet if !list.is_empty() => texts().map(AttributeValue::string_set),
        FieldKind::NumberSet if !list.is_empty() => numbers().map(AttributeValue::number_set),
        _ => None,
    }
    .unwrap_or_else(|| value.clone())
}

fn fits(field: &Field, kind: AttributeType) -> bool {
    match field.kind {
        FieldKind::Scalar(_) => {
            matches!(kind, AttributeType::S | AttributeType::N | AttributeType::Bool)
        }
        FieldKind::LooseTime => kind == AttributeType::S,
        FieldKind::Shard(_) | FieldKind::Number => kind == AttributeType::N,
        FieldKind::Binary => kind == AttributeType::B,
        FieldKind::List => kind == AttributeType::L,
        FieldKind::Map => kind == AttributeType::M,
        FieldKind::TextSet => kind == AttributeType::Ss,
        FieldKind::NumberSet => kind == AttributeType::Ns,
    }
}

fn scalar_text(stored: &AttributeValue) -> Option<String> {
    match stored {
        AttributeValue::S(text) => Some(text.to_string()),
        AttributeValue::N(number) => Some(number.to_string()),
        AttributeValue::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// A JSON document as it would be stored: texts, numbers, booleans, nulls, lists and maps.
pub fn document_value(document: &Json<'_>) -> Result<AttributeValue, String> {
    Ok(match document {
        Json::Null => AttributeValue::Null,
        Json::Bool(flag) => AttributeValue::Bool(*flag),
        Json::Number(number) => {
            AttributeValue::N(number.as_str().parse::<Number>().map_err(|_| {
                format!("{} is no number that can be stored: 38 digits at most", number.as_str())
            })?)
        }
        Json::Str(text) => AttributeValue::from(text.as_ref()),
        Json::Array(list) => {
            AttributeValue::L(list.iter().map(document_value).collect::<Result<_, _>>()?)
        }
        Json::Object(members) => {
            let member =
                |(name, value): (&str, &Json<'_>)| Ok((name.into(), document_value(value)?));
            AttributeValue::M(members.iter().map(member).collect::<Result<_, String>>()?)
        }
    })
}

/// A value for messages, cut to a length that fits in a line.
fn shown(value: &AttributeValue) -> String {
    let mut bytes = Vec::new();
    json::write_value(value, &mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// What an item that is of no entity is called in messages.
pub fn stranger(table: &Table, item: &Item) -> String {
    format!("`{}` is the key of no entity of the design", item_label(table, item))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = r#"[table.users]
partition_key = "pk"

[table.users.index.by_status]
partition_key = ["status", "shard:N"]

[entity.User]
pk = "USER#{user}"

[entity.User.fields]
user   = "token"
status = "token"
shard  = { type = "shard", shards = 4, by = "user" }
"#;

    #[test]
    fn a_shard_that_is_a_key_by_itself_is_filled_in() {
        let (design, problems) = Design::parse("users.toml", USERS);
        let design = design.unwrap_or_else(|| panic!("{problems:?}"));
        let mut item = Item::new();
        item.insert("user", "ann");
        item.insert("status", "open");
        let item = typed(&design.entities()[0], item).unwrap();
        assert_eq!(item.get("pk"), Some(&AttributeValue::from("USER#ann")));
        let shard = item.get("shard").and_then(AttributeValue::as_n).unwrap();
        assert!(["0", "1", "2", "3"].contains(&shard.to_string().as_str()), "{shard}");
    }
}
