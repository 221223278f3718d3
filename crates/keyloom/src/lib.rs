//! Composite-key tables with types: an embedded database and DynamoDB behind one API.
//!
//! A design is a module: its tables, its entities with their key templates, and its access patterns. It is checked when
//! it compiles, by the same planner that checks design files: a template that two entities share by accident, a pattern
//! that would need a scan or that returns rows in another order than it says, is an error at the line that says so.
//!
//! ```
//! use keyloom::prelude::*;
//!
//! #[keyloom::design(table(shop, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
//! mod shop {
//!     use super::*;
//!
//!     #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
//!     #[entity(PK = "CUSTOMER#{customer}", SK = "PROFILE", unique(email))]
//!     pub struct Customer {
//!         pub customer: String,
//!         pub email: String,
//!         #[field(version)]
//!         pub version: u64,
//!     }
//!
//!     #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
//!     #[entity(
//!         PK = "CUSTOMER#{customer}",
//!         SK = "ORDER#{placed_at}#{number}",
//!         GSI1PK = "ORDER#{number}",
//!         GSI1SK = "ORDER"
//!     )]
//!     pub struct Order {
//!         pub customer: String,
//!         pub placed_at: Timestamp,
//!         pub number: u32,
//!         pub state: String,
//!     }
//!
//!     /// The newest orders of a customer.
//!     #[derive(Access)]
//!     #[access(find = Order, order = "placed_at desc", limit = 10)]
//!     pub struct NewestOrders {
//!         pub customer: String,
//!     }
//!
//!     /// An order by its number.
//!     #[derive(Access)]
//!     #[access(find = Order)]
//!     pub struct OrderByNumber {
//!         pub number: u32,
//!     }
//! }
//! use shop::*;
//!
//! # fn main() -> keyloom::Result<()> {
//! // In memory; `Database::open("data")` is durable; `Remote::new(Endpoint::aws())?` (feature `remote`) is DynamoDB itself.
//! let shop = Shop::open(Database::memory())?;
//! let order = |number: u32| Order {
//!     customer: "ann".into(),
//!     placed_at: Timestamp::from_secs(1_700_000_000 + i64::from(number)),
//!     number,
//!     state: "open".into(),
//! };
//! shop.put(&order(7))?;
//! assert_eq!(shop.get(order(7).key())?, Some(order(7)));
//! assert_eq!(shop.query(NewestOrders { customer: "ann".into() }).collect()?, [order(7)]);
//! # Ok(())
//! # }
//! ```
//!
//! # A walk
//!
//! What a program does with its tables, on the design above:
//!
//! ```
//! # use keyloom::prelude::*;
//! #
//! # #[keyloom::design(table(shop, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
//! # mod shop {
//! #     use super::*;
//! #
//! #     #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
//! #     #[entity(PK = "CUSTOMER#{customer}", SK = "PROFILE", unique(email))]
//! #     pub struct Customer {
//! #         pub customer: String,
//! #         pub email: String,
//! #         #[field(version)]
//! #         pub version: u64,
//! #     }
//! #
//! #     #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
//! #     #[entity(
//! #         PK = "CUSTOMER#{customer}",
//! #         SK = "ORDER#{placed_at}#{number}",
//! #         GSI1PK = "ORDER#{number}",
//! #         GSI1SK = "ORDER"
//! #     )]
//! #     pub struct Order {
//! #         pub customer: String,
//! #         pub placed_at: Timestamp,
//! #         pub number: u32,
//! #         pub state: String,
//! #     }
//! #
//! #     /// The newest orders of a customer.
//! #     #[derive(Access)]
//! #     #[access(find = Order, order = "placed_at desc", limit = 10)]
//! #     pub struct NewestOrders {
//! #         pub customer: String,
//! #     }
//! #
//! #     /// An order by its number.
//! #     #[derive(Access)]
//! #     #[access(find = Order)]
//! #     pub struct OrderByNumber {
//! #         pub number: u32,
//! #     }
//! # }
//! # use shop::*;
//! # fn main() -> keyloom::Result<()> {
//! # let database = Database::memory();
//! # let shop = Shop::open(&database)?;
//! # let order = |number: u32| Order {
//! #     customer: "ann".into(),
//! #     placed_at: Timestamp::from_secs(1_700_000_000 + i64::from(number)),
//! #     number,
//! #     state: "open".into(),
//! # };
//! // `put` overwrites, `create` refuses to. A unique field has a guard item in the same transaction.
//! let customer = |name: &str| Customer { customer: name.into(), email: "ann@example.com".into(), version: 0 };
//! shop.create(&customer("ann"))?;
//! assert!(matches!(shop.create(&customer("bob")), Err(keyloom::Error::NotUnique { .. })));
//!
//! // Several items in one request; several writes, all or none.
//! shop.batch().put_all(&(1..=25).map(order).collect::<Vec<_>>()).run()?;
//! shop.transaction()
//!     .require(Customer::at("ann"))
//!     .create(&order(26))
//!     .delete(order(1).key())
//!     .commit()?;
//!
//! // `update` reads, changes and writes on condition that nobody else did meanwhile; `apply` sends new values of fields unread.
//! shop.update(Customer::at("ann"), |customer| customer.email = "ann@work.example".into())?;
//! let sent = shop.apply(Order::patch("ann", order(26).placed_at, 26u32).state("sent"))?;
//! assert_eq!(sent.state, "sent");
//!
//! // A query by pattern: its first ten, an iterator over all, or a page and the cursor of the next one.
//! let newest = || shop.query(NewestOrders { customer: "ann".into() });
//! assert_eq!(newest().collect()?.len(), 10);
//! assert_eq!(newest().all().items()?.count(), 25);
//! let first = newest().limit(4).page()?;
//! let second = newest().limit(4).after(first.cursor.as_ref()).page()?;
//! assert_eq!(second.items[0].number, 22);
//!
//! // What is asked of which index, without asking; the same pattern runs on AWS.
//! let by_number = || shop.query(OrderByNumber { number: 26 });
//! assert!(by_number().explain()?.to_string().contains("GSI1"));
//! assert_eq!(by_number().first()?.map(|order| order.customer), Some("ann".into()));
//!
//! // Each test has its own copy of a loaded database, in microseconds.
//! # #[cfg(feature = "embedded")]
//! # {
//! let fork = database.fork().expect("databases in memory fork");
//! Shop::open(&fork)?.delete(Customer::at("ann"))?;
//! assert!(shop.get(Customer::at("ann"))?.is_some());
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! `crates/keyloom/examples` in the repository answers one question per file: shards, counters, time series, more shards
//! later, migrations while programs run, DynamoDB on AWS, items without types.
//!
//! # Errors
//!
//! [`Error`] has a variant for what a program decides on ([`AlreadyExists`](Error::AlreadyExists), [`NotFound`](Error::NotFound),
//! [`NotUnique`](Error::NotUnique), [`Conflict`](Error::Conflict)); [`Error::Database`] carries DynamoDB's code and sentence.
//! Throttling and lost connections are tried again by [`Retry`] before they become errors.
//!
//! # Blocking calls
//!
//! The API is synchronous: a call on the embedded database takes microseconds and never waits for a network, and the
//! same code must serve both backends. Against an endpoint a call blocks its thread; with the `tokio` feature,
//! `table.run(|table| …).await` does the work on tokio's threads for it.
//!
//! # Features
//!
//! - `embedded`: the database in this process, in memory.
//! - `disk` (the default): the same in a directory, [`Database::open`].
//! - `remote`: any DynamoDB endpoint, by a blocking HTTP client and SigV4 of our own.
//! - `signing`: `Table::with_cursor_key`; `remote` has it.
//! - `transfers`: exports, and imports that are compressed, of the database in this process.
//! - `postgres`: `Database::connect`, any number of programs and servers on one PostgreSQL.
//! - `observe`: the module `observe` with statistics of what a program does, and what to change; `Backend::report`.
//! - `tokio`: `Table::run` and `TableClient::run`.
//!
//! # What goes where
//!
//! - [`Table`]: get, put, create, update, patch, delete, batches, transactions, queries by access pattern.
//! - [`Query`]: pages, items, cursors, `limit` and `take`, `explain`.
//! - [`TableClient`]: the same database without types.
//! - `remote`: endpoints, credentials (feature `remote`).

// The macros name this crate by its name, also in its own documentation and tests.
extern crate self as keyloom;

#[cfg(not(any(feature = "embedded", feature = "remote")))]
compile_error!("keyloom needs a database: turn on the feature `disk`, `embedded` or `remote`");

mod backend;
mod client;
mod design;
mod entity;
mod error;
mod expression;
mod form;
mod item;
mod key_model;
mod key_value;
#[cfg(feature = "signing")]
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
pub mod streams;
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
pub use keyloom_engine::{Database, Options};
#[cfg(feature = "disk")]
pub use keyloom_engine::{DiskOptions, Durability};
pub use keyloom_keys as keys;
pub use keyloom_keys::{Decimal, Timestamp, Ulid, Uuid, Value};
#[cfg(feature = "observe")]
pub use keyloom_observe as observe;
pub use query::{
    Access, Cursor, Explanation, Output, Page, PlanAnswer, PlanPage, PlanRunner, Query, ReadTrace,
};
pub use retry::Retry;
// The macros refer to it here, so that programs need no dependency on it.
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
