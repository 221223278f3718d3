//! Operations on single items: GetItem, PutItem, UpdateItem, DeleteItem.

pub(crate) mod collection;
pub(super) mod delete_item;
pub(crate) mod get_item;
pub(super) mod put_item;
pub(super) mod update_item;
pub(crate) mod write;

pub(crate) use write::{PlannedWrite, WriteAnswer};
