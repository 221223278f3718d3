//! Types of TypeScript for entities and their fields.

use std::fmt::Write as _;

use keyloom_keys::FieldType;

use super::text::{WIDTH, is_identifier, key, quoted};
use crate::model::{Field, FieldKind};

pub(super) fn write_interface<'f>(
    out: &mut String,
    name: &str,
    fields: impl IntoIterator<Item = &'f Field>,
) {
    let members: String = fields
        .into_iter()
        .map(|field| {
            // A random shard is chosen when it is not given.
            let optional = field.optional || matches!(field.kind, FieldKind::Shard(_));
            member_line(&field.name, optional, &type_of(field))
        })
        .collect();
    if members.is_empty() {
        let _ = writeln!(out, "export interface {name} {{}}");
    } else {
        let _ = writeln!(out, "export interface {name} {{\n{members}}}");
    }
}

/// A member of an interface.
pub(super) fn member_line(name: &str, optional: bool, kind: &str) -> String {
    let head = format!("  {}{}:", key(name), if optional { "?" } else { "" });
    // Undefined is what is absent, also where the compiler tells the two apart.
    let kind = if optional { format!("{kind} | undefined") } else { kind.to_owned() };
    let line = format!("{head} {kind};\n");
    if line.len() <= WIDTH + 1 {
        return line;
    }
    format!("{head}\n    | {};\n", kind.replace(" | ", "\n    | "))
}

/// The type of a field's values.
pub(super) fn type_of(field: &Field) -> String {
    let kind = match &field.kind {
        FieldKind::Scalar(format) => match format.kind() {
            FieldType::Enum(values) => {
                let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
                return values.join(" | ");
            }
            FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::EpochMs => "number",
            FieldType::U64 | FieldType::I64 if format.width().is_some_and(|width| width <= 15) => {
                "number"
            }
            FieldType::U64 | FieldType::I64 => "bigint",
            FieldType::Bool => "boolean",
            _ => "string",
        },
        FieldKind::LooseTime => "string",
        FieldKind::Shard(_) | FieldKind::Number => "number",
        FieldKind::Binary => "Uint8Array",
        FieldKind::List => "unknown[]",
        FieldKind::Map => "Record<string, unknown>",
        FieldKind::TextSet => "Set<string>",
        FieldKind::NumberSet => "Set<number>",
    };
    kind.to_owned()
}

/// `.name`, or `["odd name"]`.
pub(super) fn member_access(name: &str) -> String {
    if is_identifier(name) { format!(".{name}") } else { format!("[{}]", quoted(name)) }
}
