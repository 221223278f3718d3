//! DescribeStream.

use keyloom_api::streams::DescribeStreamInput;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;

use crate::database::Inner;
use crate::ops::paging;
use crate::ops::tables::description;
use crate::stream::Shard;

use super::{find, sequence_number};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = DescribeStreamInput::decode(&fields)?;
    let stream = find(database, input.stream_arn)?;
    let now_ms = database.clock.now_ms();
    let shards: Vec<&Shard> = stream
        .live_shards(now_ms)
        .filter(|shard| input.parent.is_none_or(|parent| shard.parent.as_deref() == Some(parent)))
        .collect();
    let start = input.exclusive_start_shard_id;
    let position = start.and_then(|start| shards.iter().position(|shard| shard.id == start));
    let rest = shards.iter().skip(position.map_or(0, |position| position + 1));
    // After a shard that is gone come those with later names, which begin with their time.
    let gone = start.filter(|_| position.is_none());
    let (page, more) =
        paging::page(rest, input.limit, |shard| gone.is_none_or(|gone| shard.id.as_str() > gone));

    let mut json = JsonWriter::object();
    json.structure("StreamDescription", |json| {
        json.string("StreamArn", input.stream_arn);
        json.string("StreamLabel", &stream.label);
        let status = if stream.closed_ms.is_none() { "ENABLED" } else { "DISABLED" };
        json.string("StreamStatus", status);
        json.string("StreamViewType", &stream.view);
        json.seconds("CreationRequestDateTime", stream.created_ms);
        json.string("TableName", &stream.table);
        description::key_schema(json, &stream.key);
        json.list("Shards", &page, |json, shard| json.nested(|json| write_shard(json, shard)));
        if let Some(last) = page.last().filter(|_| more) {
            json.string("LastEvaluatedShardId", &last.id);
        }
    });
    Ok(json.finish())
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
