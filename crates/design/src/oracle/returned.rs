//! One item of a response, and whether a field can be read from it.

use std::collections::BTreeMap;

use keyloom_core::Item;
use keyloom_keys::Value;

use super::compare::same_attribute;
use super::record::{Datum, Known, stored};
use crate::model::{Field, FieldKind};

/// One item that a run returned.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The position in the population of the record it was written from; none if no record has this key.
    pub record: Option<usize>,
    /// The item as it was returned.
    pub item: Item,
    /// What a client reads from its keys, by field.
    pub read: BTreeMap<String, Value<'static>>,
}

impl Returned {
    /// Whether a field of the record can be had from what was returned.
    pub(super) fn has(&self, record: &impl Known, field: &Field) -> bool {
        let Some(value) = record.value(&field.name) else { return true };
        let expected = stored(&field.kind, &value);
        if let Some(found) = self.item.get(&field.name) {
            return same_attribute(found, &expected);
        }
        let read = self.read.get(&field.name).filter(|_| field.key_only);
        read.is_some_and(|read| {
            let found = stored(&field.kind, &Datum::Scalar(read.clone()));
            same_attribute(&found, &expected)
        })
    }
}

/// The fields that must come back when a pattern names none: all but shards, which only place an item.
pub(super) fn is_data(field: &Field) -> bool {
    !matches!(field.kind, FieldKind::Shard(_))
}
