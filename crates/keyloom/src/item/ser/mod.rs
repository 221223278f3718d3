//! Serializes Rust values into attribute values.
//!
//! There are three serializers: [`ItemWriter`] for the top level, [`ValueWriter`] for nested values, and one for map
//! keys. `collect` builds lists and maps for them.

mod collect;
mod name;
mod refuse;
mod value;

use keyloom_core::{AttributeValue, Str};
use serde::ser::{Impossible, Serializer};

use crate::error::ItemError;
use collect::MapWriter;
use refuse::{refuse, transparent};
pub(crate) use value::ValueWriter;

type Attributes = Vec<(Str, AttributeValue)>;

/// Writes a struct or map as the attributes of an item.
pub(crate) struct ItemWriter;

fn not_an_item(what: &str) -> ItemError {
    ItemError::new(format!("an item is a struct or a map, not {what}"))
}

impl Serializer for ItemWriter {
    type Ok = Attributes;
    type Error = ItemError;
    type SerializeSeq = Impossible<Attributes, ItemError>;
    type SerializeTuple = Impossible<Attributes, ItemError>;
    type SerializeTupleStruct = Impossible<Attributes, ItemError>;
    type SerializeTupleVariant = Impossible<Attributes, ItemError>;
    type SerializeMap = MapWriter;
    type SerializeStruct = MapWriter;
    type SerializeStructVariant = Impossible<Attributes, ItemError>;

    refuse! {
        not_an_item;
        bool whole float char text bytes nothing unit_variant newtype_variant list struct_variant
    }
    transparent!();

    fn serialize_map(self, len: Option<usize>) -> Result<MapWriter, ItemError> {
        Ok(MapWriter::new(len.unwrap_or(8)))
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<MapWriter, ItemError> {
        Ok(MapWriter::new(len))
    }
}
