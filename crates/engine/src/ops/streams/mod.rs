//! The operations of the streams service.

pub(super) mod describe_stream;
pub(super) mod get_records;
pub(super) mod get_shard_iterator;
pub(crate) mod iterator;
pub(super) mod list_streams;

use keyloom_core::Result;
use keyloom_core::error::stream as message;

use crate::database::Inner;
use crate::stream::{StreamRecord, registry};

/// Added to our numbers so that they have the 21 digits that SDKs ask for.
const SEQUENCE_BASE: u128 = 100_000_000_000_000_000_000;

/// A sequence number on the wire.
fn sequence_number(number: u64) -> String {
    (SEQUENCE_BASE + u128::from(number)).to_string()
}

/// A sequence number from the wire.
fn parse_sequence_number(text: &str) -> Option<u64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    u64::try_from(text.parse::<u128>().ok()?.checked_sub(SEQUENCE_BASE)?).ok()
}

/// The ARN of a stream.
pub(crate) fn stream_arn(database: &Inner, stream: &StreamRecord) -> String {
    format!("{}/stream/{}", database.table_arn(&stream.table), stream.label)
}

/// The stream of this ARN, unless it is gone.
pub(crate) fn find(database: &Inner, arn: &str) -> Result<StreamRecord> {
    let now_ms = database.clock.now_ms();
    let streams = registry::all(database.store.as_ref())?;
    streams
        .into_iter()
        .find(|stream| is_named(database, stream, arn) && !stream.is_gone(now_ms))
        .ok_or_else(|| message::stream_not_found(arn))
}

/// Whether an ARN is this stream's.
fn is_named(database: &Inner, stream: &StreamRecord, arn: &str) -> bool {
    parts(arn) == Some((&stream.table, &stream.label)) && database.catalog.named(arn).is_some()
}

/// The table and the label in the ARN of a stream.
pub(crate) fn parts(arn: &str) -> Option<(&str, &str)> {
    arn.split_once(":table/")?.1.split_once("/stream/")
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
