//! ListStreams.

use keyloom_api::Fields;
use keyloom_api::streams::{ListStreamsInput, ListStreamsOutput, StreamSummary};
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
    let (page, has_more) = paging::page(streams.iter(), input.limit, |(arn, _)| {
        input.exclusive_start_stream_arn.is_none_or(|start| arn.as_str() > start)
    });
    let streams = page.into_iter().map(|(arn, stream)| StreamSummary {
        stream_arn: arn,
        table_name: &stream.table,
        stream_label: &stream.label,
    });
    Ok(ListStreamsOutput { streams: streams.collect(), has_more }.encode())
}
