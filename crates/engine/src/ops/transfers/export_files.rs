//! The objects of an export: data files, and the manifests that name them, each with its checksum.
//!
//! ```text
//! PREFIX/AWSDynamoDB/ID/_started                  shows that the bucket can be written
//! PREFIX/AWSDynamoDB/ID/data/NAME.json.gz         items (a full export)
//! PREFIX/AWSDynamoDB/data/NAME.json.gz            changes (an incremental one)
//! PREFIX/AWSDynamoDB/ID/manifest-files.json, .md5
//! PREFIX/AWSDynamoDB/ID/manifest-summary.json, .md5
//! ```
//!
//! The extension `md5` is that of exports; AWS's documentation calls it `checksum`.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom_api::transfers::{ExportFormat, ExportView, Failure};
use keyloom_core::Result;
use serde_json::{Map, Value, json};

use crate::buckets::Bucket;
use crate::identity;

use super::codecs::{Compressed, checksum};
use super::export_rows::ExportRow;

/// When a data file is full: enough for parallel readers, and few enough parts for an upload.
const ROWS_PER_FILE: u64 = 100_000;
const BYTES_PER_FILE: u64 = 256 * 1024 * 1024;

/// What the files of an export look like.
pub(super) struct Layout {
    /// The folder of the manifests.
    pub(super) folder: String,
    /// The folder of the data.
    pub(super) data_folder: String,
    pub(super) format: ExportFormat,
    pub(super) view: ExportView,
}

/// What an export has written.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) items: u64,
    pub(super) bytes: u64,
    /// The key of the summary manifest.
    pub(super) manifest: String,
}

/// A data file that has been written.
struct DataFile {
    key: String,
    rows: u64,
    md5: [u8; 16],
    etag: Option<String>,
}

/// The files of an export that is being written.
pub(super) struct Files<'a> {
    /// Asked before each row whether to give up.
    pub(super) is_ending: &'a dyn Fn() -> bool,
    pub(super) bucket: &'a dyn Bucket,
    pub(super) layout: Layout,
}

impl Files<'_> {
    /// Writes an export. `summary` becomes the summary manifest once the totals are known.
    pub(super) fn write(
        &self,
        rows: impl Iterator<Item = Result<ExportRow>>,
        summary: impl FnOnce(&Totals) -> Map<String, Value>,
    ) -> Result<Totals, Failure> {
        let folder = &self.layout.folder;
        self.bucket.create(&format!("{folder}/_started"))?.finish()?;
        let mut totals = Totals::default();
        let mut files = Vec::new();
        let mut rows = rows.peekable();
        // An empty table has a file, too.
        while files.is_empty() || rows.peek().is_some() {
            files.push(self.write_data(&mut rows, &mut totals)?);
        }
        let key = format!("{folder}/manifest-files.json");
        let mut list = Vec::new();
        for file in &files {
            writeln!(list, "{}", file.entry()?)?;
        }
        write_manifest(self.bucket, &key, &list)?;
        let mut summary = summary(&totals);
        summary.insert("manifestFilesS3Key".into(), json!(key));
        summary.insert("itemCount".into(), json!(totals.items));
        // The summary comes last: where it is, the export is whole.
        totals.manifest = format!("{folder}/manifest-summary.json");
        let text = Value::Object(summary).to_string();
        write_manifest(self.bucket, &totals.manifest, text.as_bytes())?;
        Ok(totals)
    }

    /// Writes one data file.
    fn write_data(
        &self,
        rows: &mut impl Iterator<Item = Result<ExportRow>>,
        totals: &mut Totals,
    ) -> Result<DataFile, Failure> {
        let Layout { data_folder, format, view, .. } = &self.layout;
        let name = identity::uuid().replace('-', "");
        let key = format!("{data_folder}/{name}.{}", format.extension());
        let mut file = Compressed::new(self.bucket.create(&key)?)?;
        let (mut count, mut bytes) = (0, 0);
        let mut line = Vec::new();
        while count < ROWS_PER_FILE && bytes < BYTES_PER_FILE {
            let Some(row) = rows.next() else { break };
            if (self.is_ending)() {
                return Err(Failure::interrupted());
            }
            let row = row?;
            line.clear();
            row.write(*format, *view, &mut line)?;
            file.write_all(&line)?;
            count += 1;
            bytes += line.len() as u64;
            totals.bytes += row.size_bytes()?;
        }
        let (md5, etag) = file.finish()?;
        totals.items += count;
        Ok(DataFile { key, rows: count, md5, etag })
    }
}

impl DataFile {
    /// The line of the manifest.
    fn entry(&self) -> Result<Value, Failure> {
        let etag = match &self.etag {
            Some(etag) => etag.clone(),
            // A bucket without tags has those that S3 gives to uploads of one part.
            None => format!("{:032x}-1", u128::from_be_bytes(checksum(&self.md5)?)),
        };
        Ok(json!({
            "itemCount": self.rows,
            "md5Checksum": STANDARD.encode(self.md5),
            "etag": etag.trim_matches('"'),
            "dataFileS3Key": self.key,
        }))
    }
}

/// Writes a manifest and its checksum.
fn write_manifest(bucket: &dyn Bucket, key: &str, text: &[u8]) -> Result<(), Failure> {
    let checksum = STANDARD.encode(checksum(text)?);
    let key_of_checksum = key.replace(".json", ".md5");
    for (key, content) in [(key, text), (&key_of_checksum, checksum.as_bytes())] {
        let mut upload = bucket.create(key)?;
        upload.write_all(content)?;
        upload.finish()?;
    }
    Ok(())
}
