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

    /// The text of a manifest, which must have its checksum beside it.
    fn checked(&self, key: &str) -> String {
        let text = self.read(key);
        assert_eq!(self.read(&key.replace(".json", ".md5")), checksum(text.as_bytes()));
        text
    }

    /// Exports to the folder `daily`, unless `more` says otherwise.
    fn export(&self, more: Value) -> Value {
        let mut body = json!({"TableArn": ARN, "S3Bucket": "data", "S3Prefix": "daily"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let begun = self.f.ok("ExportTableToPointInTime", body)["ExportDescription"].clone();
        assert_eq!(begun["ExportStatus"], "IN_PROGRESS");
        self.f.tidy();
        let arn = json!({"ExportArn": begun["ExportArn"]});
        self.f.ok("DescribeExport", arn)["ExportDescription"].clone()
    }

    fn import(&self, name: &str, prefix: &str, compression: &str) -> Value {
        self.run(import(name, prefix, compression))
    }

    /// Runs an import to its end.
    fn run(&self, body: Value) -> Value {
        let begun = self.f.ok("ImportTable", body);
        let begun = begun["ImportTableDescription"].clone();
        assert_eq!(begun["ImportStatus"], "IN_PROGRESS");
        self.f.tidy();
        let arn = json!({"ImportArn": begun["ImportArn"]});
        self.f.ok("DescribeImport", arn)["ImportTableDescription"].clone()
    }
}

fn checksum(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(<md5::Md5 as md5::Digest>::digest(bytes))
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
    round_trip("DYNAMODB_JSON", "json.gz", "{\"Item\":{\"g\":{\"S\":\"x\\n\u{e9}\"}");
    round_trip("ION", "ion.gz", "$ion_1_0 {Item:{g:\"x\\n\u{e9}\",pk:\"a\",sk:");
}

fn round_trip(format: &str, extension: &str, line: &str) {
    let b = fixture();
    let export = b.export(json!({"ExportFormat": format}));
    assert_eq!(export["ExportStatus"], "COMPLETED", "{export}");
    assert_eq!((&export["ItemCount"], &export["ExportFormat"]), (&json!(250), &json!(format)));
    let manifest = export["ExportManifest"].as_str().unwrap();
    assert!(
        manifest.starts_with("daily/AWSDynamoDB/") && manifest.ends_with("/manifest-summary.json")
    );
    let summary = b.checked(manifest);
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!((&summary["itemCount"], &summary["outputFormat"]), (&json!(250), &json!(format)));
    assert_eq!((&summary["version"], &summary["s3Bucket"]), (&json!("2020-06-30"), &json!("data")));
    let files = b.checked(summary["manifestFilesS3Key"].as_str().unwrap());
    let file: Value = serde_json::from_str(files.trim()).unwrap();
    assert_eq!(file["itemCount"], 250);
    let key = file["dataFileS3Key"].as_str().unwrap();
    assert!(key.ends_with(extension), "{key}");
    let data = std::fs::read(b.directory.0.join("data").join(key)).unwrap();
    assert_eq!(file["md5Checksum"], checksum(&data));
    let etag = file["etag"].as_str().unwrap();
    assert!(etag.len() == 34 && etag.ends_with("-1"), "{etag}");
    let mut text = String::new();
    flate2::read::GzDecoder::new(data.as_slice()).read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 250);
    assert!(text.starts_with(line), "{}", text.lines().next().unwrap());

    let folder = key.rsplit_once('/').unwrap().0;
    let mut body = import("copy", folder, "GZIP");
    body["InputFormat"] = json!(format);
    let import = b.run(body);
    assert_eq!(import["ImportStatus"], "COMPLETED", "{import}");
    assert_eq!((&import["ImportedItemCount"], &import["ErrorCount"]), (&json!(250), &json!(0)));
    assert_eq!(everything(&b.f.db, "copy", None), everything(&b.f.db, "music", None));
    assert_eq!(everything(&b.f.db, "copy", Some("by-g")).len(), 250);
    assert_eq!(describe(&b.f.db, "copy")["ItemCount"], 250);
    let listed = b.f.ok("ListExports", json!({"TableArn": ARN}));
    assert_eq!(listed["ExportSummaries"][0]["ExportArn"], export["ExportArn"]);
    assert_eq!(listed["ExportSummaries"][0]["ExportType"], "FULL_EXPORT");
}

