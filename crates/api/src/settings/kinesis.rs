//! Enable-, Disable-, Update- and DescribeKinesisStreamingDestination.

use keyloom_core::error::{resource, table as message};

use crate::parameters::control_table;
use crate::{Fields, JsonWriter};

/// The table and the stream that a request names.
#[derive(Clone, Copy, Debug)]
pub struct DestinationInput<'a> {
    /// The table, by name or ARN.
    pub table_name: &'a str,
    /// The ARN of the Kinesis stream.
    pub stream_arn: &'a str,
}

impl<'a> DestinationInput<'a> {
    /// Decodes the input of an operation that changes a destination.
    pub fn decode(fields: &Fields<'a>) -> Self {
        Self {
            table_name: control_table(fields),
            stream_arn: fields.string("StreamArn").unwrap_or_default(),
        }
    }

    /// Why no destination can be enabled.
    pub fn refused(&self) -> keyloom_core::Error {
        let reason = "this server sends nothing to Kinesis; read the table's stream, which has the same changes";
        message::not_served("EnableKinesisStreamingDestination", reason)
    }

    /// The table has no such destination.
    pub fn not_found(&self) -> keyloom_core::Error {
        let Self { table_name, stream_arn } = self;
        resource::resource_not_found(&format!("Table: {table_name} StreamArn: {stream_arn}"))
    }
}

/// The answer of DescribeKinesisStreamingDestination for a table without destinations.
pub fn no_destinations(table_name: &str) -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.string("TableName", table_name);
    json.strings("KinesisDataStreamDestinations", std::iter::empty::<&str>());
    json.finish()
}
