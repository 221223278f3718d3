//! Vector indexes that come and go by UpdateTable, and that outlive the process.

use std::time::{Duration, Instant};

use keyloom_engine::{Database, DiskOptions, Options};
use serde_json::{Value, json};

use crate::{
    Fixture, create_documents, err, found, index, invalid, item, keys, ok, put, search,
    search_schema, table,
};

fn create(name: &str, search: Value) -> Value {
    let mut definitions = vec![];
    if search.as_array().is_some_and(|elements| !elements.is_empty()) {
        definitions = vec![
            json!({"AttributeName": "tenant", "AttributeType": "S"}),
            json!({"AttributeName": "category", "AttributeType": "S"}),
        ];
    }
    json!({
        "TableName": "docs",
        "AttributeDefinitions": definitions,
        "VectorIndexUpdates": [{"Create": index(name, "COSINE", search)}],
    })
}

fn delete(name: &str) -> Value {
    json!({"TableName": "docs", "VectorIndexUpdates": [{"Delete": {"IndexName": name}}]})
}

/// The table's status, and the status and `Backfilling` of its first vector index.
fn state(db: &Database) -> (String, String, Value) {
    let table = ok(db, "DescribeTable", json!({"TableName": "docs"}))["Table"].clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let first = &table["VectorIndexes"][0];
    (text(&table["TableStatus"]), text(&first["IndexStatus"]), first["Backfilling"].clone())
}

fn filled(f: &Fixture) {
    ok(&f.db, "CreateTable", table("docs", &["pk"], Value::Null));
    for n in 0..5u8 {
        put(&f.db, item(&format!("item-{n}"), &[f32::from(n), 1.0, 0.0], json!({})));
    }
}

#[test]
fn a_new_index_goes_through_its_phases() {
    let f = Fixture::new(Duration::from_secs(30), Duration::from_mins(1));
    filled(&f);
    let query = || search("vix", &[1.0, 1.0, 0.0], 5, json!({}));
    let reply = ok(&f.db, "UpdateTable", create("vix", json!([])));
    let description = &reply["TableDescription"];
    assert_eq!(description["TableStatus"], "UPDATING");
    assert_eq!(description["VectorIndexes"][0]["IndexStatus"], "CREATING");
    assert_eq!(description["VectorIndexes"][0]["Backfilling"], false);

    assert_eq!(state(&f.db), ("UPDATING".into(), "CREATING".into(), false.into()));
    let not_yet = "Cannot search backfilling vector index: vix";
    assert_eq!(invalid(&f.db, "SearchVectors", query()), not_yet);
    let in_use = "Attempt to change a resource which is still in use: ";
    assert_eq!(
        err(&f.db, "UpdateTable", delete("vix")),
        (
            "ResourceInUseException".into(),
            format!(
                "{in_use}Index creation is in resource allocation phase. Retry deletion during \
                 backfilling phase or when the index is active. Table: docs Index: vix"
            )
        )
    );
    let limit = (
        "LimitExceededException".into(),
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously \
         per table"
            .into(),
    );
    assert_eq!(err(&f.db, "UpdateTable", create("vix2", json!([]))), limit);
    assert_eq!(
        err(&f.db, "UpdateTable", create("vix", json!([]))).1,
        format!("{in_use}Index is being created.  Table: docs Index: vix")
    );
    let unfinished = format!(
        "{in_use}Cannot delete table while indexes are being created, updated, or deleted."
    );
    let drop_table = || json!({"TableName": "docs"});
    assert_eq!(err(&f.db, "DeleteTable", drop_table()).1, unfinished);

    f.clock.advance(Duration::from_secs(30));
    assert_eq!(state(&f.db), ("ACTIVE".into(), "CREATING".into(), true.into()));
    assert_eq!(err(&f.db, "DeleteTable", drop_table()).1, unfinished);
    assert_eq!(err(&f.db, "UpdateTable", create("vix2", json!([]))), limit);
    f.db.run_maintenance().unwrap();
    assert_eq!(invalid(&f.db, "SearchVectors", query()), not_yet);

    f.clock.advance(Duration::from_mins(1));
    assert_eq!(state(&f.db), ("ACTIVE".into(), "ACTIVE".into(), Value::Null));
    assert_eq!(keys(&ok(&f.db, "SearchVectors", query())).len(), 5);
    assert_eq!(
        invalid(&f.db, "UpdateTable", create("vix", json!([]))),
        "Attempting to create an index which already exists"
    );

    let reply = ok(&f.db, "UpdateTable", delete("vix"));
    assert_eq!(reply["TableDescription"]["VectorIndexes"][0]["IndexStatus"], "DELETING");
    let described = ok(&f.db, "DescribeTable", drop_table());
    assert!(described["Table"].get("VectorIndexes").is_none());
    assert_eq!(
        invalid(&f.db, "SearchVectors", query()),
        "The table does not have the specified index: vix"
    );
    ok(&f.db, "DeleteTable", drop_table());
}

