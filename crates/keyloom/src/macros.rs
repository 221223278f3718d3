//! Support for the code that the macros generate. Not a public API.

use keyloom_core::Item;
use keyloom_keys::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::entity::{self, Entity, entity_model};
use crate::error::{Error, Result};

/// Reads an item as an entity.
pub fn read<E: Entity>(item: Item) -> Result<E> {
    entity::read(item)
}

/// Whether an item is an entity of this type.
pub fn is_of<E: Entity>(item: &Item) -> bool {
    entity_model::<E>().is_ok_and(|model| model.is_of(item))
}

/// Whether a name is among others, while the program is compiled.
pub const fn is_among(names: &[&str], wanted: &str) -> bool {
    let mut rest = names;
    while let [name, others @ ..] = rest {
        if is_same(name.as_bytes(), wanted.as_bytes()) {
            return true;
        }
        rest = others;
    }
    false
}

const fn is_same(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([a, one_rest @ ..], [b, other_rest @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (one_rest, other_rest);
    }
    one.is_empty() && other.is_empty()
}

/// Whether the time to live of an item has passed.
pub fn is_expired<E: Entity>(item: &Item, now_seconds: u64) -> bool {
    entity_model::<E>().is_ok_and(|model| model.is_expired(item, || now_seconds))
}

/// An item that is none of the requested entities.
pub fn stranger(item: &Item) -> Error {
    Error::Design(format!(
        "an item is none of the entities that the pattern finds; its attributes are {}",
        item.keys().map(keyloom_core::Str::as_str).collect::<Vec<_>>().join(", ")
    ))
}

/// A time that is stored as seconds since 1970: a time to live.
pub struct Seconds<T>(pub T);

impl Serialize for Seconds<Timestamp> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0.seconds())
    }
}

impl Serialize for Seconds<Option<Timestamp>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.map(Timestamp::seconds).serialize(serializer)
    }
}

/// The form of a field that is a time to live.
pub mod seconds {
    use super::{Deserialize, Deserializer, Seconds, Serialize, Serializer, Timestamp};

    /// Writes seconds since 1970.
    pub fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        Seconds(*time).serialize(serializer)
    }

    /// Reads seconds since 1970.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_secs)
    }
}

/// The form of a field that may be a time to live.
pub mod optional_seconds {
    use super::{Deserialize, Deserializer, Seconds, Serialize, Serializer, Timestamp};

    /// Writes seconds since 1970, or nothing.
    pub fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Seconds(*time).serialize(serializer)
    }

    /// Reads seconds since 1970, or nothing.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(Timestamp::from_secs))
    }
}
