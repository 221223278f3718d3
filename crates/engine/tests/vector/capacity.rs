//! What vector indexes cost.

use serde_json::{Value, json};

use crate::{documents, item, ok, put, search, table};

fn written(reply: &Value) -> &Value {
    &reply["ConsumedCapacity"]["VectorIndexes"]
}

#[test]
fn an_index_is_billed_when_its_view_changes() {
    let db = documents();
    let floor = json!({"VectorWriteRequestBytes": 1024.0});
    let first = item("a", &[1.0, 0.0, 0.0], json!({}));
    let reply = put(&db, first.clone());
    assert_eq!(*written(&reply), json!({"plain": floor}));
    assert_eq!(reply["ConsumedCapacity"]["CapacityUnits"], 1.0);
    // The same again, and a change below the precision of the index.
    assert_eq!(*written(&put(&db, first)), Value::Null);
    let nearly = json!({"pk": {"S": "a"}, "embedding": {"L": [
        {"N": "1.00000000001"}, {"N": "0"}, {"N": "0"},
    ]}});
    assert_eq!(*written(&put(&db, nearly)), Value::Null);
    let both = put(&db, item("a", &[1.0, 0.0, 0.0], json!({"tenant": "t"})));
    assert_eq!(*written(&both), json!({"plain": floor, "schema": floor}));
    let none = put(&db, json!({"pk": {"S": "b"}, "label": {"S": "no vector"}}));
    assert_eq!(*written(&none), Value::Null);
    let total = json!({
        "TableName": "docs",
        "Key": {"pk": {"S": "a"}},
        "ReturnConsumedCapacity": "TOTAL",
    });
    let reply = ok(&db, "DeleteItem", total);
    assert_eq!(reply["ConsumedCapacity"], json!({"TableName": "docs", "CapacityUnits": 1.0}));
}

#[test]
fn large_vectors_cost_four_bytes_a_dimension() {
    let db = keyloom_engine::Database::memory();
    let index = |name: &str, projection: &str| {
        json!({
            "IndexName": name,
            "VectorAttribute": {"AttributeName": "embedding"},
            "Dimensions": 512,
            "DistanceFunction": "COSINE",
            "Projection": {"ProjectionType": projection},
        })
    };
    let indexes = json!([index("all", "ALL"), index("keys", "KEYS_ONLY")]);
    ok(&db, "CreateTable", table("docs", &["pk"], indexes));
    let number = |n: i32| json!({"N": format!("{:.17}", 1.0 / f64::from(n + 2))});
    let mut full = item("a", &[], json!({}));
    full["embedding"]["L"] = (0..512).map(number).collect();
    full["text"] = json!({"S": "x".repeat(100)});
    let reply = put(&db, full);
    let vector_bytes = 4.0 * 512.0 + 9.0;
    assert_eq!(
        *written(&reply),
        json!({
            "all": {"VectorWriteRequestBytes": vector_bytes + 3.0 + 104.0},
            "keys": {"VectorWriteRequestBytes": vector_bytes + 3.0},
        })
    );
    // 2164 bytes: three units, although the list of numbers has over five thousand.
    assert_eq!(reply["ConsumedCapacity"]["Table"]["CapacityUnits"], 3.0);
    let get = json!({
        "TableName": "docs",
        "Key": {"pk": {"S": "a"}},
        "ConsistentRead": true,
        "ReturnConsumedCapacity": "TOTAL",
    });
    assert_eq!(ok(&db, "GetItem", get)["ConsumedCapacity"]["CapacityUnits"], 2.0);
    // A change that only one index sees.
    let update = json!({
        "TableName": "docs",
        "Key": {"pk": {"S": "a"}},
        "UpdateExpression": "REMOVE #t",
        "ExpressionAttributeNames": {"#t": "text"},
        "ReturnConsumedCapacity": "INDEXES",
    });
    let reply = ok(&db, "UpdateItem", update);
    assert_eq!(
        *written(&reply),
        json!({"all": {"VectorWriteRequestBytes": vector_bytes + 3.0 + 104.0}})
    );
}

#[test]
fn transactions_double_the_table_only() {
    let db = documents();
    let body = json!({
        "TransactItems": [{"Put": {"TableName": "docs", "Item": item("a", &[1.0, 0.0, 0.0], json!({}))}}],
        "ReturnConsumedCapacity": "INDEXES",
    });
    let reply = ok(&db, "TransactWriteItems", body);
    let consumed = &reply["ConsumedCapacity"][0];
    assert_eq!(consumed["Table"]["CapacityUnits"], 2.0);
    assert_eq!(consumed["VectorIndexes"], json!({"plain": {"VectorWriteRequestBytes": 1024.0}}));
}

#[test]
fn a_search_reports_bytes_and_nothing_else() {
    let db = documents();
    put(&db, item("a", &[1.0, 0.0, 0.0], json!({})));
    for detail in ["TOTAL", "INDEXES"] {
        let body = search("plain", &[1.0, 0.0, 0.0], 1, json!({"ReturnConsumedCapacity": detail}));
        let reply = ok(&db, "SearchVectors", body);
        assert_eq!(reply["ConsumedCapacity"], json!({"VectorSearchRequestBytes": 1024.0}));
    }
    let body = search("plain", &[1.0, 0.0, 0.0], 1, json!({"ReturnConsumedCapacity": "NONE"}));
    assert!(ok(&db, "SearchVectors", body).get("ConsumedCapacity").is_none());
}
