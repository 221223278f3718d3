//! Index entries: the projection of an item to an index.

use std::borrow::Cow;

use super::{IndexSchema, Projection, TableSchema};
use crate::value::Item;

impl TableSchema {
    /// The entry of an item in `index`; `None` if the item lacks any of the index's key attributes,
    /// or has an invalid one. An index that projects everything borrows the item.
    pub fn project<'a>(&self, item: &'a Item, index: &IndexSchema) -> Option<Cow<'a, Item>> {
        if !index.key.is_in(item) {
            return None;
        }
        if index.projection == Projection::All {
            return Some(Cow::Borrowed(item));
        }
        let held = item.iter().filter(|(name, _)| self.projects(index, name));
        Some(Cow::Owned(held.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }

    /// Whether `index` projects the attribute `name`.
    pub fn projects(&self, index: &IndexSchema, name: &str) -> bool {
        let included = match &index.projection {
            Projection::All => true,
            Projection::KeysOnly => false,
            Projection::Include(names) => names.iter().any(|included| included == name),
        };
        included || index.key.contains(name) || self.key.contains(name)
    }
}
