//! GetRecords.

use keyloom_core::{Result, limits};

use crate::{Constraints, Fields};

/// The input of GetRecords.
#[derive(Clone, Copy, Debug)]
pub struct GetRecordsInput<'a> {
    /// Where to read, as GetShardIterator or the page before gave it out.
    pub shard_iterator: &'a str,
    /// How many records to return at most.
    pub limit: usize,
}

impl<'a> GetRecordsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let iterator = fields.string("ShardIterator");
        let limit = fields.integer("Limit");
        let mut constraints = Constraints::new();
        constraints.required(iterator.is_some(), "shardIterator");
        if let Some(iterator) = iterator {
            constraints.length(iterator, "shardIterator", 1, 2048);
        }
        constraints.range(limit, "limit", 1, limits::MAX_STREAM_RECORDS as i64);
        constraints.finish()?;
        Ok(Self {
            shard_iterator: iterator.unwrap_or_default(),
            limit: limit.map_or(limits::MAX_STREAM_RECORDS, |limit| limit as usize),
        })
    }
}
