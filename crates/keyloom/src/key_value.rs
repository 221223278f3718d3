//! Rust types that can be used in keys.

use std::borrow::Cow;

use keyloom_keys::{Decimal, Timestamp, Ulid, Uuid, Value};

/// A Rust type whose values can stand in a key, or be compared with a field in an access pattern.
///
/// Enums without data derive it; their values are the variants' names.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a key",
    label = "used in a key template or as the input of an access pattern",
    note = "texts, whole numbers, `Timestamp`, `Ulid`, `Uuid`, `Decimal` and `bool` can; enums without data can derive `keyloom::KeyValue`"
)]
pub trait KeyValue {
    /// The value; none if there is none.
    fn to_value(&self) -> Option<Value<'_>>;
}

/// The value, owning its text; none if there is none.
pub fn owned<T: KeyValue + ?Sized>(value: &T) -> Option<Value<'static>> {
    value.to_value().map(Value::into_owned)
}

macro_rules! scalars {
    ($($kind:ty),*) => {
        $(impl KeyValue for $kind {
            #[inline]
            fn to_value(&self) -> Option<Value<'_>> {
                Some(Value::from(*self))
            }
        })*
    };
}
scalars!(u8, u16, u32, u64, i8, i16, i32, i64, bool, Timestamp, Ulid, Uuid, Decimal);

/// Floats are compared with numbers and stand in native number keys; templates do not take them.
macro_rules! floats {
    ($($kind:ty),*) => {
        $(impl KeyValue for $kind {
            fn to_value(&self) -> Option<Value<'_>> {
                Some(Value::from(self.to_string()))
            }
        })*
    };
}
floats!(f32, f64);

impl KeyValue for str {
    #[inline]
    fn to_value(&self) -> Option<Value<'_>> {
        Some(Value::from(self))
    }
}

impl KeyValue for String {
    #[inline]
    fn to_value(&self) -> Option<Value<'_>> {
        Some(Value::from(self))
    }
}

impl KeyValue for Cow<'_, str> {
    fn to_value(&self) -> Option<Value<'_>> {
        Some(Value::Text(Cow::Borrowed(self)))
    }
}

impl<T: KeyValue + ?Sized> KeyValue for &T {
    fn to_value(&self) -> Option<Value<'_>> {
        (**self).to_value()
    }
}

impl<T: KeyValue> KeyValue for Option<T> {
    fn to_value(&self) -> Option<Value<'_>> {
        self.as_ref()?.to_value()
    }
}
