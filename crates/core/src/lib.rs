//! The meaning of DynamoDB as pure functions: values, 38-digit numbers, the order-preserving key
//! codec, schemas, sizes, capacity, expressions and errors. No I/O, clock or threads.

pub mod error;
pub mod number;
pub mod value;

pub use error::{Error, Result};
pub use number::Number;
pub use value::{AttributeType, AttributeValue, Item, Str};
