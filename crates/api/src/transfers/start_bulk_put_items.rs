//! StartBulkPutItems. Its output is a [`BulkOperationDescription`](super::BulkOperationDescription).

use keyloom_core::Result;
use keyloom_core::error::transfer as message;

use super::format::InputFormat;
use super::{Compression, Destination, Source};
use crate::Fields;

/// The input of StartBulkPutItems.
#[derive(Clone, Debug)]
pub struct StartBulkPutItemsInput<'a> {
    /// The table, by name or ARN.
    pub table_name: &'a str,
    /// The objects to read items from.
    pub source: Source,
    /// The format of the objects.
    pub format: InputFormat,
    /// How they are compressed.
    pub compression: Compression,
    /// Where rows that failed are reported, if they are.
    pub errors: Option<Destination>,
    /// Whether rows whose conditions do not hold are to be reported.
    pub reports_conditions: bool,
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
        let types = output.as_ref().and_then(|output| output.strings("OutputType"));
        let units = fields.integer("MaxWriteRequestUnits");
        if fields.string("PerformanceTier") == Some("ACCELERATED") {
            return Err(message::no_accelerated_tier());
        }
        Ok(Self {
            table_name: fields.string("TableName").unwrap_or_default(),
            source: input.as_ref().map(Source::decode).unwrap_or_default(),
            format,
            compression: input.as_ref().map(Compression::decode).unwrap_or_default(),
            errors: output.as_ref().map(errors).transpose()?.flatten(),
            reports_conditions: types
                .is_some_and(|types| types.iter().any(|kind| kind == "CONDITION_CHECK_FAILURE")),
            max_units_per_second: units.and_then(|units| u64::try_from(units).ok()),
        })
    }
}

/// Where rows that failed are reported, if errors are wanted. AWS's documentation requires the bucket, its model does not:
/// without one there is no place for what the request asks for.
fn errors(fields: &Fields<'_>) -> Result<Option<Destination>> {
    let types = fields.strings("OutputType").unwrap_or_default();
    let is_wanted = types.iter().any(|kind| kind == "ERROR");
    if is_wanted && !fields.has("S3Bucket") {
        return Err(message::output_bucket_missing());
    }
    is_wanted.then(|| Destination::decode(fields, "S3KeyPrefix")).transpose()
}
