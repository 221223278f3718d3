//! BatchExecuteStatement.

use serde_json::{Value, json};

use super::{Fixture, n, s};

const NEEDS_KEY: &str = "Select statements within BatchExecuteStatement must specify the primary key in the where clause.";

fn error<'a>(code: &'a str, message: &'a str) -> Value {
    json!({ "Code": code, "Message": message })
}

#[test]
fn each_statement_has_its_own_outcome() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1), "y": n(2) }));
    let replies = f.batch(&[
        "SELECT x FROM music WHERE pk = 'a' AND sk = '1'",
        "SELECT * FROM music WHERE pk = 'a' AND sk = '2'",
        "SELECT * FROM nope WHERE pk = 'x'",
        "SLECT * FROM music",
        "SELECT * FROM music WHERE pk = 'a'",
        "SELECT * FROM music WHERE pk = 'a' AND sk = '1' AND x = 1",
        "SELECT * FROM music WHERE pk IN ['a'] AND sk = '3'",
        "SELECT * FROM music WHERE pk = 'a' AND sk = 5",
    ]);
    assert_eq!(replies[0], json!({ "TableName": "music", "Item": { "x": n(1) } }));
    assert_eq!(replies[1], json!({ "TableName": "music" }));
    let missing = error("ResourceNotFound", "Requested resource not found");
    assert_eq!(replies[2], json!({ "TableName": "nope", "Error": missing }));
    let malformed = "Statement wasn't well formed, can't be processed: Expected data manipulation";
    assert_eq!(replies[3], json!({ "Error": error("ValidationError", malformed) }));
    assert_eq!(replies[4], json!({ "Error": error("ValidationError", NEEDS_KEY) }));
    assert_eq!(replies[5], json!({ "Error": error("ValidationError", NEEDS_KEY) }));
    assert_eq!(replies[6], json!({ "TableName": "music" }));
    let kind = "Key attribute's data type should match its data type in table's schema: Key sk";
    assert_eq!(replies[7], json!({ "Error": error("ValidationError", kind) }));
}

#[test]
fn writes_fail_one_by_one() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    f.seed("b", "1", json!({ "x": n(1) }));
    let replies = f.batch(&[
        "INSERT INTO music VALUE {'pk': 'a', 'sk': '1'}",
        "INSERT INTO music VALUE {'pk': 'c', 'sk': '1'}",
        "UPDATE music SET x = 2 WHERE pk = 'b' AND sk = '1' AND x = 9",
        "UPDATE music SET x = 2 WHERE pk = 'b'",
        "DELETE FROM music WHERE pk = 'none' AND sk = '1'",
        "DELETE FROM music WHERE pk = 'd' AND sk = '1' RETURNING MODIFIED OLD *",
        "EXISTS(SELECT * FROM music WHERE pk = 'a' AND sk = '1' AND x = 1)",
    ]);
    let duplicate = error("DuplicateItem", "Duplicate primary key exists in table");
    assert_eq!(replies[0], json!({ "TableName": "music", "Error": duplicate }));
    assert_eq!(replies[1], json!({ "TableName": "music" }));
    let failed = error("ConditionalCheckFailed", "The conditional request failed");
    assert_eq!(replies[2], json!({ "TableName": "music", "Error": failed }));
    let incomplete = "Where clause does not contain a mandatory equality on all key attributes";
    assert_eq!(replies[3], json!({ "Error": error("ValidationError", incomplete) }));
    assert_eq!(replies[4], json!({ "TableName": "music" }));
    let returning = "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is \
                     allowed in DELETE statements.";
    assert_eq!(replies[5], json!({ "Error": error("ValidationError", returning) }));
    let exists = "EXISTS can only be used in ExecuteTransaction write requests.";
    assert_eq!(replies[6], json!({ "Error": error("ValidationError", exists) }));
    assert_eq!(f.get("b", "1")["x"], n(1));
    assert_ne!(f.get("c", "1"), Value::Null);
}

#[test]
fn a_failed_condition_never_returns_the_item() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    let reply = f.ok(
        "BatchExecuteStatement",
        json!({ "Statements": [{
        "Statement": "UPDATE music SET x = 2 WHERE pk = 'a' AND sk = '1' AND x = 9",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }] }),
    );
    assert_eq!(
        reply["Responses"][0]["Error"],
        error("ConditionalCheckFailed", "The conditional request failed")
    );
}

#[test]
fn returning_is_honoured() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    f.seed("b", "1", json!({ "x": n(1) }));
    let replies = f.batch(&[
        "UPDATE music SET x = 2 WHERE pk = 'a' AND sk = '1' RETURNING MODIFIED NEW *",
        "DELETE FROM music WHERE pk = 'b' AND sk = '1' RETURNING ALL OLD *",
    ]);
    assert_eq!(replies[0], json!({ "TableName": "music", "Item": { "x": n(2) } }));
    assert_eq!(replies[1]["Item"]["pk"], s("b"));
    let replies =
        f.batch(&["UPDATE music REMOVE x WHERE pk = 'a' AND sk = '1' RETURNING MODIFIED NEW *"]);
    assert_eq!(replies[0], json!({ "TableName": "music" }));
}

#[test]
fn reads_and_writes_do_not_mix_and_items_do_not_repeat() {
    let f = Fixture::new();
    let refused = |statements: &[&str]| {
        let members: Vec<_> = statements.iter().map(|s| json!({ "Statement": s })).collect();
        f.err("BatchExecuteStatement", json!({ "Statements": members })).1
    };
    let read = "SELECT * FROM music WHERE pk = 'a' AND sk = '1'";
    let write = "INSERT INTO music VALUE {'pk': 'a', 'sk': '1'}";
    let mixed = "Read and write requests together in the same batch is not supported.";
    assert_eq!(refused(&[read, write]), mixed);
    assert_eq!(refused(&["nonsense", read, write]), mixed);
    let twice = "Provided list of item keys contains duplicates";
    assert_eq!(refused(&[read, read]), twice);
    assert_eq!(
        refused(&[write, "nonsense", "DELETE FROM music WHERE sk = '1' AND pk = 'a'"]),
        twice
    );
    assert_eq!(f.get("a", "1"), Value::Null);
}
