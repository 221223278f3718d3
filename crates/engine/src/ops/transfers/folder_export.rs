//! A full export written into a directory by a program, from any source of items.

use std::path::Path;

use keyloom_api::clock::{Clock as _, SystemClock};
use keyloom_api::transfers::{ExportFormat, ExportView, Failure};
use keyloom_core::image::{Stored, encode};
use keyloom_core::{Item, Result};
use serde_json::{Map, Value, json};

use crate::buckets::{Access, Buckets as _, Closing, Folder};
use crate::ops::tables::stream_setting::label;

use super::export_files::{Files, Layout, Totals};
use super::export_rows::ExportRow;

/// Writes `AWSDynamoDB/ID/…` into a directory. Returns how many items it has, and the path of its summary manifest. An
/// error among the items ends it without one: where the summary is, the export is whole.
pub fn write_export(
    directory: &Path,
    table: &str,
    items: impl Iterator<Item = Result<Item>>,
) -> Result<(u64, String), Failure> {
    let (root, name) = match (directory.parent(), directory.file_name()) {
        (Some(root), Some(name)) => (root, name.to_string_lossy().into_owned()),
        _ => return Err(Failure::no_such_bucket("give the directory a name")),
    };
    let (account, closing) = ("", &Closing::NEVER);
    let access = Access { bucket: &name, owner: None, account, encryption: None, closing };
    let bucket = Folder::new(root).open(&access)?;
    let now_ms = SystemClock.now_ms();
    let id = format!("{now_ms:014}-{:08x}", std::process::id());
    let folder = format!("AWSDynamoDB/{id}");
    let layout = Layout {
        data_folder: format!("{folder}/data"),
        folder,
        format: ExportFormat::DynamoDbJson,
        view: ExportView::default(),
    };
    let files = Files { is_ending: &|| false, bucket: bucket.as_ref(), layout };
    let rows =
        items.map(|item| item.map(|item| ExportRow::Item(Stored::new(encode(&item).into()))));
    let summary = |totals: &Totals| -> Map<String, Value> {
        let time = |ms| json!(format!("{}Z", label(ms)));
        [
            ("version", json!("2020-06-30")),
            ("tableArn", json!(table)),
            ("startTime", time(now_ms)),
            ("endTime", time(SystemClock.now_ms())),
            ("exportTime", time(now_ms)),
            ("exportType", json!("FULL_EXPORT")),
            ("billedSizeBytes", json!(totals.bytes)),
            ("outputFormat", json!(ExportFormat::DynamoDbJson.name())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
    };
    let totals = files.write(rows, summary)?;
    Ok((totals.items, totals.manifest))
}
