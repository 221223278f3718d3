//! Writing values as JSON, without an intermediate tree.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::plain::plain_prefix;
use crate::number::Number;
use crate::value::{AttributeType, AttributeValue, Item};

/// Appends an item as a JSON object: `{"pk":{"S":"a"}}`.
pub fn write_item(item: &Item, out: &mut Vec<u8>) {
    write_object(item, write_string, write_value, out);
}

/// Appends an item between braces, with these forms of names and values.
pub fn write_object(
    item: &Item,
    write_name: impl Fn(&str, &mut Vec<u8>),
    write_value: impl Fn(&AttributeValue, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (position, (name, value)) in item.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write_name(name, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

/// Appends a value as a JSON object: `{"S":"a"}`.
pub fn write_value(value: &AttributeValue, out: &mut Vec<u8>) {
    out.extend_from_slice(opening(value.attribute_type()));
    match value {
        AttributeValue::S(text) => write_string(text, out),
        AttributeValue::N(number) => write_number(number, out),
        AttributeValue::B(bytes) => write_binary(bytes, out),
        AttributeValue::Bool(false) => out.extend_from_slice(b"false"),
        AttributeValue::Bool(true) | AttributeValue::Null => out.extend_from_slice(b"true"),
        AttributeValue::Ss(members) => {
            write_list(members, |member, out| write_string(member, out), out);
        }
        AttributeValue::Ns(members) => write_list(members, write_number, out),
        AttributeValue::Bs(members) => {
            write_list(members, |member, out| write_binary(member, out), out);
        }
        AttributeValue::L(elements) => write_list(elements, write_value, out),
        AttributeValue::M(map) => write_item(map, out),
    }
    out.push(b'}');
}

/// The start of a value, up to its content: `{"S":`.
pub(crate) fn opening(kind: AttributeType) -> &'static [u8] {
    match kind {
        AttributeType::S => b"{\"S\":",
        AttributeType::N => b"{\"N\":",
        AttributeType::B => b"{\"B\":",
        AttributeType::Bool => b"{\"BOOL\":",
        AttributeType::Null => b"{\"NULL\":",
        AttributeType::Ss => b"{\"SS\":",
        AttributeType::Ns => b"{\"NS\":",
        AttributeType::Bs => b"{\"BS\":",
        AttributeType::L => b"{\"L\":",
        AttributeType::M => b"{\"M\":",
    }
}

/// Appends a list between brackets, with this form of members.
pub fn write_list<T>(members: &[T], write: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'[');
    for (position, member) in members.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write(member, out);
    }
    out.push(b']');
}

/// Appends a number as a JSON string, which is how DynamoDB keeps it exact.
fn write_number(number: &Number, out: &mut Vec<u8>) {
    out.push(b'"');
    number.write_to(out);
    out.push(b'"');
}

/// Appends bytes as a JSON string of Base64.
fn write_binary(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    if let Some(room) = out.get_mut(start..) {
        // The room is exactly what padded Base64 needs, so this cannot fail.
        let written = STANDARD.encode_slice(bytes, room).unwrap_or_default();
        debug_assert_eq!(written, room.len());
    }
    out.push(b'"');
}

/// Appends a JSON string.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape(text, |piece| out.extend_from_slice(piece));
    out.push(b'"');
}

/// Writes the content of a JSON string, piece by piece.
pub(crate) fn escape(text: &str, mut put: impl FnMut(&[u8])) {
    let mut rest = text.as_bytes();
    // Most strings have nothing to escape and are copied in one piece.
    while let Some((clean, tail)) = rest.split_at_checked(plain_prefix(rest))
        && let Some((&byte, tail)) = tail.split_first()
    {
        put(clean);
        write_escape(byte, &mut put);
        rest = tail;
    }
    put(rest);
}

fn write_escape(byte: u8, put: &mut impl FnMut(&[u8])) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            put(format!("\\u{byte:04x}").as_bytes());
            return;
        }
    };
    put(&[b'\\', short]);
}
