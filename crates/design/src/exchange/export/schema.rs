//! Designs as `schema.json` of AWS's dynamodb-mcp-server.

use keyloom_keys::FieldType;
use serde_json::{Map, Value as Json, json};

use super::{attribute_type, table_settings, template, unread};
use crate::check::CheckReport;
use crate::exchange::Lost;
use crate::model::{
    Access, Design, End, Entity, Field, FieldKind, Index, IndexKind, KeyAttribute, Operand,
    Projection, Table, Test, Write, WriteKind,
};
use crate::plan::Plan;

/// Sets a member of an object.
fn put(object: &mut Json, member: &str, value: Json) {
    if let Some(members) = object.as_object_mut() {
        members.insert(member.to_owned(), value);
    }
}

pub(super) fn schema(report: &CheckReport, design: &Design, lost: &mut Vec<Lost>) -> Json {
    let mut number = 0;
    let tables: Vec<Json> =
        design.tables().iter().map(|it| table(report, design, it, &mut number, lost)).collect();
    for access in design.accesses().iter().filter(|it| it.find.len() != 1 || it.via.is_some()) {
        let why = "a pattern of the format is of one entity and one request";
        lost.push(Lost::new(format!("access {}", access.name), why));
    }
    unread(design, lost, &["access", "write"]);
    json!({ "tables": tables })
}

fn names(list: &[KeyAttribute]) -> Json {
    match list {
        [only] => json!(only.name),
        many => json!(many.iter().map(|it| it.name.as_str()).collect::<Vec<_>>()),
    }
}

fn table(
    report: &CheckReport,
    design: &Design,
    table: &Table,
    number: &mut u32,
    lost: &mut Vec<Lost>,
) -> Json {
    let primary = table.primary();
    let mut config = json!({ "table_name": table.name, "partition_key": names(&primary.hash) });
    if !primary.range.is_empty() {
        put(&mut config, "sort_key", names(&primary.range));
    }
    let mut indexes = Vec::new();
    for it in table.secondary() {
        if it.kind == IndexKind::Local {
            let why = "the format has global indexes only";
            lost.push(Lost::new(format!("index {}", it.label()), why));
        } else {
            indexes.push(index(it));
        }
    }
    table_settings(table, lost);
    let mut entities = Map::new();
    for it in design.entities_in(table) {
        entities.insert(it.name.clone(), entity(report, design, it, number, lost));
    }
    let mut entry = json!({ "table_config": config, "entities": entities });
    if !indexes.is_empty() {
        put(&mut entry, "gsi_list", Json::Array(indexes));
    }
    entry
}

fn index(index: &Index) -> Json {
    let mut entry = json!({ "name": index.label(), "partition_key": names(&index.hash) });
    if !index.range.is_empty() {
        put(&mut entry, "sort_key", names(&index.range));
    }
    match &index.projection {
        Projection::All => {}
        Projection::Keys => put(&mut entry, "projection", json!("KEYS_ONLY")),
        Projection::Include(included) => {
            put(&mut entry, "projection", json!("INCLUDE"));
            put(&mut entry, "included_attributes", json!(included));
        }
    }
    entry
}

fn entity(
    report: &CheckReport,
    design: &Design,
    entity: &Entity,
    number: &mut u32,
    lost: &mut Vec<Lost>,
) -> Json {
    let primary = entity.table.primary();
    let mut body = json!({ "entity_type": entity.name.to_uppercase() });
    put(&mut body, "pk_template", templates(entity, &primary.hash, lost).unwrap_or_default());
    if let Some(sort) = templates(entity, &primary.range, lost) {
        put(&mut body, "sk_template", sort);
    }
    let mut mappings = Vec::new();
    for index in entity.table.secondary().iter().filter(|it| it.kind == IndexKind::Global) {
        if entity.index_key(index).is_none() {
            continue;
        }
        let partition = templates(entity, &index.hash, lost);
        let mut mapping = json!({ "name": index.label(), "pk_template": partition });
        if let Some(sort) = templates(entity, &index.range, lost) {
            put(&mut mapping, "sk_template", sort);
        }
        mappings.push(mapping);
    }
    if !mappings.is_empty() {
        put(&mut body, "gsi_mappings", Json::Array(mappings));
    }
    put(&mut body, "fields", entity.fields.iter().map(field).collect());
    let is_own = |it: &&Access| {
        it.via.is_none() && matches!(it.find.as_slice(), [found] if found.name == entity.name)
    };
    let mut patterns: Vec<Json> = Vec::new();
    for it in design.accesses().iter().filter(is_own) {
        let plan = report.plans.iter().find(|plan| plan.name == it.name);
        let index = plan.and_then(Plan::index_name);
        patterns.extend(access(it, index, entity, number, lost));
    }
    for it in design.writes() {
        patterns.extend(write(it, entity, number, lost));
    }
    put(&mut body, "access_patterns", Json::Array(patterns));
    body
}

