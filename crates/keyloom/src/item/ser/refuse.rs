//! Errors for types that a serializer does not accept, naming the type.

/// Methods of a serializer that fail: `refuse!(error; bool number text)`, where `error` makes an error of what it was.
macro_rules! refuse {
    ($error:path; $($kind:ident)*) => { $(refuse!(@$kind $error);)* };
    (@bool $error:path) => { refuse!(@one $error; serialize_bool(bool) = "a truth value"); };
    (@char $error:path) => { refuse!(@one $error; serialize_char(char) = "a character"); };
    (@text $error:path) => { refuse!(@one $error; serialize_str(&str) = "a text"); };
    (@bytes $error:path) => { refuse!(@one $error; serialize_bytes(&[u8]) = "bytes"); };
    (@whole $error:path) => {
        refuse!(@one $error; serialize_i8(i8) = "a number");
        refuse!(@one $error; serialize_i16(i16) = "a number");
        refuse!(@one $error; serialize_i32(i32) = "a number");
        refuse!(@one $error; serialize_i64(i64) = "a number");
        refuse!(@one $error; serialize_u8(u8) = "a number");
        refuse!(@one $error; serialize_u16(u16) = "a number");
        refuse!(@one $error; serialize_u32(u32) = "a number");
        refuse!(@one $error; serialize_u64(u64) = "a number");
    };
    (@float $error:path) => {
        refuse!(@one $error; serialize_f32(f32) = "a number with a fraction");
        refuse!(@one $error; serialize_f64(f64) = "a number with a fraction");
    };
    (@nothing $error:path) => {
        refuse!(@one $error; serialize_none() = "nothing");
        refuse!(@one $error; serialize_unit() = "nothing");
        refuse!(@one $error; serialize_unit_struct(&'static str) = "a struct without fields");
    };
    (@unit_variant $error:path) => {
        refuse!(@one $error; serialize_unit_variant(&'static str, u32, &'static str) = "an enum");
    };
    (@newtype_variant $error:path) => {
        fn serialize_newtype_variant<T: ::serde::Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, ItemError> {
            Err($error("an enum"))
        }
    };
    (@list $error:path) => {
        refuse!(@many $error; SerializeSeq serialize_seq(Option<usize>) = "a list");
        refuse!(@many $error; SerializeTuple serialize_tuple(usize) = "a tuple");
        refuse!(@many $error; SerializeTupleStruct serialize_tuple_struct(&'static str, usize) = "a tuple");
        refuse!(@many $error; SerializeTupleVariant
            serialize_tuple_variant(&'static str, u32, &'static str, usize) = "an enum");
    };
    (@map $error:path) => {
        refuse!(@many $error; SerializeMap serialize_map(Option<usize>) = "a map");
        refuse!(@many $error; SerializeStruct serialize_struct(&'static str, usize) = "a struct");
    };
    (@struct_variant $error:path) => {
        refuse!(@many $error; SerializeStructVariant
            serialize_struct_variant(&'static str, u32, &'static str, usize) = "an enum");
    };
    (@one $error:path; $method:ident($($kind:ty),*) = $what:literal) => {
        fn $method(self $(, _: $kind)*) -> Result<Self::Ok, ItemError> {
            Err($error($what))
        }
    };
    (@many $error:path; $writer:ident $method:ident($($kind:ty),*) = $what:literal) => {
        fn $method(self $(, _: $kind)*) -> Result<Self::$writer, ItemError> {
            Err($error($what))
        }
    };
}

/// Values that are written as what is inside of them.
macro_rules! transparent {
    () => {
        fn serialize_some<T: ::serde::Serialize + ?Sized>(
            self,
            value: &T,
        ) -> Result<Self::Ok, ItemError> {
            value.serialize(self)
        }

        fn serialize_newtype_struct<T: ::serde::Serialize + ?Sized>(
            self,
            _: &'static str,
            value: &T,
        ) -> Result<Self::Ok, ItemError> {
            value.serialize(self)
        }
    };
}

pub(super) use {refuse, transparent};
