//! ListStreams.

use keyloom_core::Result;

use crate::{Constraints, Fields, JsonWriter};

/// The input of ListStreams.
#[derive(Clone, Copy, Debug)]
pub struct ListStreamsInput<'a> {
    /// The table whose streams are wanted, by name or ARN; those of all tables without one.
    pub table_name: Option<&'a str>,
    /// How many streams to list at most.
    pub limit: usize,
    /// The stream after which the list continues.
    pub exclusive_start_stream_arn: Option<&'a str>,
}

impl<'a> ListStreamsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let table_name = fields.string("TableName");
        let start = fields.string("ExclusiveStartStreamArn");
        let mut constraints = Constraints::new();
        if table_name.is_some() {
            constraints.table_name(table_name);
        }
        let limit = super::limit(fields, &mut constraints);
        if let Some(start) = start {
            constraints.length(start, "exclusiveStartStreamArn", 37, 1024);
        }
        constraints.finish()?;
        start.map_or(Ok(()), super::check_arn)?;
        Ok(Self { table_name, limit, exclusive_start_stream_arn: start })
    }
}

/// The output of ListStreams.
#[derive(Clone, Debug)]
pub struct ListStreamsOutput<'a> {
    /// A page of streams.
    pub streams: Vec<StreamSummary<'a>>,
    /// Whether there are more behind the last one.
    pub has_more: bool,
}

/// A stream in the list.
#[derive(Clone, Copy, Debug)]
pub struct StreamSummary<'a> {
    /// The stream's ARN.
    pub stream_arn: &'a str,
    /// The name of its table.
    pub table_name: &'a str,
    /// The stream's label.
    pub stream_label: &'a str,
}

impl ListStreamsOutput<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.objects("Streams", &self.streams, |json, stream| {
            json.string("StreamArn", stream.stream_arn);
            json.string("TableName", stream.table_name);
            json.string("StreamLabel", stream.stream_label);
        });
        let last = self.streams.last().filter(|_| self.has_more);
        json.optional_string("LastEvaluatedStreamArn", last.map(|stream| stream.stream_arn));
        json.finish()
    }
}