#[test]
fn an_index_that_is_being_filled_can_be_given_up() {
    let f = Fixture::new(Duration::ZERO, Duration::ZERO);
    filled(&f);
    ok(&f.db, "UpdateTable", create("vix", json!([])));
    assert_eq!(state(&f.db), ("ACTIVE".into(), "CREATING".into(), true.into()));
    ok(&f.db, "UpdateTable", delete("vix"));
    f.db.run_maintenance().unwrap();
    ok(&f.db, "UpdateTable", create("vix", json!([])));
    f.db.run_maintenance().unwrap();
    let reply = ok(&f.db, "SearchVectors", search("vix", &[1.0, 1.0, 0.0], 1, json!({})));
    assert_eq!(keys(&reply), ["item-1"]);
    assert_eq!(err(&f.db, "UpdateTable", delete("none")).0, "ResourceNotFoundException");
}

#[test]
fn only_one_index_is_changed_at_a_time_whatever_its_kind() {
    let f = Fixture::new(Duration::ZERO, Duration::ZERO);
    filled(&f);
    let global = json!({"Create": {
        "IndexName": "by-g",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }});
    let definitions = json!([{"AttributeName": "g", "AttributeType": "S"}]);
    let mut two = create("vix", json!([]));
    two["GlobalSecondaryIndexUpdates"] = json!([global]);
    two["AttributeDefinitions"] = definitions.clone();
    assert_eq!(err(&f.db, "UpdateTable", two).0, "LimitExceededException");
    let mut pair = create("vix", json!([]));
    pair["VectorIndexUpdates"] = json!([
        {"Create": index("vix", "COSINE", json!([]))},
        {"Create": index("vix2", "COSINE", json!([]))},
    ]);
    assert_eq!(err(&f.db, "UpdateTable", pair).0, "LimitExceededException");
    ok(&f.db, "UpdateTable", create("vix", json!([])));
    let secondary = json!({
        "TableName": "docs",
        "AttributeDefinitions": definitions,
        "GlobalSecondaryIndexUpdates": [global],
    });
    assert_eq!(err(&f.db, "UpdateTable", secondary.clone()).0, "LimitExceededException");
    f.db.run_maintenance().unwrap();
    ok(&f.db, "UpdateTable", secondary);
    assert_eq!(err(&f.db, "UpdateTable", delete("vix")).0, "LimitExceededException");
}

