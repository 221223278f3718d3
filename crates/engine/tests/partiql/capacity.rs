//! What statements cost.

use serde_json::{Value, json};

use super::{Fixture, key, s, strings};

/// A table with a global index on `g` and a local one on `l` that holds keys only.
fn indexed() -> Fixture {
    let f = Fixture::new();
    f.create(json!({
        "TableName": "shop",
        "AttributeDefinitions": strings(&["pk", "sk", "g", "l"]),
        "KeySchema": key(&["pk"], &["sk"]),
        "GlobalSecondaryIndexes": [{ "IndexName": "gsi", "KeySchema": key(&["g"], &[]),
            "Projection": { "ProjectionType": "ALL" } }],
        "LocalSecondaryIndexes": [{ "IndexName": "lsi", "KeySchema": key(&["pk"], &["l"]),
            "Projection": { "ProjectionType": "KEYS_ONLY" } }],
    }));
    f
}

fn run(f: &Fixture, operation: &str, body: Value) -> Value {
    let mut body = body;
    body["ReturnConsumedCapacity"] = json!("INDEXES");
    f.ok(operation, body)["ConsumedCapacity"].clone()
}

fn statement(f: &Fixture, statement: &str) -> Value {
    run(f, "ExecuteStatement", json!({ "Statement": statement }))
}

/// Total, table, global and local units.
fn units(account: &Value) -> String {
    let units = |value: &Value| value["CapacityUnits"].as_f64().unwrap_or(0.0);
    let table = units(&account["Table"]);
    let global = units(&account["GlobalSecondaryIndexes"]["gsi"]);
    let local = units(&account["LocalSecondaryIndexes"]["lsi"]);
    format!("{} {table} {global} {local}", units(account))
}

#[test]
fn single_statements_cost_what_item_operations_cost() {
    let f = indexed();
    let insert = "INSERT INTO shop VALUE {'pk': 'a', 'sk': '1', 'g': 'g1', 'l': 'l1'}";
    let account = statement(&f, insert);
    assert_eq!(units(&account), "3 1 1 1");
    assert_eq!(account["TableName"], "shop");
    assert_eq!(account.get("WriteCapacityUnits"), None);
    assert_eq!(
        units(&statement(&f, "SELECT * FROM shop WHERE pk = 'a' AND sk = '1'")),
        "0.5 0.5 0 0"
    );
    assert_eq!(
        units(&statement(&f, "SELECT * FROM shop WHERE pk = 'a' AND sk = '9'")),
        "0.5 0.5 0 0"
    );
    assert_eq!(units(&statement(&f, "SELECT pk FROM shop.gsi WHERE g = 'g1'")), "0.5 0 0.5 0");
    assert_eq!(units(&statement(&f, "SELECT * FROM shop WHERE pk IN ['a', 'b']")), "1 1 0 0");
    assert_eq!(units(&statement(&f, "DELETE FROM shop WHERE pk = 'no' AND sk = '1'")), "1 1 0 0");
    let strong =
        json!({ "Statement": "SELECT * FROM shop WHERE pk = 'a'", "ConsistentRead": true });
    assert_eq!(units(&run(&f, "ExecuteStatement", strong)), "1 1 0 0");
}

#[test]
fn reads_are_charged_by_what_they_walk() {
    let f = indexed();
    for sk in ["1", "2", "3"] {
        f.put("shop", json!({ "pk": s("p"), "sk": s(sk), "l": s(sk), "np": s(&"x".repeat(9000)) }));
    }
    let all = "3.5 3.5 0 0";
    assert_eq!(units(&statement(&f, "SELECT * FROM shop WHERE pk = 'p'")), all);
    assert_eq!(units(&statement(&f, "SELECT sk FROM shop WHERE pk = 'p' AND nope = 1")), all);
    assert_eq!(units(&statement(&f, "SELECT l FROM shop.lsi WHERE pk = 'p'")), "0.5 0 0 0.5");
    // A reach back rounds for each row, whatever the filter keeps.
    assert_eq!(units(&statement(&f, "SELECT np FROM shop.lsi WHERE pk = 'p'")), "5 4.5 0 0.5");
    assert_eq!(
        units(&statement(&f, "SELECT np FROM shop.lsi WHERE pk = 'p' AND sk = '9'")),
        "5 4.5 0 0.5"
    );
    let limited = json!({ "Statement": "SELECT np FROM shop.lsi WHERE pk = 'p'", "Limit": 1 });
    assert_eq!(units(&run(&f, "ExecuteStatement", limited)), "2 1.5 0 0.5");
}

#[test]
fn a_batch_charges_failures_beside_successes() {
    let f = indexed();
    f.put("shop", json!({ "pk": s("big"), "sk": s("1"), "v": s(&"x".repeat(2500)) }));
    f.put("shop", json!({ "pk": s("small"), "sk": s("1") }));
    let batch = |statements: &[&str]| {
        let members: Vec<_> = statements.iter().map(|s| json!({ "Statement": s })).collect();
        run(&f, "BatchExecuteStatement", json!({ "Statements": members }))
    };
    let fails = "INSERT INTO shop VALUE {'pk': 'small', 'sk': '1'}";
    let fails_big = "INSERT INTO shop VALUE {'pk': 'big', 'sk': '1'}";
    assert_eq!(batch(&[fails]), Value::Null);
    let accounts =
        batch(&[fails, fails_big, "INSERT INTO shop VALUE {'pk': 'new', 'sk': '1', 'g': 'g1'}"]);
    assert_eq!(units(&accounts[0]), "6 1 1 0");
    let accounts = batch(&[fails, "INSERT INTO music VALUE {'pk': 'new', 'sk': '1'}"]);
    assert_eq!(accounts.as_array().unwrap().len(), 1);
    assert_eq!(accounts[0]["TableName"], "music");
}

#[test]
fn batch_reads_have_each_their_own_rate() {
    let f = indexed();
    let reply = run(
        &f,
        "BatchExecuteStatement",
        json!({ "Statements": [
        { "Statement": "SELECT * FROM shop WHERE pk = 'a' AND sk = '1'", "ConsistentRead": true },
        { "Statement": "SELECT * FROM shop WHERE pk = 'a' AND sk = '2'" },
        { "Statement": "SELECT * FROM shop WHERE pk = 'a'" },
    ] }),
    );
    assert_eq!(units(&reply[0]), "1.5 1.5 0 0");
}

#[test]
fn transactions_cost_double_on_the_table() {
    let f = indexed();
    let transact = |statement: &str| {
        let body = json!({ "TransactStatements": [{ "Statement": statement }] });
        run(&f, "ExecuteTransaction", body)
    };
    let account = transact("INSERT INTO shop VALUE {'pk': 'a', 'sk': '1', 'g': 'g1', 'l': 'l1'}");
    assert_eq!(units(&account[0]), "4 2 1 1");
    assert_eq!(account[0]["WriteCapacityUnits"], 4.0);
    let account = transact("SELECT * FROM shop WHERE pk = 'a' AND sk = '1'");
    assert_eq!(units(&account[0]), "2 2 0 0");
    assert_eq!(account[0]["ReadCapacityUnits"], 2.0);
}
