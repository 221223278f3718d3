//! `BulkOperationDescription`.

use super::TransferDetails;
use crate::JsonWriter;

/// What a bulk operation is and has done.
#[derive(Clone, Copy, Debug)]
pub struct BulkOperationDescription<'a> {
    /// What every transfer has.
    pub details: TransferDetails<'a>,
    /// The name of its table.
    pub table: &'a str,
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
}

impl BulkOperationDescription<'_> {
    /// Writes the output of StartBulkPutItems and DescribeBulkOperation.
    pub fn encode(&self) -> Vec<u8> {
        let write = |json: &mut JsonWriter| self.write(json);
        self.details.encode("BulkOperationDescription", "BulkOperation", write)
    }

    fn write(&self, json: &mut JsonWriter) {
        json.objects("TableDetails", [()], |json, ()| {
            json.string("TableName", self.table);
            json.string("TableId", self.details.table_id);
        });
        let members = ["InputS3Configuration", "OutputS3Configuration", "MaxWriteRequestUnits"];
        self.details.echo(json, &members);
        let tier = self.details.requested("PerformanceTier");
        json.string("PerformanceTier", tier.unwrap_or("STANDARD"));
        json.integer("ProcessedItemCount", self.processed_items);
        json.integer("ProcessedInputBytes", self.processed_bytes);
        json.integer("TotalInputBytes", self.total_bytes);
        json.objects("BulkOperationUsage", [()], |json, ()| {
            json.string("TableName", self.table);
            json.integer("BulkPutBytes", self.put_bytes);
            json.structure("Table", |json| json.integer("BulkPutBytes", self.put_bytes));
        });
        json.integer("FailedItemCount", self.errors);
    }
}
