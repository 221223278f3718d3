//! DynamoDB JSON: attribute values as they travel on the wire.
//!
//! Reading is done on a borrowed tree, [`Json`]; writing appends to a byte buffer. AWS checks a value
//! in two steps, and so does this module: first the shape of the JSON (`SerializationException`),
//! then the meaning (`ValidationException`).

mod footprint;
mod plain;
mod read;
mod request;
pub mod shape;
mod tree;
mod write;

pub use footprint::decoded_bytes;
pub(crate) use plain::is_plain_ascii;
pub use read::{item_from, value_from};
pub use request::parse_with_item;
pub use tree::{Json, JsonNumber, JsonObject};
pub(crate) use write::{escape, opening};
pub use write::{write_item, write_list, write_object, write_string, write_value};

use crate::error::{Result, message};

/// Parses a document.
///
/// AWS answers text that is not JSON with a `SerializationException` without a message.
pub fn parse(text: &[u8]) -> Result<Json<'_>> {
    tree::parse(text).ok_or_else(message::value::not_json)
}

#[cfg(test)]
mod tests;
