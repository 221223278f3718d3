//! Writing stored items.

use super::{Tag, VERSION};
use crate::number::Number;
use crate::size::item_size;
use crate::value::{AttributeValue, Item};

/// The stored form of an item.
pub fn encode(item: &Item) -> Vec<u8> {
    let size = item_size(item);
    // Names and strings are stored as they are, the rest is about as long as DynamoDB counts it.
    let mut out = Vec::with_capacity(size + 4 * item.len() + 8);
    write(item, size, &mut out);
    out
}

/// Appends the stored form of an item.
pub fn encode_into(item: &Item, out: &mut Vec<u8>) {
    write(item, item_size(item), out);
}

fn write(item: &Item, size: usize, out: &mut Vec<u8>) {
    out.push(VERSION);
    length(size, out);
    attributes(item, out);
}

fn attributes(item: &Item, out: &mut Vec<u8>) {
    length(item.len(), out);
    for (name, attribute) in item.iter() {
        bytes(name.as_bytes(), out);
        value(attribute, out);
    }
}

fn value(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => {
            out.push(Tag::S as u8);
            bytes(text.as_bytes(), out);
        }
        AttributeValue::N(value) => {
            out.push(Tag::N as u8);
            number(value, out);
        }
        AttributeValue::B(value) => {
            out.push(Tag::B as u8);
            bytes(value, out);
        }
        AttributeValue::Bool(false) => out.push(Tag::False as u8),
        AttributeValue::Bool(true) => out.push(Tag::True as u8),
        AttributeValue::Null => out.push(Tag::Null as u8),
        AttributeValue::Ss(members) => {
            list(Tag::Ss, members, |member, out| bytes(member.as_bytes(), out), out);
        }
        AttributeValue::Ns(members) => list(Tag::Ns, members, number, out),
        AttributeValue::Bs(members) => {
            list(Tag::Bs, members, |member, out| bytes(member, out), out);
        }
        AttributeValue::L(elements) => list(Tag::L, elements, self::value, out),
        AttributeValue::M(map) => body(Tag::M, |out| attributes(map, out), out),
    }
}

fn list<T>(tag: Tag, members: &[T], write: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    body(
        tag,
        |out| {
            length(members.len(), out);
            for member in members {
                write(member, out);
            }
        },
        out,
    );
}

/// Writes a container: its length is filled in when its content is known.
fn body(tag: Tag, content: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(tag as u8);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    content(out);
    let written = out.len() - start - 4;
    if let Some(slot) = out.get_mut(start..start + 4) {
        slot.copy_from_slice(&(written as u32).to_le_bytes());
    }
}

fn bytes(content: &[u8], out: &mut Vec<u8>) {
    length(content.len(), out);
    out.extend_from_slice(content);
}

fn length(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(number: &Number, out: &mut Vec<u8>) {
    let coefficient = number.coefficient();
    let bytes = coefficient.to_le_bytes();
    let used = bytes.len() - coefficient.leading_zeros() as usize / 8;
    out.push(used as u8 | u8::from(number.is_negative()) << 7);
    let exponent = number.exponent();
    length(((exponent << 1) ^ (exponent >> 31)) as u32 as usize, out);
    out.extend(bytes.iter().take(used));
}
