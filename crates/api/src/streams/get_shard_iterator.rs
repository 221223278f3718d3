//! GetShardIterator.

use keyloom_core::Result;
use keyloom_core::error::stream as message;

use crate::{Constraints, Fields, JsonWriter};

/// Where a reader begins in a shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShardStart<'a> {
    /// At the oldest record that is kept.
    TrimHorizon,
    /// Behind the newest record.
    Latest,
    /// At the record with this sequence number.
    At(&'a str),
    /// Behind the record with this sequence number.
    After(&'a str),
    /// At the first record of this time, in milliseconds since 1970; `None` if the request lacks it.
    Time(Option<u64>),
}

/// The input of GetShardIterator.
#[derive(Clone, Copy, Debug)]
pub struct GetShardIteratorInput<'a> {
    /// The ARN of the stream.
    pub stream_arn: &'a str,
    /// The id of the shard.
    pub shard_id: &'a str,
    /// Where to begin.
    pub start: ShardStart<'a>,
}

/// `ShardIteratorType`.
#[derive(Clone, Copy)]
enum Kind {
    TrimHorizon,
    Latest,
    At,
    After,
    Time,
}

impl<'a> GetShardIteratorInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let mut constraints = Constraints::new();
        let stream_arn = super::arn(fields, &mut constraints);
        let shard_id = fields.string("ShardId");
        constraints.required(shard_id.is_some(), "shardId");
        let shard_id = shard_id.unwrap_or_default();
        if !shard_id.is_empty() {
            constraints.length(shard_id, "shardId", 28, 65);
        }
        let name = fields.string("ShardIteratorType");
        constraints.required(name.is_some(), "shardIteratorType");
        let kinds = [
            ("AFTER_SEQUENCE_NUMBER", Kind::After),
            ("LATEST", Kind::Latest),
            ("AT_SEQUENCE_NUMBER", Kind::At),
            ("AT_TIMESTAMP", Kind::Time),
            ("TRIM_HORIZON", Kind::TrimHorizon),
        ];
        let kind = constraints.one_of(name, "shardIteratorType", &kinds);
        let sequence = fields.string("SequenceNumber");
        if let Some(sequence) = sequence {
            constraints.length(sequence, "sequenceNumber", 21, 40);
        }
        constraints.finish()?;
        super::check_arn(stream_arn)?;
        let time_ms = fields.decimal("Timestamp").map(|seconds| (seconds * 1000.0) as u64);
        let start = match (kind.unwrap_or(Kind::TrimHorizon), sequence) {
            (Kind::At, Some(number)) => ShardStart::At(number),
            (Kind::After, Some(number)) => ShardStart::After(number),
            (Kind::At | Kind::After, None) => return Err(message::sequence_number_missing()),
            (_, Some(_)) => {
                return Err(message::sequence_number_unexpected(name.unwrap_or_default()));
            }
            (Kind::TrimHorizon, None) => ShardStart::TrimHorizon,
            (Kind::Latest, None) => ShardStart::Latest,
            (Kind::Time, None) => ShardStart::Time(time_ms),
        };
        Ok(Self { stream_arn, shard_id, start })
    }
}

/// The output of GetShardIterator.
#[derive(Clone, Debug)]
pub struct GetShardIteratorOutput {
    /// Where GetRecords is to read.
    pub shard_iterator: String,
}

impl GetShardIteratorOutput {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.string("ShardIterator", &self.shard_iterator);
        json.finish()
    }
}
