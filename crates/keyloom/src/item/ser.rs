//! Rust values into attribute values.

use keyloom_core::{AttributeValue, Item, Number, Str};
use serde::ser::{self, Impossible, Serialize, Serializer};

use crate::error::ItemError;

type Attributes = Vec<(Str, AttributeValue)>;

/// Writes a struct or map as the attributes of an item.
pub(crate) struct ItemWriter;

/// Writes any value; nothing for `None`.
pub(crate) struct ValueWriter;

/// Writes the key of a map.
struct NameWriter;

impl ItemError {
    fn not_an_item(what: &str) -> Self {
        Self::new(format!("an item is a struct or a map, not {what}"))
    }
}

macro_rules! refuse {
    ($($method:ident($($kind:ty)?) = $what:literal;)*) => {
        $(fn $method(self $(, _: $kind)?) -> Result<Self::Ok, ItemError> {
            Err(ItemError::not_an_item($what))
        })*
    };
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
        serialize_bool(bool) = "a truth value";
        serialize_i8(i8) = "a number";
        serialize_i16(i16) = "a number";
        serialize_i32(i32) = "a number";
        serialize_i64(i64) = "a number";
        serialize_u8(u8) = "a number";
        serialize_u16(u16) = "a number";
        serialize_u32(u32) = "a number";
        serialize_u64(u64) = "a number";
        serialize_f32(f32) = "a number";
        serialize_f64(f64) = "a number";
        serialize_char(char) = "a character";
        serialize_str(&str) = "a text";
        serialize_bytes(&[u8]) = "bytes";
        serialize_none() = "nothing";
        serialize_unit() = "nothing";
        serialize_unit_struct(&'static str) = "a struct without fields";
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Attributes, ItemError> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<Attributes, ItemError> {
        Err(ItemError::not_an_item("an enum"))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Attributes, ItemError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Attributes, ItemError> {
        Err(ItemError::not_an_item("an enum"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, ItemError> {
        Err(ItemError::not_an_item("a list"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, ItemError> {
        Err(ItemError::not_an_item("a tuple"))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, ItemError> {
        Err(ItemError::not_an_item("a tuple"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, ItemError> {
        Err(ItemError::not_an_item("an enum"))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<MapWriter, ItemError> {
        Ok(MapWriter::new(len.unwrap_or(8)))
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<MapWriter, ItemError> {
        Ok(MapWriter::new(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, ItemError> {
        Err(ItemError::not_an_item("an enum"))
    }
}

/// Collects attributes.
pub(crate) struct MapWriter {
    attributes: Attributes,
    name: Str,
}

impl MapWriter {
    fn new(len: usize) -> Self {
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

impl ser::SerializeStruct for MapWriter {
    type Ok = Attributes;
    type Error = ItemError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ItemError> {
        self.push(Str::const_new(name), value)
    }

    fn end(self) -> Result<Attributes, ItemError> {
        Ok(self.attributes)
    }
}

impl ser::SerializeMap for MapWriter {
    type Ok = Attributes;
    type Error = ItemError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ItemError> {
        self.name = key.serialize(NameWriter)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ItemError> {
        let name = std::mem::take(&mut self.name);
        self.push(name, value)
    }

    fn end(self) -> Result<Attributes, ItemError> {
        Ok(self.attributes)
    }
}

/// Collects a map inside an item.
pub(crate) struct NestedWriter {
    map: MapWriter,
    variant: Option<&'static str>,
}

impl NestedWriter {
    fn finish(self) -> Option<AttributeValue> {
        tagged(self.variant, Some(self.map.into_value()))
    }
}

impl ser::SerializeStruct for NestedWriter {
    type Ok = Option<AttributeValue>;
    type Error = ItemError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ItemError> {
        ser::SerializeStruct::serialize_field(&mut self.map, name, value)
    }

    fn end(self) -> Result<Option<AttributeValue>, ItemError> {
        Ok(self.finish())
    }
}

impl ser::SerializeStructVariant for NestedWriter {
    type Ok = Option<AttributeValue>;
    type Error = ItemError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ItemError> {
        ser::SerializeStruct::serialize_field(&mut self.map, name, value)
    }

    fn end(self) -> Result<Option<AttributeValue>, ItemError> {
        Ok(self.finish())
    }
}

impl ser::SerializeMap for NestedWriter {
    type Ok = Option<AttributeValue>;
    type Error = ItemError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ItemError> {
        ser::SerializeMap::serialize_key(&mut self.map, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ItemError> {
        ser::SerializeMap::serialize_value(&mut self.map, value)
    }

    fn end(self) -> Result<Option<AttributeValue>, ItemError> {
        Ok(self.finish())
    }
}

/// Collects a list.
pub(crate) struct ListWriter {
    list: Vec<AttributeValue>,
    variant: Option<&'static str>,
}

impl ListWriter {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ItemError> {
        // A list keeps its places, so here nothing is `NULL`.
        self.list.push(value.serialize(ValueWriter)?.unwrap_or(AttributeValue::Null));
        Ok(())
    }

    fn finish(self) -> Option<AttributeValue> {
        tagged(self.variant, Some(AttributeValue::L(self.list)))
    }
}

/// An enum variant with data is a map of one entry.
fn tagged(variant: Option<&'static str>, value: Option<AttributeValue>) -> Option<AttributeValue> {
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
        // By way of its own shortest text: as an f64, 0.1 would become 0.10000000149.
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
        _: &'static str,
        value: &T,
    ) -> Result<Self::Ok, ItemError> {
        value.serialize(self)
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

macro_rules! names_of_numbers {
    ($($method:ident($kind:ty);)*) => {
        $(fn $method(self, number: $kind) -> Result<Str, ItemError> {
            Ok(number.to_string().into())
        })*
    };
}

macro_rules! no_names {
    ($($method:ident($($kind:ty)?);)*) => {
        $(fn $method(self $(, _: $kind)?) -> Result<Str, ItemError> {
            Err(ItemError::new("the keys of a map are texts or whole numbers"))
        })*
    };
}

impl Serializer for NameWriter {
    type Ok = Str;
    type Error = ItemError;
    type SerializeSeq = Impossible<Str, ItemError>;
    type SerializeTuple = Impossible<Str, ItemError>;
    type SerializeTupleStruct = Impossible<Str, ItemError>;
    type SerializeTupleVariant = Impossible<Str, ItemError>;
    type SerializeMap = Impossible<Str, ItemError>;
    type SerializeStruct = Impossible<Str, ItemError>;
    type SerializeStructVariant = Impossible<Str, ItemError>;

    names_of_numbers! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_char(char);
    }
    no_names! {
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
    }

    fn serialize_str(self, text: &str) -> Result<Str, ItemError> {
        Ok(text.into())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Str, ItemError> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Str, ItemError> {
        Ok(Str::const_new(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Str, ItemError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Str, ItemError> {
        self.serialize_none()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, ItemError> {
        Err(ItemError::new("the keys of a map are texts or whole numbers"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, ItemError> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, ItemError> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, ItemError> {
        self.serialize_seq(None)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, ItemError> {
        self.serialize_seq(None)
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, ItemError> {
        self.serialize_seq(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, ItemError> {
        self.serialize_seq(None)
    }
}
