//! Deserializes attribute values into Rust values.

use keyloom_core::{AttributeValue, Number, Str};
use serde::de::value::{SeqDeserializer, StringDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::error::ItemError;

/// A deserializer over one attribute value.
pub struct ValueReader {
    value: AttributeValue,
}

impl ValueReader {
    /// Reads this value.
    pub fn new(value: AttributeValue) -> Self {
        Self { value }
    }
}

impl IntoDeserializer<'_, ItemError> for ValueReader {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn list<'de, V: Visitor<'de>>(
    values: impl Iterator<Item = AttributeValue>,
    visitor: V,
) -> Result<V::Value, ItemError> {
    visitor.visit_seq(SeqDeserializer::new(values.map(ValueReader::new)))
}

impl<'de> Deserializer<'de> for ValueReader {
    type Error = ItemError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        match self.value {
            AttributeValue::S(text) => text_value(text, visitor),
            AttributeValue::N(number) => number_value(&number, visitor),
            AttributeValue::B(bytes) => visitor.visit_byte_buf(bytes),
            AttributeValue::Bool(flag) => visitor.visit_bool(flag),
            AttributeValue::Null => visitor.visit_unit(),
            AttributeValue::Ss(texts) => list(texts.into_iter().map(AttributeValue::S), visitor),
            AttributeValue::Ns(numbers) => {
                list(numbers.into_iter().map(AttributeValue::N), visitor)
            }
            AttributeValue::Bs(all) => list(all.into_iter().map(AttributeValue::B), visitor),
            AttributeValue::L(values) => list(values.into_iter(), visitor),
            AttributeValue::M(item) => {
                visitor.visit_map(Attributes { rest: item.into_iter(), current: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        match self.value {
            AttributeValue::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ItemError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ItemError> {
        match self.value {
            AttributeValue::S(variant) => visitor.visit_enum(Variant { variant, data: None }),
            AttributeValue::M(item) if item.len() == 1 => match item.into_iter().next() {
                Some((variant, value)) => {
                    visitor.visit_enum(Variant { variant, data: Some(value) })
                }
                None => Err(ItemError::invalid_length(0, &"a map of one entry")),
            },
            _ => Err(ItemError::invalid_type(
                Unexpected::Other("this attribute"),
                &"an enum: a text, or a map of one entry",
            )),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        match &self.value {
            AttributeValue::N(number) => match number.to_string().parse() {
                Ok(number) => visitor.visit_i128(number),
                Err(_) => number_value(number, visitor),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        match &self.value {
            AttributeValue::N(number) => match number.to_string().parse() {
                Ok(number) => visitor.visit_u128(number),
                Err(_) => number_value(number, visitor),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    /// Decimals and times are texts in serde, and numbers in tables.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        match &self.value {
            AttributeValue::N(number) => match number.to_i64() {
                Some(whole) => visitor.visit_i64(whole),
                None => visitor.visit_str(&number.to_string()),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier
    }
}

/// Short texts lie inline and are copied; long ones are handed on.
fn text_value<'de, V: Visitor<'de>>(text: Str, visitor: V) -> Result<V::Value, ItemError> {
    if text.is_heap_allocated() {
        visitor.visit_string(text.into_string())
    } else {
        visitor.visit_str(&text)
    }
}

fn number_value<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, ItemError> {
    if let Some(whole) = number.to_i64() {
        return match u64::try_from(whole) {
            Ok(positive) => visitor.visit_u64(positive),
            Err(_) => visitor.visit_i64(whole),
        };
    }
    match number.to_string().parse::<u64>() {
        Ok(whole) => visitor.visit_u64(whole),
        Err(_) => visitor.visit_f64(number.to_f64()),
    }
}

/// The attributes of an item, one after the other.
struct Attributes {
    rest: std::vec::IntoIter<(Str, AttributeValue)>,
    current: Option<(Str, AttributeValue)>,
}

/// An attribute name, borrowed while it is compared with field names.
struct Name<'n>(&'n str);

impl<'de> Deserializer<'de> for Name<'_> {
    type Error = ItemError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        visitor.visit_str(self.0)
    }

    /// Keys of maps may be numbers.
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        match self.0.parse() {
            Ok(number) => visitor.visit_u64(number),
            Err(_) => visitor.visit_str(self.0),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        match self.0.parse() {
            Ok(number) => visitor.visit_i64(number),
            Err(_) => visitor.visit_str(self.0),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ItemError> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ItemError> {
        visitor.visit_enum(Variant { variant: self.0.into(), data: None })
    }

    forward_to_deserialize_any! {
        bool i8 i16 u8 u16 i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Attributes {
    type Error = ItemError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ItemError> {
        self.current = self.rest.next();
        match &self.current {
            Some((name, _)) => seed.deserialize(Name(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ItemError> {
        match self.current.take() {
            Some((name, value)) => {
                seed.deserialize(ValueReader { value }).map_err(|error| error.inside(&name))
            }
            None => Err(ItemError::new("a value was asked for before its name")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant, with its data if it has any.
struct Variant {
    variant: Str,
    data: Option<AttributeValue>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = ItemError;
    type Variant = VariantData;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, VariantData), ItemError> {
        let name: StringDeserializer<ItemError> = self.variant.into_string().into_deserializer();
        Ok((seed.deserialize(name)?, VariantData(self.data)))
    }
}

struct VariantData(Option<AttributeValue>);

impl VariantData {
    fn reader(self) -> ValueReader {
        ValueReader { value: self.0.unwrap_or(AttributeValue::Null) }
    }
}

impl<'de> VariantAccess<'de> for VariantData {
    type Error = ItemError;

    fn unit_variant(self) -> Result<(), ItemError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ItemError> {
        seed.deserialize(self.reader())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ItemError> {
        self.reader().deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ItemError> {
        self.reader().deserialize_any(visitor)
    }
}
