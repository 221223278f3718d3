//! `ExportDescription`.

use super::{ExportFormat, ExportTime, TransferDetails};
use crate::JsonWriter;

/// What an export is and has done.
#[derive(Clone, Copy, Debug)]
pub struct ExportDescription<'a> {
    /// What every transfer has.
    pub details: TransferDetails<'a>,
    /// The ARN of the exported table.
    pub table_arn: &'a str,
    /// How items are written.
    pub format: ExportFormat,
    /// Which items are written, with every time.
    pub time: ExportTime,
    /// Whether objects are encrypted if the request does not say how.
    pub is_encrypted: bool,
    /// The key of the summary manifest, the size and the number of items, once they are known.
    pub written: Option<(&'a str, u64, u64)>,
}

impl ExportDescription<'_> {
    /// Writes the output of ExportTableToPointInTime and DescribeExport.
    pub fn encode(&self) -> Vec<u8> {
        self.details.encode("ExportDescription", "Export", |json| self.write(json))
    }

    fn write(&self, json: &mut JsonWriter) {
        json.string("TableArn", self.table_arn);
        json.string("TableId", self.details.table_id);
        let members = [
            "S3Bucket",
            "S3BucketOwner",
            "S3Prefix",
            "S3SseAlgorithm",
            "S3SseKmsKeyId",
            "FilterSpecification",
        ];
        self.details.echo(json, &members);
        if self.is_encrypted && self.details.requested("S3SseAlgorithm").is_none() {
            json.string("S3SseAlgorithm", "AES256");
        }
        json.string("ExportFormat", self.format.name());
        match self.time {
            // AWS does not show the type of a full export, even if the request has it.
            ExportTime::Full(ms) => json.optional_seconds("ExportTime", ms),
            ExportTime::Incremental(period) => {
                json.string("ExportType", "INCREMENTAL_EXPORT");
                json.structure("IncrementalExportSpecification", |json| {
                    json.seconds("ExportFromTime", period.from_ms);
                    json.optional_seconds("ExportToTime", period.to_ms);
                    json.string("ExportViewType", period.view.name());
                });
            }
        }
        if let Some((manifest, bytes, items)) = self.written {
            json.string("ExportManifest", manifest);
            json.integer("BilledSizeBytes", bytes);
            json.integer("ItemCount", items);
        }
    }
}
