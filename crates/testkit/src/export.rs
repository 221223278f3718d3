//! A table rebuilt from its export.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use keyloom_engine::Database;
use serde_json::{Value, json};

use crate::lockstep::succeed;

/// The bucket that exports are written to, a directory in the databases' root of buckets.
pub const BUCKET: &str = "exports";

/// Exports a table, and reads the items from the files that the manifest names.
pub fn export(database: &Database, buckets: &Path, table: &str) -> Vec<Value> {
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    succeed(
        database,
        "UpdateContinuousBackups",
        &json!({"TableName": table, "PointInTimeRecoverySpecification": recovery}),
    );
    let described = succeed(database, "DescribeTable", &json!({"TableName": table}));
    let arn = described.pointer("/Table/TableArn").cloned().unwrap_or_default();
    let request = json!({"TableArn": arn, "S3Bucket": BUCKET});
    let started = succeed(database, "ExportTableToPointInTime", &request);
    if let Err(error) = database.run_maintenance() {
        panic!("maintenance: {error}");
    }
    let arn = started.pointer("/ExportDescription/ExportArn").cloned().unwrap_or_default();
    let described = succeed(database, "DescribeExport", &json!({"ExportArn": arn}));
    let member = |name: &str| described.pointer(&format!("/ExportDescription/{name}"));
    assert_eq!(member("ExportStatus"), Some(&"COMPLETED".into()), "{described}");

    let bucket = buckets.join(BUCKET);
    let summary = member("ExportManifest").and_then(Value::as_str).unwrap_or_default();
    let summary = only_line(&bucket.join(summary));
    let manifest = summary.get("manifestFilesS3Key").and_then(Value::as_str).unwrap_or_default();
    let mut items = Vec::new();
    for file in lines(BufReader::new(open(&bucket.join(manifest)))) {
        let key = file.get("dataFileS3Key").and_then(Value::as_str).unwrap_or_default();
        let before = items.len();
        for line in lines(BufReader::new(GzDecoder::new(open(&bucket.join(key))))) {
            items.extend(line.get("Item").cloned());
        }
        assert_eq!(file.get("itemCount"), Some(&json!(items.len() - before)), "{file}");
    }
    assert_eq!(summary.get("itemCount"), Some(&json!(items.len())), "{summary}");
    items
}

fn only_line(path: &Path) -> Value {
    match fs::read_to_string(path).map(|text| serde_json::from_str(&text)) {
        Ok(Ok(value)) => value,
        other => panic!("{}: {other:?}", path.display()),
    }
}

fn open(path: &Path) -> File {
    File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(reader: impl BufRead) -> impl Iterator<Item = Value> {
    reader.lines().map(|line| match line.map(|line| serde_json::from_str(&line)) {
        Ok(Ok(value)) => value,
        other => panic!("a line of an export: {other:?}"),
    })
}
