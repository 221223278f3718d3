//! A design as written: names are texts, nothing is resolved. The TOML reader makes one, and so does
//! code; [`Draft::resolve`](crate::model) turns it into a checked [`Design`](crate::Design).
//!
//! ```
//! use keyloom_design::draft::{AccessDraft, Draft, EntityDraft, FieldDraft, TableDraft};
//!
//! let draft = Draft::default()
//!     .table(TableDraft::new("tasks").keys("PK", "SK"))
//!     .entity(
//!         EntityDraft::new("Task", "tasks")
//!             .field(FieldDraft::new("project_id", "ulid"))
//!             .field(FieldDraft::new("task_id", "ulid"))
//!             .key("PK", "PROJECT#{project_id}")
//!             .key("SK", "TASK#{task_id}"),
//!     )
//!     .access(AccessDraft::new("tasks in a project", "Task").filtered_by("project_id = ?"));
//! let (design, problems) = draft.resolve();
//! assert!(problems.is_empty(), "{problems:?}");
//! assert_eq!(design.unwrap().accesses().len(), 1);
//! ```

mod build;
pub mod print;

use crate::model::{Billing, StreamView, TableClass};
use crate::source::{Span, Spanned};

/// A whole design, unresolved.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The design's name; the file's name if absent.
    pub name: Option<Spanned<String>>,
    /// What the design is for.
    pub description: Option<Spanned<String>>,
    /// `[table.…]`
    pub tables: Vec<TableDraft>,
    /// `[entity.…]`
    pub entities: Vec<EntityDraft>,
    /// `[access.…]`
    pub accesses: Vec<AccessDraft>,
    /// `[write.…]`
    pub writes: Vec<WriteDraft>,
    /// `[unique.…]`
    pub uniques: Vec<UniqueDraft>,
    /// `[relationship.…]`
    pub relationships: Vec<RelationshipDraft>,
    /// `[[allow]]`
    pub allows: Vec<AllowDraft>,
}

/// A table as the file has it.
#[derive(Clone, Debug)]
pub struct TableDraft {
    /// The table's name.
    pub name: Spanned<String>,
    /// The partition key attribute, with `:N` or `:B` unless it is a string.
    pub partition_key: Vec<Spanned<String>>,
    /// The sort key attribute, if any.
    pub sort_key: Vec<Spanned<String>>,
    /// Global and local secondary indexes.
    pub indexes: Vec<IndexDraft>,
    /// The attribute that holds the time to live, in epoch seconds.
    pub ttl: Option<Spanned<String>>,
    /// On demand or provisioned.
    pub billing: Billing,
    /// The stream, if any.
    pub stream: Option<StreamView>,
    /// Standard or infrequent access.
    pub class: TableClass,
    /// The attribute that tells which entity an item is, if items carry one.
    pub type_attribute: Option<Spanned<String>>,
    /// The field that names the tenant an item belongs to, if policies are to tell tenants apart.
    pub tenant: Option<Spanned<String>>,
    /// The separator of key templates; `#` if absent.
    pub separator: Option<Spanned<String>>,
    /// What happens to a separator inside a value: `reject`, `percent`, `order` or `none`.
    pub escape: Option<Spanned<String>>,
}

/// A secondary index.
#[derive(Clone, Debug)]
pub struct IndexDraft {
    /// The index's name.
    pub name: Spanned<String>,
    /// Partition key attributes: one, or up to four for a native multi-attribute key.
    pub partition_key: Vec<Spanned<String>>,
    /// Sort key attributes.
    pub sort_key: Vec<Spanned<String>>,
    /// What is copied into the index.
    pub projection: ProjectionDraft,
    /// Whether it is a local index.
    pub local: bool,
}

/// What an index copies from the table.
#[derive(Clone, Debug, Default)]
pub enum ProjectionDraft {
    /// Every attribute.
    #[default]
    All,
    /// Key attributes only.
    Keys,
    /// Key attributes and these.
    Include(Vec<Spanned<String>>),
}

