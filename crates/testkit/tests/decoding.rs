//! What a request takes while it is decoded and refused or run, measured, against the estimate that the
//! server reserves memory by.

use keyloom_engine::{Database, decoded_bytes};
use keyloom_testkit::lockstep::{succeed, target};
use keyloom_testkit::samples::create_table;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Bodies of about this size are large enough that nothing else matters.
const BODY_BYTES: usize = 300_000;

fn repeated(start: &str, piece: &str, end: &str) -> String {
    let count = BODY_BYTES / piece.len();
    let pieces = vec![piece; count].join(",");
    format!("{start}{pieces}{end}")
}

/// Many members with names of their own.
fn members(start: &str, value: &str, end: &str) -> String {
    let members: Vec<String> = (0..BODY_BYTES / (value.len() + 8))
        .map(|number| format!("\"{number:x}\":{value}"))
        .collect();
    format!("{start}{}{end}", members.join(","))
}

/// One test: the allocator counts for the whole process.
#[test]
fn the_estimate_is_an_upper_bound() {
    let database = Database::memory();
    succeed(&database, "CreateTable", &create_table());
    let item = r#"{"TableName":"sample","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"l":{"L":["#;
    let map = r#"{"TableName":"sample","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"#;
    let batch = r#"{"RequestItems":{"sample":["#;
    let values =
        r#"{"TableName":"sample","FilterExpression":"a = :a","ExpressionAttributeValues":{"#;
    let mut cases = Vec::new();
    for piece in [
        r#"{"NULL":true}"#,
        r#"{"S":""}"#,
        r#"{"N":"1"}"#,
        r#"{"L":[]}"#,
        r#"{"M":{}}"#,
        r#"{"M":{"a":{"L":[]}}}"#,
        r#"{"L":[{"L":[{"NULL":true}]}]}"#,
        r#"{"SS":["a"]}"#,
        r#"{"B":""}"#,
        r#"{"NS":["1","2"]}"#,
        "0",
        "{}",
        "[]",
        "null",
        r#""""#,
        r#"{"":{}}"#,
        r#"{"S":"a","N":"1"}"#,
    ] {
        cases.push(("PutItem", repeated(item, piece, "]}}}")));
        cases.push(("PutItem", repeated(item, piece, r#",{"X":1}]}}}"#)));
        cases.push(("PutItem", members(map, piece, "}}")));
        cases.push(("Scan", members(values, piece, "}}")));
    }
    let write = r#"{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}}"#;
    cases.push(("BatchWriteItem", repeated(batch, write, "]}}")));
    cases.push(("ListTables", repeated("[", "[", "]")));
    cases.push(("ListTables", repeated("", r#"{"a":"#, "")));
    let mut worst = 0.0_f64;
    for (operation, body) in cases {
        ALLOCATED.reset_peak_usage();
        let before = ALLOCATED.current_usage();
        drop(database.call(&target(operation), body.as_bytes()));
        let peak = ALLOCATED.peak_usage() - before;
        let estimate = decoded_bytes(body.as_bytes());
        worst = worst.max(peak as f64 / estimate as f64);
        let start: String = body.chars().skip(50).take(60).collect();
        assert!(peak <= estimate, "{operation} {start}…: {peak} bytes, estimated {estimate}");
    }
    println!("at most {:.0} % of the estimate", worst * 100.0);
}
