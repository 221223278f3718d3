//! DynamoDB's semantics as pure functions: values, 38-digit numbers, the order-preserving key
//! codec, schemas, sizes, capacity, expressions, PartiQL, IAM policies and errors. No I/O, clock or threads.

pub mod calendar;
pub mod capacity;
pub mod error;
pub mod expiry;
pub mod expr;
pub mod hash;
pub mod hex;
pub mod image;
pub mod json;
pub mod key;
pub mod legacy;
pub mod limits;
pub mod number;
pub mod observation;
pub mod operation;
pub mod partiql;
pub mod policy;
pub mod schema;
pub mod size;
pub mod value;

#[cfg(test)]
mod arbitrary;

pub use error::{Error, Result};
pub use number::Number;
pub use operation::Operation;
pub use schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType, TableSchema,
};
pub use value::{AttributeType, AttributeValue, Item, Str};
