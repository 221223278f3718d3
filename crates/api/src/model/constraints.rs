//! Checks the constraints of the model: required members, lengths, ranges, patterns and enumerations.
//!
//! All violations are reported together, in the order of the model, an object's or list's before those inside it.

use std::fmt::Write as _;

use keyloom_core::Result;
use keyloom_core::error::constraint::Constraint;
use keyloom_core::error::request;
use keyloom_core::json::{Json, JsonObject};

use super::{Limit, Pattern, Shape, Structure, input};
use crate::{Constraints, Fields, Operation};

/// Checks a request of the right shape against the constraints of its operation's input.
///
/// A request without the name of its table hears only of that, as on AWS.
pub fn check_constraints(operation: Operation, fields: &Fields<'_>) -> Result<()> {
    let structure = input(operation);
    if structure.required.contains(&"TableName") && !fields.has("TableName") {
        return Err(request::parameter_missing("TableName"));
    }
    let mut constraints = Constraints::new();
    if let Some(object) = fields.object() {
        members(structure, object, "", &mut constraints);
    }
    constraints.finish()
}

fn members(
    structure: &Structure,
    object: &JsonObject<'_>,
    path: &str,
    constraints: &mut Constraints,
) {
    for (name, shape) in structure.members {
        let path = format!("{path}{}{}", if path.is_empty() { "" } else { "." }, spelled(name));
        match object.get(name).filter(|json| !matches!(json, Json::Null)) {
            Some(json) => value(*shape, json, &path, constraints),
            None => constraints.required(!structure.required.contains(name), &path),
        }
    }
}

fn value(shape: Shape, json: &Json<'_>, path: &str, constraints: &mut Constraints) {
    let (shape, limit) = shape.limit();
    if let Some(limit) = limit {
        check(shape, limit, json, path, constraints);
    }
    match (shape, json) {
        (Shape::Struct(structure), Json::Object(object)) => {
            members(structure, object, path, constraints);
        }
        (Shape::List(of), Json::Array(elements)) => {
            for (position, json) in elements.iter().enumerate() {
                value(*of, json, &format!("{path}.{}.member", position + 1), constraints);
            }
        }
        (Shape::Map(of), Json::Object(object)) => {
            for (name, json) in object.iter() {
                value(*of, json, &format!("{path}.{name}.member"), constraints);
            }
        }
        _ => {}
    }
}

fn check(shape: Shape, limit: Limit, json: &Json<'_>, path: &str, constraints: &mut Constraints) {
    match (limit, json) {
        (Limit::Chars(least, most), Json::Str(text)) => constraints.length(text, path, least, most),
        (Limit::Bytes(least, most), Json::Str(text)) => {
            constraints.count(text.len(), text, path, least, most);
        }
        (Limit::Matching(pattern, least, most), Json::Str(text)) => {
            matching(text, pattern, least, path, constraints);
            constraints.length(text, path, least, most);
        }
        (Limit::NameOrArn, Json::Str(text)) => constraints.table_name_at(Some(text), path),
        (Limit::OneOf(names), Json::Str(text)) if !names.contains(&text.as_ref()) => {
            constraints.violations().violated(text, path, Constraint::OneOf(names));
        }
        (Limit::Range(least, most), Json::Number(number)) => {
            let number = number.as_i64().or_else(|| Some(number.as_f64()? as i64));
            constraints.range(number, path, least, most);
        }
        (Limit::Count(least, most), Json::Array(elements)) => {
            let (is_short, length) = (elements.len() < least, elements.len());
            let shown = if is_short || length > most { shown(shape, json) } else { String::new() };
            constraints.count(length, &shown, path, least, most);
        }
        _ => {}
    }
}

/// Of an empty text only the length is reported, if it is too short.
fn matching(
    text: &str,
    pattern: &Pattern,
    least: usize,
    path: &str,
    constraints: &mut Constraints,
) {
    if !(pattern.matches)(text) && (least == 0 || !text.is_empty()) {
        constraints.violations().violated(text, path, Constraint::Pattern(pattern.text));
    }
}

/// A member's name as paths spell it.
fn spelled(member: &str) -> String {
    let mut chars = member.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// A value as messages quote it: `[KeySchemaElement(attributeName=a, keyType=HASH)]`.
fn shown(shape: Shape, json: &Json<'_>) -> String {
    match (shape.limit().0, json) {
        (Shape::List(of), Json::Array(elements)) => {
            let elements: Vec<String> = elements.iter().map(|one| shown(*of, one)).collect();
            format!("[{}]", elements.join(", "))
        }
        (Shape::Struct(structure), Json::Object(object)) => {
            let mut text = format!("{}(", structure.name);
            for (position, (name, shape)) in structure.members.iter().enumerate() {
                let comma = if position > 0 { ", " } else { "" };
                let value = object.get(name).map_or("null".into(), |json| shown(*shape, json));
                // Writing to a string does not fail.
                let _ = write!(text, "{comma}{}={value}", spelled(name));
            }
            text + ")"
        }
        (_, Json::Str(text)) => text.to_string(),
        (_, Json::Bool(value)) => value.to_string(),
        (_, Json::Number(number)) => number.as_i64().unwrap_or_default().to_string(),
        _ => "null".into(),
    }
}
