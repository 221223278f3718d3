//! The stored form of a vector index's entry.
//!
//! ```text
//! key   = keyspace, value of the partition attribute (if the index has one), the item's key
//! value = sum of the squares (f64) float* image      little endian; as many floats as dimensions
//! ```
//!
//! The floats lie before the image so that a search finds them at a fixed place. The sum of the
//! squares is what the cosine needs of the stored side, computed once.

use keyloom_core::image::{self, ImageRef};
use keyloom_core::schema::{KeySchema, VectorEntry, VectorIndexSchema, vector_entry_size};
use keyloom_core::{Error, Item, Result, key};

use crate::layout::{self, Keyspace};

use super::distance;

const NORM_BYTES: usize = size_of::<f64>();
const FLOAT_BYTES: usize = size_of::<f32>();

/// The store key of an item's entry, which the item must belong to.
pub(crate) fn entry_key(
    keyspace: Keyspace,
    index: &VectorIndexSchema,
    base: &KeySchema,
    item: &Item,
) -> Result<Vec<u8>> {
    let mut bytes = layout::entries(keyspace);
    if let Some(value) = index.hash().and_then(|hash| item.get(&hash.name)) {
        key::encode_key_value(value, &mut bytes)?;
    }
    base.encode(item, &mut bytes)?;
    Ok(bytes)
}

/// The stored form of an entry.
pub(crate) fn encode(entry: &VectorEntry) -> Vec<u8> {
    let mut bytes = vec![0; NORM_BYTES];
    bytes.extend(entry.vector.iter().flat_map(|float| float.to_le_bytes()));
    let squares = distance::squares(bytes.get(NORM_BYTES..).unwrap_or_default());
    if let Some(norm) = bytes.first_chunk_mut() {
        *norm = squares.to_le_bytes();
    }
    image::encode_into(&entry.rest, &mut bytes);
    bytes
}

/// An entry as it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryRef<'a> {
    /// The sum of the squares of the vector's floats.
    pub(super) squares: f64,
    /// The floats, little endian.
    pub(super) floats: &'a [u8],
    image: &'a [u8],
}

impl<'a> EntryRef<'a> {
    /// Reads an entry of an index with so many dimensions.
    pub(crate) fn new(bytes: &'a [u8], dimensions: usize) -> Result<Self> {
        let split = || {
            let (squares, rest) = bytes.split_first_chunk::<NORM_BYTES>()?;
            let (floats, image) = rest.split_at_checked(dimensions * FLOAT_BYTES)?;
            Some(Self { squares: f64::from_le_bytes(*squares), floats, image })
        };
        split().ok_or_else(|| Error::InternalServer("stored vector is corrupt: too short".into()))
    }

    /// The stored vector, element by element.
    pub(crate) fn vector(&self) -> impl Iterator<Item = f32> + 'a {
        self.floats.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
    }

    /// The other attributes of the entry.
    pub(crate) fn image(&self) -> Result<ImageRef<'a>> {
        ImageRef::new(self.image)
    }

    /// Where the image of the other attributes begins.
    pub(crate) fn image_start(dimensions: usize) -> usize {
        NORM_BYTES + dimensions * FLOAT_BYTES
    }

    /// The entry's size as DynamoDB counts it.
    pub(crate) fn size_bytes(&self, index: &VectorIndexSchema) -> Result<usize> {
        Ok(vector_entry_size(index, self.image()?.size_bytes()))
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_as_it_was() {
        let rest: Item = [("pk".into(), "a".into())].into_iter().collect();
        let entry = VectorEntry { vector: vec![3.0, -4.0, 0.5], rest: rest.clone() };
        let bytes = encode(&entry);
        let read = EntryRef::new(&bytes, 3).unwrap();
        assert_eq!(read.vector().collect::<Vec<_>>(), entry.vector);
        assert_eq!(read.squares, 25.25);
        assert_eq!(read.image().unwrap().decode().unwrap(), rest);
        assert_eq!(bytes.len() - EntryRef::image_start(3), image::encode(&rest).len());
    }

    #[test]
    fn a_damaged_entry_is_an_error() {
        assert!(EntryRef::new(&[0; 11], 1).is_err());
        assert!(EntryRef::new(&[0; 12], 1).unwrap().image().is_err());
    }
}
