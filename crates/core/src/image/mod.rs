//! The stored form of an item: compact, versioned, readable attribute by attribute.
//!
//! ```text
//! item    = version(2) size count text attribute*   size: DynamoDB's item size; names ascend
//! text    = its length, UTF-8 bytes                 every name and string, in the order in which
//!                                                   the attributes refer to them
//! attribute = length value                          length: of the name
//! value   = tag payload
//!   S       length                                  lengths and counts are LEB128, but those of
//!   B       length, bytes                           text and body, which are u32, little endian
//!   N       header exponent coefficient             header: sign bit and coefficient length;
//!                                                   exponent: zigzag; coefficient: little endian
//!   BOOL    (two tags, no payload)
//!   NULL    (no payload)
//!   SS      body(count, length*)                    body: its length and that of its text, so that
//!   NS      body(count, number*)                    every value is skipped in one step
//!   BS      body(count, (length, bytes)*)
//!   L       body(count, value*)
//!   M       body(count, attribute*)
//! ```
//!
//! All text is contiguous so that it can be checked at once: for UTF-8 when an item is decoded, and
//! for characters to escape when it is written as JSON. Checking string by string was the larger
//! part of the work.

#![expect(
    clippy::inline_always,
    reason = "a cursor whose address is handed to a call does not stay in registers"
)]

mod buffer;
mod decode;
mod difference;
mod encode;
mod json;
mod reader;
mod stored;
mod text;

pub use difference::{before, difference, is_difference};
pub use encode::{encode, encode_into};
pub use stored::{Row, Stored};

use std::cmp::Ordering;

use crate::error::Result;
use crate::value::{AttributeType, AttributeValue, Item};
use reader::{Read, Reader};
use text::{Plain, Text};

/// The version that [`encode()`] writes.
const VERSION: u8 = 2;

/// Deeper values are refused when decoded: no stored value is that deep, and damaged bytes must not
/// exhaust the stack.
const MAX_DEPTH: usize = 64;

fn deeper(depth: usize) -> Read<usize> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(reader::corrupt("it is nested too deeply")) }
}

/// The tag of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    S = 1,
    N = 2,
    B = 3,
    False = 4,
    True = 5,
    Null = 6,
    Ss = 7,
    Ns = 8,
    Bs = 9,
    L = 10,
    M = 11,
}

impl Tag {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::S,
            2 => Self::N,
            3 => Self::B,
            4 => Self::False,
            5 => Self::True,
            6 => Self::Null,
            7 => Self::Ss,
            8 => Self::Ns,
            9 => Self::Bs,
            10 => Self::L,
            11 => Self::M,
            _ => return None,
        })
    }

    fn attribute_type(self) -> AttributeType {
        match self {
            Self::S => AttributeType::S,
            Self::N => AttributeType::N,
            Self::B => AttributeType::B,
            Self::False | Self::True => AttributeType::Bool,
            Self::Null => AttributeType::Null,
            Self::Ss => AttributeType::Ss,
            Self::Ns => AttributeType::Ns,
            Self::Bs => AttributeType::Bs,
            Self::L => AttributeType::L,
            Self::M => AttributeType::M,
        }
    }
}

/// A view of a stored item. Attributes are decoded on access.
///
/// Damaged bytes give [`Error::InternalServer`](crate::Error::InternalServer), never a panic.
///
/// ```
/// use keyloom_core::{Item, image};
///
/// let item: Item = [("pk".into(), "a".into()), ("n".into(), 42.into())].into_iter().collect();
/// let stored = image::encode(&item);
/// let view = image::ImageRef::new(&stored).unwrap();
/// assert_eq!(view.get("n").unwrap(), Some(42.into()));
/// assert_eq!(view.size_bytes(), 6);
/// assert_eq!(view.decode().unwrap(), item);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ImageRef<'a> {
    size_bytes: usize,
    count: usize,
    attributes: Reader<'a>,
}

