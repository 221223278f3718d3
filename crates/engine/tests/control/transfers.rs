//! Exports, imports and bulk operations on directories.

use std::io::Read;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Directory, Fixture, START_MS, create_index, describe, everything, table};

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/music";

struct Buckets {
    directory: Directory,
    f: Fixture,
}

/// A database with the bucket `data`, and a table of 250 items with an index.
fn fixture() -> Buckets {
    let directory = Directory::new();
    std::fs::create_dir(directory.0.join("data")).unwrap();
    let f = Fixture::with_buckets(Some(directory.0.clone()));
    f.ok("CreateTable", table("music", json!({})));
    f.ok("UpdateTable", create_index("music", "by-g"));
    f.tidy();
    for sk in 0..250 {
        let item = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "g": {"S": "x\n\u{e9}"}});
        f.ok("PutItem", json!({"TableName": "music", "Item": item}));
    }
    f.ok(
        "UpdateContinuousBackups",
        json!({
            "TableName": "music",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
        }),
    );
    Buckets { directory, f }
}

impl Buckets {
    fn read(&self, key: &str) -> String {
        std::fs::read_to_string(self.directory.0.join("data").join(key)).unwrap()
    }

    fn write(&self, key: &str, text: &str) {
        let path = self.directory.0.join("data").join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn export(&self) -> Value {
        let body = json!({"TableArn": ARN, "S3Bucket": "data", "S3Prefix": "daily"});
        let begun = self.f.ok("ExportTableToPointInTime", body)["ExportDescription"].clone();
        assert_eq!(begun["ExportStatus"], "IN_PROGRESS");
        self.f.tidy();
        let arn = json!({"ExportArn": begun["ExportArn"]});
        self.f.ok("DescribeExport", arn)["ExportDescription"].clone()
    }

    fn import(&self, name: &str, prefix: &str, compression: &str) -> Value {
        let begun = self.f.ok("ImportTable", import(name, prefix, compression));
        let begun = begun["ImportTableDescription"].clone();
        assert_eq!(begun["ImportStatus"], "IN_PROGRESS");
        self.f.tidy();
        let arn = json!({"ImportArn": begun["ImportArn"]});
        self.f.ok("DescribeImport", arn)["ImportTableDescription"].clone()
    }
}

fn import(name: &str, prefix: &str, compression: &str) -> Value {
    let mut parameters = table(
        name,
        json!({
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-g",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }],
        }),
    );
    let definition = json!({"AttributeName": "g", "AttributeType": "S"});
    parameters["AttributeDefinitions"].as_array_mut().unwrap().push(definition);
    json!({
        "S3BucketSource": {"S3Bucket": "data", "S3KeyPrefix": prefix},
        "InputFormat": "DYNAMODB_JSON",
        "InputCompressionType": compression,
        "TableCreationParameters": parameters,
    })
}

#[test]
fn an_export_is_the_table_and_an_import_brings_it_back() {
    let b = fixture();
    let export = b.export();
    assert_eq!(export["ExportStatus"], "COMPLETED", "{export}");
    assert_eq!(export["ItemCount"], 250);
    let summary: Value =
        serde_json::from_str(&b.read(export["ExportManifest"].as_str().unwrap())).unwrap();
    assert_eq!(summary["itemCount"], 250);
    let files = b.read(summary["manifestFilesS3Key"].as_str().unwrap());
    let file: Value = serde_json::from_str(files.trim()).unwrap();
    let key = file["dataFileS3Key"].as_str().unwrap();
    let data = std::fs::File::open(b.directory.0.join("data").join(key)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(data).read_to_string(&mut text).unwrap();
    let mut exported: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["Item"].to_string())
        .collect();
    exported.sort();
    assert_eq!(exported, everything(&b.f.db, "music", None));

    let folder = key.rsplit_once('/').unwrap().0;
    let import = b.import("copy", folder, "GZIP");
    assert_eq!(import["ImportStatus"], "COMPLETED", "{import}");
    assert_eq!((&import["ImportedItemCount"], &import["ErrorCount"]), (&json!(250), &json!(0)));
    assert_eq!(everything(&b.f.db, "copy", None), exported);
    assert_eq!(everything(&b.f.db, "copy", Some("by-g")), exported);
    assert_eq!(describe(&b.f.db, "copy")["ItemCount"], 250);
    let listed = b.f.ok("ListExports", json!({"TableArn": ARN}));
    assert_eq!(listed["ExportSummaries"][0]["ExportArn"], export["ExportArn"]);
}

#[test]
fn bad_lines_are_counted_and_later_ones_replace_earlier_ones() {
    let b = fixture();
    let item = |sk: &str, v: &str| {
        format!(r#"{{"Item":{{"pk":{{"S":"a"}},"sk":{{"N":"{sk}"}},"v":{{"S":"{v}"}}}}}}"#)
    };
    let lines = [
        item("1", "first"),
        "no json".into(),
        r#"{"Item":{"pk":{"S":"a"}}}"#.into(),
        r#"{"pk":{"S":"a"}}"#.into(),
        r#"{"Item":{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"N":"1"}}}"#.into(),
        String::new(),
        item("1", "second"),
        item("3", "last, without a newline"),
    ];
    b.write("in/a.json", &lines.join("\n"));
    let import = b.import("copy", "in/", "NONE");
    assert_eq!(import["ImportStatus"], "COMPLETED", "{import}");
    assert_eq!(import["ProcessedItemCount"], 7);
    assert_eq!((&import["ImportedItemCount"], &import["ErrorCount"]), (&json!(3), &json!(4)));
    let items = everything(&b.f.db, "copy", None);
    assert_eq!(items.len(), 2);
    assert!(items[0].contains("second"), "{items:?}");
}

#[test]
fn transfers_fail_without_their_bucket() {
    let b = fixture();
    let body = json!({"TableArn": ARN, "S3Bucket": "missing"});
    let begun = b.f.ok("ExportTableToPointInTime", body);
    b.f.tidy();
    let arn = json!({"ExportArn": begun["ExportDescription"]["ExportArn"]});
    let failed = b.f.ok("DescribeExport", arn)["ExportDescription"].clone();
    assert_eq!(failed["ExportStatus"], "FAILED");
    assert_eq!(failed["FailureCode"], "S3NoSuchBucket");

    let failed = b.import("copy", "nothing/here", "NONE");
    assert_eq!(failed["ImportStatus"], "FAILED");
    assert_eq!(failed["FailureCode"], "S3NoSuchKey");
    let gone = b.f.err("DescribeTable", json!({"TableName": "copy"}));
    assert_eq!(gone.0, "ResourceNotFoundException", "a failed import leaves no table");
    b.write("in/a.json", "this is not gzip");
    assert_eq!(b.import("copy", "in/", "GZIP")["ImportStatus"], "FAILED");
    let listed = b.f.ok("ListImports", json!({"PageSize": 1}));
    let rest = b.f.ok("ListImports", json!({"NextToken": listed["NextToken"]}));
    assert_eq!(rest["ImportSummaryList"].as_array().unwrap().len(), 1);
}

#[test]
fn requests_that_cannot_be_met_are_refused() {
    let b = fixture();
    let with = |more: Value| {
        let mut body = json!({"TableArn": ARN, "S3Bucket": "data"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    b.f.advance(Duration::from_hours(1));
    let past = (START_MS + 1000) as f64 / 1000.0;
    let missing = "arn:aws:dynamodb:us-east-1:000000000000:table/missing";
    for (body, code) in [
        (with(json!({"S3Prefix": "../outside"})), "ValidationException"),
        (with(json!({"S3Bucket": "../data"})), "ValidationException"),
        (with(json!({"ExportFormat": "ION"})), "ValidationException"),
        (with(json!({"ExportType": "INCREMENTAL_EXPORT"})), "ValidationException"),
        (with(json!({"ExportTime": past})), "ValidationException"),
        (with(json!({"ExportTime": 1})), "InvalidExportTimeException"),
        (with(json!({"TableArn": "music"})), "ValidationException"),
        (with(json!({"TableArn": missing})), "TableNotFoundException"),
    ] {
        assert_eq!(b.f.err("ExportTableToPointInTime", body.clone()).0, code, "{body}");
    }
    b.f.ok(
        "UpdateContinuousBackups",
        json!({
            "TableName": "music",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": false},
        }),
    );
    let (code, _) = b.f.err("ExportTableToPointInTime", with(json!({})));
    assert_eq!(code, "PointInTimeRecoveryUnavailableException");
    for (member, value) in [("InputFormat", "CSV"), ("InputCompressionType", "ZSTD")] {
        let mut body = import("copy", "in/", "NONE");
        body[member] = value.into();
        assert_eq!(b.f.err("ImportTable", body).0, "ValidationException");
    }
    assert_eq!(b.f.err("ImportTable", import("music", "in/", "NONE")).0, "ResourceInUseException");
    let arn = format!("{ARN}/export/01234567890123-abcdef01");
    assert_eq!(b.f.err("DescribeExport", json!({"ExportArn": arn})).0, "ExportNotFoundException");
    assert_eq!(b.f.err("DescribeImport", json!({"ImportArn": arn})).0, "ImportNotFoundException");
}

#[test]
fn a_client_token_names_the_same_transfer() {
    let b = fixture();
    let mut body = json!({"TableArn": ARN, "S3Bucket": "data", "ClientToken": "once"});
    let first = b.f.ok("ExportTableToPointInTime", body.clone());
    assert_eq!(b.f.ok("ExportTableToPointInTime", body.clone()), first);
    body["S3Prefix"] = json!("other");
    assert_eq!(b.f.err("ExportTableToPointInTime", body).0, "ExportConflictException");
    let mut body = import("copy", "in/", "NONE");
    body["ClientToken"] = json!("once");
    let first = b.f.ok("ImportTable", body.clone());
    assert_eq!(b.f.ok("ImportTable", body.clone()), first);
    body["InputCompressionType"] = json!("GZIP");
    assert_eq!(b.f.err("ImportTable", body).0, "ImportConflictException");
}

#[test]
fn a_bulk_operation_puts_items_into_a_table_in_use() {
    let b = fixture();
    let line = |sk: u32| {
        format!(r#"{{"Item":{{"pk":{{"S":"bulk"}},"sk":{{"N":"{sk}"}},"g":{{"S":"y"}}}}}}"#)
    };
    let mut lines: Vec<String> = (0..40).map(line).collect();
    lines.push("broken".into());
    b.write("in/items.json", &lines.join("\n"));
    let body = json!({
        "TableName": "music",
        "InputS3Configuration": {"S3Bucket": "data", "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"S3Bucket": "data", "S3KeyPrefix": "out", "OutputType": ["ERROR"]},
    });
    let begun = b.f.ok("StartBulkPutItems", body.clone())["BulkOperationDescription"].clone();
    assert_eq!(begun["BulkOperationStatus"], "IN_PROGRESS");
    b.f.tidy();
    let arn = json!({"BulkOperationArn": begun["BulkOperationArn"]});
    let done = b.f.ok("DescribeBulkOperation", arn)["BulkOperationDescription"].clone();
    assert_eq!(done["BulkOperationStatus"], "COMPLETED_WITH_ERRORS", "{done}");
    assert_eq!((&done["ProcessedItemCount"], &done["FailedItemCount"]), (&json!(41), &json!(1)));
    assert_eq!(everything(&b.f.db, "music", Some("by-g")).len(), 290);
    let id = begun["BulkOperationArn"].as_str().unwrap().rsplit('/').next().unwrap();
    assert!(b.read(&format!("out/AWSDynamoDB/{id}/errors.json")).contains("broken"));

    let begun = b.f.ok("StartBulkPutItems", body)["BulkOperationDescription"].clone();
    let arn = json!({"BulkOperationArn": begun["BulkOperationArn"]});
    assert_eq!(b.f.ok("CancelBulkOperation", arn.clone())["BulkOperationStatus"], "CANCELLING");
    b.f.tidy();
    let done = b.f.ok("DescribeBulkOperation", arn)["BulkOperationDescription"].clone();
    assert_eq!(done["BulkOperationStatus"], "CANCELLED");
    let listed = b.f.ok("ListBulkOperations", json!({}));
    assert_eq!(listed["BulkOperationsSummaryList"].as_array().unwrap().len(), 2);
    let unknown = json!({"BulkOperationArn": format!("{ARN}/bulk-operation/0")});
    assert_eq!(b.f.err("DescribeBulkOperation", unknown).0, "ResourceNotFoundException");
}

/// Links could lead anywhere: a client could read and overwrite whatever the server may.
#[cfg(unix)]
#[test]
fn symbolic_links_in_buckets_are_refused() {
    use std::os::unix::fs::symlink;
    let b = fixture();
    let outside = Directory::new();
    std::fs::write(outside.0.join("secret.json"), "{\"Item\":{}}").unwrap();
    let bucket = b.directory.0.join("data");
    let refused = |failed: &Value, status: &str, link: &str| {
        assert_eq!(
            (&failed[status], &failed["FailureCode"]),
            (&json!("FAILED"), &json!("S3AccessDenied"))
        );
        let said = failed["FailureMessage"].as_str().unwrap();
        assert!(said.contains("is a symbolic link") && said.contains(link), "{said}");
    };
    // A link below a prefix, and a prefix below a link; others do not matter.
    symlink(outside.0.join("secret.json"), bucket.join("in-secret")).unwrap();
    symlink(&outside.0, bucket.join("dir")).unwrap();
    b.write("plain/a.json", "{\"Item\":{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}}\n");
    refused(&b.import("one", "in", "NONE"), "ImportStatus", "in-secret");
    refused(&b.import("two", "dir/sec", "NONE"), "ImportStatus", "dir");
    assert_eq!(b.import("three", "plain/", "NONE")["ImportStatus"], "COMPLETED");
    // An export through a link.
    symlink(&outside.0, bucket.join("daily")).unwrap();
    refused(&b.export(), "ExportStatus", "daily");
    assert_eq!(std::fs::read_dir(&outside.0).unwrap().count(), 1, "nothing was written");
    // A bucket that is a link.
    std::fs::rename(&bucket, outside.0.join("data")).unwrap();
    symlink(outside.0.join("data"), &bucket).unwrap();
    refused(&b.export(), "ExportStatus", "data");
    refused(&b.import("four", "plain/", "NONE"), "ImportStatus", "data");
}