/// A kind of item.
#[derive(Clone, Debug)]
pub struct EntityDraft {
    /// The entity's name.
    pub name: Spanned<String>,
    /// The table it lives in; may be absent when there is only one.
    pub table: Option<Spanned<String>>,
    /// The entity's fields.
    pub fields: Vec<FieldDraft>,
    /// The fields that make an item unique.
    pub identity: Vec<Spanned<String>>,
    /// The entities of the design before, whose items become these.
    pub was: Vec<Spanned<String>>,
    /// Key attributes with their templates.
    pub keys: Vec<KeyDraft>,
    /// What it is.
    pub description: Option<Spanned<String>>,
    /// How many items there are.
    pub count: Option<f64>,
    /// The average item size in bytes.
    pub size: Option<f64>,
    /// The greatest item size in bytes.
    pub max_size: Option<f64>,
    /// Growth of the count per month: 0.1 is ten percent.
    pub growth: Option<f64>,
    /// Growth of each item's size per month.
    pub size_growth: Option<f64>,
    /// Seconds after which an item expires by the table's `ttl`.
    pub lives: Option<Spanned<f64>>,
}

/// A key attribute of an entity.
#[derive(Clone, Debug)]
pub struct KeyDraft {
    /// The name of the attribute.
    pub attribute: Spanned<String>,
    /// The template, such as `TASK#{task_id}`.
    pub template: Spanned<String>,
    /// The condition under which the attribute is written (a sparse index).
    pub when: Option<Spanned<String>>,
}

/// A field of an entity.
#[derive(Clone, Debug)]
pub struct FieldDraft {
    /// The field's name.
    pub name: Spanned<String>,
    /// Its type, such as `ulid` or `datetime:ms`.
    pub kind: Spanned<String>,
    /// Its name in the design before.
    pub was: Option<Spanned<String>>,
    /// The only values it may have.
    pub values: Vec<Spanned<String>>,
    /// The greatest length of a text in bytes.
    pub max: Option<u64>,
    /// Digits in keys.
    pub width: Option<u64>,
    /// Digits after the point.
    pub scale: Option<u64>,
    /// Number left unpadded in keys.
    pub plain: bool,
    /// Sorted backwards in keys.
    pub desc: bool,
    /// May be absent.
    pub optional: bool,
    /// Kept only inside keys, not as an attribute of its own.
    pub key_only: bool,
    /// Never changes after the item was written.
    pub immutable: bool,
    /// Grows with every new item (a counter, a time): matters to hot ranges.
    pub sequential: bool,
    /// How many different values there are.
    pub distinct: Option<f64>,
    /// The share of items that the most frequent value has.
    pub top_share: Option<f64>,
    /// The share of items that have the field at all.
    pub present: Option<f64>,
    /// The number of shards of a shard field.
    pub shards: Option<u64>,
    /// The fields a calculated shard comes from; empty means random.
    pub shard_by: Vec<Spanned<String>>,
    /// The average size in bytes, for non-key fields.
    pub size: Option<f64>,
    /// A time before which there is no item.
    pub since: Option<Spanned<String>>,
    /// A time after which there is no item.
    pub until: Option<Spanned<String>>,
    /// The greatest number of elements of a list or set.
    pub max_items: Option<u64>,
    /// The average size of one element in bytes.
    pub item_size: Option<f64>,
}

/// Calls per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Over a month.
    pub average: f64,
    /// In the busiest second.
    pub peak: f64,
}

