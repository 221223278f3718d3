//! Exports, imports and bulk operations: their inputs, what they describe, and the formats of their objects.

mod bulk_operation_description;
mod cancel_bulk_operation;
mod describe_bulk_operation;
mod describe_export;
mod describe_import;
mod details;
mod export_description;
mod export_table_to_point_in_time;
mod failure;
pub mod format;
mod import_description;
mod import_table;
mod list_bulk_operations;
mod list_exports;
mod list_imports;
mod place;
mod start_bulk_put_items;

use keyloom_core::Result;
use keyloom_core::error::transfer as message;
use serde_json::Value;

use crate::{Fields, JsonWriter};

pub use bulk_operation_description::BulkOperationDescription;
pub use cancel_bulk_operation::{CancelBulkOperationInput, CancelBulkOperationOutput};
pub use describe_bulk_operation::DescribeBulkOperationInput;
pub use describe_export::DescribeExportInput;
pub use describe_import::DescribeImportInput;
pub use details::TransferDetails;
pub use export_description::ExportDescription;
pub use export_table_to_point_in_time::{
    ExportFormat, ExportPeriod, ExportTableToPointInTimeInput, ExportTime, ExportView,
};
pub use failure::Failure;
pub use import_description::ImportTableDescription;
pub use import_table::{Compression, ImportTableInput};
pub use list_bulk_operations::{BulkOperationSummary, ListBulkOperationsInput};
pub use list_exports::{ExportSummary, ListExportsInput};
pub use list_imports::{ImportSummary, ListImportsInput};
pub use place::{Destination, Encryption, Source};
pub use start_bulk_put_items::StartBulkPutItemsInput;

/// How many transfers a page of a listing has unless the request says otherwise.
const DEFAULT_PAGE: i64 = 10;

/// The ARN in a member, and the identity at its end, behind `/export/` or the like.
fn named<'a>(fields: &Fields<'a>, (kind, part): (&str, &str)) -> Result<(&'a str, &'a str)> {
    let arn = fields.string(&format!("{kind}Arn")).unwrap_or_default();
    let table = arn.strip_prefix("arn:").and_then(|_| arn.split_once(":table/"));
    let id = table.and_then(|(_, rest)| rest.split_once(&format!("/{part}/")));
    id.map(|(_, id)| (arn, id)).ok_or_else(|| message::arn_invalid(kind))
}

/// The size of a page.
fn page_size(fields: &Fields<'_>, member: &str) -> usize {
    fields.integer(member).unwrap_or(DEFAULT_PAGE) as usize
}

/// Writes the members that the request had.
fn echo(json: &mut JsonWriter, request: &Value, members: &[&str]) {
    for member in members {
        if let Some(value) = request.get(member) {
            json.stored(member, value);
        }
    }
}

/// Writes a page of a listing.
fn page<T>(
    member: &str,
    summaries: &[T],
    next_token: Option<&str>,
    write: impl Fn(&mut JsonWriter, &T),
) -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.objects(member, summaries, write);
    json.optional_string("NextToken", next_token);
    json.finish()
}
