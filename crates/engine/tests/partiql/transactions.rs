//! ExecuteTransaction.

use serde_json::{Value, json};

use super::{Fixture, n, s};

fn codes(reply: &Value) -> Vec<&str> {
    let reasons = reply["CancellationReasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason["Code"].as_str().unwrap()).collect()
}

#[test]
fn writes_are_all_done_or_none() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    let reply = f.transact(&[
        "INSERT INTO music VALUE {'pk': 'b', 'sk': '1'}",
        "UPDATE music SET x = 2 WHERE pk = 'a' AND sk = '1'",
        "DELETE FROM music WHERE pk = 'none' AND sk = '1'",
    ]);
    assert_eq!(reply, json!({ "Responses": [] }));
    assert_eq!(f.get("a", "1")["x"], n(2));
    let reply = f.transact_err(&[
        "INSERT INTO music VALUE {'pk': 'c', 'sk': '1'}",
        "INSERT INTO music VALUE {'pk': 'b', 'sk': '1'}",
        "UPDATE music SET x = 3 WHERE pk = 'none' AND sk = '1'",
    ]);
    assert_eq!(codes(&reply), ["None", "DuplicateItem", "ConditionalCheckFailed"]);
    assert_eq!(reply["CancellationReasons"][1]["Message"], "Duplicate primary key exists in table");
    assert_eq!(
        reply["Message"],
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, \
         DuplicateItem, ConditionalCheckFailed]"
    );
    assert_eq!(f.get("c", "1"), Value::Null);
}

#[test]
fn exists_is_a_condition() {
    let f = Fixture::new();
    f.seed("x1", "1", json!({ "free": s("x") }));
    f.seed("x2", "1", json!({}));
    f.seed("x3", "1", json!({ "Awards": n(1) }));
    let touch = "UPDATE music SET touched = 1 WHERE pk = 'x2' AND sk = '1'";
    let exists = |condition: &str| format!("EXISTS(SELECT * FROM music WHERE {condition})");
    f.transact(&[&exists("(pk = 'x1' AND sk = '1') AND Awards IS MISSING"), touch]);
    assert_eq!(f.get("x2", "1")["touched"], n(1));
    for condition in [
        "pk = 'x3' AND sk = '1' AND Awards IS MISSING",
        "pk = 'none' AND sk = '1' AND Awards IS MISSING",
        "pk = 'x1' AND sk = '1' AND pk = 'x3' AND free = 'x'",
    ] {
        let reply = f.transact_err(&[&exists(condition), touch]);
        assert_eq!(codes(&reply), ["ConditionalCheckFailed", "None"], "{condition}");
        assert_eq!(reply["CancellationReasons"][1].get("Message"), None);
    }
    let refused = "Validation failed in TransactStatements[0]: EXISTS() must contain a single item read \
                   with additional condition";
    for condition in
        ["pk = 'x1' AND sk = '1'", "pk = 'x1'", "pk IN ['x1'] AND sk = '1' AND free = 'x'"]
    {
        assert_eq!(f.transact_refused(&[&exists(condition), touch]), refused, "{condition}");
    }
}

#[test]
fn reads_find_items_by_their_keys() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    let reply = f.transact(&[
        "SELECT x FROM music WHERE (sk = '1') AND pk = 'a' AND pk = 'a'",
        "SELECT * FROM music WHERE pk IN ['a'] AND sk IN ['2']",
    ]);
    assert_eq!(reply, json!({ "Responses": [{ "Item": { "x": n(1) } }, {}] }));
    let refused = "Validation failed in TransactStatements[0]: Select statements within \
                   ExecuteTransaction must specify the primary key in the where clause.";
    for condition in [
        "pk = 'a'",
        "pk = 'a' AND sk = '1' AND x = 1",
        "pk = 'a' AND sk = '1' AND pk = 'b'",
        "pk IN ['b'] AND pk = 'a' AND sk = '1'",
        "pk = 'a' AND sk = '1' AND attribute_exists(x)",
    ] {
        let statement = format!("SELECT * FROM music WHERE {condition}");
        assert_eq!(f.transact_refused(&[&statement]), refused, "{condition}");
    }
    assert_eq!(
        f.transact_refused(&["SELECT * FROM music WHERE pk IN ['a', 'a'] AND sk = '1'"]),
        "Validation failed in TransactStatements[0]: Overlapping conditions with range keys are not \
         supported in where clause"
    );
}

#[test]
fn an_invalid_statement_is_reported_with_its_position() {
    let f = Fixture::new();
    let good = "UPDATE music SET x = 1 WHERE pk = 'a' AND sk = '1'";
    for (statement, expected) in [
        ("SELECT", "Statement wasn't well formed, can't be processed: Unexpected term"),
        (
            "UPDATE music SET x = x + [1] WHERE pk = 'b' AND sk = '1'",
            "Incorrect operand type for operator or function; operator or function: +, operand type: L",
        ),
        (
            "UPDATE music SET x = 1 WHERE pk = 'b' AND sk = '1' RETURNING ALL NEW *",
            "RETURNING clause is not supported in ExecuteTransaction.",
        ),
        (
            "INSERT INTO music VALUE {'pk': 'b', 'sk': '1', 'x': [<<'a', 'a'>>]}",
            "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
        ),
        ("1 + 1", "Unsupported operation in transaction."),
    ] {
        let message = f.transact_refused(&[good, statement]);
        assert_eq!(message, format!("Validation failed in TransactStatements[1]: {expected}"));
    }
    assert_eq!(
        f.transact_refused(&["SELECT * FROM music.i WHERE pk = 'a' AND sk = '1'"]),
        "Validation failed in TransactStatements[0]: Reads on indices are not supported within transactions."
    );
    assert_eq!(
        f.transact_refused(&["SELECT * FROM music WHERE pk = 'a' AND sk = '1'", good]),
        "ExecuteTransaction API does not support both read and write operations in the same request."
    );
}

