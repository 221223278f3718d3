//! `BulkOperationDescription`.

use serde_json::Value;

use super::{Failure, echo};
use crate::JsonWriter;

/// What a bulk operation is and has done.
#[derive(Clone, Copy, Debug)]
pub struct BulkOperationDescription<'a> {
    /// Its ARN.
    pub bulk_operation_arn: &'a str,
    /// What has become of it.
    pub status: &'a str,
    /// The name of its table.
    pub table: &'a str,
    /// The table's identity.
    pub table_id: &'a str,
    /// The request, whose members are shown again.
    pub request: &'a Value,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// How many rows were read.
    pub processed_items: u64,
    /// How many bytes were read, decompressed.
    pub processed_bytes: u64,
    /// The sizes of all objects together.
    pub total_bytes: u64,
    /// What the items that were put count as, in bytes.
    pub put_bytes: u64,
    /// How many rows failed.
    pub errors: u64,
    /// Why it failed.
    pub failure: Option<&'a Failure>,
}

impl BulkOperationDescription<'_> {
    /// Writes the output of StartBulkPutItems and DescribeBulkOperation.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("BulkOperationDescription", |json| self.write(json));
        json.finish()
    }

    fn write(&self, json: &mut JsonWriter) {
        json.string("BulkOperationArn", self.bulk_operation_arn);
        json.string("BulkOperationStatus", self.status);
        json.objects("TableDetails", [()], |json, ()| {
            json.string("TableName", self.table);
            json.string("TableId", self.table_id);
        });
        let members = [
            "ClientToken",
            "InputS3Configuration",
            "OutputS3Configuration",
            "MaxWriteRequestUnits",
        ];
        echo(json, self.request, &members);
        let tier = self.request.get("PerformanceTier").and_then(Value::as_str);
        json.string("PerformanceTier", tier.unwrap_or("STANDARD"));
        json.seconds("StartTime", self.started_ms);
        json.optional_seconds("EndTime", self.ended_ms);
        json.integer("ProcessedItemCount", self.processed_items);
        json.integer("ProcessedInputBytes", self.processed_bytes);
        json.integer("TotalInputBytes", self.total_bytes);
        json.objects("BulkOperationUsage", [()], |json, ()| {
            json.string("TableName", self.table);
            json.integer("BulkPutBytes", self.put_bytes);
            json.structure("Table", |json| json.integer("BulkPutBytes", self.put_bytes));
        });
        json.integer("FailedItemCount", self.errors);
        Failure::write(self.failure, json);
    }
}
