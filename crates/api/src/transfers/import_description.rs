//! `ImportTableDescription`.

use serde_json::Value;

use super::{TransferDetails, echo};
use crate::JsonWriter;

/// What an import is and has done.
#[derive(Clone, Copy, Debug)]
pub struct ImportTableDescription<'a> {
    /// What every transfer has.
    pub details: TransferDetails<'a>,
    /// The table that it fills.
    pub table_arn: &'a str,
    /// The account, which owns the bucket unless the request says otherwise.
    pub account: &'a str,
    /// Where rows that failed are logged.
    pub log_group_arn: &'a str,
    /// How many bytes were read, decompressed.
    pub processed_bytes: u64,
    /// How many rows were read.
    pub processed_items: u64,
    /// How many of them became items.
    pub imported_items: u64,
    /// How many did not.
    pub errors: u64,
}

impl ImportTableDescription<'_> {
    /// Writes the output of ImportTable and DescribeImport.
    pub fn encode(&self) -> Vec<u8> {
        self.details.encode("ImportTableDescription", "Import", |json| self.write(json))
    }

    fn write(&self, json: &mut JsonWriter) {
        json.string("TableArn", self.table_arn);
        json.string("TableId", self.details.table_id);
        self.write_source(json);
        json.integer("ErrorCount", self.errors);
        json.string("CloudWatchLogGroupArn", self.log_group_arn);
        let members = ["InputFormat", "InputFormatOptions", "TableCreationParameters"];
        self.details.echo(json, &members);
        let compression = self.details.requested("InputCompressionType");
        json.string("InputCompressionType", compression.unwrap_or("NONE"));
        json.integer("ProcessedSizeBytes", self.processed_bytes);
        json.integer("ProcessedItemCount", self.processed_items);
        json.integer("ImportedItemCount", self.imported_items);
    }

    fn write_source(&self, json: &mut JsonWriter) {
        let Some(source) = self.details.request.get("S3BucketSource") else { return };
        json.structure("S3BucketSource", |json| {
            let owner = source.get("S3BucketOwner").and_then(Value::as_str);
            json.string("S3BucketOwner", owner.unwrap_or(self.account));
            echo(json, source, &["S3Bucket", "S3KeyPrefix"]);
        });
    }
}
