//! ListStreams.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::{Result, limits};

use crate::catalog::table_name;
use crate::database::Inner;
use crate::ops::paging;
use crate::stream::registry;

use super::stream_arn;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = fields.string("TableName");
    let limit = fields.integer("Limit");
    let start = fields.string("ExclusiveStartStreamArn");
    let mut constraints = Constraints::new();
    if table.is_some() {
        constraints.table_name(table);
    }
    constraints.range(limit, "limit", 1, limits::MAX_STREAM_LIST as i64);
    if let Some(start) = start {
        constraints.length(start, "exclusiveStartStreamArn", 37, 1024);
    }
    constraints.finish()?;

    let now_ms = database.clock.now_ms();
    let table = table.map(table_name);
    let mut streams: Vec<_> = registry::all(database.store.as_ref())?
        .into_iter()
        .filter(|stream| !stream.is_gone(now_ms))
        .filter(|stream| table.is_none_or(|table| stream.table == table))
        .map(|stream| (stream_arn(database, &stream), stream))
        .collect();
    streams.sort_by(|(a, _), (b, _)| a.cmp(b));
    let limit = limit.map_or(limits::MAX_STREAM_LIST, |limit| limit as usize);
    let (page, more) = paging::page(streams.iter(), limit, |(arn, _)| {
        start.is_none_or(|start| arn.as_str() > start)
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
