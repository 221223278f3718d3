//! Files that are imported: whatever they hold, plain or compressed, the import comes to its end, and
//! every line is counted once.

#![no_main]

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use keyloom_core::json;
use keyloom_engine::buckets::Folder;
use keyloom_engine::{Database, Options};
use libfuzzer_sys::fuzz_target;

/// A directory with one bucket for this process.
static BUCKETS: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = std::env::temp_dir().join(format!("keyloom-fuzz-import-{}", std::process::id()));
    std::fs::create_dir_all(root.join("bucket")).expect("a directory can be made");
    root
});

fn call(database: &Database, operation: &str, body: &str) -> String {
    let reply = database.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
    let text = String::from_utf8(reply.body).expect("the database answers with text");
    assert_eq!(reply.status, 200, "{operation}: {text}");
    text
}

/// The number behind a member's name.
fn number(text: &str, member: &str) -> u64 {
    let rest = text.split(&format!("\"{member}\":")).nth(1).expect("the member is there");
    rest.split([',', '}']).next().and_then(|n| n.parse().ok()).expect("it is a number")
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, content)) = data.split_first() else { return };
    let compression = ["NONE", "GZIP", "ZSTD"][usize::from(choice % 3)];
    let format = ["DYNAMODB_JSON", "ION", "CSV"][usize::from(choice / 3 % 3)];
    std::fs::write(BUCKETS.join("bucket/object"), content).expect("a file can be written");
    let buckets = Arc::new(Folder::new(BUCKETS.clone()));
    let options = Options { background: false, buckets: Some(buckets), ..Options::default() };
    let database = Database::memory_with(options);
    let answer = call(
        &database,
        "ImportTable",
        &format!(
            r#"{{"S3BucketSource":{{"S3Bucket":"bucket"}},"InputFormat":"{format}",
                "InputCompressionType":"{compression}","TableCreationParameters":{{
                "TableName":"tab","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{{"AttributeName":"p","AttributeType":"S"}},
                    {{"AttributeName":"s","AttributeType":"N"}},{{"AttributeName":"g","AttributeType":"B"}}],
                "KeySchema":[{{"AttributeName":"p","KeyType":"HASH"}},{{"AttributeName":"s","KeyType":"RANGE"}}],
                "GlobalSecondaryIndexes":[{{"IndexName":"idx","Projection":{{"ProjectionType":"ALL"}},
                    "KeySchema":[{{"AttributeName":"g","KeyType":"HASH"}}]}}]}}}}"#
        ),
    );
    let arn = answer.split("\"ImportArn\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let arn = arn.expect("the import has a name");
    database.run_maintenance().expect("maintenance succeeds");
    let import = call(&database, "DescribeImport", &format!(r#"{{"ImportArn":"{arn}"}}"#));
    json::parse(import.as_bytes()).expect("the database answers with JSON");
    let (processed, imported, errors) = (
        number(&import, "ProcessedItemCount"),
        number(&import, "ImportedItemCount"),
        number(&import, "ErrorCount"),
    );
    assert_eq!(processed, imported + errors);
    std::fs::remove_dir_all(BUCKETS.join("bucket/aws-dynamodb")).ok();
    // Rows that failed leave the others in the table.
    if import.contains("\"ImportStatus\":\"COMPLETED\"") || import.contains("ItemValidationError") {
        let table = call(&database, "DescribeTable", r#"{"TableName":"tab"}"#);
        assert!(number(&table, "ItemCount") <= imported);
    } else {
        assert!(import.contains("\"ImportStatus\":\"FAILED\""), "{import}");
        assert!(import.contains("\"FailureMessage\":\""), "{import}");
    }
});
