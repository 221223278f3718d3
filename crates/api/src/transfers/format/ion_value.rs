//! Values of Amazon Ion, and which of them are DynamoDB's.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom_core::error::transfer as message;
use keyloom_core::json::write_string;
use keyloom_core::{Item, Result, Str};

use super::{item_of, shown};

/// A value with its annotations.
#[derive(Debug, PartialEq)]
pub(super) struct Ion {
    pub(super) annotations: Vec<String>,
    pub(super) content: Content,
}

#[derive(Debug, PartialEq)]
pub(super) enum Content {
    Null,
    Bool(bool),
    /// An integer or a decimal, in digits that [`keyloom_core::number`] reads.
    Number(String),
    String(String),
    Symbol(String),
    Blob(Vec<u8>),
    List(Vec<Ion>),
    Struct(Vec<(String, Ion)>),
    /// A type that DynamoDB does not have.
    Other(&'static str),
}

/// The item in a row: a struct with the field `Item`.
pub(super) fn item(row: &Ion) -> Result<Item> {
    let Content::Struct(fields) = &row.content else {
        return Err(message::row_without_item());
    };
    let item = fields.iter().rev().find(|(name, _)| name == "Item").map(|(_, item)| item);
    let Some(Ion { content: Content::Struct(fields), .. }) = item else {
        return Err(message::row_without_item());
    };
    let mut json = Vec::new();
    write_fields(fields, &mut json)?;
    item_of(&json)
}

/// The name of the first field of a row that is not `Item`.
pub(super) fn beside(row: &Ion) -> Option<Str> {
    let Content::Struct(fields) = &row.content else { return None };
    fields.iter().map(|(name, _)| name).find(|name| *name != "Item").map(|name| shown(name))
}

/// Writes a struct as an object of DynamoDB JSON, so that it is judged as every other item is.
fn write_fields(fields: &[(String, Ion)], out: &mut Vec<u8>) -> Result<()> {
    out.push(b'{');
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        write_value(name, value, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_value(name: &str, value: &Ion, out: &mut Vec<u8>) -> Result<()> {
    match set_type(name, value)? {
        Some(kind) => {
            out.extend_from_slice(format!("{{\"{kind}\":").as_bytes());
            let Content::List(members) = &value.content else {
                return Err(message::ion_type(&shown(name), "an annotated value that is no list"));
            };
            write_list(members, out, |member, out| write_member(name, kind, member, out))?;
        }
        None => write_content(name, &value.content, out)?,
    }
    out.push(b'}');
    Ok(())
}

/// The type of the set that an annotation names.
fn set_type(name: &str, value: &Ion) -> Result<Option<&'static str>> {
    match value.annotations.as_slice() {
        [] => Ok(None),
        [one] if one == "$dynamodb_SS" => Ok(Some("SS")),
        [one] if one == "$dynamodb_NS" => Ok(Some("NS")),
        [one] if one == "$dynamodb_BS" => Ok(Some("BS")),
        [other, ..] => Err(message::ion_annotation(&shown(name), &shown(other))),
    }
}

/// Writes a value up to its closing brace.
fn write_content(name: &str, content: &Content, out: &mut Vec<u8>) -> Result<()> {
    let mut tagged = |tag: &str| out.extend_from_slice(format!("{{\"{tag}\":").as_bytes());
    match content {
        Content::Null => {
            tagged("NULL");
            out.extend_from_slice(b"true");
        }
        Content::Bool(value) => {
            tagged("BOOL");
            out.extend_from_slice(value.to_string().as_bytes());
        }
        Content::Number(digits) => {
            tagged("N");
            write_string(digits, out);
        }
        Content::String(text) => {
            tagged("S");
            write_string(text, out);
        }
        Content::Blob(bytes) => {
            tagged("B");
            write_string(&STANDARD.encode(bytes), out);
        }
        Content::List(elements) => {
            tagged("L");
            write_list(elements, out, |element, out| write_value(name, element, out))?;
        }
        Content::Struct(fields) => {
            tagged("M");
            write_fields(fields, out)?;
        }
        Content::Symbol(text) => {
            let mut what = String::from("the symbol ");
            // Writing to a string cannot fail.
            let _ = write!(what, "'{}' (a string stands in double quotes)", shown(text));
            return Err(message::ion_type(&shown(name), &what));
        }
        Content::Other(what) => return Err(message::ion_type(&shown(name), what)),
    }
    Ok(())
}

fn write_list(
    elements: &[Ion],
    out: &mut Vec<u8>,
    mut write: impl FnMut(&Ion, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    out.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(element, out)?;
    }
    out.push(b']');
    Ok(())
}

/// Writes a member of a set.
fn write_member(name: &str, kind: &str, member: &Ion, out: &mut Vec<u8>) -> Result<()> {
    match (kind, &member.content) {
        ("SS", Content::String(text)) => write_string(text, out),
        ("NS", Content::Number(digits)) => write_string(digits, out),
        ("BS", Content::Blob(bytes)) => write_string(&STANDARD.encode(bytes), out),
        _ => return Err(message::ion_type(&shown(name), &format!("a member that is no {kind}'s"))),
    }
    Ok(())
}
