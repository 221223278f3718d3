//! What the macros' code calls. Not for people.

use keyloom_core::Item;

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

/// Whether the time to live of an item has passed.
pub fn is_expired<E: Entity>(item: &Item, now_seconds: u64) -> bool {
    entity_model::<E>().is_ok_and(|model| model.is_expired(item, || now_seconds))
}

/// An item that is none of the entities asked for.
pub fn stranger(item: &Item) -> Error {
    Error::Design(format!(
        "an item is none of the entities that the pattern finds; its attributes are {}",
        item.keys().map(keyloom_core::Str::as_str).collect::<Vec<_>>().join(", ")
    ))
}
