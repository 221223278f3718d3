//! Decodes stored values to a tree.

use super::reader::{Read, Reader, TOO_SHORT, corrupt};
use super::text::Text;
use super::{Tag, deeper};
use crate::value::{AttributeValue, Item, Str};

/// Decodes `count` attributes, which must use up the input.
pub(super) fn attributes<'a, T: Text<'a>>(
    reader: Reader<'a, T>,
    count: usize,
    depth: usize,
) -> Read<Item> {
    if count > reader.remaining() {
        return Err(TOO_SHORT);
    }
    // A local copy, which stays in registers.
    let mut reader = reader;
    let mut last = None;
    let mut failure = Ok(());
    // Collected in place: `push` would build each element on the stack, because growing might fail,
    // and copy it.
    let attributes: Vec<(Str, AttributeValue)> = (0..count)
        .map(|_| {
            match next_name(&mut reader, &mut last) {
                // Most are scalars, which are inlined.
                Ok((name, Tag::S)) => match reader.string().and_then(Text::as_str) {
                    Ok(text) => return (name.into(), AttributeValue::S(text.into())),
                    Err(error) => failure = failure.and(Err(error)),
                },
                Ok((name, Tag::N)) => match reader.number() {
                    Ok(number) => return (name.into(), AttributeValue::N(number)),
                    Err(error) => failure = failure.and(Err(error)),
                },
                Ok((name, Tag::True)) => return (name.into(), AttributeValue::Bool(true)),
                Ok((name, Tag::False)) => return (name.into(), AttributeValue::Bool(false)),
                Ok((name, tag)) => match value(tag, reader, depth) {
                    Ok((value, rest)) => {
                        reader = rest;
                        return (name.into(), value);
                    }
                    Err(error) => failure = failure.and(Err(error)),
                },
                Err(error) => failure = failure.and(Err(error)),
            }
            (Str::default(), AttributeValue::Null)
        })
        .collect();
    failure.and_then(|()| reader.finish())?;
    Ok(Item::from_sorted(attributes))
}

/// Reads the name of the next attribute, which must be greater than the previous one, and the tag
/// of its value.
#[inline(always)]
fn next_name<'a, T: Text<'a>>(
    reader: &mut Reader<'a, T>,
    last: &mut Option<&'a str>,
) -> Read<(&'a str, Tag)> {
    let name = reader.string()?.as_str()?;
    // Names differ early, so a byte loop beats a call.
    if last.is_some_and(|last| !last.bytes().lt(name.bytes())) {
        return Err(corrupt("attribute names do not ascend"));
    }
    *last = Some(name);
    Ok((name, reader.tag()?))
}

/// Decodes the payload of one value; returns the reader after it.
///
/// The reader is passed by value and returned, here and below, so that loops keep it in registers.
pub(super) fn value<'a, T: Text<'a>>(
    tag: Tag,
    mut reader: Reader<'a, T>,
    depth: usize,
) -> Read<(AttributeValue, Reader<'a, T>)> {
    let value = match tag {
        Tag::S => AttributeValue::S(reader.string()?.as_str()?.into()),
        Tag::N => AttributeValue::N(reader.number()?),
        Tag::B => AttributeValue::B(reader.bytes()?.to_vec()),
        Tag::False => AttributeValue::Bool(false),
        Tag::True => AttributeValue::Bool(true),
        Tag::Null => AttributeValue::Null,
        Tag::Ss => {
            AttributeValue::Ss(members(&mut reader, |body| Ok(body.string()?.as_str()?.into()))?)
        }
        Tag::Ns => AttributeValue::Ns(members(&mut reader, Reader::number)?),
        Tag::Bs => AttributeValue::Bs(members(&mut reader, |body| Ok(body.bytes()?.to_vec()))?),
        Tag::L => {
            let depth = deeper(depth)?;
            AttributeValue::L(members(&mut reader, |body| {
                let tag = body.tag()?;
                let (value, rest) = value(tag, *body, depth)?;
                *body = rest;
                Ok(value)
            })?)
        }
        Tag::M => {
            let mut body = reader.body()?;
            let count = body.length()?;
            AttributeValue::M(attributes(body, count, deeper(depth)?)?)
        }
    };
    Ok((value, reader))
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

/// Capacity for `count` elements, but never more than the remaining bytes could hold.
fn with_capacity<'a, T: Text<'a>, M>(count: usize, reader: &Reader<'a, T>) -> Vec<M> {
    Vec::with_capacity(count.min(reader.remaining()))
}
