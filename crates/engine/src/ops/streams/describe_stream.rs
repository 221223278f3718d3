//! DescribeStream.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::{Result, limits};

use crate::database::Inner;
use crate::ops::paging;
use crate::ops::tables::description;
use crate::stream::Shard;

use super::{arn_parameter, find, sequence_number};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let arn = arn_parameter(&fields, &mut constraints);
    let limit = fields.integer("Limit");
    let start = fields.string("ExclusiveStartShardId");
    constraints.range(limit, "limit", 1, limits::MAX_STREAM_LIST as i64);
    if let Some(start) = start {
        constraints.length(start, "exclusiveStartShardId", 28, 65);
    }
    let parent = parent_filter(&fields, &mut constraints);
    constraints.finish()?;

    let stream = find(database, arn)?;
    let now_ms = database.clock.now_ms();
    let shards: Vec<&Shard> = stream
        .live_shards(now_ms)
        .filter(|shard| parent.is_none_or(|parent| shard.parent.as_deref() == Some(parent)))
        .collect();
    // After a shard that is gone the list begins anew, rather than end.
    let skip = start.and_then(|start| shards.iter().position(|shard| shard.id == start));
    let rest = shards.iter().skip(skip.map_or(0, |position| position + 1));
    let limit = limit.map_or(limits::MAX_STREAM_LIST, |limit| limit as usize);
    let (page, more) = paging::page(rest, limit, |_| true);

    let mut json = JsonWriter::object();
    json.structure("StreamDescription", |json| {
        json.string("StreamArn", arn);
        json.string("StreamLabel", &stream.label);
        let status = if stream.closed_ms.is_none() { "ENABLED" } else { "DISABLED" };
        json.string("StreamStatus", status);
        json.string("StreamViewType", &stream.view);
        description::seconds(json, "CreationRequestDateTime", stream.created_ms);
        json.string("TableName", &stream.table);
        description::key_schema(json, "KeySchema", &stream.key);
        json.list("Shards", &page, |json, shard| json.nested(|json| write_shard(json, shard)));
        if let Some(last) = page.last().filter(|_| more) {
            json.string("LastEvaluatedShardId", &last.id);
        }
    });
    Ok(json.finish())
}

/// The shard whose children are wanted, if not all shards are.
fn parent_filter<'a>(fields: &Fields<'a>, constraints: &mut Constraints) -> Option<&'a str> {
    let filter = fields.structure("ShardFilter")?;
    let kind = filter.string("Type");
    constraints.one_of(kind, "shardFilter.type", &[("CHILD_SHARDS", ())]);
    let shard = filter.string("ShardId");
    constraints.required(shard.is_some(), "shardFilter.shardId");
    if let Some(shard) = shard {
        constraints.length(shard, "shardFilter.shardId", 28, 65);
    }
    shard
}

fn write_shard(json: &mut JsonWriter, shard: &Shard) {
    json.string("ShardId", &shard.id);
    json.structure("SequenceNumberRange", |json| {
        json.string("StartingSequenceNumber", &sequence_number(shard.start));
        if let Some(end) = shard.end {
            json.string("EndingSequenceNumber", &sequence_number(end));
        }
    });
    json.optional_string("ParentShardId", shard.parent.as_deref());
}
