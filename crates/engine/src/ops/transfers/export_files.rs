//! The objects of an export: data files, and the manifests that name them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use keyloom_store::{Direction, KeyRange, Snapshot};
use serde_json::{Map, Value, json};

use crate::database::Inner;
use crate::identity;
use crate::layout::{self, Keyspace};
use crate::store_error;
use keyloom_core::image::Stored;

use super::bucket::{Bucket, Failure};

/// Items in one data file.
const ITEMS_PER_FILE: u64 = 100_000;

/// A data file that has been written.
struct DataFile {
    key: String,
    items: u64,
}

/// What an export has written.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) items: u64,
    pub(super) bytes: u64,
    /// The key of the manifest, below the export's prefix.
    pub(super) manifest: String,
}

/// Writes the items of a keyspace below `folder`; `summary` becomes the summary manifest.
pub(super) fn write(
    database: &Inner,
    bucket: &Bucket,
    folder: &str,
    snapshot: &dyn Snapshot,
    keyspace: Keyspace,
    mut summary: Map<String, Value>,
) -> Result<Totals, Failure> {
    drop(bucket.create(&format!("{folder}/_started"))?);
    let mut totals = Totals::default();
    let mut files = Vec::new();
    let range = KeyRange::prefix(&layout::entries(keyspace));
    let mut entries = snapshot.scan(range, Direction::Forward).peekable();
    while entries.peek().is_some() {
        let key = format!("{folder}/data/{}.json.gz", identity::uuid().replace('-', ""));
        let mut file = GzEncoder::new(bucket.create(&key)?, Compression::default());
        let mut items = 0;
        let mut line = Vec::new();
        for entry in entries.by_ref().take(ITEMS_PER_FILE as usize) {
            if database.background.is_ending() {
                return Err(Failure::interrupted());
            }
            let stored = Stored::new(entry.map_err(store_error)?.1);
            line.clear();
            line.extend_from_slice(b"{\"Item\":");
            stored.write_json(&mut line)?;
            line.extend_from_slice(b"}\n");
            file.write_all(&line)?;
            items += 1;
            totals.bytes += stored.size_bytes()? as u64;
        }
        file.finish()?.sync_all()?;
        totals.items += items;
        files.push(DataFile { key, items });
    }
    let manifest = format!("{folder}/manifest-files.json");
    let mut list = bucket.create(&manifest)?;
    for file in &files {
        let line = json!({ "itemCount": file.items, "dataFileS3Key": file.key });
        writeln!(list, "{line}")?;
    }
    list.sync_all()?;
    if !files.is_empty() {
        bucket.sync_names(&format!("{folder}/data"))?;
    }
    summary.insert("manifestFilesS3Key".into(), json!(manifest));
    summary.insert("billedSizeBytes".into(), json!(totals.bytes));
    summary.insert("itemCount".into(), json!(totals.items));
    // The summary comes last: where it is, the export is whole.
    totals.manifest = format!("{folder}/manifest-summary.json");
    let mut file = bucket.create(&totals.manifest)?;
    writeln!(file, "{}", Value::Object(summary))?;
    file.sync_all()?;
    bucket.sync_names(folder)?;
    Ok(totals)
}
