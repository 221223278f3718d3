//! DynamoDB Streams: its inputs and outputs, and the form of sequence numbers.

mod describe_stream;
mod get_records;
mod get_shard_iterator;
mod list_streams;

pub use describe_stream::{DescribeStreamInput, DescribeStreamOutput, ShardDescription};
pub use get_records::{GetRecordsInput, GetRecordsOutput, StreamImages, StreamRecord};
pub use get_shard_iterator::{GetShardIteratorInput, GetShardIteratorOutput, ShardStart};
pub use list_streams::{ListStreamsInput, ListStreamsOutput, StreamSummary};

use keyloom_core::error::stream as message;
use keyloom_core::{Result, limits};

use crate::{Constraints, Fields};

/// Added to our numbers so that they have the 21 digits that SDKs ask for.
const SEQUENCE_BASE: u128 = 100_000_000_000_000_000_000;

/// A sequence number on the wire.
fn sequence_number(number: u64) -> String {
    (SEQUENCE_BASE + u128::from(number)).to_string()
}

/// A sequence number from the wire.
pub fn parse_sequence_number(text: &str) -> Option<u64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    u64::try_from(text.parse::<u128>().ok()?.checked_sub(SEQUENCE_BASE)?).ok()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_have_21_digits_and_come_back() {
        for number in [0, 1, 1_881_843_000_000_000_000, u64::MAX] {
            let text = sequence_number(number);
            assert_eq!(text.len(), 21);
            assert_eq!(parse_sequence_number(&text), Some(number));
        }
        for text in ["", "1", "+100000000000000000001", "999999999999999999999999"] {
            assert_eq!(parse_sequence_number(text), None, "{text}");
        }
    }
}
