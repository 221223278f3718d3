//! Times, identifiers and decimals in serde: as their canonical text.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decimal::Decimal;
use crate::id::{Ulid, Uuid};
use crate::time::Timestamp;

/// What a text stands for, and a whole number where that stands for something.
trait Written: FromStr<Err: fmt::Display> {
    fn from_number(_: i64) -> Option<Self> {
        None
    }

    fn from_text(text: &str) -> Result<Self, Self::Err> {
        text.parse()
    }
}

impl Written for Uuid {}
impl Written for Ulid {}

impl Written for Decimal {
    fn from_number(number: i64) -> Option<Self> {
        Self::new(i128::from(number), 0)
    }
}

impl Written for Timestamp {
    /// Milliseconds since 1970.
    fn from_number(number: i64) -> Option<Self> {
        Some(Self::from_millis(number))
    }

    /// As usual, or an hour as keys write it: `2024-05-17-14`.
    fn from_text(text: &str) -> Result<Self, Self::Err> {
        text.parse().or_else(|error| match text.rsplit_once('-') {
            Some((day, hour)) if text.len() == 13 => format!("{day}T{hour}").parse(),
            _ => Err(error),
        })
    }
}

/// Deserializes from a text without copying it, or from a number.
struct Text<T>(&'static str, PhantomData<T>);

impl<T: Written> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::from_number(number).ok_or_else(|| E::invalid_type(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let signed = i64::try_from(number).ok().and_then(T::from_number);
        signed.ok_or_else(|| E::invalid_type(Unexpected::Unsigned(number), &self))
    }
}

macro_rules! as_text {
    ($($kind:ty: $what:literal),* $(,)?) => {
        $(impl Serialize for $kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text($what, PhantomData))
            }
        })*
    };
}
as_text!(
    Timestamp: "a time such as 2024-01-15T10:30:00Z",
    Uuid: "a UUID",
    Ulid: "a ULID",
    Decimal: "a decimal number",
);
