//! Reading the fields of request bodies, and writing JSON objects.
//!
//! The codec of attribute values themselves is in `keyloom_core::json`, where stored images need it, too.

mod fields;
mod writer;

pub use fields::{Body, Fields};
pub use writer::JsonWriter;
