//! Where a page goes on: `ExclusiveStartKey`.

use std::ops::Bound;

use keyloom_core::error::request;
use keyloom_core::{Item, Result};
use keyloom_store::{Direction, KeyRange};

use crate::catalog::{Index, Table};
use crate::layout;

/// Checks a start key against the table and the index that is read, and gives its store key.
pub(crate) fn check_start_key(
    table: &Table,
    index: Option<&Index>,
    start: &Item,
) -> Result<Vec<u8>> {
    let index_key = index.map(|index| &index.schema.key);
    let mut expected = 0;
    for attribute in table.key().attributes() {
        expected += 1;
        let Some(value) = start.get(&attribute.name) else {
            return Err(request::start_key_invalid());
        };
        if value.attribute_type() != attribute.kind.attribute_type() {
            return Err(request::start_key_invalid());
        }
    }
    for attribute in index_key.into_iter().flat_map(keyloom_core::KeySchema::attributes) {
        let is_base_key = table.key().attributes().any(|base| base.name == attribute.name);
        expected += usize::from(!is_base_key);
        let Some(value) = start.get(&attribute.name) else {
            return Err(request::start_key_invalid());
        };
        if value.attribute_type() != attribute.kind.attribute_type() {
            return Err(request::start_key_invalid());
        }
    }
    if start.len() != expected {
        return Err(request::start_key_invalid());
    }
    let key = match index {
        Some(index) => layout::index_entry(index.keyspace, &index.schema.key, table.key(), start),
        None => layout::item(table.record.keyspace, table.key(), start),
    };
    key.map_err(|_| request::start_key_invalid())
}

/// The part of `range` that comes after `start` in this direction.
pub(crate) fn resume_after(range: KeyRange, start: Vec<u8>, direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => KeyRange { lower: Bound::Excluded(start.into()), upper: range.upper },
        Direction::Backward => {
            KeyRange { lower: range.lower, upper: Bound::Excluded(start.into()) }
        }
    }
}
