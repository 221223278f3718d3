//! Designs as models of other tools.

mod onetable;
mod schema;
mod workbench;

use keyloom_keys::{Case, FieldFormat, FieldType, Segment};
use serde_json::{Value as Json, json};

use super::{Lost, ModelFormat};
use crate::check::CheckReport;
use crate::emit::{cloudformation, create_table};
use crate::model::{Design, Entity, EntityKey, Field, FieldKind, Table};

/// The model of a checked design, and what is not in it.
pub fn export(report: &CheckReport, design: &Design, format: ModelFormat) -> (String, Vec<Lost>) {
    let mut lost = Vec::new();
    let text = match format {
        ModelFormat::CloudFormation => {
            tables_only(design, &mut lost);
            return (cloudformation(report, design), lost);
        }
        ModelFormat::CreateTable => {
            tables_only(design, &mut lost);
            let mut requests: Vec<Json> =
                design.tables().iter().map(|it| create_table(it)).collect();
            for table in design.tables().iter().filter(|table| table.ttl.is_some()) {
                lost.push(Lost::new(
                    format!("table {}: ttl", table.name),
                    "CreateTable cannot set it: UpdateTimeToLive does",
                ));
            }
            if requests.len() == 1 { requests.remove(0) } else { Json::Array(requests) }
        }
        ModelFormat::Workbench => workbench::model(design, &mut lost),
        ModelFormat::OneTable => onetable::schema(design, &mut lost),
        ModelFormat::McpSchema => schema::schema(report, design, &mut lost),
        ModelFormat::McpModel => mcp_model(design, &mut lost),
    };
    (serde_json::to_string_pretty(&text).unwrap_or_default(), lost)
}

fn tables_only(design: &Design, lost: &mut Vec<Lost>) {
    for entity in design.entities() {
        lost.push(Lost::new(format!("entity {}", entity.name), "the format has tables only"));
    }
    unread(design, lost, &[]);
}

/// What no format but ours has.
fn unread(design: &Design, lost: &mut Vec<Lost>, carried: &[&str]) {
    let mut all = |kind: &str, names: Vec<&str>, why: &str| {
        if !carried.contains(&kind) {
            lost.extend(names.iter().map(|name| Lost::new(format!("{kind} {name}"), why)));
        }
    };
    let declared = design.accesses().iter().filter(|access| access.implied_by.is_none());
    all(
        "access",
        declared.map(|it| it.name.as_str()).collect(),
        "the format has no access patterns",
    );
    all(
        "write",
        design.writes().iter().map(|it| it.name.as_str()).collect(),
        "the format has no writes",
    );
    all(
        "unique",
        design.uniques().iter().map(|it| it.name.as_str()).collect(),
        "the format has no rules of this kind",
    );
    all(
        "relationship",
        design.relationships().iter().map(|it| it.name.as_str()).collect(),
        "the format has no relationships",
    );
    let rules = design.allows().iter().map(|it| it.rule.as_str()).collect();
    all("allow", rules, "the format has no findings");
    let with_volumes = design
        .entities()
        .iter()
        .filter(|entity| entity.volume.count.is_some() || entity.volume.size.is_some());
    all(
        "volumes of",
        with_volumes.map(|it| it.name.as_str()).collect(),
        "the format has no counts and sizes",
    );
}

/// Why the text of a key part is not simply the field's own text.
fn loss(entity: &Entity, format: &FieldFormat, name: &str, pads: bool) -> Option<String> {
    let field = entity.field(name)?;
    let why = match &field.kind {
        FieldKind::Shard(shards) if shards.by.is_empty() => {
            "a shard is drawn by the program".to_owned()
        }
        FieldKind::Shard(shards) => {
            format!("a shard is calculated from {} by the program", shards.by.join(", "))
        }
        _ if format.is_desc() => "it is written in reversed order".to_owned(),
        _ if format.case() != Case::AsIs
            && field.format().is_none_or(|own| own.case() != format.case()) =>
        {
            "its letters are folded".to_owned()
        }
        _ if format.is_plain() => return None,
        _ => match format.kind() {
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::EpochMs
                if pads =>
            {
                return None;
            }
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::EpochMs => {
                format!("it is padded to {} digits", format.width().unwrap_or_default())
            }
            FieldType::I64 | FieldType::Decimal { .. } => format!("it is written as {format}"),
            FieldType::Bool => "it is written as 0 or 1".to_owned(),
            _ if format.precision().is_some() && field.format().as_ref() != Some(format) => {
                format!("it is written as {format}, coarser than the field")
            }
            _ => return None,
        },
    };
    Some(why)
}

/// A template in another tool's writing; what is written otherwise than the tool would is reported.
fn template(
    entity: &Entity,
    key: &EntityKey,
    pads: bool,
    write: impl Fn(&str, Option<usize>) -> String,
    lost: &mut Vec<Lost>,
) -> String {
    if key.when.is_some() {
        let what = format!("entity {}: {}: when", entity.name, key.attribute);
        lost.push(Lost::new(what, "the format has no condition for a key"));
    }
    let mut text = String::new();
    for piece in key.shape.template().template().segments() {
        match piece {
            Segment::Literal(literal) => text.push_str(literal),
            Segment::Field(field) => {
                let name = field.name();
                if let Some(why) = loss(entity, field.format(), name, pads) {
                    lost.push(Lost::new(
                        format!("entity {}: {}: {{{name}}}", entity.name, key.attribute),
                        why,
                    ));
                }
                let is_shard = entity
                    .field(name)
                    .is_some_and(|field| matches!(field.kind, FieldKind::Shard(_)));
                let width =
                    field.format().width().filter(|_| is_padded(field.format()) && !is_shard);
                text.push_str(&write(name, width));
            }
        }
    }
    text
}

fn is_padded(format: &FieldFormat) -> bool {
    let whole = matches!(
        format.kind(),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 | FieldType::EpochMs
    );
    whole && !format.is_plain()
}

/// The type of the attribute that stores a field.
fn attribute_type(field: &Field) -> &'static str {
    match &field.kind {
        FieldKind::Scalar(format) => match format.kind() {
            kind if kind.is_number() => "N",
            FieldType::Bool => "BOOL",
            _ => "S",
        },
        FieldKind::Number | FieldKind::Shard(_) => "N",
        FieldKind::Binary => "B",
        FieldKind::List => "L",
        FieldKind::Map => "M",
        FieldKind::TextSet => "SS",
        FieldKind::NumberSet => "NS",
        FieldKind::LooseTime => "S",
    }
}

fn stored(entity: &Entity) -> impl Iterator<Item = &Field> {
    entity.fields.iter().filter(|field| field.is_stored())
}

fn table_settings(table: &Table, lost: &mut Vec<Lost>) {
    let mut add = |is_set: bool, what: &str| {
        if is_set {
            lost.push(Lost::new(
                format!("table {}: {what}", table.name),
                "the format has no such setting",
            ));
        }
    };
    add(table.ttl.is_some(), "ttl");
    add(table.stream.is_some(), "stream");
    add(table.type_attribute.is_some(), "type_attribute");
    add(table.tenant.is_some(), "tenant");
}

fn mcp_model(design: &Design, lost: &mut Vec<Lost>) -> Json {
    tables_only(design, lost);
    let tables: Vec<Json> = design.tables().iter().map(|table| create_table(table)).collect();
    for table in design.tables() {
        table_settings(table, lost);
    }
    json!({ "tables": tables, "items": {}, "access_patterns": [] })
}
