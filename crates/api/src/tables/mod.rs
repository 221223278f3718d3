//! The inputs of operations on tables that need no knowledge of a table's settings.

mod list_tables;
mod tags;
mod time_to_live;

pub use list_tables::ListTablesInput;
pub use tags::{
    ListTagsOfResourceInput, TagResourceInput, UntagResourceInput, decode_tags, resource_arn,
};
pub use time_to_live::UpdateTimeToLiveInput;
