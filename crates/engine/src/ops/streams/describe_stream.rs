//! DescribeStream.

use keyloom_api::Fields;
use keyloom_api::streams::{DescribeStreamInput, DescribeStreamOutput, ShardDescription};
use keyloom_core::Result;

use crate::catalog::record::KeyElement;
use crate::database::Inner;
use crate::ops::paging;
use crate::stream::Shard;

use super::find;

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
    // Names begin with the creation time, so the shards after a removed one have greater names.
    let gone = start.filter(|_| position.is_none());
    let (page, has_more) =
        paging::page(rest, input.limit, |shard| gone.is_none_or(|gone| shard.id.as_str() > gone));

    let shards = page.into_iter().map(|shard| ShardDescription {
        shard_id: &shard.id,
        start: shard.start,
        end: shard.end,
        parent: shard.parent.as_deref(),
    });
    let output = DescribeStreamOutput {
        stream_arn: input.stream_arn,
        stream_label: &stream.label,
        is_enabled: stream.closed_ms.is_none(),
        view_type: &stream.view,
        created_ms: stream.created_ms,
        table_name: &stream.table,
        key: stream.key.iter().map(KeyElement::role).collect(),
        shards: shards.collect(),
        has_more,
    };
    Ok(output.encode())
}
