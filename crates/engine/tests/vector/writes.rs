//! What writes do to vector indexes, and what indexes refuse of writes.

use serde_json::{Value, json};

use crate::{documents, found, invalid, item, keys, ok, put, search, vector};

fn stored(db: &keyloom_engine::Database) -> Vec<(String, u64)> {
    let table = ok(db, "DescribeTable", json!({"TableName": "docs"}))["Table"].clone();
    let count = |index: &Value| {
        (index["IndexName"].as_str().unwrap().to_owned(), index["ItemCount"].as_u64().unwrap())
    };
    table["VectorIndexes"].as_array().unwrap().iter().map(count).collect()
}

#[test]
fn wrong_vectors_are_refused_by_every_write() {
    let db = documents();
    let size = "One or more parameter values were invalid. Invalid size for parameter embedding, \
                Expected: 3, Actual: 2 IndexName: plain";
    let bad = item("a", &[1.0, 0.0], json!({}));
    assert_eq!(invalid(&db, "PutItem", json!({"TableName": "docs", "Item": bad})), size);
    let batch = json!({"RequestItems": {"docs": [{"PutRequest": {"Item": bad}}]}});
    assert_eq!(invalid(&db, "BatchWriteItem", batch), size);
    let update = json!({
        "TableName": "docs",
        "Key": {"pk": {"S": "a"}},
        "UpdateExpression": "SET embedding = :v",
        "ExpressionAttributeValues": {":v": {"L": vector(&[1.0, 0.0])}},
    });
    assert_eq!(invalid(&db, "UpdateItem", update), size);
    let transaction = json!({"TransactItems": [{"Put": {"TableName": "docs", "Item": bad}}]});
    let reply = crate::call(&db, "TransactWriteItems", &transaction);
    assert_eq!(reply.0, 400);
    assert!(reply.1.to_string().contains("Invalid size for parameter"), "{}", reply.1);
    let huge =
        json!({"pk": {"S": "a"}, "embedding": {"L": [{"N": "1"}, {"N": "-1E+39"}, {"N": "0"}]}});
    assert_eq!(
        invalid(&db, "PutItem", json!({"TableName": "docs", "Item": huge})),
        "One or more parameter values were invalid. Invalid value for parameter embedding[1], \
         Value: -1E+39 is outside valid range [-3.4028235E38, 3.4028235E38]. IndexName: plain"
    );
    assert_eq!(ok(&db, "Scan", json!({"TableName": "docs"}))["Count"], 0);
}

#[test]
fn an_item_is_in_the_indexes_whose_attributes_it_has() {
    let db = documents();
    put(&db, item("both", &[1.0, 0.0, 0.0], json!({"tenant": "t1"})));
    put(&db, item("plain", &[0.0, 1.0, 0.0], json!({"category": "c1"})));
    put(&db, json!({"pk": {"S": "none"}, "tenant": {"S": "t1"}}));
    assert_eq!(stored(&db), [("plain".into(), 2), ("schema".into(), 1)]);
    let scoped = json!({
        "SearchConditionExpression": "tenant = :t",
        "ExpressionAttributeValues": {":t": {"S": "t1"}},
    });
    let reply = ok(&db, "SearchVectors", search("schema", &[0.0, 1.0, 0.0], 10, scoped));
    assert_eq!(keys(&reply), ["both"]);
}

#[test]
fn updates_and_deletes_move_and_remove_entries() {
    let db = documents();
    put(&db, item("a", &[1.0, 0.0, 0.0], json!({"tenant": "t1"})));
    put(&db, item("b", &[0.0, 1.0, 0.0], json!({"tenant": "t1"})));
    let update = |expression: &str, values: Value| {
        let mut body = json!({
            "TableName": "docs", "Key": {"pk": {"S": "a"}}, "UpdateExpression": expression,
        });
        if !values.is_null() {
            body["ExpressionAttributeValues"] = values;
        }
        ok(&db, "UpdateItem", body);
    };
    let in_tenant = |tenant: &str| {
        let scoped = json!({
            "SearchConditionExpression": "tenant = :t",
            "ExpressionAttributeValues": {":t": {"S": tenant}},
        });
        let reply = ok(&db, "SearchVectors", search("schema", &[1.0, 0.0, 0.0], 10, scoped));
        found(&reply).into_iter().map(|(key, score)| (key.to_owned(), score)).collect::<Vec<_>>()
    };
    // Another partition, then another vector.
    update("SET tenant = :t", json!({":t": {"S": "t2"}}));
    assert_eq!(in_tenant("t1"), [("b".to_owned(), 1.0)]);
    assert_eq!(in_tenant("t2"), [("a".to_owned(), 0.0)]);
    update("SET embedding = :v", json!({":v": {"L": vector(&[-1.0, 0.0, 0.0])}}));
    assert_eq!(in_tenant("t2"), [("a".to_owned(), 2.0)]);
    // Without its partition an item leaves one index, without its vector both.
    update("REMOVE tenant", Value::Null);
    assert_eq!(stored(&db), [("plain".into(), 2), ("schema".into(), 1)]);
    update("REMOVE embedding", Value::Null);
    assert_eq!(stored(&db), [("plain".into(), 1), ("schema".into(), 1)]);
    ok(&db, "DeleteItem", json!({"TableName": "docs", "Key": {"pk": {"S": "b"}}}));
    assert_eq!(stored(&db), [("plain".into(), 0), ("schema".into(), 0)]);
    let table = ok(&db, "DescribeTable", json!({"TableName": "docs"}))["Table"].clone();
    assert_eq!(table["VectorIndexes"][0]["IndexSizeBytes"], 0);
}

#[test]
fn the_item_keeps_every_digit() {
    let db = documents();
    let precise = json!([{"N": "0.1"}, {"N": "16777217"}, {"N": "1.000000059604644775390625"}]);
    put(&db, json!({"pk": {"S": "a"}, "embedding": {"L": precise}}));
    let reply = ok(&db, "GetItem", json!({"TableName": "docs", "Key": {"pk": {"S": "a"}}}));
    assert_eq!(reply["Item"]["embedding"]["L"], precise);
    let body = search("plain", &[1.0, 0.0, 0.0], 1, json!({"ProjectionExpression": "embedding"}));
    let reply = ok(&db, "SearchVectors", body);
    let floats = &reply["SearchResults"][0]["Item"]["embedding"]["L"];
    assert_eq!(*floats, json!([{"N": "0.1"}, {"N": "16777216.0"}, {"N": "1.0"}]));
}
