//! The first step of reading a value: is its JSON of the right shape?
//!
//! AWS's service framework checks this before it looks at any meaning, so a request with both kinds
//! of error gets a `SerializationException`. The wording is that of the framework's Java classes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Json;
use crate::error::{Error, Result, message::value as message};
use crate::value::AttributeType;

const ATTRIBUTE_VALUE: &str = "class com.amazonaws.dynamodb.v20120810.AttributeValue";
const ATTRIBUTE_MAP: &str =
    "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>";

/// Checks the shape of an item: an object of attribute values.
pub fn check_item(json: &Json<'_>) -> Result<()> {
    match json {
        Json::Object(entries) => entries.iter().try_for_each(|(_, value)| check_value(value)),
        Json::Array(_) => Err(message::unexpected_list(ATTRIBUTE_MAP)),
        _ => Err(message::unexpected_field()),
    }
}

/// Checks the shape of an attribute value, through all its levels.
pub fn check_value(json: &Json<'_>) -> Result<()> {
    match json {
        Json::Null => Ok(()),
        Json::Object(entries) => {
            entries.iter().try_for_each(|(name, content)| match AttributeType::from_wire(name) {
                Some(kind) => check_content(kind, content),
                None => Ok(()),
            })
        }
        Json::Array(_) => Err(message::unexpected_list(ATTRIBUTE_VALUE)),
        _ => Err(message::unexpected_value()),
    }
}

fn check_content(kind: AttributeType, json: &Json<'_>) -> Result<()> {
    if matches!(json, Json::Null) {
        return Ok(());
    }
    match kind {
        AttributeType::S | AttributeType::N => string(json).map(drop),
        AttributeType::B => binary(json).map(drop),
        AttributeType::Bool | AttributeType::Null => boolean(json).map(drop),
        AttributeType::Ss | AttributeType::Ns => {
            list(json)?.iter().try_for_each(|member| string(member).map(drop))
        }
        AttributeType::Bs => list(json)?.iter().try_for_each(|member| binary(member).map(drop)),
        AttributeType::L => list(json)?.iter().try_for_each(check_value),
        AttributeType::M => check_item(json),
    }
}

/// A JSON string.
pub fn string<'a>(json: &'a Json<'_>) -> Result<&'a str> {
    match json {
        Json::Str(text) => Ok(text),
        _ => Err(not_a("String", json)),
    }
}

/// Bytes in Base64.
pub fn binary(json: &Json<'_>) -> Result<Vec<u8>> {
    match json {
        Json::Str(text) if text.len() % 4 != 0 => Err(message::base64_length(text.len())),
        Json::Str(text) => STANDARD.decode(text.as_bytes()).map_err(|_| message::base64_invalid()),
        Json::Array(_) => Err(message::unexpected_list("class java.nio.ByteBuffer")),
        Json::Object(_) => Err(message::unexpected_object()),
        _ => Err(message::not_base64()),
    }
}

/// A boolean. The framework takes some strings for one.
pub fn boolean(json: &Json<'_>) -> Result<bool> {
    match json {
        Json::Bool(value) => Ok(*value),
        Json::Str(text) if ["true", "1", "yes"].iter().any(|t| text.eq_ignore_ascii_case(t)) => {
            Ok(true)
        }
        Json::Str(text) if ["false", "0", "no"].iter().any(|f| text.eq_ignore_ascii_case(f)) => {
            Ok(false)
        }
        Json::Str(_) => Err(message::unexpected_token()),
        _ => Err(not_a("Boolean", json)),
    }
}

/// The elements, if the value is a list.
pub fn list<'a, 'b>(json: &'a Json<'b>) -> Result<&'a [Json<'b>]> {
    match json {
        Json::Array(members) => Ok(members),
        Json::Object(_) => Err(message::unexpected_object()),
        _ => Err(message::unexpected_field()),
    }
}

/// Why `json` is not a scalar of the Java class `java.lang.<wanted>`.
pub fn not_a(wanted: &str, json: &Json<'_>) -> Error {
    let found = match json {
        Json::Array(_) => {
            return message::unexpected_list(&format!("class java.lang.{wanted}"));
        }
        Json::Object(_) => return message::unexpected_object(),
        Json::Bool(true) => "TRUE_VALUE",
        Json::Bool(false) => "FALSE_VALUE",
        Json::Number(number) if number.is_f64() => "DECIMAL_VALUE",
        Json::Number(_) => "NUMBER_VALUE",
        Json::Null => "NULL_VALUE",
        Json::Str(_) => "STRING_VALUE",
    };
    message::not_convertible(found, wanted)
}
