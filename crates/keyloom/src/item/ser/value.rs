//! Serializes any value as an attribute value.

use keyloom_core::{AttributeValue, Number, Str};
use serde::ser::{Serialize, Serializer};

use super::collect::{ListWriter, MapWriter, NestedWriter, tagged};
use crate::error::ItemError;
use crate::item::set::{self, SET_MARK};

/// Serializes any value; `None` becomes no attribute.
pub(crate) struct ValueWriter;

macro_rules! whole_numbers {
    ($($method:ident($kind:ty) as $wide:ty;)*) => {
        $(fn $method(self, number: $kind) -> Result<Self::Ok, ItemError> {
            Ok(Some(AttributeValue::N(Number::from(<$wide>::from(number)))))
        })*
    };
}

impl Serializer for ValueWriter {
    type Ok = Option<AttributeValue>;
    type Error = ItemError;
    type SerializeSeq = ListWriter;
    type SerializeTuple = ListWriter;
    type SerializeTupleStruct = ListWriter;
    type SerializeTupleVariant = ListWriter;
    type SerializeMap = NestedWriter;
    type SerializeStruct = NestedWriter;
    type SerializeStructVariant = NestedWriter;

    whole_numbers! {
        serialize_i8(i8) as i64;
        serialize_i16(i16) as i64;
        serialize_i32(i32) as i64;
        serialize_i64(i64) as i64;
        serialize_u8(u8) as u64;
        serialize_u16(u16) as u64;
        serialize_u32(u32) as u64;
        serialize_u64(u64) as u64;
    }

    fn serialize_bool(self, flag: bool) -> Result<Self::Ok, ItemError> {
        Ok(Some(AttributeValue::Bool(flag)))
    }

    fn serialize_i128(self, number: i128) -> Result<Self::Ok, ItemError> {
        decimal(&number.to_string())
    }

    fn serialize_u128(self, number: u128) -> Result<Self::Ok, ItemError> {
        decimal(&number.to_string())
    }

    fn serialize_f32(self, number: f32) -> Result<Self::Ok, ItemError> {
        // Through its shortest text: as an f64, 0.1 would become 0.10000000149.
        decimal(&format!("{number:e}"))
    }

    fn serialize_f64(self, number: f64) -> Result<Self::Ok, ItemError> {
        let number = Number::from_f64(number).map_err(ItemError::new)?;
        Ok(Some(AttributeValue::N(number)))
    }

    fn serialize_char(self, character: char) -> Result<Self::Ok, ItemError> {
        self.serialize_str(character.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<Self::Ok, ItemError> {
        Ok(Some(AttributeValue::S(text.into())))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Self::Ok, ItemError> {
        Ok(Some(AttributeValue::B(bytes.to_vec())))
    }

    fn serialize_none(self) -> Result<Self::Ok, ItemError> {
        Ok(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, ItemError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Self::Ok, ItemError> {
        Ok(Some(AttributeValue::Null))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Self::Ok, ItemError> {
        Ok(Some(AttributeValue::Null))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Self::Ok, ItemError> {
        Ok(Some(AttributeValue::S(Str::const_new(variant))))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Self::Ok, ItemError> {
        let written = value.serialize(self)?;
        if name == SET_MARK { set::of_list(written) } else { Ok(written) }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Self::Ok, ItemError> {
        Ok(tagged(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<ListWriter, ItemError> {
        Ok(ListWriter { list: Vec::with_capacity(len.unwrap_or(0)), variant: None })
    }

    fn serialize_tuple(self, len: usize) -> Result<ListWriter, ItemError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<ListWriter, ItemError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ListWriter, ItemError> {
        Ok(ListWriter { list: Vec::with_capacity(len), variant: Some(variant) })
    }

    fn serialize_map(self, len: Option<usize>) -> Result<NestedWriter, ItemError> {
        Ok(NestedWriter { map: MapWriter::new(len.unwrap_or(0)), variant: None })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<NestedWriter, ItemError> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<NestedWriter, ItemError> {
        Ok(NestedWriter { map: MapWriter::new(len), variant: Some(variant) })
    }
}

fn decimal(text: &str) -> Result<Option<AttributeValue>, ItemError> {
    let number = Number::parse(text).map_err(ItemError::new)?;
    Ok(Some(AttributeValue::N(number)))
}
