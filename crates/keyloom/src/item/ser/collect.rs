//! Collects the elements of lists and maps during serialization.

use keyloom_core::{AttributeValue, Item, Str};
use serde::ser::{self, Serialize};

use super::name::NameWriter;
use super::{Attributes, ValueWriter};
use crate::error::ItemError;

/// Collects the attributes of an item while it is serialized.
pub(crate) struct MapWriter {
    attributes: Attributes,
    name: Str,
}

impl MapWriter {
    pub(super) fn new(len: usize) -> Self {
        // Room for the key attributes, which come after.
        Self { attributes: Vec::with_capacity(len + 8), name: Str::default() }
    }

    fn push<T: Serialize + ?Sized>(&mut self, name: Str, value: &T) -> Result<(), ItemError> {
        match value.serialize(ValueWriter) {
            Ok(Some(value)) => self.attributes.push((name, value)),
            Ok(None) => {}
            Err(error) => return Err(error.inside(&name)),
        }
        Ok(())
    }

    fn into_value(self) -> AttributeValue {
        AttributeValue::M(self.attributes.into_iter().collect())
    }
}

/// Collects a map inside an item.
pub(crate) struct NestedWriter {
    pub(super) map: MapWriter,
    pub(super) variant: Option<&'static str>,
}

/// Where a map-like writer gathers, and what it makes of it in the end.
pub(crate) trait Gathers {
    type Made;
    fn map(&mut self) -> &mut MapWriter;
    fn finish(self) -> Self::Made;
}

impl Gathers for MapWriter {
    type Made = Attributes;

    fn map(&mut self) -> &mut MapWriter {
        self
    }

    fn finish(self) -> Attributes {
        self.attributes
    }
}

impl Gathers for NestedWriter {
    type Made = Option<AttributeValue>;

    fn map(&mut self) -> &mut MapWriter {
        &mut self.map
    }

    fn finish(self) -> Option<AttributeValue> {
        tagged(self.variant, Some(self.map.into_value()))
    }
}

macro_rules! struct_writer {
    ($($kind:ident for $writer:ident),*) => {
        $(impl ser::$kind for $writer {
            type Ok = <$writer as Gathers>::Made;
            type Error = ItemError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), ItemError> {
                self.map().push(Str::const_new(name), value)
            }

            fn end(self) -> Result<Self::Ok, ItemError> {
                Ok(self.finish())
            }
        })*
    };
}
struct_writer!(
    SerializeStruct for MapWriter,
    SerializeStruct for NestedWriter,
    SerializeStructVariant for NestedWriter
);

macro_rules! map_writer {
    ($($writer:ident),*) => {
        $(impl ser::SerializeMap for $writer {
            type Ok = <$writer as Gathers>::Made;
            type Error = ItemError;

            fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ItemError> {
                self.map().name = key.serialize(NameWriter)?;
                Ok(())
            }

            fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ItemError> {
                let name = std::mem::take(&mut self.map().name);
                self.map().push(name, value)
            }

            fn end(self) -> Result<Self::Ok, ItemError> {
                Ok(self.finish())
            }
        })*
    };
}
map_writer!(MapWriter, NestedWriter);

/// Collects a list.
pub(crate) struct ListWriter {
    pub(super) list: Vec<AttributeValue>,
    pub(super) variant: Option<&'static str>,
}

impl ListWriter {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ItemError> {
        // A list keeps its positions, so here `None` becomes `NULL`.
        self.list.push(value.serialize(ValueWriter)?.unwrap_or(AttributeValue::Null));
        Ok(())
    }

    fn finish(self) -> Option<AttributeValue> {
        tagged(self.variant, Some(AttributeValue::L(self.list)))
    }
}

/// An enum variant with data is a map of one entry.
pub(super) fn tagged(
    variant: Option<&'static str>,
    value: Option<AttributeValue>,
) -> Option<AttributeValue> {
    let Some(variant) = variant else { return value };
    let mut item = Item::new();
    item.insert(variant, value.unwrap_or(AttributeValue::Null));
    Some(AttributeValue::M(item))
}

macro_rules! list_writer {
    ($($kind:ident :: $method:ident),*) => {
        $(impl ser::$kind for ListWriter {
            type Ok = Option<AttributeValue>;
            type Error = ItemError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ItemError> {
                self.push(value)
            }

            fn end(self) -> Result<Option<AttributeValue>, ItemError> {
                Ok(self.finish())
            }
        })*
    };
}
list_writer!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);
