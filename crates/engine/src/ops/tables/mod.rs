//! Tables: their life, their tags, their time to live, and what describes them.

pub(crate) mod create_table;
pub(crate) mod delete_table;
pub(super) mod describe_endpoints;
pub(super) mod describe_limits;
pub(super) mod describe_table;
pub(super) mod describe_time_to_live;
pub(crate) mod description;
pub(super) mod list_tables;
pub(super) mod list_tags_of_resource;
pub(crate) mod replicas;
pub(crate) mod stream_setting;
pub(crate) mod table_input;
pub(super) mod tag_resource;
pub(super) mod untag_resource;
pub(super) mod update_table;
pub(super) mod update_time_to_live;
