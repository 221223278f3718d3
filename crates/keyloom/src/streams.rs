//! Reads the streams of tables: their shards, and the changes in each shard.
//!
//! A shard's records are in the order of the changes, and a child shard continues where its parent ended: a reader
//! that finishes parents before their children sees each item's changes in order.

use crate::backend::Backend;
use crate::error::Result;
use crate::migrate::service::Service;
use crate::migrate::stream;

pub use crate::migrate::stream::{Listed, Record, Records};

/// The streams of a database.
pub struct Streams {
    service: Service,
}

/// The stream of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What its records hold, as DynamoDB names it: `NEW_IMAGE`, `KEYS_ONLY` …
    pub view: String,
    /// The stream's name.
    pub arn: String,
}

impl Streams {
    /// The streams of this database.
    pub fn new(backend: impl Into<Backend>) -> Self {
        Self { service: Service::new(backend.into()) }
    }

    /// The stream of a table, if it is on.
    pub fn of(&self, table: &str) -> Result<Option<Stream>> {
        let found = stream::describe(&self.service, table)?;
        Ok(found.map(|(view, arn)| Stream { view, arn }))
    }

    /// The shards of a stream.
    pub fn shards(&self, arn: &str) -> Result<Vec<Listed>> {
        stream::shards(&self.service, arn)
    }

    /// The first records of a shard behind this number; without one, the oldest that are kept.
    pub fn read(&self, arn: &str, shard: &str, after: Option<&str>) -> Result<Records> {
        let start = after.map_or(stream::Start::Oldest, stream::Start::After);
        let iterator = stream::iterator(&self.service, arn, shard, &start)?;
        self.go_on(&iterator)
    }

    /// The records at an iterator.
    pub fn go_on(&self, iterator: &str) -> Result<Records> {
        stream::records(&self.service, iterator)
    }
}
