//! A planned write: one item, the change to it, and its condition.

use std::sync::Arc;

use keyloom_core::error::request;
use keyloom_core::expr::{Condition, Update};
use keyloom_core::size::item_size;
use keyloom_core::{Item, Result, limits};

use crate::catalog::Table;
use crate::replication::Version;

/// One item to write.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) table: Arc<Table>,
    /// The item's primary key, validated against the table's schema.
    pub(crate) key: Item,
    /// The key under which the store holds the item.
    pub(crate) store_key: Vec<u8>,
    pub(crate) condition: Option<Condition>,
    pub(crate) edit: Edit,
    pub(crate) origin: Origin,
    /// The version of a write that another region has made: it counts only if it is greater than the item's.
    pub(crate) arrived: Option<Version>,
}

/// What happens to the item.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// It is replaced by this item.
    Put(Arc<Item>),
    /// It is changed by an update expression.
    Update(Update),
    /// The item is deleted.
    Delete,
    /// Nothing: only the condition is evaluated.
    Check,
}

/// The origin of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Origin {
    /// A client's request.
    #[default]
    User,
    /// The removal of expired items; their stream records say so.
    TimeToLive,
    /// A restore, an import or a bulk operation, which consumes no throughput.
    Loading,
    /// Another region of a global table; stream records say so, and are not sent to further regions.
    Replica,
}

impl Write {
    /// Replaces the item by one that fits the table's schema. This is the only place that refuses a put of
    /// an item over 400 KB.
    pub(crate) fn put(
        table: Arc<Table>,
        item: impl Into<Arc<Item>>,
        condition: Option<Condition>,
    ) -> Result<Self> {
        let item = item.into();
        if item_size(&item) > limits::MAX_ITEM_BYTES {
            return Err(request::item_too_large());
        }
        let key = table.schema.key_of(&item)?;
        Self::new(table, key, condition, Edit::Put(item))
    }

    /// Changes the item with this key, which fits the table's schema, in a way that leaves the key as it is.
    pub(crate) fn update(
        table: Arc<Table>,
        key: Item,
        condition: Option<Condition>,
        update: Update,
    ) -> Result<Self> {
        let names = table.key().attributes().map(|attribute| attribute.name.as_str());
        update.check_excludes_keys(names)?;
        table.check_paths(update.nested_paths())?;
        Self::new(table, key, condition, Edit::Update(update))
    }

    /// Removes the item with this key, which fits the table's schema.
    pub(crate) fn delete(
        table: Arc<Table>,
        key: Item,
        condition: Option<Condition>,
    ) -> Result<Self> {
        Self::new(table, key, condition, Edit::Delete)
    }

    /// Only evaluates the condition on the item with this key, which fits the table's schema.
    pub(crate) fn check(
        table: Arc<Table>,
        key: Item,
        condition: Option<Condition>,
    ) -> Result<Self> {
        Self::new(table, key, condition, Edit::Check)
    }

    /// The same write with an origin other than a request.
    pub(crate) fn by(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    fn new(table: Arc<Table>, key: Item, condition: Option<Condition>, edit: Edit) -> Result<Self> {
        if let Some(condition) = &condition {
            table.check_paths(condition.nested_paths())?;
        }
        let store_key = table.item_key(&key)?;
        Ok(Self { table, key, store_key, condition, edit, origin: Origin::User, arrived: None })
    }
}