#[test]
fn bad_rows_are_logged_and_later_ones_replace_earlier_ones() {
    let b = fixture();
    let item = |sk: &str, v: &str| {
        format!(r#"{{"Item":{{"pk":{{"S":"a"}},"sk":{{"N":"{sk}"}},"v":{{"S":"{v}"}}}}}}"#)
    };
    let lines = [
        item("1", "first"),
        r#"{"Item":{"pk":{"S":"a"}}}"#.into(),
        r#"{"pk":{"S":"a"}}"#.into(),
        r#"{"Item":{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"N":"1"}}}"#.into(),
        String::new(),
        item("1", "second"),
        item("3", "last, without a newline"),
    ];
    b.write("in/a.json", &lines.join("\n"));
    // AWS reads nothing of an object behind a line that is not JSON, but the other objects.
    b.write("in/b.json", &[item("4", "x"), "no json".into(), item("5", "x")].join("\n"));
    b.write("in/c.json", &item("6", "x"));
    let import = b.import("copy", "in/", "NONE");
    // As on AWS, an import with errors has failed, and its table has what was imported.
    assert_eq!(import["ImportStatus"], "FAILED", "{import}");
    assert_eq!(import["FailureCode"], "ItemValidationError");
    assert_eq!(
        (&import["ProcessedItemCount"], &import["ImportedItemCount"]),
        (&json!(9), &json!(5))
    );
    assert_eq!(import["ErrorCount"], 4);
    let items = everything(&b.f.db, "copy", None);
    assert_eq!(items.len(), 4);
    assert!(items[0].contains("second"), "{items:?}");
    assert_eq!(describe(&b.f.db, "copy")["TableStatus"], "ACTIVE");

    let id = import["ImportArn"].as_str().unwrap().rsplit('/').next().unwrap();
    let log = b.read(&format!("aws-dynamodb/imports/{id}/error"));
    let log: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places: Vec<(&str, u64)> = log
        .iter()
        .map(|line| &line["itemS3Pointer"])
        .map(|at| (at["key"].as_str().unwrap(), at["itemIndex"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, [("in/a.json", 1), ("in/a.json", 2), ("in/a.json", 3), ("in/b.json", 1)]);
    assert_eq!(log[0]["importArn"], import["ImportArn"]);
    let said = "One or more parameter values were invalid: Missing the key sk in the item";
    assert_eq!(log[0]["errorMessages"], json!([said]));
    let message = import["FailureMessage"].as_str().unwrap();
    for part in ["Some of the items failed validation", "item 1 of 'in/a.json'", id] {
        assert!(message.contains(part), "{message}");
    }
    // The log is nothing to import.
    b.write("top.json", &item("7", "x"));
    let all = b.import("all", "", "NONE");
    assert_eq!(all["ProcessedItemCount"], 10, "{all}");
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
    assert_eq!(failed.get("ItemCount"), None);

    let mut body = import("copy", "in/", "NONE");
    body["S3BucketSource"]["S3Bucket"] = json!("missing");
    let failed = b.run(body);
    assert_eq!(failed["ImportStatus"], "FAILED");
    assert_eq!(failed["FailureCode"], "S3NoSuchBucket");
    let gone = b.f.err("DescribeTable", json!({"TableName": "copy"}));
    assert_eq!(gone.0, "ResourceNotFoundException", "it leaves no table");

    let mut body = import("copy", "in/", "NONE");
    body["S3BucketSource"]["S3BucketOwner"] = json!("123456789012");
    assert_eq!(b.run(body)["FailureCode"], "S3AccessDenied");
    let listed = b.f.ok("ListImports", json!({"PageSize": 1}));
    let rest = b.f.ok("ListImports", json!({"NextToken": listed["NextToken"]}));
    assert_eq!(rest["ImportSummaryList"].as_array().unwrap().len(), 1);
}

#[test]
fn objects_of_another_compression_are_errors() {
    let b = fixture();
    b.write("in/a.json", "this is not compressed");
    for compression in ["GZIP", "ZSTD"] {
        let name = format!("copy-{compression}");
        let failed = b.import(&name, "in/", compression);
        assert_eq!(failed["FailureCode"], "ItemValidationError", "{failed}");
        assert_eq!((&failed["ProcessedItemCount"], &failed["ErrorCount"]), (&json!(1), &json!(1)));
        assert_eq!(describe(&b.f.db, &name)["TableStatus"], "ACTIVE");
    }
    // As on AWS, nothing to import is no failure.
    let empty = b.import("empty", "nothing/here", "NONE");
    assert_eq!(empty["ImportStatus"], "COMPLETED", "{empty}");
    assert_eq!(empty["ProcessedItemCount"], 0);
    assert_eq!(empty["InputCompressionType"], "NONE");
    assert_eq!(describe(&b.f.db, "empty")["ItemCount"], 0);
}

#[test]
fn csv_has_strings_but_for_keys() {
    let b = fixture();
    b.write("in/a.csv", "pk,sk,g,note\na,1,x,\"1,5\"\na,2,,true\na,,x,no key\na,3,y\n");
    let mut body = import("copy", "in/", "NONE");
    body["InputFormat"] = json!("CSV");
    let done = b.run(body.clone());
    assert_eq!(
        (&done["ProcessedItemCount"], &done["ErrorCount"]),
        (&json!(4), &json!(2)),
        "{done}"
    );
    assert_eq!(
        everything(&b.f.db, "copy", None),
        [
            r#"{"g":{"S":"x"},"note":{"S":"1,5"},"pk":{"S":"a"},"sk":{"N":"1"}}"#,
            r#"{"note":{"S":"true"},"pk":{"S":"a"},"sk":{"N":"2"}}"#,
        ]
    );
    // With a header in the request, the first line is a row, too.
    b.write("other/a.csv", "b|7|z");
    body["S3BucketSource"]["S3KeyPrefix"] = json!("other/");
    body["TableCreationParameters"]["TableName"] = json!("second");
    body["InputFormatOptions"] =
        json!({"Csv": {"Delimiter": "|", "HeaderList": ["pk", "sk", "g"]}});
    let done = b.run(body.clone());
    assert_eq!(done["ImportStatus"], "COMPLETED", "{done}");
    assert_eq!(done["InputFormatOptions"], body["InputFormatOptions"]);
    assert_eq!(everything(&b.f.db, "second", Some("by-g")).len(), 1);
    body["InputFormat"] = json!("ION");
    let (code, said) = b.f.err("ImportTable", body);
    assert_eq!(code, "ValidationException");
    assert_eq!(
        said,
        "Invalid Request: Unsupported InputFormatOptions for the given input format: ION."
    );
}

#[test]
fn the_folder_of_an_export_is_named_when_a_prefix_includes_its_manifests() {
    let b = fixture();
    let export = b.export(json!({}));
    let manifest = export["ExportManifest"].as_str().unwrap();
    let root = manifest.trim_end_matches("manifest-summary.json");
    // Recorded from AWS: the items are imported, and the four files beside them are errors.
    let import = b.import("copy", root, "GZIP");
    assert_eq!((&import["ImportedItemCount"], &import["ErrorCount"]), (&json!(250), &json!(4)));
    assert_eq!(import["ImportStatus"], "FAILED");
    let said = import["FailureMessage"].as_str().unwrap();
    assert!(said.contains(&format!("'{root}data/'")), "{said}");
}

#[test]
fn listings_begin_with_the_newest() {
    let b = fixture();
    for number in 0..12 {
        b.f.advance(Duration::from_secs(1));
        b.export(json!({"S3Prefix": format!("p{number}")}));
    }
    let first = b.f.ok("ListExports", json!({}));
    let arns = |page: &Value| -> Vec<String> {
        let page = page["ExportSummaries"].as_array().unwrap();
        page.iter().map(|one| one["ExportArn"].as_str().unwrap().to_owned()).collect()
    };
    let mut listed = arns(&first);
    assert_eq!(listed.len(), 10);
    listed.extend(arns(&b.f.ok("ListExports", json!({"NextToken": first["NextToken"]}))));
    assert_eq!(listed.len(), 12);
    assert!(listed.is_sorted_by(|a, b| a > b), "{listed:?}");
    // Exports of a table that is gone are not listed by its ARN, but can be described.
    b.f.ok("DeleteTable", json!({"TableName": "music"}));
    b.f.ok("CreateTable", table("music", json!({})));
    assert_eq!(arns(&b.f.ok("ListExports", json!({"TableArn": ARN}))), [""; 0]);
    b.f.ok("DescribeExport", json!({"ExportArn": listed[0]}));
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
    let missing = "arn:aws:dynamodb:us-east-1:000000000000:table/missing";
    for (body, code) in [
        (with(json!({"S3Prefix": "../outside"})), "ValidationException"),
        (with(json!({"S3Bucket": "../data"})), "ValidationException"),
        (with(json!({"ExportFormat": "CSV"})), "ValidationException"),
        (with(json!({"S3SseAlgorithm": "AES256"})), "ValidationException"),
        (with(json!({"S3SseKmsKeyId": "k"})), "ValidationException"),
        (with(json!({"S3BucketOwner": "me"})), "ValidationException"),
        (with(json!({"TableArn": format!("{ARN}/index/by-g")})), "ValidationException"),
        (with(json!({"ExportType": "INCREMENTAL_EXPORT"})), "ValidationException"),
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
    for (member, value) in [("InputFormat", "XML"), ("InputCompressionType", "BZIP2")] {
        let mut body = import("copy", "in/", "NONE");
        body[member] = value.into();
        assert_eq!(b.f.err("ImportTable", body).0, "ValidationException");
    }
    assert_eq!(b.f.err("ImportTable", import("music", "in/", "NONE")).0, "ResourceInUseException");
    let arn = format!("{ARN}/export/01234567890123-abcdef01");
    assert_eq!(b.f.err("DescribeExport", json!({"ExportArn": arn})).0, "ExportNotFoundException");
    let (code, said) = b.f.err("DescribeImport", json!({"ImportArn": arn}));
    assert_eq!((code.as_str(), said.as_str()), ("ValidationException", "Invalid Import ARN"));
    let arn = format!("{ARN}/import/01234567890123-abcdef01");
    assert_eq!(b.f.err("DescribeImport", json!({"ImportArn": arn})).0, "ImportNotFoundException");
}

/// A table, an hour later, with an item that was changed, one that was removed, a new one, and one that came and went.
fn changed() -> Buckets {
    let b = fixture();
    b.f.advance(Duration::from_hours(1));
    let item =
        |sk: u32, v: &str| json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "v": {"S": v}});
    let key = |sk: u32| json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}});
    let put = |item: Value| b.f.ok("PutItem", json!({"TableName": "music", "Item": item}));
    let delete = |key: Value| b.f.ok("DeleteItem", json!({"TableName": "music", "Key": key}));
    put(item(0, "changed"));
    delete(key(1));
    put(item(1000, "new"));
    put(item(1001, "short"));
    delete(key(1001));
    b.f.advance(Duration::from_secs(10));
    b
}