impl<'a> ImageRef<'a> {
    /// Decodes the header.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        Ok(Self::read(bytes)?)
    }

    #[inline(always)]
    fn read(bytes: &'a [u8]) -> Read<Self> {
        let mut reader = Reader::start(bytes)?;
        let size_bytes = reader.length()?;
        let count = reader.length()?;
        Ok(Self { size_bytes, count, attributes: reader.behind_text()? })
    }

    /// DynamoDB's size of the item.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The number of attributes.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The attributes in name order, undecoded.
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes { remaining: self.count, reader: self.attributes }
    }

    /// The value of one attribute, undecoded.
    pub fn get_raw(&self, name: &str) -> Result<Option<RawValue<'a>>> {
        let mut reader = self.attributes;
        for _ in 0..self.count {
            // UTF-8 strings order by their bytes, so they need not be validated to be compared.
            let order = reader.string()?.cmp(name.as_bytes());
            let value = reader.raw_value()?;
            match order {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Some(value)),
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    /// Decodes one attribute, skipping the others.
    pub fn get(&self, name: &str) -> Result<Option<AttributeValue>> {
        self.get_raw(name)?.map(RawValue::decode).transpose()
    }

    /// The whole item.
    pub fn decode(&self) -> Result<Item> {
        Ok(self.read_item()?)
    }

    #[inline(always)]
    fn read_item(&self) -> Read<Item> {
        let reader = self.attributes.with_text(self.attributes.text().as_str()?);
        decode::attributes(reader, self.count, 0)
    }

    /// Appends the item as DynamoDB JSON, straight from the stored bytes.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        Ok(self.append_json(out)?)
    }

    #[inline(always)]
    fn append_json(&self, out: &mut Vec<u8>) -> Read<()> {
        let text = self.attributes.text();
        match Plain::of(text) {
            Some(plain) => json::write_item(self.attributes.with_text(plain), self.count, out),
            None => json::write_item(self.attributes.with_text(text.as_str()?), self.count, out),
        }
    }
}

/// Decodes a whole stored item: [`ImageRef::decode`] without constructing a view.
pub fn decode(stored: &[u8]) -> Result<Item> {
    Ok(ImageRef::read(stored).and_then(|view| view.read_item())?)
}

/// Appends a stored item as DynamoDB JSON: [`ImageRef::write_json`] without constructing a view.
pub fn write_json(stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
    Ok(ImageRef::read(stored).and_then(|view| view.append_json(out))?)
}

/// DynamoDB's size of a stored item, which is in its header.
pub fn size_bytes(stored: &[u8]) -> Result<usize> {
    Ok(Reader::start(stored)?.length()?)
}

/// One stored value, undecoded.
#[derive(Clone, Copy, Debug)]
pub struct RawValue<'a> {
    tag: Tag,
    /// Everything from its payload on.
    payload: Reader<'a>,
}

impl RawValue<'_> {
    /// Whether this equals `value`. Strings and binaries are compared without decoding.
    pub fn equals(self, value: &AttributeValue) -> Result<bool> {
        if self.attribute_type() != value.attribute_type() {
            return Ok(false);
        }
        let mut payload = self.payload;
        Ok(match value {
            AttributeValue::S(text) => payload.string()? == text.as_bytes(),
            AttributeValue::B(bytes) => payload.bytes()? == bytes,
            AttributeValue::N(number) => payload.number()? == *number,
            _ => self.decode()? == *value,
        })
    }

    /// The type of the value.
    pub fn attribute_type(self) -> AttributeType {
        self.tag.attribute_type()
    }

    /// Decodes the stored bytes to a value.
    pub fn decode(self) -> Result<AttributeValue> {
        Ok(decode::value(self.tag, self.payload, 0)?.0)
    }
}

/// The attributes of a stored item, in name order.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    remaining: usize,
    reader: Reader<'a>,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<(&'a str, RawValue<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let attribute =
            self.reader.string().and_then(|name| Ok((name.as_str()?, self.reader.raw_value()?)));
        if attribute.is_err() {
            self.remaining = 0;
        }
        Some(attribute.map_err(Into::into))
    }
}

#[cfg(test)]
mod tests;
