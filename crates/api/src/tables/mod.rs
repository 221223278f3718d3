//! Tables: their life, settings, tags and time to live, and what describes them.

mod account;
mod capacity;
mod create_table;
mod description;
mod list_tables;
mod schema;
mod settings;
mod tags;
mod time_to_live;
mod update_table;

pub use account::{encode_endpoint, encode_limits};
pub use capacity::{IndexCapacity, OnDemandLimit, Throughput, decode_on_demand};
pub use create_table::CreateTableInput;
pub use description::{
    BillingDescription, Counts, GlobalIndexDescription, IndexDescription, StreamDescription,
    TableDescription, VectorIndexDescription,
};
pub(crate) use description::{write_key, write_key_schema, write_projection, write_vector_schema};
pub use list_tables::{ListTablesInput, ListTablesOutput};
pub use schema::IndexInput;
pub(crate) use schema::decode_vector_indexes;
pub use settings::{Encryption, StreamChange};
pub use tags::{
    ListTagsOfResourceInput, ListTagsOfResourceOutput, TagResourceInput, UntagResourceInput,
    dynamodb_resource,
};
pub use time_to_live::{UpdateTimeToLiveInput, encode_time_to_live};
pub use update_table::{IndexUpdate, UpdateTableInput, VectorIndexUpdate};
