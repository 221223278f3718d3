//! The query protocol: a form in, XML out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::error::CloudwatchError;
use super::value::{Input, Value};
use super::{Asked, Unanswered, VERSION, iso8601};
use crate::auth::canonical::query_parameters;

const NAMESPACE: &str = "http://monitoring.amazonaws.com/doc/2010-08-01/";

/// Reads a form. Lists are numbered: `Metrics.member.1=Sum&Metrics.member.2=Maximum`.
pub(super) fn asked(body: &[u8]) -> Result<Asked, Unanswered> {
    let text =
        std::str::from_utf8(body).map_err(|_| CloudwatchError::malformed("The form is not text."));
    let (mut operation, mut version) = (String::new(), String::new());
    let mut fields = Vec::new();
    let mut lists: BTreeMap<String, BTreeMap<u32, Value>> = BTreeMap::new();
    for (name, value) in query_parameters(&text?.replace('+', " ")) {
        match name.split_once(".member.") {
            _ if name == "Action" => operation = value,
            _ if name == "Version" => version = value,
            // An empty list: no other parameter here may be an empty text.
            None if value.is_empty() => {}
            None => fields.push((name.into(), Value::Text(value))),
            Some((list, place)) => {
                let place = place.parse().map_err(|_| {
                    CloudwatchError::malformed(format!("The parameter {name} is not numbered."))
                })?;
                lists.entry(list.to_owned()).or_default().insert(place, Value::Text(value));
            }
        }
    }
    // Other services have forms, too.
    if version != VERSION {
        return Err(Unanswered::NotOurs);
    }
    let lists = lists.into_iter();
    fields.extend(lists.map(|(name, members)| (name.into(), Value::list(members.into_values()))));
    Ok(Asked { operation, input: Input::of(Value::Record(fields))? })
}

/// Writes an answer.
pub(super) fn encode(operation: &str, output: &Value, request_id: &str) -> Vec<u8> {
    let mut xml = format!("<{operation}Response xmlns=\"{NAMESPACE}\">");
    element(&format!("{operation}Result"), output, &mut xml);
    let _ = write!(
        xml,
        "<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>\
         </{operation}Response>"
    );
    xml.into_bytes()
}

/// Writes a refusal.
pub(super) fn encode_error(failure: &CloudwatchError, request_id: &str) -> Vec<u8> {
    let mut xml = format!("<ErrorResponse xmlns=\"{NAMESPACE}\">");
    let error = Value::record([
        ("Type", failure.fault().into()),
        ("Code", failure.code.as_ref().into()),
        ("Message", failure.message.as_str().into()),
    ]);
    element("Error", &error, &mut xml);
    element("RequestId", &request_id.into(), &mut xml);
    xml.push_str("</ErrorResponse>");
    xml.into_bytes()
}

fn element(name: &str, value: &Value, xml: &mut String) {
    let _ = write!(xml, "<{name}>");
    match value {
        Value::Null => {}
        Value::Truth(truth) => _ = write!(xml, "{truth}"),
        Value::Whole(whole) => _ = write!(xml, "{whole}"),
        Value::Number(number) => _ = write!(xml, "{number}"),
        Value::Text(text) => push_escaped(text, xml),
        Value::Time(ms) => xml.push_str(&iso8601::format(*ms)),
        Value::List(values) => {
            for value in values {
                element("member", value, xml);
            }
        }
        Value::Record(fields) => {
            for (name, value) in fields {
                element(name, value, xml);
            }
        }
    }
    let _ = write!(xml, "</{name}>");
}

fn push_escaped(text: &str, xml: &mut String) {
    for character in text.chars() {
        match character {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            // Readers would make a space or a line's end of these.
            '\t' | '\n' | '\r' => _ = write!(xml, "&#{};", u32::from(character)),
            // XML has no way to write these; a key may have them.
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            other => xml.push(other),
        }
    }
}
