//! `ImportTableDescription`.

use serde_json::Value;

use super::{Failure, echo};
use crate::JsonWriter;

/// What an import is and has done.
#[derive(Clone, Copy, Debug)]
pub struct ImportTableDescription<'a> {
    /// Its ARN.
    pub import_arn: &'a str,
    /// `IN_PROGRESS`, `COMPLETED` or `FAILED`.
    pub status: &'a str,
    /// The table that it fills.
    pub table_arn: &'a str,
    /// The table's identity.
    pub table_id: &'a str,
    /// The account, which owns the bucket unless the request says otherwise.
    pub account: &'a str,
    /// The request, whose members are shown again.
    pub request: &'a Value,
    /// Where rows that failed are logged.
    pub log_group_arn: &'a str,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// How many bytes were read, decompressed.
    pub processed_bytes: u64,
    /// How many rows were read.
    pub processed_items: u64,
    /// How many of them became items.
    pub imported_items: u64,
    /// How many did not.
    pub errors: u64,
    /// Why it failed.
    pub failure: Option<&'a Failure>,
}

impl ImportTableDescription<'_> {
    /// Writes the output of ImportTable and DescribeImport.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("ImportTableDescription", |json| self.write(json));
        json.finish()
    }

    fn write(&self, json: &mut JsonWriter) {
        json.string("ImportArn", self.import_arn);
        json.string("ImportStatus", self.status);
        json.string("TableArn", self.table_arn);
        json.string("TableId", self.table_id);
        echo(json, self.request, &["ClientToken"]);
        self.write_source(json);
        json.integer("ErrorCount", self.errors);
        json.string("CloudWatchLogGroupArn", self.log_group_arn);
        echo(json, self.request, &["InputFormat", "InputFormatOptions"]);
        let compression = self.request.get("InputCompressionType").and_then(Value::as_str);
        json.string("InputCompressionType", compression.unwrap_or("NONE"));
        echo(json, self.request, &["TableCreationParameters"]);
        json.seconds("StartTime", self.started_ms);
        json.optional_seconds("EndTime", self.ended_ms);
        json.integer("ProcessedSizeBytes", self.processed_bytes);
        json.integer("ProcessedItemCount", self.processed_items);
        json.integer("ImportedItemCount", self.imported_items);
        Failure::write(self.failure, json);
    }

    fn write_source(&self, json: &mut JsonWriter) {
        let Some(source) = self.request.get("S3BucketSource") else { return };
        json.structure("S3BucketSource", |json| {
            let owner = source.get("S3BucketOwner").and_then(Value::as_str);
            json.string("S3BucketOwner", owner.unwrap_or(self.account));
            echo(json, source, &["S3Bucket", "S3KeyPrefix"]);
        });
    }
}
