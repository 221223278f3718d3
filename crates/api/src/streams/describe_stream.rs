//! DescribeStream.

use keyloom_core::Result;
use keyloom_core::schema::KeyRole;

use crate::tables::write_key_schema;
use crate::{Constraints, Fields, JsonWriter};

use super::sequence_number;

/// The input of DescribeStream.
#[derive(Clone, Copy, Debug)]
pub struct DescribeStreamInput<'a> {
    /// The ARN of the stream.
    pub stream_arn: &'a str,
    /// How many shards to list at most.
    pub limit: usize,
    /// The shard after which the list continues.
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

/// The output of DescribeStream.
#[derive(Clone, Debug)]
pub struct DescribeStreamOutput<'a> {
    /// The stream's ARN, as the request has it.
    pub stream_arn: &'a str,
    /// The stream's label.
    pub stream_label: &'a str,
    /// Whether its table still writes to it.
    pub is_enabled: bool,
    /// What its records show.
    pub view_type: &'a str,
    /// When it was switched on, in milliseconds since 1970.
    pub created_ms: u64,
    /// The name of its table.
    pub table_name: &'a str,
    /// The key of its table.
    pub key: Vec<(&'a str, KeyRole)>,
    /// A page of its shards.
    pub shards: Vec<ShardDescription<'a>>,
    /// Whether there are more behind the last one.
    pub has_more: bool,
}

/// A shard of a stream.
#[derive(Clone, Copy, Debug)]
pub struct ShardDescription<'a> {
    /// The id of the shard.
    pub shard_id: &'a str,
    /// The sequence number before all of its records.
    pub start: u64,
    /// The sequence number behind all of its records, if it is closed.
    pub end: Option<u64>,
    /// The shard that it continues.
    pub parent: Option<&'a str>,
}

impl DescribeStreamOutput<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("StreamDescription", |json| self.write(json));
        json.finish()
    }

    fn write(&self, json: &mut JsonWriter) {
        json.string("StreamArn", self.stream_arn);
        json.string("StreamLabel", self.stream_label);
        json.string("StreamStatus", if self.is_enabled { "ENABLED" } else { "DISABLED" });
        json.string("StreamViewType", self.view_type);
        json.seconds("CreationRequestDateTime", self.created_ms);
        json.string("TableName", self.table_name);
        write_key_schema(json, self.key.iter().copied());
        json.objects("Shards", &self.shards, |json, shard| shard.write(json));
        let last = self.shards.last().filter(|_| self.has_more);
        json.optional_string("LastEvaluatedShardId", last.map(|shard| shard.shard_id));
    }
}

impl ShardDescription<'_> {
    fn write(&self, json: &mut JsonWriter) {
        json.string("ShardId", self.shard_id);
        json.structure("SequenceNumberRange", |json| {
            json.string("StartingSequenceNumber", &sequence_number(self.start));
            if let Some(end) = self.end {
                json.string("EndingSequenceNumber", &sequence_number(end));
            }
        });
        json.optional_string("ParentShardId", self.parent);
    }
}
