//! Messages about streams.

use super::Error;

/// No stream has this ARN.
pub fn stream_not_found(arn: &str) -> Error {
    Error::ResourceNotFound(format!("Requested resource not found: Stream: {arn} not found"))
}

/// Text that is not the ARN of a stream.
pub fn arn_invalid(arn: &str) -> Error {
    Error::Validation(format!("Invalid StreamArn: {arn}"))
}

/// The stream has no such shard.
pub fn shard_not_found(shard: &str, arn: &str) -> Error {
    Error::ResourceNotFound(format!(
        "Requested resource not found: Shard: {shard} in Stream: {arn} not found"
    ))
}

/// An iterator that was not issued by GetShardIterator or GetRecords.
pub fn iterator_invalid() -> Error {
    Error::validation("Invalid ShardIterator")
}

/// An iterator that is older than 15 minutes.
pub fn iterator_expired() -> Error {
    Error::ExpiredIterator(
        "The shard iterator has expired. Shard iterators are only valid for 15 minutes".into(),
    )
}

/// Records that are older than 24 hours.
pub fn trimmed() -> Error {
    Error::TrimmedDataAccess("The data you are trying to access has been trimmed".into())
}

/// An iterator type that needs a sequence number, without one.
pub fn sequence_number_missing() -> Error {
    Error::validation(
        "SequenceNumber must be specified for ShardIteratorType AT_SEQUENCE_NUMBER and \
         AFTER_SEQUENCE_NUMBER",
    )
}

/// A sequence number for an iterator type without one.
pub fn sequence_number_unexpected(kind: &str) -> Error {
    Error::Validation(format!("SequenceNumber cannot be specified for ShardIteratorType {kind}"))
}

/// A sequence number that cannot belong to this shard.
pub fn sequence_number_invalid(number: &str, shard: &str) -> Error {
    Error::Validation(format!("Invalid SequenceNumber: {number} is not in the range of {shard}"))
}

/// An iterator type that needs a timestamp, without one.
pub fn timestamp_missing() -> Error {
    Error::validation("Timestamp must be specified for ShardIteratorType AT_TIMESTAMP")
}

/// The table has no stream to change.
pub fn no_stream(table: &str) -> Error {
    Error::Validation(format!("Table has no enabled stream: TableName: {table}"))
}