#[test]
fn keys_and_tables_that_do_not_fit_cancel() {
    let f = Fixture::new();
    let update = |condition: &str| format!("UPDATE music SET a = 1 WHERE {condition}");
    let good = update("pk = 'k' AND sk = '1'");
    let (invalid, mismatch) =
        ("ValidationError", "The provided key element does not match the schema");
    let missing = "One or more parameter values were invalid: Missing the key sk in the item";
    let statements = [
        (update("pk = 'k'"), mismatch),
        (update("pk IN ['k'] AND sk = '1'"), mismatch),
        (update("pk = 'k' AND sk = '1' AND pk = 'other'"), mismatch),
        (update("pk = 'k' AND sk = 1"), mismatch),
        ("INSERT INTO music VALUE {'pk': 'k'}".to_owned(), missing),
    ];
    for (statement, message) in &statements {
        let reply = f.transact_err(&[statement, &good]);
        assert_eq!(codes(&reply), [invalid, "None"]);
        assert_eq!(reply["CancellationReasons"][0]["Message"], *message);
    }
    // Of several only the first is reported, as by TransactWriteItems.
    let all: Vec<&str> = statements.iter().map(|(statement, _)| statement.as_str()).collect();
    assert_eq!(codes(&f.transact_err(&all)), [invalid, "None", "None", "None", "None"]);
    let missing = "UPDATE absent SET a = 1 WHERE pk = 'x' RETURNING ALL NEW *";
    let reply = f.transact_err(&[missing, "DELETE FROM absent WHERE pk = 'x'"]);
    assert_eq!(codes(&reply), ["ResourceNotFound", "ResourceNotFound"]);
    assert_eq!(reply["CancellationReasons"][0]["Message"], "Requested resource not found");
    let select = "SELECT * FROM music WHERE pk = 'a' AND sk = '1'";
    let reply = f.transact_err(&[select, "SELECT * FROM absent.idx WHERE pk = 'x'"]);
    assert_eq!(codes(&reply), ["None", "ResourceNotFound"]);
    let reply = f.transact_err(&[select, select, "SELECT * FROM music WHERE pk = 1 AND sk = '1'"]);
    assert_eq!(codes(&reply), ["None", "None", invalid]);
}

#[test]
fn an_item_may_be_named_once() {
    let f = Fixture::new();
    let twice = "Transaction request cannot include multiple operations on one item";
    let select = "SELECT * FROM music WHERE pk = 'a' AND sk = '1'";
    assert_eq!(
        f.transact_refused(&[select, "SELECT x FROM music WHERE sk = '1' AND pk = 'a'"]),
        twice
    );
    assert_eq!(
        f.transact_refused(&[
            "INSERT INTO music VALUE {'pk': 'a', 'sk': '1'}",
            "DELETE FROM music WHERE pk = 'a' AND sk = '1'"
        ]),
        twice
    );
}

#[test]
fn a_token_makes_a_transaction_happen_once() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "n": n(0) }));
    let body = |by: i32| {
        json!({
            "TransactStatements": [{
                "Statement": "UPDATE music SET n = n + ? WHERE pk = 'a' AND sk = '1'",
                "Parameters": [n(by)],
            }],
            "ClientRequestToken": "token",
            "ReturnConsumedCapacity": "TOTAL",
        })
    };
    let first = f.ok("ExecuteTransaction", body(1));
    assert_eq!(first["ConsumedCapacity"][0]["WriteCapacityUnits"], 2.0);
    let again = f.ok("ExecuteTransaction", body(1));
    assert_eq!(again["Responses"], json!([]));
    assert_eq!(again["ConsumedCapacity"][0]["ReadCapacityUnits"], 2.0);
    assert_eq!(f.get("a", "1")["n"], n(1));
    assert_eq!(f.err("ExecuteTransaction", body(2)).0, "IdempotentParameterMismatchException");
    // An insert that was done is not a duplicate of itself.
    let insert = json!({
        "TransactStatements": [{ "Statement": "INSERT INTO music VALUE {'pk': 'b', 'sk': '1'}" }],
        "ClientRequestToken": "other",
    });
    f.ok("ExecuteTransaction", insert.clone());
    f.ok("ExecuteTransaction", insert);
}

#[test]
fn a_failed_condition_returns_the_item_when_asked() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    let (_, reply) = f.call(
        "ExecuteTransaction",
        &json!({ "TransactStatements": [{
        "Statement": "UPDATE music SET x = 2 WHERE pk = 'a' AND sk = '1' AND x = 9",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }] }),
    );
    assert_eq!(reply["CancellationReasons"][0]["Item"]["x"], n(1));
}
