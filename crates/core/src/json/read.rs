//! The second step of reading a value: what does it mean, and is that allowed?

use std::collections::HashSet;
use std::hash::Hash;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Json, shape};
use crate::error::{Error, Result, message::value as message};
use crate::limits::MAX_NESTING;
use crate::number::Number;
use crate::value::{AttributeType, AttributeValue, Item, Str, check_attribute_name};

/// The order in which AWS looks at the members of an attribute value.
const ORDER: [AttributeType; 10] = [
    AttributeType::S,
    AttributeType::B,
    AttributeType::N,
    AttributeType::Bool,
    AttributeType::Null,
    AttributeType::Bs,
    AttributeType::Ns,
    AttributeType::Ss,
    AttributeType::L,
    AttributeType::M,
];

/// Up to so many members, comparing each with each is faster than hashing.
const SMALL_SET: usize = 8;

/// Reads an attribute value.
///
/// Of two members with one name the later counts. A wrong shape anywhere in the value is reported
/// before a wrong meaning.
pub fn value_from(json: &Json<'_>) -> Result<AttributeValue> {
    value(json, 0).map_err(|error| shape::check_value(json).err().unwrap_or(error))
}

/// Reads an item: an object of attribute values.
pub fn item_from(json: &Json<'_>) -> Result<Item> {
    map(json, 0).map_err(|error| shape::check_item(json).err().unwrap_or(error))
}

fn map(json: &Json<'_>, depth: usize) -> Result<Item> {
    let Json::Object(entries) = json else {
        return Err(shape::check_item(json).err().unwrap_or_else(empty));
    };
    let mut attributes = Vec::with_capacity(entries.len());
    for (name, content) in entries.iter() {
        check_attribute_name(name)?;
        attributes.push((Str::from(name), value(content, depth)?));
    }
    Ok(attributes.into_iter().collect())
}

fn value(json: &Json<'_>, depth: usize) -> Result<AttributeValue> {
    if depth >= MAX_NESTING {
        return Err(Error::validation(message::NESTING));
    }
    let Json::Object(entries) = json else {
        return Err(shape::check_value(json).err().unwrap_or_else(empty));
    };
    let mut types = entries.iter().filter_map(|(name, content)| {
        let kind = AttributeType::from_wire(name)?;
        (!matches!(content, Json::Null)).then_some((kind, content))
    });
    let Some((kind, content)) = types.next() else { return Err(empty()) };
    match types.next() {
        None => typed(kind, content, depth),
        Some(second) => {
            several([(kind, content), second].into_iter().chain(types).collect(), depth)
        }
    }
}

/// A value with several members: an error, unless they are repetitions of one type.
#[cold]
fn several(members: Vec<(AttributeType, &Json<'_>)>, depth: usize) -> Result<AttributeValue> {
    let mut found: Option<Result<AttributeValue>> = None;
    for kind in ORDER {
        let Some((_, content)) = members.iter().rfind(|(candidate, _)| *candidate == kind) else {
            continue;
        };
        let read = typed(kind, content, depth)?;
        found = Some(match found {
            None => Ok(read),
            Some(_) => Err(Error::validation(message::SEVERAL_TYPES)),
        });
    }
    found.unwrap_or_else(|| Err(empty()))
}

/// Reads the content of a value of this type.
pub(super) fn typed(kind: AttributeType, json: &Json<'_>, depth: usize) -> Result<AttributeValue> {
    Ok(match kind {
        AttributeType::S => AttributeValue::S(shape::string(json)?.into()),
        AttributeType::N => AttributeValue::N(Number::parse(shape::string(json)?)?),
        AttributeType::B => AttributeValue::B(shape::binary(json)?),
        AttributeType::Bool => AttributeValue::Bool(shape::boolean(json)?),
        AttributeType::Null if shape::boolean(json)? => AttributeValue::Null,
        AttributeType::Null => return Err(Error::validation(message::NULL_NOT_TRUE)),
        AttributeType::Ss => string_set(json)?,
        AttributeType::Ns => number_set(json)?,
        AttributeType::Bs => binary_set(json)?,
        AttributeType::L => {
            let elements = shape::list(json)?;
            let mut list = Vec::with_capacity(elements.len());
            for element in elements {
                list.push(value(element, depth + 1)?);
            }
            AttributeValue::L(list)
        }
        AttributeType::M => AttributeValue::M(map(json, depth + 1)?),
    })
}

fn string_set(json: &Json<'_>) -> Result<AttributeValue> {
    let members: Vec<&str> = shape::list(json)?.iter().map(shape::string).collect::<Result<_>>()?;
    if members.is_empty() {
        return Err(Error::validation(message::EMPTY_STRING_SET));
    }
    if has_duplicate(&members) {
        return Err(Error::validation(message::duplicate_strings(&members)));
    }
    Ok(AttributeValue::string_set(members.into_iter().map(Str::from).collect()))
}

fn number_set(json: &Json<'_>) -> Result<AttributeValue> {
    let members = shape::list(json)?;
    if members.is_empty() {
        return Err(Error::validation(message::EMPTY_NUMBER_SET));
    }
    let members: Vec<Number> = members
        .iter()
        .map(|member| Ok(Number::parse(shape::string(member)?)?))
        .collect::<Result<_>>()?;
    if has_duplicate(&members) {
        return Err(Error::validation(message::DUPLICATE_NUMBERS));
    }
    Ok(AttributeValue::number_set(members))
}

fn binary_set(json: &Json<'_>) -> Result<AttributeValue> {
    let members: Vec<Vec<u8>> =
        shape::list(json)?.iter().map(shape::binary).collect::<Result<_>>()?;
    if members.is_empty() {
        return Err(Error::validation(message::EMPTY_BINARY_SET));
    }
    if has_duplicate(&members) {
        let encoded: Vec<String> = members.iter().map(|member| STANDARD.encode(member)).collect();
        return Err(Error::validation(message::duplicate_binaries(&encoded)));
    }
    Ok(AttributeValue::binary_set(members))
}

fn has_duplicate<T: Eq + Hash>(members: &[T]) -> bool {
    if members.len() <= SMALL_SET {
        return members
            .iter()
            .enumerate()
            .any(|(at, member)| members.iter().take(at).any(|earlier| earlier == member));
    }
    let mut seen = HashSet::with_capacity(members.len());
    !members.iter().all(|member| seen.insert(member))
}

fn empty() -> Error {
    Error::validation(message::EMPTY_VALUE)
}
