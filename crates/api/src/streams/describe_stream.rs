//! DescribeStream.

use keyloom_core::Result;

use crate::{Constraints, Fields};

/// The input of DescribeStream.
#[derive(Clone, Copy, Debug)]
pub struct DescribeStreamInput<'a> {
    /// The stream.
    pub stream_arn: &'a str,
    /// How many shards to list at most.
    pub limit: usize,
    /// The shard behind which the list goes on.
    pub exclusive_start_shard_id: Option<&'a str>,
    /// The shard whose children are wanted; all shards without one.
    pub parent: Option<&'a str>,
}

impl<'a> DescribeStreamInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let mut constraints = Constraints::new();
        let stream_arn = super::arn(fields, &mut constraints);
        let start = fields.string("ExclusiveStartShardId");
        let limit = super::limit(fields, &mut constraints);
        if let Some(start) = start {
            constraints.length(start, "exclusiveStartShardId", 28, 65);
        }
        let parent = parent(fields, &mut constraints);
        constraints.finish()?;
        super::check_arn(stream_arn)?;
        Ok(Self { stream_arn, limit, exclusive_start_shard_id: start, parent })
    }
}

fn parent<'a>(fields: &Fields<'a>, constraints: &mut Constraints) -> Option<&'a str> {
    let filter = fields.structure("ShardFilter")?;
    constraints.one_of(filter.string("Type"), "shardFilter.type", &[("CHILD_SHARDS", ())]);
    let shard = filter.string("ShardId");
    constraints.required(shard.is_some(), "shardFilter.shardId");
    if let Some(shard) = shard {
        constraints.length(shard, "shardFilter.shardId", 28, 65);
    }
    shard
}
