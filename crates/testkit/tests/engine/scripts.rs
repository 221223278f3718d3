//! The golden scripts in `tests/scripts`.

use std::path::Path;

use keyloom_testkit::script::run_directory;

/// The operations that must have scripts of their own.
const OPERATIONS: [&str; 18] = [
    "batch_get_item",
    "batch_write_item",
    "create_table",
    "delete_item",
    "get_item",
    "partiql",
    "put_item",
    "query",
    "scan",
    "streams",
    "tag_resource",
    "transact_get_items",
    "transact_write_items",
    "update_contributor_insights",
    "update_item",
    "update_table",
    "update_time_to_live",
    "errors",
];

#[test]
fn every_script_gets_its_replies_in_memory_and_on_disk() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let summary = run_directory(&directory).unwrap();
    for operation in OPERATIONS {
        let found = summary.scripts.iter().any(|script| script.starts_with(operation));
        assert!(found, "no script in tests/scripts/{operation}");
    }
    println!("{} scripts, {} requests each", summary.scripts.len(), summary.requests);
    assert!(
        summary.failures.is_empty(),
        "{} of {} requests differ; KEYLOOM_BLESS=1 takes the new replies\n\n{}",
        summary.failures.len(),
        summary.requests,
        summary.failures.join("\n")
    );
}