/// An access pattern.
#[derive(Clone, Debug)]
pub struct AccessDraft {
    /// The pattern's name.
    pub name: Spanned<String>,
    /// The entities it returns.
    pub find: Vec<Spanned<String>>,
    /// The entity through which the found ones are reached (two steps).
    pub via: Option<Spanned<String>>,
    /// The condition on fields.
    pub condition: Option<Spanned<String>>,
    /// A hand-written key condition, to be checked as it stands.
    pub key: Option<Spanned<String>>,
    /// A hand-written filter, to be checked as it stands.
    pub filter: Option<Spanned<String>>,
    /// The order asked for.
    pub order: Option<Spanned<String>>,
    /// The number of items wanted.
    pub limit: Option<u64>,
    /// The index to use; the planner chooses if absent.
    pub index: Option<Spanned<String>>,
    /// The fields wanted; all if empty.
    pub returns: Vec<Spanned<String>>,
    /// Whether the read must see the latest write.
    pub consistent: bool,
    /// How often it is called.
    pub rate: Option<Rate>,
    /// Items one call is expected to return.
    pub items: Option<f64>,
    /// Whether all pages are read on purpose.
    pub all_pages: bool,
    /// The share of read items that a filter keeps.
    pub keeps: Option<f64>,
    /// The most requests that one call may make.
    pub max_requests: Option<u64>,
    /// What it is for.
    pub description: Option<Spanned<String>>,
}

/// A write as the file has it.
#[derive(Clone, Debug)]
pub struct WriteDraft {
    /// The write's name.
    pub name: Spanned<String>,
    /// The entities written.
    pub entities: Vec<Spanned<String>>,
    /// `put`, `create`, `update`, `delete` or `transact`.
    pub kind: Spanned<String>,
    /// The fields an update sets.
    pub sets: Vec<Spanned<String>>,
    /// The fields the caller knows; the primary key's and `sets` if empty.
    pub given: Vec<Spanned<String>>,
    /// Lists and sets that get one more element with every call.
    pub appends: Vec<Spanned<String>>,
    /// How many items of each entity one call writes; one if absent.
    pub items: Option<u64>,
    /// What a transaction does with single entities: `put`, `create`, `update`, `delete` or `check`.
    pub kinds: Vec<(Spanned<String>, Spanned<String>)>,
    /// How often it is called.
    pub rate: Option<Rate>,
    /// Whether the program reads the item first.
    pub reads_first: bool,
    /// A hand-written UpdateExpression, to be checked as it stands.
    pub expression: Option<Spanned<String>>,
    /// Names of the hand-written expression: `#s` and what it stands for.
    pub names: Vec<(Spanned<String>, Spanned<String>)>,
    /// What it is for.
    pub description: Option<Spanned<String>>,
}

/// A uniqueness rule over fields that are not the primary key.
#[derive(Clone, Debug)]
pub struct UniqueDraft {
    /// The rule's name.
    pub name: Spanned<String>,
    /// The entity whose fields are unique.
    pub entity: Option<Spanned<String>>,
    /// The fields, unique together.
    pub fields: Vec<Spanned<String>>,
    /// The entity whose items guard the rule: their primary key is made of these fields.
    pub by: Option<Spanned<String>>,
}

/// A relationship between two entities.
#[derive(Clone, Debug)]
pub struct RelationshipDraft {
    /// The relationship's name.
    pub name: Spanned<String>,
    /// The one side.
    pub from: Option<Spanned<String>>,
    /// The other side.
    pub to: Option<Spanned<String>>,
    /// `one-to-one`, `one-to-many` or `many-to-many`.
    pub kind: Option<Spanned<String>>,
    /// The entity of the link items of a many-to-many relationship.
    pub through: Option<Spanned<String>>,
    /// The shared fields; by default the fields of the one side's primary key.
    pub on: Vec<Spanned<String>>,
    /// `both` (default), `forward` or `backward`.
    pub direction: Option<Spanned<String>>,
}

/// A suppression of one rule for one subject.
#[derive(Clone, Debug)]
pub struct AllowDraft {
    /// Where it stands.
    pub span: Span,
    /// The rule, such as `P01`.
    pub rule: Spanned<String>,
    /// The entity, pattern, index or table; every one if absent.
    pub subject: Option<Spanned<String>>,
    /// Why the finding is accepted.
    pub reason: Spanned<String>,
}
