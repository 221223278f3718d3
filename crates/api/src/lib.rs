//! DynamoDB's wire surface in one place, for the engine that answers requests and the client that makes them.
//!
//! [`Operation`] names every operation. [`json`] reads request bodies and writes JSON, [`error`] turns errors
//! into bodies and bodies into errors, and [`Constraints`] collects violations of the API model.

mod constraints;
pub mod error;
mod json;
pub mod model;
mod operation;
mod reply;

pub use constraints::Constraints;
pub use json::{Body, Fields, JsonWriter};
pub use operation::{Operation, Service, Work};
pub use reply::Reply;
