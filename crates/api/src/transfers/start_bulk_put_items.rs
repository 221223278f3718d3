//! StartBulkPutItems. Its output is a [`BulkOperationDescription`](super::BulkOperationDescription).

use keyloom_core::Result;

use super::format::InputFormat;
use super::{Compression, Destination, Source};
use crate::Fields;

/// The input of StartBulkPutItems.
#[derive(Clone, Debug)]
pub struct StartBulkPutItemsInput<'a> {
    /// The table, by name or ARN.
    pub table_name: &'a str,
    /// The objects.
    pub source: Source,
    /// The format of the objects.
    pub format: InputFormat,
    /// How they are compressed.
    pub compression: Compression,
    /// Where rows that failed are reported, if they are.
    pub errors: Option<Destination>,
    /// How many write units per second it may take.
    pub max_units_per_second: Option<u64>,
}

impl<'a> StartBulkPutItemsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let input = fields.structure("InputS3Configuration");
        let format = match input.as_ref().and_then(|input| input.string("InputFormat")) {
            Some("ION") => InputFormat::Ion,
            _ => InputFormat::DynamoDbJson,
        };
        let output = fields.structure("OutputS3Configuration");
        let units = fields.integer("MaxWriteRequestUnits");
        Ok(Self {
            table_name: fields.string("TableName").unwrap_or_default(),
            source: input.as_ref().map(Source::decode).unwrap_or_default(),
            format,
            compression: input.as_ref().map(Compression::decode).unwrap_or_default(),
            errors: output.as_ref().map(errors).transpose()?.flatten(),
            max_units_per_second: units.and_then(|units| u64::try_from(units).ok()),
        })
    }
}

/// Where rows that failed are reported: in a bucket, if errors are wanted.
fn errors(fields: &Fields<'_>) -> Result<Option<Destination>> {
    let types = fields.strings("OutputType").unwrap_or_default();
    let is_wanted = fields.has("S3Bucket") && types.iter().any(|kind| kind == "ERROR");
    is_wanted.then(|| Destination::decode(fields, "S3KeyPrefix")).transpose()
}
