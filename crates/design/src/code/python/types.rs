//! Classes of Python for entities and their fields.

use std::fmt::Write as _;

use keyloom_keys::FieldType;

use super::super::names::Taken;
use super::text::{choices, doc, identifier, quoted};
use crate::model::{Entity, Field, FieldKind};

/// The name that the class of an entity has for a field. Fields that keep their names come first, so that no other takes
/// one.
pub(super) fn attribute(entity: &Entity, field: &Field) -> String {
    let keeps = |field: &&Field| identifier(&field.name) == field.name;
    if keeps(&field) {
        return field.name.clone();
    }
    let kept = entity.fields.iter().filter(keeps).map(|field| field.name.as_str());
    let mut taken = Taken::new(kept);
    let mut others = entity.fields.iter().filter(|field| !keeps(field));
    let named = others.find_map(|other| {
        let own = taken.take(identifier(&other.name), "_");
        (other.name == field.name).then_some(own)
    });
    named.unwrap_or_else(|| identifier(&field.name))
}

/// A dataclass with these fields.
pub(super) fn write_class<'f>(
    out: &mut String,
    name: &str,
    said: &str,
    entity: &Entity,
    fields: impl Iterator<Item = &'f Field>,
) {
    let said = doc(&[said.to_owned()], 4);
    let _ = write!(out, "\n\n@dataclass(kw_only=True)\nclass {name}:\n{said}");
    let members: String = fields.map(|field| member(entity, field)).collect();
    if !members.is_empty() {
        let _ = write!(out, "\n{members}");
    }
}

/// The fields that an update may change.
pub(super) fn write_changes<'f>(
    out: &mut String,
    own: &str,
    entity: &Entity,
    fields: impl Iterator<Item = &'f Field>,
) {
    let said = doc(&[format!("Fields of a {own} that may be changed.")], 4);
    let _ = write!(out, "\n\nclass {own}Changes(TypedDict, total=False):\n{said}");
    let mut members = String::new();
    for field in fields.filter(|field| !matches!(field.kind, FieldKind::Shard(_))) {
        let head = format!("    {}: ", attribute(entity, field));
        let end = if field.optional { " | None" } else { "" };
        let _ = writeln!(members, "{head}{}{end}", type_at(field, head.len() + end.len()));
    }
    if !members.is_empty() {
        let _ = write!(out, "\n{members}");
    }
}

fn member(entity: &Entity, field: &Field) -> String {
    let head = format!("    {}: ", attribute(entity, field));
    // A random shard is chosen when it is not given.
    let optional = field.optional || matches!(field.kind, FieldKind::Shard(_));
    let end = if optional { " | None = None" } else { "" };
    format!("{head}{}{end}\n", type_at(field, head.len() + end.len()))
}

/// The type of an input, as the parameter of a method.
pub(super) fn input_type(field: Option<&Field>) -> String {
    field.map_or_else(
        || "str".to_owned(),
        |field| match &field.kind {
            FieldKind::Scalar(format) if matches!(format.kind(), FieldType::Enum(_)) => {
                "str".to_owned()
            }
            FieldKind::List | FieldKind::Map => "Any".to_owned(),
            FieldKind::TextSet => "str".to_owned(),
            FieldKind::NumberSet => "Decimal | int".to_owned(),
            FieldKind::Number => "Decimal | int".to_owned(),
            _ => type_at(field, 0),
        },
    )
}

/// The type of a field's values behind so many characters of a line.
fn type_at(field: &Field, column: usize) -> String {
    let kind = match &field.kind {
        FieldKind::Scalar(format) => match format.kind() {
            FieldType::Enum(values) => {
                let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
                return choices("Literal", &values, 4, column);
            }
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::I64
            | FieldType::EpochMs => "int",
            FieldType::Decimal { .. } => "Decimal",
            FieldType::Bool => "bool",
            _ => "str",
        },
        FieldKind::LooseTime => "str",
        FieldKind::Shard(_) => "int",
        FieldKind::Number => "Decimal",
        FieldKind::Binary => "bytes",
        FieldKind::List => "list[Any]",
        FieldKind::Map => "dict[str, Any]",
        FieldKind::TextSet => "set[str]",
        FieldKind::NumberSet => "set[Decimal]",
    };
    kind.to_owned()
}
