//! GetShardIterator.

use keyloom_api::Fields;
use keyloom_api::streams::{
    GetShardIteratorInput, GetShardIteratorOutput, ShardStart, parse_sequence_number,
};
use keyloom_core::Result;
use keyloom_core::error::stream as message;

use crate::database::Inner;
use crate::layout::Keyspace;
use crate::store_error;
use crate::stream::{NUMBERS_PER_MS, Shard, registry, retention};

use super::find;
use super::iterator::Position;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let GetShardIteratorInput { stream_arn: arn, shard_id, start } =
        GetShardIteratorInput::decode(&fields)?;
    let stream = find(database, arn)?;
    let now_ms = database.clock.now_ms();
    let shard = stream
        .live_shards(now_ms)
        .find(|shard| shard.id == shard_id)
        .ok_or_else(|| message::shard_not_found(shard_id, arn))?;
    let position = Position {
        stream: stream.keyspace,
        shard: shard.number,
        next: match start {
            ShardStart::TrimHorizon => shard.start,
            ShardStart::Latest => latest(database, stream.keyspace, shard)?,
            ShardStart::At(number) => in_shard(number, shard, retention::horizon(now_ms))?,
            ShardStart::After(number) => in_shard(number, shard, retention::horizon(now_ms))? + 1,
            ShardStart::Time(time_ms) => {
                let time_ms = time_ms.ok_or_else(message::timestamp_missing)?;
                time_ms.saturating_mul(NUMBERS_PER_MS).max(shard.start)
            }
        },
        from_horizon: !matches!(start, ShardStart::At(_) | ShardStart::After(_)),
    };
    Ok(GetShardIteratorOutput { shard_iterator: position.iterator(arn, now_ms) }.encode())
}

/// The number behind all records that are there now.
fn latest(database: &Inner, stream: Keyspace, shard: &Shard) -> Result<u64> {
    let Some(end) = shard.end else {
        let snapshot = database.store.late_snapshot().map_err(store_error)?;
        return registry::next_number(snapshot.as_ref(), stream, shard);
    };
    Ok(end)
}

/// A sequence number that may be in the shard and has not been trimmed.
fn in_shard(text: &str, shard: &Shard, horizon: u64) -> Result<u64> {
    let invalid = || message::sequence_number_invalid(text, &shard.id);
    let number = parse_sequence_number(text).ok_or_else(invalid)?;
    if number < shard.start || shard.end.is_some_and(|end| number > end) {
        return Err(invalid());
    }
    // The start of a shard is no record: it may be named as long as the shard is there.
    if number < horizon && number != shard.start {
        return Err(message::trimmed());
    }
    Ok(number)
}
