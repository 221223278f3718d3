//! Templates bound to Rust types, so that a missing field or a wrong type does not compile.

use std::fmt;
use std::marker::PhantomData;

use super::Template;
use crate::decimal::Decimal;
use crate::error::{BuildError, ParseError};
use crate::format::{FieldFormat, FieldType};
use crate::id::{Ulid, Uuid};
use crate::time::Timestamp;
use crate::value::Value;

/// A Rust type that a field can have.
pub trait FieldValue: Sized {
    /// Whether every value of the format is a value of this type.
    fn fits(format: &FieldFormat) -> bool;
    /// The value for a key.
    fn to_value(&self) -> Value<'_>;
    /// The value from a key.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

/// One Rust type for each field of a template, from left to right.
pub trait FieldTuple: Sized {
    /// Whether each type fits its field; the position of the first that does not.
    fn mismatch(formats: &[&FieldFormat]) -> Option<usize>;
    /// The values for a key.
    fn build(&self, template: &Template) -> Result<String, BuildError>;
    /// The values from a key.
    fn from_values<'v>(values: impl Iterator<Item = Value<'v>>) -> Option<Self>;
}

/// Rust types that do not match a template's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMismatch {
    template: String,
    field: Option<String>,
}

impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => {
                write!(
                    f,
                    "template `{}`: the Rust type for field `{field}` cannot hold its values",
                    self.template
                )
            }
            None => write!(
                f,
                "template `{}` has another number of fields than there are types",
                self.template
            ),
        }
    }
}

impl std::error::Error for TypeMismatch {}

/// A template whose fields have Rust types.
///
/// ```
/// use keyloom_keys::{Template, Timestamp, Ulid};
///
/// let order = Template::parse("ORDER#{placed_at:datetime}#{order_id:ulid}")?.typed::<(Timestamp, Ulid)>()?;
/// let key = order.build(&(Timestamp::from_secs(1_705_314_600), Ulid(7)))?;
/// assert_eq!(key, "ORDER#2024-01-15T10:30:00Z#00000000000000000000000007");
/// let (placed_at, order_id) = order.parse_key(&key)?;
/// assert_eq!((placed_at.seconds(), order_id), (1_705_314_600, Ulid(7)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TypedTemplate<T> {
    template: Template,
    types: PhantomData<fn() -> T>,
}

impl Template {
    /// Binds the fields to Rust types, once; building and parsing then take and give those types.
    pub fn typed<T: FieldTuple>(self) -> Result<TypedTemplate<T>, TypeMismatch> {
        let formats: Vec<&FieldFormat> = self.fields().map(super::Field::format).collect();
        if let Some(at) = T::mismatch(&formats) {
            let field = self.fields().nth(at).map(|field| field.name().to_owned());
            return Err(TypeMismatch { template: self.text, field });
        }
        Ok(TypedTemplate { template: self, types: PhantomData })
    }
}

impl<T: FieldTuple> TypedTemplate<T> {
    /// Builds a key.
    pub fn build(&self, values: &T) -> Result<String, BuildError> {
        values.build(&self.template)
    }

    /// Takes a key apart.
    pub fn parse_key(&self, key: &str) -> Result<T, ParseError> {
        let fields = self.template.parse_key(key)?;
        T::from_values(fields.iter().map(|(_, value)| value)).ok_or_else(|| {
            self.template.misfit(key, 0, None, "a value does not fit its Rust type".to_owned())
        })
    }

    /// The template itself, for prefixes and ranges.
    pub fn template(&self) -> &Template {
        &self.template
    }
}

macro_rules! integer_field {
    ($($integer:ty: $($kind:ident)|+),* $(,)?) => {
        $(impl FieldValue for $integer {
            fn fits(format: &FieldFormat) -> bool {
                matches!(format.kind(), $(FieldType::$kind)|+)
            }
            fn to_value(&self) -> Value<'_> {
                Value::from(*self)
            }
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::Int(number) => number.try_into().ok(),
                    _ => None,
                }
            }
        })*
    };
}
integer_field!(
    u8: U8,
    u16: U8 | U16,
    u32: U8 | U16 | U32,
    u64: U8 | U16 | U32 | U64,
    i64: U8 | U16 | U32 | I64,
);

macro_rules! scalar_field {
    ($($scalar:ty, $variant:ident: $fits:expr;)*) => {
        $(impl FieldValue for $scalar {
            fn fits(format: &FieldFormat) -> bool {
                $fits(format)
            }
            fn to_value(&self) -> Value<'_> {
                Value::from(*self)
            }
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(value),
                    _ => None,
                }
            }
        })*
    };
}
scalar_field!(
    Decimal, Decimal: |format: &FieldFormat| matches!(format.kind(), FieldType::Decimal { .. });
    Timestamp, Time: |format: &FieldFormat| format.precision().is_some();
    Uuid, Uuid: |format: &FieldFormat| *format.kind() == FieldType::Uuid;
    Ulid, Ulid: |format: &FieldFormat| *format.kind() == FieldType::Ulid;
    bool, Bool: |format: &FieldFormat| *format.kind() == FieldType::Bool;
);

impl FieldValue for String {
    fn fits(format: &FieldFormat) -> bool {
        format.is_text()
    }
    fn to_value(&self) -> Value<'_> {
        Value::from(self)
    }
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }
}

impl FieldValue for Vec<u8> {
    fn fits(format: &FieldFormat) -> bool {
        *format.kind() == FieldType::Hex
    }
    fn to_value(&self) -> Value<'_> {
        Value::from(self.as_slice())
    }
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => Some(bytes.into_owned()),
            _ => None,
        }
    }
}

macro_rules! field_tuple {
    ($($name:ident)+) => {
        impl<$($name: FieldValue),+> FieldTuple for ($($name,)+) {
            fn mismatch(formats: &[&FieldFormat]) -> Option<usize> {
                let fits: &[fn(&FieldFormat) -> bool] = &[$($name::fits),+];
                if fits.len() != formats.len() {
                    return Some(usize::MAX);
                }
                fits.iter().zip(formats).position(|(fits, format)| !fits(format))
            }
            #[expect(non_snake_case, reason = "the type parameters name the tuple's places")]
            fn build(&self, template: &Template) -> Result<String, BuildError> {
                let ($($name,)+) = self;
                template.build_values(&[$($name.to_value()),+])
            }
            fn from_values<'v>(mut values: impl Iterator<Item = Value<'v>>) -> Option<Self> {
                Some(($($name::from_value(values.next()?)?,)+))
            }
        }
    };
}
field_tuple!(A);
field_tuple!(A B);
field_tuple!(A B C);
field_tuple!(A B C D);
field_tuple!(A B C D E);
field_tuple!(A B C D E F);
field_tuple!(A B C D E F G);
field_tuple!(A B C D E F G H);
