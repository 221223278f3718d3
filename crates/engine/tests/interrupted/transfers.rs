//! Imports, exports and bulk operations: they end as they should, or as failed, with a reason.

use keyloom_engine::Database;
use serde_json::{Value, json};

use crate::{
    ITEMS, Scenario, described, everything, filled, indexed, item, ok, put, remove, table,
};

pub(crate) fn buckets() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("bucket")).unwrap();
    let line = |number| format!("{{\"Item\":{}}}\n", item(number));
    let lines: String = (0..ITEMS).map(line).collect();
    std::fs::write(root.path().join("bucket/in.json"), lines).unwrap();
    root
}

/// How a transfer has ended; a failure has a reason.
fn ended<'a>(transfer: &'a Value, status: &str) -> &'a str {
    let status = transfer[status].as_str().unwrap();
    if status == "FAILED" {
        assert!(transfer["FailureMessage"].as_str().is_some_and(|text| !text.is_empty()));
    }
    assert!(transfer["EndTime"].is_number(), "{transfer}");
    status
}

#[test]
fn an_import_is_complete_or_has_failed_and_left_nothing() {
    let root = buckets();
    let mut parameters = table("copy", indexed());
    parameters.as_object_mut().unwrap().remove("StreamSpecification");
    let import = json!({
        "S3BucketSource": {"S3Bucket": "bucket"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": parameters,
    });
    Scenario {
        before: filled(&indexed()),
        buckets: Some(root.path().to_owned()),
        act: |db: &Database| {
            let answer = ok(db, "ImportTable", import.clone());
            answer["ImportTableDescription"]["ImportArn"].clone()
        },
        check: |db: &Database, arn: Option<Value>| {
            let listed = ok(db, "ListImports", json!({}));
            let listed = listed["ImportSummaryList"].as_array().unwrap();
            let arn = arn.or_else(|| Some(listed.first()?["ImportArn"].clone()));
            let Some(arn) = arn else { return assert!(described(db, "copy").is_none()) };
            let import = ok(db, "DescribeImport", json!({"ImportArn": arn}));
            let import = &import["ImportTableDescription"];
            if ended(import, "ImportStatus") == "COMPLETED" {
                assert_eq!(import["ImportedItemCount"], ITEMS);
                assert_eq!(everything(db, "copy", None), everything(db, "music", None));
                assert_eq!(everything(db, "copy", Some("by-g")).len(), ITEMS as usize);
            } else {
                assert!(described(db, "copy").is_none());
            }
        },
    }
    .run();
}

#[test]
fn an_export_is_complete_or_has_failed() {
    let root = buckets();
    Scenario {
        before: filled(&indexed()),
        buckets: Some(root.path().to_owned()),
        act: |db: &Database| {
            let arn = described(db, "music").unwrap()["TableArn"].clone();
            let body = json!({"TableArn": arn, "S3Bucket": "bucket"});
            let answer = ok(db, "ExportTableToPointInTime", body);
            // What is written later is not in the export, also if that has to begin anew.
            put(db, "music", ITEMS + 1);
            remove(db, "music", 0);
            remove(db, "music", 1);
            answer["ExportDescription"]["ExportArn"].clone()
        },
        check: |db: &Database, arn: Option<Value>| {
            let Some(arn) = arn else { return };
            let export = ok(db, "DescribeExport", json!({"ExportArn": arn}));
            let export = &export["ExportDescription"];
            if ended(export, "ExportStatus") == "COMPLETED" {
                assert_eq!(export["ItemCount"], ITEMS, "{export}");
                let manifest = export["ExportManifest"].as_str().unwrap();
                assert!(root.path().join("bucket").join(manifest).exists());
            }
        },
    }
    .run();
}

#[test]
fn a_bulk_operation_is_complete_or_has_failed() {
    let root = buckets();
    let body = json!({
        "TableName": "music",
        "InputS3Configuration": {
            "S3Bucket": "bucket", "S3KeyPrefix": "in", "InputFormat": "DYNAMODB_JSON",
        },
        "OutputS3Configuration": {"S3Bucket": "bucket", "S3KeyPrefix": "out", "OutputType": ["ERROR"]},
    });
    Scenario {
        before: filled(&json!({})),
        buckets: Some(root.path().to_owned()),
        act: |db: &Database| {
            ok(db, "DeleteTable", json!({"TableName": "music"}));
            ok(db, "CreateTable", table("music", json!({})));
            let answer = ok(db, "StartBulkPutItems", body.clone());
            answer["BulkOperationDescription"]["BulkOperationArn"].clone()
        },
        check: |db: &Database, arn: Option<Value>| {
            let Some(arn) = arn else { return };
            let operation = ok(db, "DescribeBulkOperation", json!({"BulkOperationArn": arn}));
            let operation = &operation["BulkOperationDescription"];
            if operation["BulkOperationStatus"] == "COMPLETED" {
                assert_eq!(everything(db, "music", None).len(), ITEMS as usize);
            } else {
                assert_eq!(ended(operation, "BulkOperationStatus"), "FAILED");
            }
        },
    }
    .run();
}
