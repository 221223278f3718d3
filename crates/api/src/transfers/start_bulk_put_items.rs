//! StartBulkPutItems. Its output is a [`BulkOperationDescription`](super::BulkOperationDescription).

use keyloom_core::Result;
use serde_json::json;

use super::format::InputFormat;
use super::{Compression, Destination, Source};
use crate::parameters::described_table;
use crate::{Constraints, Fields};

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
        let table_name = described_table(fields)?;
        let mut constraints = Constraints::new();
        let input = fields.structure("InputS3Configuration");
        constraints.required(input.is_some(), "inputS3Configuration");
        let path = "inputS3Configuration.";
        let mut source = Source { bucket: String::new(), owner: None, prefix: String::new() };
        let (mut format, mut compression) = (InputFormat::DynamoDbJson, Compression::None);
        if let Some(input) = &input {
            source = Source::decode(input, &mut constraints, path);
            format = input_format(input, &mut constraints, path);
            compression = Compression::decode(input, &mut constraints, path);
        }
        let output = fields.structure("OutputS3Configuration");
        constraints.required(output.is_some(), "outputS3Configuration");
        let errors = output.as_ref().and_then(|output| errors(output, &mut constraints));
        let units = fields.integer("MaxWriteRequestUnits");
        constraints.range(units, "maxWriteRequestUnits", 1024, i64::MAX);
        constraints.finish()?;
        if let (Some(errors), Some(output)) = (&errors, &output) {
            errors.check_key(output)?;
        }
        let max_units_per_second = units.and_then(|units| u64::try_from(units).ok());
        Ok(Self { table_name, source, format, compression, errors, max_units_per_second })
    }
}

fn input_format(fields: &Fields<'_>, constraints: &mut Constraints, path: &str) -> InputFormat {
    let path = format!("{path}inputFormat");
    constraints.required(fields.has("InputFormat"), &path);
    let formats = [("DYNAMODB_JSON", false), ("ION", true)];
    match constraints.one_of(fields.string("InputFormat"), &path, &formats) {
        Some(true) => InputFormat::Ion,
        _ => InputFormat::DynamoDbJson,
    }
}

/// Where rows that failed are reported: in a bucket, if errors are wanted.
fn errors(fields: &Fields<'_>, constraints: &mut Constraints) -> Option<Destination> {
    let path = "outputS3Configuration.";
    constraints.required(fields.has("OutputType"), "outputS3Configuration.outputType");
    if !fields.has("S3Bucket") {
        return None;
    }
    let members = ("S3KeyPrefix", "s3KeyPrefix");
    let destination = Destination::decode(fields, constraints, path, members);
    let types = fields.kept("OutputType").unwrap_or_default();
    let wanted = types.as_array().is_some_and(|types| types.contains(&json!("ERROR")));
    wanted.then_some(destination)
}