/// The lines of an export's data files.
fn exported(b: &Buckets, export: &Value) -> Vec<String> {
    assert_eq!(export["ExportStatus"], "COMPLETED", "{export}");
    let summary: Value =
        serde_json::from_str(&b.checked(export["ExportManifest"].as_str().unwrap())).unwrap();
    let files = b.checked(summary["manifestFilesS3Key"].as_str().unwrap());
    let mut lines = Vec::new();
    for file in files.lines() {
        let file: Value = serde_json::from_str(file).unwrap();
        let path = b.directory.0.join("data").join(file["dataFileS3Key"].as_str().unwrap());
        let mut text = String::new();
        let data = std::fs::File::open(path).unwrap();
        flate2::read::GzDecoder::new(data).read_to_string(&mut text).unwrap();
        lines.extend(text.lines().map(str::to_owned));
    }
    lines
}

const START: f64 = START_MS as f64 / 1000.0;

#[test]
fn a_full_export_of_the_past_has_the_items_of_then() {
    let b = changed();
    let now = exported(&b, &b.export(json!({})));
    assert_eq!(now.len(), 250);
    assert!(now[0].contains("changed"), "{}", now[0]);
    let export = b.export(json!({"ExportTime": START + 1800.0}));
    assert_eq!(export["ExportTime"], START + 1800.0);
    let then = exported(&b, &export);
    assert_eq!(then.len(), 250);
    assert!(!then.iter().any(|line| line.contains("changed") || line.contains("1000")));
    for (time, said) in [
        (START - 1.0, "Export Time is invalid"),
        (START + 3700.0, "Export Time is invalid"),
        (START + 3609.0, "Point in Time Recovery is not available for specified export time"),
    ] {
        let body = json!({"TableArn": ARN, "S3Bucket": "data", "ExportTime": time});
        let (code, message) = b.f.err("ExportTableToPointInTime", body);
        assert_eq!((code.as_str(), message.as_str()), ("InvalidExportTimeException", said));
    }
}

