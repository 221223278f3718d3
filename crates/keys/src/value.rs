//! Values of fields.

use std::borrow::Cow;
use std::fmt;

use crate::decimal::Decimal;
use crate::error::ValueError;
use crate::format::{FieldFormat, FieldType};
use crate::id::{Ulid, Uuid, hex_digit, hex_value};
use crate::time::Timestamp;

/// The value of a field.
///
/// Text is accepted for any type: `"2024-01-15T10:30:00Z"` is parsed if the field is a date-time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Text, or the text form of any other type.
    Text(Cow<'a, str>),
    /// A whole number.
    Int(i128),
    /// A decimal number.
    Decimal(Decimal),
    /// An instant or period in UTC.
    Time(Timestamp),
    /// A UUID.
    Uuid(Uuid),
    /// A ULID.
    Ulid(Ulid),
    /// A boolean.
    Bool(bool),
    /// Binary data, encoded as hex.
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Value<'a> {
    /// Parses the text form of a value for a format.
    ///
    /// Times may have a coarser precision than the format, as in conditions: `2024-01-31` for a date-time field is
    /// the whole day.
    ///
    /// ```
    /// use keyloom_keys::{FieldFormat, Value};
    ///
    /// let format = FieldFormat::parse("u32:6")?;
    /// assert_eq!(Value::parse_for(&format, "42")?, Value::Int(42));
    /// assert_eq!(format.encode(&Value::Int(42))?, "000042");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_for(format: &FieldFormat, text: &'a str) -> Result<Self, ValueError> {
        let value = match format.kind() {
            FieldType::String | FieldType::Token | FieldType::Fixed | FieldType::Enum(_) => {
                Value::Text(Cow::Borrowed(text))
            }
            FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 | FieldType::I64 => {
                Value::Int(whole_number(text)?)
            }
            FieldType::Decimal { .. } => Value::Decimal(text.parse()?),
            FieldType::EpochMs if text.bytes().all(|b| b.is_ascii_digit()) => {
                let ms = text
                    .parse()
                    .map_err(|_| ValueError::malformed(text, "milliseconds since 1970"))?;
                Value::Time(Timestamp::from_millis(ms))
            }
            FieldType::Year
            | FieldType::Month
            | FieldType::Date
            | FieldType::Hour
            | FieldType::DateTime
            | FieldType::DateTimeMs
            | FieldType::EpochMs => Value::Time(text.parse()?),
            FieldType::Uuid => Value::Uuid(text.parse()?),
            FieldType::Ulid => Value::Ulid(text.parse()?),
            FieldType::Bool => match text {
                "true" | "1" => Value::Bool(true),
                "false" | "0" => Value::Bool(false),
                _ => return Err(ValueError::malformed(text, "true or false")),
            },
            FieldType::Hex => Value::Bytes(Cow::Owned(bytes_from_hex(text)?)),
        };
        Ok(value)
    }

    /// The same value, owning its text.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Value::Int(number) => Value::Int(number),
            Value::Decimal(number) => Value::Decimal(number),
            Value::Time(time) => Value::Time(time),
            Value::Uuid(id) => Value::Uuid(id),
            Value::Ulid(id) => Value::Ulid(id),
            Value::Bool(flag) => Value::Bool(flag),
        }
    }

    /// The text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The type of the value in words, for error messages.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Int(_) => "a whole number",
            Value::Decimal(_) => "a decimal number",
            Value::Time(_) => "a time",
            Value::Uuid(_) => "a UUID",
            Value::Ulid(_) => "a ULID",
            Value::Bool(_) => "a truth value",
            Value::Bytes(_) => "bytes",
        }
    }
}

fn whole_number(text: &str) -> Result<i128, ValueError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = if plain { text.parse().ok() } else { None };
    number.ok_or_else(|| ValueError::malformed(text, "a whole number"))
}

fn bytes_from_hex(text: &str) -> Result<Vec<u8>, ValueError> {
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(hex_value(*high)? << 4 | hex_value(*low)?),
        _ => None,
    });
    pairs
        .collect::<Option<_>>()
        .ok_or_else(|| ValueError::malformed(text, "an even number of hex digits such as 0aff"))
}

/// The text form, which [`Value::parse_for`] parses.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Int(number) => number.fmt(f),
            Value::Decimal(number) => number.fmt(f),
            Value::Time(time) => time.fmt(f),
            Value::Uuid(id) => id.fmt(f),
            Value::Ulid(id) => id.fmt(f),
            Value::Bool(flag) => flag.fmt(f),
            Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| {
                let pair = [hex_digit(byte >> 4), hex_digit(byte & 15)];
                f.write_str(std::str::from_utf8(&pair).unwrap_or_default())
            }),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Value::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Value::Bytes(Cow::Owned(bytes))
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {
        $(impl From<$integer> for Value<'_> {
            fn from(number: $integer) -> Self {
                Value::Int(i128::from(number))
            }
        })*
    };
}
from_integer!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! from_scalar {
    ($($scalar:ty => $variant:ident),*) => {
        $(impl From<$scalar> for Value<'_> {
            fn from(value: $scalar) -> Self {
                Value::$variant(value)
            }
        })*
    };
}
from_scalar!(Decimal => Decimal, Timestamp => Time, Uuid => Uuid, Ulid => Ulid, bool => Bool);
