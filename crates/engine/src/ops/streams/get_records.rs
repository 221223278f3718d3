//! GetRecords.

use std::ops::Bound;

use keyloom_api::Fields;
use keyloom_api::streams::{self, GetRecordsInput, GetRecordsOutput, StreamImages};
use keyloom_core::error::stream as message;
use keyloom_core::{Result, limits};
use keyloom_store::{Direction, Expected, KeyRange};

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::{Record, StreamRecord, decode_record, registry, retention};

use super::is_named;
use super::iterator::Position;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = GetRecordsInput::decode(&fields)?;
    let now_ms = database.clock.now_ms();
    let (position, arn) = Position::decode(input.shard_iterator, now_ms)?;
    let stream = registry::find(database.store.as_ref(), position.stream)?
        // Policies are asked about the ARN, so a made-up iterator must not name another stream.
        .filter(|stream| !stream.is_gone(now_ms) && is_named(database, stream, arn))
        .ok_or_else(|| message::stream_not_found(arn))?;
    let page = Page::read(database, &stream, position, input.limit)?;
    let output = GetRecordsOutput {
        records: page.records.iter().map(|record| shown(&stream, record)).collect(),
        region: &database.options.region,
        view_type: &stream.view,
        next_shard_iterator: page.next.map(|next| next.iterator(arn, now_ms)),
    };
    Ok(output.encode())
}

/// Some records of a shard in order, and where to go on.
struct Page {
    records: Vec<(u64, Record)>,
    /// `None` at the end of a closed shard.
    next: Option<Position>,
}

impl Page {
    fn read(
        database: &Inner,
        stream: &StreamRecord,
        position: Position,
        limit: usize,
    ) -> Result<Self> {
        let horizon = retention::horizon(database.clock.now_ms());
        let shard = stream.shards.iter().find(|shard| shard.number == position.shard);
        let shard = shard.ok_or_else(message::trimmed)?;
        if position.next < horizon && !position.from_horizon {
            return Err(message::trimmed());
        }
        let end = shard.end.unwrap_or(u64::MAX).max(position.next);
        let snapshot = database.store.late_snapshot().map_err(store_error)?;
        let range = KeyRange {
            lower: Bound::Included(key(stream.keyspace, shard.number, position.next.max(horizon))),
            upper: Bound::Excluded(key(stream.keyspace, shard.number, end)),
        };
        let mut records = Vec::new();
        let mut bytes = 0;
        let expected = Expected { entries: limit, bytes: limits::MAX_STREAM_PAGE_BYTES };
        for entry in snapshot.page(range, Direction::Forward, expected) {
            let (key, value) = entry.map_err(store_error)?;
            let number = layout::sequence_of(&key).unwrap_or_default();
            let record = decode_record(&value)?;
            bytes += images(&record).size_bytes();
            if !records.is_empty() && bytes > limits::MAX_STREAM_PAGE_BYTES {
                let next = Position { next: number, from_horizon: false, ..position };
                return Ok(Self { records, next: Some(next) });
            }
            records.push((number, record));
            if records.len() == limit {
                let next = Position { next: number + 1, from_horizon: false, ..position };
                return Ok(Self { records, next: Some(next) });
            }
        }
        // Nothing was there behind them, and what comes is younger than this moment: nothing of it can be trimmed
        // while the iterator is valid.
        let next = records.last().map_or(position.next, |(number, _)| number + 1);
        let next = Position { next, from_horizon: true, ..position };
        Ok(Self { records, next: shard.end.is_none().then_some(next) })
    }
}

fn key(stream: Keyspace, shard: u32, number: u64) -> keyloom_store::Bytes {
    layout::stream_record(stream, shard, number).into()
}

/// What a record shows.
fn images(record: &Record) -> StreamImages<'_> {
    StreamImages { keys: &record.keys, old: record.old.as_ref(), new: record.new.as_ref() }
}

fn shown<'a>(
    stream: &StreamRecord,
    (number, record): &'a (u64, Record),
) -> streams::StreamRecord<'a> {
    streams::StreamRecord {
        event_id: format!("{:016x}{number:016x}", stream.keyspace),
        event_name: record.event.as_str(),
        created_ms: record.created_ms,
        sequence_number: *number,
        images: images(record),
        is_by_time_to_live: record.is_by_time_to_live(),
    }
}