#[test]
fn an_incremental_export_has_what_was_changed() {
    let b = changed();
    let incremental = |specification: Value| json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": specification});
    let period = json!({"ExportFromTime": START + 60.0, "ExportToTime": START + 3605.0});
    let export = b.export(incremental(period.clone()));
    assert_eq!((&export["ItemCount"], &export["BilledSizeBytes"]), (&json!(3), &json!(10_000_000)));
    assert_eq!(
        (export.get("ExportTime"), &export["ExportType"]),
        (None, &json!("INCREMENTAL_EXPORT"))
    );
    let described = &export["IncrementalExportSpecification"];
    assert_eq!(described["ExportViewType"], "NEW_AND_OLD_IMAGES");
    assert_eq!(described["ExportFromTime"], period["ExportFromTime"]);
    let time = format!("{}", (START_MS + 3_600_000) * 1000);
    let record = |sk: u32, images: &str| {
        format!(
            r#"{{"Metadata":{{"WriteTimestampMicros":{{"N":"{time}"}}}},"Keys":{{"pk":{{"S":"a"}},"sk":{{"N":"{sk}"}}}}{images}}}"#
        )
    };
    let old = |sk: u32| {
        format!(
            ",\"OldImage\":{{\"g\":{{\"S\":\"x\\n\u{e9}\"}},\"pk\":{{\"S\":\"a\"}},\"sk\":{{\"N\":\"{sk}\"}}}}"
        )
    };
    let new = |sk: u32, v: &str| {
        format!(r#","NewImage":{{"pk":{{"S":"a"}},"sk":{{"N":"{sk}"}},"v":{{"S":"{v}"}}}}"#)
    };
    assert_eq!(
        exported(&b, &export),
        [
            record(0, &(old(0) + &new(0, "changed"))),
            record(1, &old(1)),
            record(1000, &new(1000, "new")),
        ]
    );
    let summary: Value =
        serde_json::from_str(&b.checked(export["ExportManifest"].as_str().unwrap())).unwrap();
    assert_eq!(
        (&summary["version"], &summary["exportType"]),
        (&json!("2023-08-01"), &json!("INCREMENTAL_EXPORT"))
    );
    let files = b.checked(summary["manifestFilesS3Key"].as_str().unwrap());
    assert!(files.contains("\"daily/AWSDynamoDB/data/"), "{files}");

    let mut new_only = period.clone();
    new_only["ExportViewType"] = json!("NEW_IMAGE");
    let lines = exported(&b, &b.export(incremental(new_only)));
    assert_eq!(lines[1], record(1, ""));
    // Up to before the changes; and up to the latest time there is.
    let before = json!({"ExportFromTime": START + 60.0, "ExportToTime": START + 3600.0});
    assert_eq!(exported(&b, &b.export(incremental(before))), [""; 0]);
    assert_eq!(exported(&b, &b.export(incremental(json!({"ExportFromTime": START})))).len(), 3);
    let listed = b.f.ok("ListExports", json!({}));
    assert_eq!(listed["ExportSummaries"][0]["ExportType"], "INCREMENTAL_EXPORT");
}

/// The messages are recorded from AWS, but for a period that is too long.
#[test]
fn incremental_exports_that_cannot_be_made_say_why() {
    let b = changed();
    b.f.advance(Duration::from_hours(30));
    let from = |from: f64| json!({"ExportFromTime": from});
    let both = |from: f64, to: f64| json!({"ExportFromTime": from, "ExportToTime": to});
    let incremental = Some("INCREMENTAL_EXPORT");
    let short = "Difference between export period from time and export period to time is less than 15 minutes";
    for (kind, specification, said) in [
        (
            None,
            Some(from(START)),
            "Invalid Request: Export Type expected to be Incremental Export when incremental export specification is provided",
        ),
        (
            Some("FULL_EXPORT"),
            Some(from(START)),
            "Invalid Request: When Export Type is Full Export , Incremental Export Specification should not be provided",
        ),
        (
            incremental,
            None,
            "Invalid Request: Incremental Export Specification expected when export type is set as Incremental Export",
        ),
        (
            incremental,
            Some(json!({})),
            "Invalid Request: ExportFromTime must be provided in IncrementalExportSpecification",
        ),
        (
            incremental,
            Some(json!({"ExportViewType": "NEW_IMAGE"})),
            "Invalid Request: ExportFromTime must be provided in IncrementalExportSpecification",
        ),
        (
            incremental,
            Some(from(START - 1.0)),
            "Incremental export period from time cannot be less than the table creation time : 2026-11-14T23:59:59Z",
        ),
        (
            incremental,
            Some(both(START, START + 1e6)),
            "Incremental export period to time cannot be greater than the current time : 2026-11-26T13:46:40Z",
        ),
        (incremental, Some(both(START, START + 899.0)), short),
        (incremental, Some(both(START + 5000.0, START)), short),
        (
            incremental,
            Some(from(START)),
            "Difference between export period from time and export period to time is greater than 24 hours",
        ),
    ] {
        let mut body = json!({"TableArn": ARN, "S3Bucket": "data"});
        body["ExportType"] = json!(kind);
        body["IncrementalExportSpecification"] = json!(specification);
        let (code, message) = b.f.err("ExportTableToPointInTime", body);
        let expected = if said.starts_with("Invalid") {
            "ValidationException"
        } else {
            "InvalidExportTimeException"
        };
        assert_eq!((code.as_str(), message.as_str()), (expected, said));
    }
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
    assert!(b.read(&format!("out/AWSDynamoDB/{id}/errors.json")).contains("in/items.json"));

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

/// AWS evaluates conditions of rows; here a row that has one is not written, and its report says why.
#[test]
fn a_bulk_operation_puts_no_row_that_has_more_than_an_item() {
    for (format, file, rows) in [
        (
            "DYNAMODB_JSON",
            "in/items.json",
            "{\"Item\":{\"pk\":{\"S\":\"bulk\"},\"sk\":{\"N\":\"1\"}}}\n\
             {\"Item\":{\"pk\":{\"S\":\"bulk\"},\"sk\":{\"N\":\"2\"}},\"ConditionExpression\":\"attribute_not_exists(pk)\"}\n",
        ),
        (
            "ION",
            "in/items.ion",
            "{Item:{pk:\"bulk\",sk:1.}} {Item:{pk:\"bulk\",sk:2.},ConditionExpression:\"attribute_not_exists(pk)\"}",
        ),
    ] {
        let b = fixture();
        b.write(file, rows);
        let before = everything(&b.f.db, "music", None).len();
        let body = |output: Value| {
            json!({
                "TableName": "music",
                "InputS3Configuration": {"S3Bucket": "data", "S3KeyPrefix": "in/", "InputFormat": format},
                "OutputS3Configuration": output,
            })
        };
        let wanted = json!({"S3Bucket": "data", "S3KeyPrefix": "out", "OutputType": ["ERROR"]});
        let begun = b.f.ok("StartBulkPutItems", body(wanted))["BulkOperationDescription"].clone();
        b.f.tidy();
        let arn = &begun["BulkOperationArn"];
        let done = b.f.ok("DescribeBulkOperation", json!({"BulkOperationArn": arn}));
        let done = &done["BulkOperationDescription"];
        assert_eq!(done["BulkOperationStatus"], "COMPLETED_WITH_ERRORS", "{done}");
        assert_eq!((&done["ProcessedItemCount"], &done["FailedItemCount"]), (&json!(2), &json!(1)));
        assert_eq!(everything(&b.f.db, "music", None).len(), before + 1);
        let id = arn.as_str().unwrap().rsplit('/').next().unwrap();
        let report = b.read(&format!("out/AWSDynamoDB/{id}/errors.json"));
        assert!(report.contains("this one has ConditionExpression"), "{report}");

        let both = json!({"S3Bucket": "data", "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"]});
        let (code, said) = b.f.err("StartBulkPutItems", body(both));
        assert_eq!(code, "ValidationException");
        assert!(said.starts_with("OutputType CONDITION_CHECK_FAILURE is not available"), "{said}");
        let nowhere = json!({"OutputType": ["ERROR"]});
        let (code, said) = b.f.err("StartBulkPutItems", body(nowhere));
        assert_eq!(code, "ValidationException");
        assert!(said.contains("S3Bucket must be provided in OutputS3Configuration"), "{said}");
    }
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
    refused(&b.export(json!({})), "ExportStatus", "daily");
    assert_eq!(std::fs::read_dir(&outside.0).unwrap().count(), 1, "nothing was written");
    // A bucket that is a link.
    std::fs::rename(&bucket, outside.0.join("data")).unwrap();
    symlink(outside.0.join("data"), &bucket).unwrap();
    refused(&b.export(json!({})), "ExportStatus", "data");
    refused(&b.import("four", "plain/", "NONE"), "ImportStatus", "data");
}
