//! Items as they lie in the store, decoded only when somebody looks.

use std::cell::OnceCell;

use keyloom_core::image::{self, ImageRef};
use keyloom_core::{AttributeValue, Item, Result};
use keyloom_store::Bytes;

/// A stored item.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    bytes: Bytes,
    item: OnceCell<Item>,
}

impl Stored {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, item: OnceCell::new() }
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The item's size as DynamoDB counts it; read from the header.
    pub(crate) fn size_bytes(&self) -> Result<usize> {
        image::size_bytes(&self.bytes)
    }

    /// The item, decoded once.
    pub(crate) fn item(&self) -> Result<&Item> {
        if let Some(item) = self.item.get() {
            return Ok(item);
        }
        let item = image::decode(&self.bytes)?;
        Ok(self.item.get_or_init(|| item))
    }

    /// The item, decoded and moved out.
    pub(crate) fn into_item(self) -> Result<Item> {
        match self.item.into_inner() {
            Some(item) => Ok(item),
            None => image::decode(&self.bytes),
        }
    }

    /// One attribute, without decoding the others.
    pub(crate) fn get(&self, name: &str) -> Result<Option<AttributeValue>> {
        match self.item.get() {
            Some(item) => Ok(item.get(name).cloned()),
            None => ImageRef::new(&self.bytes)?.get(name),
        }
    }

    /// Appends the item as DynamoDB JSON, straight from its bytes.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        image::write_json(&self.bytes, out)
    }
}
