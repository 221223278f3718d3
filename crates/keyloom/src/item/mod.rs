//! Converts Rust values to items and back, with serde.
//!
//! A struct becomes an item, its fields become attributes. `None` is an absent attribute, never `NULL`, so that
//! indexes stay sparse. Sequences are lists, [`Set`]s are sets, maps with text keys are maps, bytes are binary, unit
//! variants are texts.

mod binary;
mod de;
mod ser;
mod set;

use keyloom_core::{AttributeValue, Item, Str};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use binary::Binary;
pub use de::ValueReader;
pub use set::Set;

use crate::error::ItemError;

/// The item that a struct or map is stored as.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Point { x: i32, label: Option<String> }
///
/// let item = keyloom::to_item(&Point { x: 3, label: None })?;
/// assert_eq!(item.get("x"), Some(&3.into()));
/// assert!(!item.contains_key("label"));
/// # Ok::<(), keyloom::ItemError>(())
/// ```
pub fn to_item<T: Serialize + ?Sized>(value: &T) -> Result<Item, ItemError> {
    Ok(to_attributes(value)?.into_iter().collect())
}

/// The attributes of a struct or map, in its own order.
pub(crate) fn to_attributes<T: Serialize + ?Sized>(
    value: &T,
) -> Result<Vec<(Str, AttributeValue)>, ItemError> {
    value.serialize(ser::ItemWriter)
}

/// The attribute value of anything; `None` is absent.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Option<AttributeValue>, ItemError> {
    value.serialize(ser::ValueWriter)
}

/// The struct or map that an item holds. Attributes without a field are left out.
pub fn from_item<T: DeserializeOwned>(item: Item) -> Result<T, ItemError> {
    T::deserialize(ValueReader::new(AttributeValue::M(item)))
}

/// The value that an attribute holds.
pub fn from_value<T: DeserializeOwned>(value: AttributeValue) -> Result<T, ItemError> {
    T::deserialize(ValueReader::new(value))
}

#[cfg(test)]
mod tests;
