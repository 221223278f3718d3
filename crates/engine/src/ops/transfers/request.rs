//! What the requests of transfers share: buckets, ARNs, members that are shown again.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;
use serde_json::Value;

/// `S3Bucket` and the members that go with it.
pub(super) fn bucket<'a>(
    fields: &Fields<'a>,
    constraints: &mut Constraints,
    path: &str,
) -> &'a str {
    let name = fields.string("S3Bucket");
    let path = format!("{path}s3Bucket");
    match name {
        None => constraints.required(false, &path),
        Some(name) => check_bucket_name(name, constraints, &path),
    }
    name.unwrap_or_default()
}

/// Letters and digits; points, hyphens and underscores only inside.
fn check_bucket_name(name: &str, constraints: &mut Constraints, path: &str) {
    use keyloom_core::error::constraint::Constraint;
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut chars = name.chars();
    if !(name.len() >= 2 && outer(chars.next()) && outer(chars.next_back()) && chars.all(inner)) {
        let pattern = Constraint::Pattern("^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$");
        constraints.violations().violated(name, path, pattern);
    }
    constraints.length(name, path, 0, 255);
}

/// The ARN that a request names in this member, and the identity at its end, behind `/KIND/`.
pub(super) fn named<'a>(
    fields: &Fields<'a>,
    member: &str,
    path: &str,
    kind: &str,
) -> Result<(&'a str, &'a str)> {
    let arn = fields.string(member);
    let mut constraints = Constraints::new();
    constraints.required(arn.is_some(), path);
    if let Some(arn) = arn {
        constraints.length(arn, path, 37, 1024);
    }
    constraints.finish()?;
    let arn = arn.unwrap_or_default();
    let id = arn.rsplit_once(&format!("/{kind}/")).map(|(_, id)| id).unwrap_or_default();
    Ok((arn, id))
}

/// Writes the members that the request had.
pub(super) fn echo(json: &mut JsonWriter, request: &Value, members: &[&str]) {
    for member in members {
        if let Some(value) = request.get(member) {
            json.stored(member, value);
        }
    }
}

/// A string in the request, by its JSON pointer; empty if it is not there.
pub(super) fn text<'a>(request: &'a Value, pointer: &str) -> &'a str {
    request.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
