//! Table operations: create, describe, update, delete, list; tags, time to live, account limits.

pub(super) mod account;
pub(crate) mod create_table;
pub(crate) mod delete_table;
pub(super) mod describe_table;
pub(crate) mod description;
pub(super) mod list_tables;
pub(crate) mod replicas;
pub(crate) mod stream_setting;
pub(super) mod tags;
pub(super) mod time_to_live;
pub(crate) mod update_table;