/// The templates of key attributes: a text, or a list for a key of several attributes.
fn templates(entity: &Entity, attributes: &[KeyAttribute], lost: &mut Vec<Lost>) -> Option<Json> {
    let mut texts = Vec::new();
    for attribute in attributes {
        let key = entity.key(&attribute.name)?;
        texts.push(template(entity, key, false, |name, _| format!("{{{name}}}"), lost));
    }
    match texts.as_slice() {
        [] => None,
        [only] => Some(json!(only)),
        many => Some(json!(many)),
    }
}

fn field(field: &Field) -> Json {
    let stored = attribute_type(field);
    let is_whole = match &field.kind {
        FieldKind::Scalar(format) => !matches!(format.kind(), FieldType::Decimal { .. }),
        kind => matches!(kind, FieldKind::Shard(_)),
    };
    let kind = match stored {
        "N" if is_whole => "integer",
        "N" => "decimal",
        "BOOL" => "boolean",
        "L" | "SS" | "NS" => "array",
        "M" => "object",
        _ if field.type_name() == "uuid" => "uuid",
        _ => "string",
    };
    let mut entry = json!({ "name": field.name, "type": kind, "required": !field.optional });
    if kind == "array" {
        put(&mut entry, "item_type", json!(if stored == "NS" { "decimal" } else { "string" }));
    }
    entry
}

fn snake(name: &str) -> String {
    let clean: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    clean.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

fn parameter(name: &str) -> Json {
    json!({ "name": name, "type": "string" })
}

fn write(write: &Write, entity: &Entity, number: &mut u32, lost: &mut Vec<Lost>) -> Option<Json> {
    let first = write.members.first().filter(|it| it.entity.name == entity.name)?;
    if write.members.len() > 1 {
        let why = "a pattern of the format is of one entity";
        lost.push(Lost::new(format!("write {}", write.name), why));
        return None;
    }
    *number += 1;
    let operation = match first.kind {
        WriteKind::Update => "UpdateItem",
        WriteKind::Delete => "DeleteItem",
        _ => "PutItem",
    };
    let given: Vec<Json> = if operation == "PutItem" {
        vec![json!({ "name": "item", "type": "entity", "entity_type": entity.name })]
    } else {
        let sets = write.sets.iter().map(|it| it.value.as_str());
        entity.identity().into_iter().chain(sets).map(parameter).collect()
    };
    Some(json!({
        "pattern_id": number, "name": snake(&write.name), "description": write.description,
        "operation": operation, "parameters": given, "return_type": "single_entity",
    }))
}

fn access(
    access: &Access,
    index: Option<&str>,
    entity: &Entity,
    number: &mut u32,
    lost: &mut Vec<Lost>,
) -> Option<Json> {
    let place = format!("access {}", access.name);
    if access.implied_by.is_some() || access.raw.is_some() || !access.alternatives.is_empty() {
        lost.push(Lost::new(place, "it is not one key condition of fields"));
        return None;
    }
    let mut given = Vec::new();
    let mut range = None;
    for term in &access.terms {
        let Some((names, operator)) = asked(&term.test, &term.field, range) else {
            let why = "the format has equality with a parameter, and one range";
            lost.push(Lost::new(format!("{place}: {}", term.field), why));
            return None;
        };
        given.extend(names.iter().map(|name| parameter(name)));
        range = operator.or(range);
    }
    if access.limit.is_some() || !access.order.is_empty() {
        lost.push(Lost::new(format!("{place}: order and limit"), "the format has none"));
    }
    *number += 1;
    let identity = entity.identity();
    let is_pinned = |name: &&str| access.equality(name).is_some();
    let is_get = range.is_none()
        && index.is_none()
        && access.terms.len() == identity.len()
        && identity.iter().all(is_pinned);
    let mut pattern = json!({
        "pattern_id": number, "name": snake(&access.name), "description": access.description,
        "operation": if is_get { "GetItem" } else { "Query" }, "parameters": given,
        "return_type": if is_get { "single_entity" } else { "entity_list" },
    });
    if let Some(range) = range {
        put(&mut pattern, "range_condition", json!(range));
    }
    if access.consistent {
        put(&mut pattern, "consistent_read", json!(true));
    }
    if let Some(index) = index {
        put(&mut pattern, "index_name", json!(index));
    }
    Some(pattern)
}

/// The parameters of a condition, and its operator if it is a range.
fn asked(
    test: &Test,
    field: &str,
    range: Option<&str>,
) -> Option<(Vec<String>, Option<&'static str>)> {
    let sign = |end: &End, strict, inclusive| if end.inclusive { inclusive } else { strict };
    match test {
        Test::Equal(Operand::Input(_)) => Some((vec![field.to_owned()], None)),
        Test::BeginsWith(Operand::Input(_)) if range.is_none() => {
            Some((vec![format!("{field}_prefix")], Some("begins_with")))
        }
        Test::Range { low, high } if range.is_none() => match (low, high) {
            (Some(_), Some(_)) => {
                Some((vec![format!("{field}_from"), format!("{field}_to")], Some("between")))
            }
            (Some(low), None) => Some((vec![format!("{field}_from")], Some(sign(low, ">", ">=")))),
            (None, Some(high)) => Some((vec![format!("{field}_to")], Some(sign(high, "<", "<=")))),
            (None, None) => None,
        },
        _ => None,
    }
}
