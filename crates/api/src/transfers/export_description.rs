//! `ExportDescription`.

use serde_json::Value;

use super::{ExportFormat, ExportTime, Failure, echo};
use crate::JsonWriter;

/// What an export is and has done.
#[derive(Clone, Copy, Debug)]
pub struct ExportDescription<'a> {
    /// Its ARN.
    pub export_arn: &'a str,
    /// `IN_PROGRESS`, `COMPLETED` or `FAILED`.
    pub status: &'a str,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// Its table.
    pub table_arn: &'a str,
    /// The table's identity.
    pub table_id: &'a str,
    /// The request, whose members are shown again.
    pub request: &'a Value,
    /// How items are written.
    pub format: ExportFormat,
    /// Which items are written, with every time.
    pub time: ExportTime,
    /// Whether objects are encrypted if the request does not say how.
    pub is_encrypted: bool,
    /// The key of the summary manifest, the size and the number of items, once they are known.
    pub written: Option<(&'a str, u64, u64)>,
    /// Why it failed.
    pub failure: Option<&'a Failure>,
}

impl ExportDescription<'_> {
    /// Writes the output of ExportTableToPointInTime and DescribeExport.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("ExportDescription", |json| self.write(json));
        json.finish()
    }

    fn write(&self, json: &mut JsonWriter) {
        json.string("ExportArn", self.export_arn);
        json.string("ExportStatus", self.status);
        json.seconds("StartTime", self.started_ms);
        json.optional_seconds("EndTime", self.ended_ms);
        json.string("TableArn", self.table_arn);
        json.string("TableId", self.table_id);
        let members = [
            "ClientToken",
            "S3Bucket",
            "S3BucketOwner",
            "S3Prefix",
            "S3SseAlgorithm",
            "S3SseKmsKeyId",
            "FilterSpecification",
        ];
        echo(json, self.request, &members);
        if self.is_encrypted && self.request.get("S3SseAlgorithm").is_none() {
            json.string("S3SseAlgorithm", "AES256");
        }
        Failure::write(self.failure, json);
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
