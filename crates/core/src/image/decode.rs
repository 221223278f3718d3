//! Reading stored values: to a tree, or straight to JSON.

use super::reader::{Read, Reader, corrupt};
use super::text::Text;
use super::{MAX_DEPTH, Tag};
use crate::json;
use crate::value::{AttributeValue, Item, Str};

/// Reads `count` attributes.
pub(super) fn attributes<'a, T: Text<'a>>(
    reader: &mut Reader<'a, T>,
    count: usize,
    depth: usize,
) -> Read<Item> {
    let mut attributes: Vec<(Str, AttributeValue)> = with_capacity(count, reader);
    let mut last = None;
    for _ in 0..count {
        let name = reader.string()?.as_str()?;
        if last.is_some_and(|last| !ascends(last, name)) {
            return Err(corrupt("attribute names do not ascend"));
        }
        last = Some(name);
        let tag = reader.tag()?;
        attributes.push((name.into(), value(tag, reader, depth)?));
    }
    Ok(Item::from_sorted(attributes))
}

/// Whether one name comes before the other. Most names differ in their first byte.
fn ascends(a: &str, b: &str) -> bool {
    match (a.as_bytes().first(), b.as_bytes().first()) {
        (Some(a), Some(b)) if a != b => a < b,
        _ => a < b,
    }
}

/// Reads the payload of one value.
pub(super) fn value<'a, T: Text<'a>>(
    tag: Tag,
    reader: &mut Reader<'a, T>,
    depth: usize,
) -> Read<AttributeValue> {
    Ok(match tag {
        Tag::S => AttributeValue::S(reader.string()?.as_str()?.into()),
        Tag::N => AttributeValue::N(reader.number()?),
        Tag::B => AttributeValue::B(reader.bytes()?.to_vec()),
        Tag::False => AttributeValue::Bool(false),
        Tag::True => AttributeValue::Bool(true),
        Tag::Null => AttributeValue::Null,
        Tag::Ss => AttributeValue::Ss(members(reader, |body| Ok(body.string()?.as_str()?.into()))?),
        Tag::Ns => AttributeValue::Ns(members(reader, Reader::number)?),
        Tag::Bs => AttributeValue::Bs(members(reader, |body| Ok(body.bytes()?.to_vec()))?),
        Tag::L => {
            let depth = deeper(depth)?;
            AttributeValue::L(members(reader, |body| {
                let tag = body.tag()?;
                value(tag, body, depth)
            })?)
        }
        Tag::M => {
            let mut body = reader.body()?;
            let count = body.length()?;
            let map = attributes(&mut body, count, deeper(depth)?)?;
            body.finish()?;
            AttributeValue::M(map)
        }
    })
}

fn members<'a, T: Text<'a>, M>(
    reader: &mut Reader<'a, T>,
    mut read: impl FnMut(&mut Reader<'a, T>) -> Read<M>,
) -> Read<Vec<M>> {
    let mut body = reader.body()?;
    let count = body.length()?;
    let mut members = with_capacity(count, &body);
    for _ in 0..count {
        members.push(read(&mut body)?);
    }
    body.finish()?;
    Ok(members)
}

/// Room for `count` elements, but never for more than the bytes could hold.
fn with_capacity<'a, T: Text<'a>, M>(count: usize, reader: &Reader<'a, T>) -> Vec<M> {
    Vec::with_capacity(count.min(reader.remaining()))
}

fn deeper(depth: usize) -> Read<usize> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(corrupt("it is nested too deeply")) }
}

/// Writes `count` attributes as a JSON object.
pub(super) fn write_attributes<'a, T: Text<'a>>(
    reader: &mut Reader<'a, T>,
    count: usize,
    depth: usize,
    out: &mut Vec<u8>,
) -> Read<()> {
    out.push(b'{');
    for position in 0..count {
        if position > 0 {
            out.push(b',');
        }
        reader.string()?.write_json(out)?;
        out.push(b':');
        let tag = reader.tag()?;
        write_value(tag, reader, depth, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Writes one value, in the form of [`json::write_value`].
pub(super) fn write_value<'a, T: Text<'a>>(
    tag: Tag,
    reader: &mut Reader<'a, T>,
    depth: usize,
    out: &mut Vec<u8>,
) -> Read<()> {
    json::open_value(tag.attribute_type(), out);
    match tag {
        Tag::S => reader.string()?.write_json(out)?,
        Tag::N => json::write_number(&reader.number()?, out),
        Tag::B => json::write_binary(reader.bytes()?, out),
        Tag::False => out.extend_from_slice(b"false"),
        Tag::True | Tag::Null => out.extend_from_slice(b"true"),
        Tag::Ss => write_members(reader, out, |body, out| body.string()?.write_json(out))?,
        Tag::Ns => write_members(reader, out, |body, out| {
            json::write_number(&body.number()?, out);
            Ok(())
        })?,
        Tag::Bs => write_members(reader, out, |body, out| {
            json::write_binary(body.bytes()?, out);
            Ok(())
        })?,
        Tag::L => {
            let depth = deeper(depth)?;
            write_members(reader, out, |body, out| {
                let tag = body.tag()?;
                write_value(tag, body, depth, out)
            })?;
        }
        Tag::M => {
            let mut body = reader.body()?;
            let count = body.length()?;
            write_attributes(&mut body, count, deeper(depth)?, out)?;
            body.finish()?;
        }
    }
    out.push(b'}');
    Ok(())
}

fn write_members<'a, T: Text<'a>>(
    reader: &mut Reader<'a, T>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&mut Reader<'a, T>, &mut Vec<u8>) -> Read<()>,
) -> Read<()> {
    let mut body = reader.body()?;
    let count = body.length()?;
    out.push(b'[');
    for position in 0..count {
        if position > 0 {
            out.push(b',');
        }
        write(&mut body, out)?;
    }
    out.push(b']');
    body.finish()
}
