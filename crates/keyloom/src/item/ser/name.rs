//! Serializes map keys, which must be strings or integers.

use keyloom_core::Str;
use serde::ser::{Impossible, Serializer};

use super::refuse::{refuse, transparent};
use crate::error::ItemError;

/// Writes the key of a map.
pub(super) struct NameWriter;

fn not_a_name(what: &str) -> ItemError {
    ItemError::new(format!("the keys of a map are texts or whole numbers, not {what}"))
}

macro_rules! as_text {
    ($($method:ident($kind:ty);)*) => {
        $(fn $method(self, value: $kind) -> Result<Str, ItemError> {
            Ok(value.to_string().into())
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

    as_text! {
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
        serialize_str(&str);
    }
    refuse!(not_a_name; float bytes nothing newtype_variant list map struct_variant);
    transparent!();

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Str, ItemError> {
        Ok(Str::const_new(variant))
    }
}
