//! ListStreams.

use keyloom_core::Result;

use crate::{Constraints, Fields};

/// The input of ListStreams.
#[derive(Clone, Copy, Debug)]
pub struct ListStreamsInput<'a> {
    /// The table whose streams are wanted, by name or ARN; those of all tables without one.
    pub table_name: Option<&'a str>,
    /// How many streams to list at most.
    pub limit: usize,
    /// The stream behind which the list goes on.
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