#[test]
fn what_was_there_before_is_filled_in_and_bad_items_are_left_out() {
    let f = Fixture::new(Duration::ZERO, Duration::ZERO);
    ok(&f.db, "CreateTable", table("docs", &["pk"], Value::Null));
    for n in 0..300 {
        put(&f.db, item(&format!("{n:03}"), &[n as f32, 1.0, 0.0], json!({"tenant": "t"})));
    }
    put(&f.db, item("short", &[1.0], json!({"tenant": "t"})));
    put(&f.db, item("no tenant", &[1.0, 0.0, 0.0], json!({})));
    put(&f.db, json!({"pk": {"S": "text"}, "tenant": {"S": "t"}, "embedding": {"S": "x"}}));
    let mut number = item("number", &[1.0, 0.0, 0.0], json!({}));
    number["tenant"] = json!({"N": "1"});
    put(&f.db, number);
    ok(&f.db, "UpdateTable", create("schema", search_schema()));
    // Written before the index is filled: changed, removed, added.
    put(&f.db, item("000", &[0.0, 0.0, 1.0], json!({"tenant": "t"})));
    ok(&f.db, "DeleteItem", json!({"TableName": "docs", "Key": {"pk": {"S": "001"}}}));
    put(&f.db, item("new", &[0.0, 0.0, 2.0], json!({"tenant": "t"})));
    assert_eq!(
        invalid(
            &f.db,
            "PutItem",
            json!({"TableName": "docs", "Item": item("x", &[1.0], json!({}))})
        ),
        "One or more parameter values were invalid. Invalid size for parameter embedding, \
         Expected: 3, Actual: 1 IndexName: schema"
    );
    f.db.run_maintenance().unwrap();
    let table = ok(&f.db, "DescribeTable", json!({"TableName": "docs"}))["Table"].clone();
    assert_eq!(table["VectorIndexes"][0]["ItemCount"], 300);
    assert_eq!(table["AttributeDefinitions"].as_array().unwrap().len(), 3);
    let scoped = json!({
        "SearchConditionExpression": "tenant = :t",
        "ExpressionAttributeValues": {":t": {"S": "t"}},
    });
    let body = search("schema", &[0.0, 0.0, 1.0], 2, scoped);
    assert_eq!(found(&ok(&f.db, "SearchVectors", body)), [("000", 0.0), ("new", 0.0)]);
    // An item that was left out may be changed elsewhere.
    ok(
        &f.db,
        "UpdateItem",
        json!({
            "TableName": "docs",
            "Key": {"pk": {"S": "short"}},
            "UpdateExpression": "SET title = :t",
            "ExpressionAttributeValues": {":t": {"S": "x"}},
        }),
    );
    ok(&f.db, "UpdateTable", delete("schema"));
    let table = ok(&f.db, "DescribeTable", json!({"TableName": "docs"}))["Table"].clone();
    assert_eq!(table["AttributeDefinitions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_database_on_disk_is_searched_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let options = Options { background: false, ..Options::default() };
        Database::open_with(directory.path(), DiskOptions::default(), options).unwrap()
    };
    let db = open();
    create_documents(&db);
    for n in 0..50u8 {
        let tenant = if n % 2 == 0 { "even" } else { "odd" };
        put(&db, item(&format!("{n:02}"), &[f32::from(n), 1.0, 0.0], json!({"tenant": tenant})));
    }
    let body = || {
        let more = json!({
            "SearchConditionExpression": "tenant = :t",
            "ExpressionAttributeValues": {":t": {"S": "odd"}},
        });
        search("schema", &[7.0, 1.0, 0.0], 3, more)
    };
    let before = ok(&db, "SearchVectors", body());
    let described = ok(&db, "DescribeTable", json!({"TableName": "docs"}));
    // Closed in the middle of filling an index, which goes on after the restart.
    ok(&db, "UpdateTable", create("late", json!([])));
    drop(db);
    let db = open();
    assert_eq!(ok(&db, "SearchVectors", body()), before);
    assert_eq!(keys(&before)[0], "07");
    let not_yet = "Cannot search backfilling vector index: late";
    let late = || search("late", &[49.0, 1.0, 0.0], 1, json!({}));
    assert_eq!(invalid(&db, "SearchVectors", late()), not_yet);
    db.run_maintenance().unwrap();
    assert_eq!(keys(&ok(&db, "SearchVectors", late())), ["49"]);
    ok(&db, "UpdateTable", delete("late"));
    assert_eq!(ok(&db, "DescribeTable", json!({"TableName": "docs"})), described);
    ok(&db, "DeleteTable", json!({"TableName": "docs"}));
    db.run_maintenance().unwrap();
}

#[test]
fn threads_fill_an_index_while_writers_go_on() {
    let db = Database::memory();
    ok(&db, "CreateTable", table("docs", &["pk"], Value::Null));
    for n in 0..500 {
        put(&db, item(&format!("{n:03}"), &[n as f32, 1.0, 0.0], json!({})));
    }
    ok(&db, "UpdateTable", create("vix", json!([])));
    for n in 0..200 {
        put(&db, item(&format!("{n:03}"), &[n as f32, -1.0, 0.0], json!({})));
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    while state(&db).1 != "ACTIVE" {
        assert!(Instant::now() < deadline, "the index was never filled");
        std::thread::sleep(Duration::from_millis(2));
    }
    let table = ok(&db, "DescribeTable", json!({"TableName": "docs"}))["Table"].clone();
    assert_eq!(table["VectorIndexes"][0]["ItemCount"], 500);
    let reply = ok(&db, "SearchVectors", search("vix", &[0.0, -1.0, 0.0], 1, json!({})));
    assert_eq!(found(&reply), [("000", 0.0)]);
}
