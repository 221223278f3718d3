//! Reading request bodies and replies, and writing JSON objects.
//!
//! The codec of attribute values themselves is in `keyloom_core::json`, where stored images need it, too.

pub(crate) mod answer;
mod fields;
pub mod member;
mod writer;

pub use answer::Malformed;
pub use fields::{Body, Fields};
pub use writer::JsonWriter;
