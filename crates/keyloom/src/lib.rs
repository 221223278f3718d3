//! Composite-key tables with types: an embedded database and DynamoDB behind one API.
//!
//! A design is a module: its tables, its entities with their key templates, and its access patterns. It is checked when
//! it compiles, by the same planner that checks design files.
//!
//! ```
//! use keyloom::prelude::*;
//!
//! #[keyloom::design(table(shop, PK, SK))]
//! mod shop {
//!     use super::*;
//!
//!     #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
//!     #[entity(PK = "CUSTOMER#{customer}", SK = "ORDER#{placed_at}#{number}")]
//!     pub struct Order {
//!         pub customer: String,
//!         pub placed_at: Timestamp,
//!         pub number: u32,
//!         pub total: f64,
//!     }
//!
//!     /// The newest orders of a customer.
//!     #[derive(Access)]
//!     #[access(find = Order, order = "placed_at desc", limit = 10)]
//!     pub struct NewestOrders {
//!         pub customer: String,
//!     }
//! }
//! use shop::*;
//!
//! # fn main() -> keyloom::Result<()> {
//! // In memory; `Database::open("data")` is durable; `Remote::new(Endpoint::aws())?` is DynamoDB itself.
//! let shop = Shop::open(Database::memory())?;
//! let order = Order { customer: "ann".into(), placed_at: Timestamp::from_secs(0), number: 7, total: 9.5 };
//! shop.put(&order)?;
//! assert_eq!(shop.get(order.key())?, Some(order.clone()));
//! assert_eq!(shop.query(NewestOrders { customer: "ann".into() }).collect()?, [order]);
//! # Ok(())
//! # }
//! ```
//!
//! # Blocking calls
//!
//! The API is synchronous: a call on the embedded database takes microseconds and never waits for a network, and the
//! same code must serve both backends. Against an endpoint a call blocks its thread; with the `tokio` feature,
//! `table.run(|table| …).await` does the work on tokio's threads for it.
//!
//! # Features
//!
//! - `remote` (on by default): any DynamoDB endpoint, by a blocking HTTP client and SigV4 of our own.
//! - `observe`: the module `observe` with statistics of what a program does, and what to change; `Backend::report`.
//! - `tokio`: `Table::run` and `TableClient::run`.
//!
//! # What goes where
//!
//! - [`Table`]: get, put, create, update, patch, delete, batches, transactions, queries by access pattern.
//! - [`Query`]: pages, items, cursors, `limit` and `take`, `explain`.
//! - [`TableClient`]: the same database without types.
//! - [`remote`]: endpoints, credentials.

// The macros name this crate by its name, also in its own documentation and tests.
extern crate self as keyloom;

#[cfg(not(any(feature = "embedded", feature = "remote")))]
compile_error!("keyloom needs a database: turn on the feature `embedded`, `remote`, or both");

mod backend;
mod client;
mod design;
mod entity;
mod error;
mod expression;
mod item;
mod key_value;
mod mac;
#[doc(hidden)]
pub mod macros;
pub mod migrate;
pub mod prelude;
mod query;
#[cfg(feature = "remote")]
pub mod remote;
mod retry;
#[cfg(feature = "tokio")]
mod runtime;
mod table;
mod tables;

pub use backend::{Backend, RawPage};
pub use client::{
    Condition, ItemKey, Op, RawBatch, RawQuery, RawScan, RawTransaction, TableClient, Update,
};
pub use design::{Design, Model};
pub use entity::{Counter, Entity, EntityKey, EntityModel};
pub use error::{Error, ItemError, Result, TransportError, Unprocessed};
pub use item::{Binary, Set, ValueReader, from_item, from_value, to_item, to_value};
pub use key_value::{KeyValue, owned};
pub use keyloom_api::clock::{Clock, ManualClock};
pub use keyloom_core::{AttributeValue, Item, Number};
pub use keyloom_derive::{Access, Entity, KeyValue, design};
pub use keyloom_design as designs;
#[cfg(feature = "embedded")]
pub use keyloom_engine::{Database, DiskOptions, Durability, Options};
pub use keyloom_keys as keys;
pub use keyloom_keys::{Decimal, Timestamp, Ulid, Uuid, Value};
#[cfg(feature = "observe")]
pub use keyloom_observe as observe;
pub use query::{
    Access, Cursor, Explanation, Output, Page, PlanAnswer, PlanPage, PlanRunner, Query, ReadTrace,
};
pub use retry::Retry;
// The macros name it here, so that a program needs no dependency of its own.
#[doc(hidden)]
pub use serde;
pub use table::{Batch, Patch, Table, Tallied, Tally, Transaction};

/// An item from names and values.
///
/// ```
/// let item = keyloom::item! { "pk" => "USER#1", "sk" => "PROFILE", "age" => 42 };
/// assert_eq!(item.len(), 3);
/// ```
#[macro_export]
macro_rules! item {
    ($($name:expr => $value:expr),* $(,)?) => {{
        #[allow(unused_mut, reason = "an item without attributes is never changed")]
        let mut item = $crate::Item::new();
        $(item.insert($name, $crate::AttributeValue::from($value));)*
        item
    }};
}
