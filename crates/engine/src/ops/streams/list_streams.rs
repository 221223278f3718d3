//! ListStreams.

use keyloom_api::streams::ListStreamsInput;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;

use crate::catalog::table_name;
use crate::database::Inner;
use crate::ops::paging;
use crate::stream::registry;

use super::stream_arn;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ListStreamsInput::decode(&fields)?;
    let now_ms = database.clock.now_ms();
    let table = input.table_name.map(table_name);
    let mut streams: Vec<_> = registry::all(database.store.as_ref())?
        .into_iter()
        .filter(|stream| !stream.is_gone(now_ms))
        .filter(|stream| table.is_none_or(|table| stream.table == table))
        .map(|stream| (stream_arn(database, &stream), stream))
        .collect();
    streams.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (page, more) = paging::page(streams.iter(), input.limit, |(arn, _)| {
        input.exclusive_start_stream_arn.is_none_or(|start| arn.as_str() > start)
    });

    let mut json = JsonWriter::object();
    json.list("Streams", &page, |json, (arn, stream)| {
        json.nested(|json| {
            json.string("StreamArn", arn);
            json.string("TableName", &stream.table);
            json.string("StreamLabel", &stream.label);
        });
    });
    if let Some((last, _)) = page.last().filter(|_| more) {
        json.string("LastEvaluatedStreamArn", last);
    }
    Ok(json.finish())
}
