//! Composite-key templates: build, parse, prefix, range, shard, order, limits.
//!
//! A DynamoDB-style table finds items by a partition key and a sort key, and most designs put several facts into one
//! key: `ORDER#2024-01-15T10:30:00Z#01HM5KXJ8M0000000000000001`. This crate builds and parses such keys by a
//! [`Template`], which is validated when it is parsed:
//!
//! ```
//! use keyloom_keys::{FieldCondition, Template};
//!
//! let order = Template::parse("ORDER#{placed_at:datetime}#{order_id:ulid}")?;
//! let key = order.build(&[
//!     ("placed_at", "2024-01-15T10:30:00Z".into()),
//!     ("order_id", "01HM5KXJ8M0000000000000001".into()),
//! ])?;
//! assert_eq!(key, "ORDER#2024-01-15T10:30:00Z#01HM5KXJ8M0000000000000001");
//!
//! // A condition on a field becomes one range of keys: the 31st is inside to its last second.
//! let january = FieldCondition::between("placed_at", "2024-01-01", "2024-01-31");
//! let range = order.range(&[], Some(&january))?;
//! assert!(range.contains(&key));
//! assert!(range.contains("ORDER#2024-01-31T23:59:59Z#7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
//! assert!(!range.contains("ORDER#2024-02-01T00:00:00Z#00000000000000000000000000"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | build and parse keys | [`Template::build`], [`Template::parse_key`], [`Template::parse_lenient`] |
//! | query many keys | [`Template::prefix`], [`Template::partial_prefix`], [`Template::range`], [`Clause`] |
//! | analyse a template | [`Template::lengths`], [`Template::order`], [`Template::relation`], [`Template::match_prefix`] |
//! | share one table | [`TemplateSet`], [`Template::language`], [`Template::with_namespace`] |
//! | spread load | [`Shards`] |
//! | use a common pattern | [`patterns`] |
//!
//! [`FieldFormat`] documents the encoding of each field type.

mod byteset;
mod catalog;
mod clause;
mod decimal;
mod error;
mod escape;
mod format;
mod id;
mod language;
mod order;
pub mod patterns;
mod range;
mod relation;
#[cfg(feature = "serde")]
mod serialize;
mod shard;
mod template;
mod time;
mod value;

pub use byteset::ByteSet;
pub use catalog::{Collision, TemplateSet};
pub use clause::{Clause, ClauseError};
pub use decimal::Decimal;
pub use error::{BuildError, FormatError, ParseError, RangeError, TemplateError, ValueError};
pub use escape::SeparatorPolicy;
pub use format::{Case, FieldFormat, FieldType, FormatSpec, Lengths};
pub use id::{Ulid, Uuid};
pub use language::Language;
pub use order::{Order, OrderBreak};
pub use range::{FieldCondition, KeyRange, Operator, RangeKind, Term};
pub use relation::{PrefixMatch, Relation};
pub use shard::{
    MAX_SHARDS, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, ShardError, Shards, split_shard,
    stable_hash,
};
pub use template::{
    Deviation, Field, Fields, KeyRole, LenientParse, Segment, Template, TemplateOptions,
};
pub use time::{Precision, Timestamp};
pub use value::Value;

/// The maximum length of a partition key in DynamoDB.
pub const MAX_PARTITION_KEY_BYTES: usize = 2048;
/// The maximum length of a sort key in DynamoDB.
pub const MAX_SORT_KEY_BYTES: usize = 1024;
