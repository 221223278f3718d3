//! Encodes stored items.

use std::borrow::Cow;

use super::{Tag, VERSION};
use crate::number::Number;
use crate::size::item_size;
use crate::value::{AttributeValue, Item, Str};

/// The stored form of an item.
pub fn encode(item: &Item) -> Vec<u8> {
    let size = item_size(item);
    // Names and strings are stored unchanged; the rest is about as long as DynamoDB counts it.
    let mut out = Vec::with_capacity(size + 4 * item.len() + 12);
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
    length(item.len(), out);
    let slot = reserve_length(out);
    text_of_item(item, out);
    fill_length(slot, out.len() - slot - FIXED_LENGTH, out);
    attributes(item, out);
}

/// Appends the names and strings of an item.
fn text_of_item(item: &Item, out: &mut Vec<u8>) {
    for (name, value) in item.iter() {
        out.extend_from_slice(name.as_bytes());
        text_of_value(value, out);
    }
}

fn text_of_value(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => out.extend_from_slice(text.as_bytes()),
        AttributeValue::Ss(members) => {
            for member in in_order(members).iter() {
                out.extend_from_slice(member.as_bytes());
            }
        }
        AttributeValue::L(elements) => elements.iter().for_each(|e| text_of_value(e, out)),
        AttributeValue::M(map) => text_of_item(map, out),
        _ => {}
    }
}

/// Appends the attributes, which refer to the text; returns how many bytes of it they use, like all
/// functions below.
fn attributes(item: &Item, out: &mut Vec<u8>) -> usize {
    let mut text_bytes = 0;
    for (name, attribute) in item.iter() {
        length(name.len(), out);
        text_bytes += name.len() + value(attribute, out);
    }
    text_bytes
}

fn value(value: &AttributeValue, out: &mut Vec<u8>) -> usize {
    match value {
        AttributeValue::S(text) => {
            out.push(Tag::S as u8);
            return string(text, out);
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
        AttributeValue::Ss(members) => return list(Tag::Ss, &in_order(members), string, out),
        AttributeValue::Ns(members) => return list(Tag::Ns, &in_order(members), number, out),
        AttributeValue::Bs(members) => {
            return list(Tag::Bs, &in_order(members), |member, out| bytes(member, out), out);
        }
        AttributeValue::L(elements) => return list(Tag::L, elements, self::value, out),
        AttributeValue::M(map) => {
            let content = |out: &mut Vec<u8>| {
                length(map.len(), out);
                attributes(map, out)
            };
            return body(Tag::M, content, out);
        }
    }
    0
}

/// The members of a set in the order in which sets are returned. Decoded requests have them sorted;
/// items built by a program may not.
fn in_order<T: Clone + Ord>(members: &[T]) -> Cow<'_, [T]> {
    if members.is_sorted() {
        return Cow::Borrowed(members);
    }
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    Cow::Owned(sorted)
}

fn list<T>(
    tag: Tag,
    members: &[T],
    write: impl Fn(&T, &mut Vec<u8>) -> usize,
    out: &mut Vec<u8>,
) -> usize {
    let content = |out: &mut Vec<u8>| {
        length(members.len(), out);
        members.iter().map(|member| write(member, out)).sum()
    };
    body(tag, content, out)
}

/// Writes a container; its lengths are filled in afterwards.
fn body(tag: Tag, content: impl FnOnce(&mut Vec<u8>) -> usize, out: &mut Vec<u8>) -> usize {
    out.push(tag as u8);
    let (slot, text_slot) = (reserve_length(out), reserve_length(out));
    let text_bytes = content(out);
    fill_length(slot, out.len() - text_slot - FIXED_LENGTH, out);
    fill_length(text_slot, text_bytes, out);
    text_bytes
}

/// The size of a length that is filled in afterwards.
const FIXED_LENGTH: usize = 4;

fn reserve_length(out: &mut Vec<u8>) -> usize {
    let slot = out.len();
    out.extend_from_slice(&[0; FIXED_LENGTH]);
    slot
}

fn fill_length(slot: usize, value: usize, out: &mut [u8]) {
    if let Some(buffer) = out.get_mut(slot..slot + FIXED_LENGTH) {
        buffer.copy_from_slice(&(value as u32).to_le_bytes());
    }
}

fn string(text: &Str, out: &mut Vec<u8>) -> usize {
    length(text.len(), out);
    text.len()
}

fn bytes(content: &[u8], out: &mut Vec<u8>) -> usize {
    length(content.len(), out);
    out.extend_from_slice(content);
    0
}

pub(super) fn length(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(number: &Number, out: &mut Vec<u8>) -> usize {
    let coefficient = number.coefficient();
    let bytes = coefficient.to_le_bytes();
    let used = bytes.len() - coefficient.leading_zeros() as usize / 8;
    out.push(used as u8 | u8::from(number.is_negative()) << 7);
    let exponent = number.exponent();
    length(((exponent << 1) ^ (exponent >> 31)) as u32 as usize, out);
    out.extend(bytes.iter().take(used));
    0
}
