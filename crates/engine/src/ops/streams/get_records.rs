//! GetRecords.

use std::ops::Bound;

use keyloom_api::streams::GetRecordsInput;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::error::stream as message;
use keyloom_core::size::item_size;
use keyloom_core::{Result, limits};
use keyloom_store::{Direction, Expected, KeyRange};

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::{Record, StreamRecord, decode_record, registry, retention};

use super::iterator::Position;
use super::{is_named, sequence_number};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = GetRecordsInput::decode(&fields)?;
    let now_ms = database.clock.now_ms();
    let (position, arn) = Position::decode(input.shard_iterator, now_ms)?;
    let stream = registry::find(database.store.as_ref(), position.stream)?
        // Policies are asked about the ARN, so a made-up iterator must not name another stream.
        .filter(|stream| !stream.is_gone(now_ms) && is_named(stream, arn))
        .ok_or_else(|| message::stream_not_found(arn))?;
    let page = Page::read(database, &stream, position, input.limit)?;

    let mut json = JsonWriter::object();
    json.list("Records", &page.records, |json, (number, record)| {
        json.nested(|json| write_record(json, database, &stream, *number, record));
    });
    if let Some(next) = page.next {
        json.string("NextShardIterator", &next.iterator(arn, now_ms));
    }
    Ok(json.finish())
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
            bytes += size_bytes(&record);
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

/// What a record shows, in bytes.
fn size_bytes(record: &Record) -> usize {
    let images = [Some(&record.keys), record.old.as_ref(), record.new.as_ref()];
    images.into_iter().flatten().map(item_size).sum()
}

fn write_record(
    json: &mut JsonWriter,
    database: &Inner,
    stream: &StreamRecord,
    number: u64,
    record: &Record,
) {
    // Unique, and the same whenever the record is read.
    json.string("eventID", &format!("{:016x}{number:016x}", stream.keyspace));
    json.string("eventName", record.event.as_str());
    json.string("eventVersion", "1.1");
    json.string("eventSource", "aws:dynamodb");
    json.string("awsRegion", &database.options.region);
    json.structure("dynamodb", |json| {
        json.integer("ApproximateCreationDateTime", record.created_ms / 1000);
        json.item("Keys", &record.keys);
        json.optional_item("NewImage", record.new.as_ref());
        json.optional_item("OldImage", record.old.as_ref());
        json.string("SequenceNumber", &sequence_number(number));
        json.integer("SizeBytes", size_bytes(record) as i64);
        json.string("StreamViewType", &stream.view);
    });
    if record.is_by_time_to_live() {
        json.structure("userIdentity", |json| {
            // AWS writes the names like this; the API model, and so some SDKs, like that.
            for (principal, kind) in [("principalId", "type"), ("PrincipalId", "Type")] {
                json.string(principal, "dynamodb.amazonaws.com");
                json.string(kind, "Service");
            }
        });
    }
}
