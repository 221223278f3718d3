//! The inputs of DynamoDB Streams.

mod describe_stream;
mod get_records;
mod get_shard_iterator;
mod list_streams;

pub use describe_stream::DescribeStreamInput;
pub use get_records::GetRecordsInput;
pub use get_shard_iterator::{GetShardIteratorInput, ShardStart};
pub use list_streams::ListStreamsInput;

use keyloom_core::error::stream as message;
use keyloom_core::{Result, limits};

use crate::{Constraints, Fields};

/// `StreamArn`, which is required.
fn arn<'a>(fields: &Fields<'a>, constraints: &mut Constraints) -> &'a str {
    let arn = fields.string("StreamArn");
    constraints.required(arn.is_some(), "streamArn");
    if let Some(arn) = arn {
        constraints.length(arn, "streamArn", 37, 1024);
    }
    arn.unwrap_or_default()
}

/// Refuses text that is not the ARN of a stream. AWS's wording is unknown.
fn check_arn(arn: &str) -> Result<()> {
    let mut parts = arn.splitn(6, ':');
    let is_ours = parts.next() == Some("arn")
        && parts.next().is_some_and(|partition| partition.starts_with("aws"))
        && parts.next() == Some("dynamodb");
    let resource = parts.nth(2).and_then(|resource| resource.strip_prefix("table/"));
    let stream = resource.and_then(|resource| resource.split_once("/stream/"));
    match stream {
        Some((table, label)) if is_ours && !table.is_empty() && !label.is_empty() => Ok(()),
        _ => Err(message::arn_invalid(arn)),
    }
}

/// `Limit` of a list of streams or shards.
fn limit(fields: &Fields<'_>, constraints: &mut Constraints) -> usize {
    let limit = fields.integer("Limit");
    constraints.range(limit, "limit", 1, limits::MAX_STREAM_LIST as i64);
    limit.map_or(limits::MAX_STREAM_LIST, |limit| limit as usize)
}
