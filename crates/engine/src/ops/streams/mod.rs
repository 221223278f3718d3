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

/// The ARN of a stream.
pub(crate) fn stream_arn(database: &Inner, stream: &StreamRecord) -> String {
    format!("{}/stream/{}", database.table_arn(&stream.table), stream.label)
}

/// The stream of this ARN, unless it was removed.
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
