//! Items as they lie in the store, decoded lazily.

use std::cell::OnceCell;

use bytes::Bytes;

use super::{self as image, ImageRef};
use crate::error::Result;
use crate::json;
use crate::value::{AttributeValue, Item};

/// A stored item.
#[derive(Clone, Debug)]
pub struct Stored {
    bytes: Bytes,
    item: OnceCell<Item>,
}

impl Stored {
    /// The item of these bytes, which are not looked at yet.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, item: OnceCell::new() }
    }

    /// The bytes of the image.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The item's size as DynamoDB counts it; read from the header.
    pub fn size_bytes(&self) -> Result<usize> {
        image::size_bytes(&self.bytes)
    }

    /// The item, decoded once.
    pub fn item(&self) -> Result<&Item> {
        if let Some(item) = self.item.get() {
            return Ok(item);
        }
        let item = image::decode(&self.bytes)?;
        Ok(self.item.get_or_init(|| item))
    }

    /// The item, decoded and moved out.
    pub fn into_item(self) -> Result<Item> {
        match self.item.into_inner() {
            Some(item) => Ok(item),
            None => image::decode(&self.bytes),
        }
    }

    /// One attribute, without decoding the others.
    pub fn get(&self, name: &str) -> Result<Option<AttributeValue>> {
        match self.item.get() {
            Some(item) => Ok(item.get(name).cloned()),
            None => ImageRef::new(&self.bytes)?.get(name),
        }
    }

    /// Appends the item as DynamoDB JSON, straight from its bytes.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        image::write_json(&self.bytes, out)
    }
}

/// An item of a reply: as stored, or as a projection made it.
#[derive(Clone, Debug)]
pub enum Row {
    /// As it lies in the store.
    Stored(Stored),
    /// As a projection, or a statement, made it.
    Item(Item),
}

impl Row {
    /// Appends the row as DynamoDB JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Stored(stored) => stored.write_json(out),
            Self::Item(item) => {
                json::write_item(item, out);
                Ok(())
            }
        }
    }

    /// About how long its JSON is; zero for a row that a projection made.
    pub fn estimated_json_bytes(&self) -> usize {
        match self {
            Self::Stored(stored) => stored.bytes().len() * 3 / 2 + 32,
            Self::Item(_) => 0,
        }
    }

    /// The row as an item.
    pub fn into_item(self) -> Result<Item> {
        match self {
            Self::Stored(stored) => stored.into_item(),
            Self::Item(item) => Ok(item),
        }
    }
}
