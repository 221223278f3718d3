//! GetShardIterator.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_core::error::stream as message;

use crate::database::Inner;
use crate::stream::{NUMBERS_PER_MS, Shard, retention};

use super::iterator::Position;
use super::{arn_parameter, find, parse_sequence_number};

/// Where a reader wants to begin.
#[derive(Clone, Copy, Debug)]
enum Start {
    TrimHorizon,
    Latest,
    At,
    After,
    Time,
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let arn = arn_parameter(&fields, &mut constraints);
    let shard_id = fields.string("ShardId");
    constraints.required(shard_id.is_some(), "shardId");
    let shard_id = shard_id.unwrap_or_default();
    if !shard_id.is_empty() {
        constraints.length(shard_id, "shardId", 28, 65);
    }
    let kind = fields.string("ShardIteratorType");
    constraints.required(kind.is_some(), "shardIteratorType");
    let starts = [
        ("AFTER_SEQUENCE_NUMBER", Start::After),
        ("LATEST", Start::Latest),
        ("AT_SEQUENCE_NUMBER", Start::At),
        ("AT_TIMESTAMP", Start::Time),
        ("TRIM_HORIZON", Start::TrimHorizon),
    ];
    let start = constraints.one_of(kind, "shardIteratorType", &starts);
    let sequence = fields.string("SequenceNumber");
    if let Some(sequence) = sequence {
        constraints.length(sequence, "sequenceNumber", 21, 40);
    }
    constraints.finish()?;
    let start = start.unwrap_or(Start::TrimHorizon);
    match (start, sequence) {
        (Start::At | Start::After, None) => return Err(message::sequence_number_missing()),
        (Start::At | Start::After, Some(_)) | (_, None) => {}
        (_, Some(_)) => {
            return Err(message::sequence_number_unexpected(kind.unwrap_or_default()));
        }
    }
    let time_ms = fields.decimal("Timestamp").map(|seconds| (seconds * 1000.0) as u64);

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
            Start::TrimHorizon => shard.start,
            Start::Latest => shard.end.unwrap_or_else(|| database.streams.stable_before()),
            Start::At | Start::After => {
                let number = sequence.unwrap_or_default();
                let at = in_shard(number, shard, retention::horizon(now_ms))?;
                if matches!(start, Start::After) { at + 1 } else { at }
            }
            Start::Time => {
                let time_ms = time_ms.ok_or_else(message::timestamp_missing)?;
                time_ms.saturating_mul(NUMBERS_PER_MS).max(shard.start)
            }
        },
        from_horizon: matches!(start, Start::TrimHorizon | Start::Time),
    };
    let mut json = JsonWriter::object();
    json.string("ShardIterator", &position.iterator(arn, now_ms));
    Ok(json.finish())
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
