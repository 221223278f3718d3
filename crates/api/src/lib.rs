//! DynamoDB's wire surface in one place, for the engine that answers requests and the client that makes them.
//!
//! [`Operation`] names every operation. [`Body`] parses a request and judges its shape by [`model`] before anything
//! else looks at it; then the operation's file decodes it into an input. Violations of the model's constraints are
//! reported together: [`Body`] finds those of control operations, operations on items collect theirs in
//! [`Constraints`]. The rooms have one file per operation or per family of small ones, with input, output and their
//! JSON: [`items`], [`queries`], [`batches`], [`transactions`], [`partiql`], [`tables`], [`settings`], [`streams`].
//! [`error`] turns errors into bodies and back.

pub mod backups;
pub mod batches;
pub mod clock;
mod collection;
mod constraints;
mod consumed;
pub mod error;
mod expression;
pub mod items;
mod json;
pub mod model;
pub mod parameters;
pub mod partiql;
pub mod queries;
mod reply;
mod request;
pub mod settings;
pub mod streams;
pub mod tables;
pub mod transactions;
pub mod transfers;

pub use collection::ItemCollectionMetrics;
pub use constraints::Constraints;
pub use consumed::stated_capacity;
pub use expression::Expression;
pub use json::{Body, Fields, JsonWriter, Malformed, member};
pub use keyloom_core::operation::{Operation, Service, Work};
pub use reply::Reply;
pub use request::{FromBody, Request};
