//! What a search finds and returns.

use keyloom_engine::{Database, SearchVectorsInput};
use serde_json::{Value, json};

use crate::{documents, found, index, item, keys, ok, put, search, table};

/// A table with one index per distance function and four vectors around the query.
fn compass() -> Database {
    let db = Database::memory();
    let indexes = json!([
        index("cosine", "COSINE", json!([])),
        index("euclidean", "EUCLIDEAN", json!([])),
        index("dot", "DOT_PRODUCT", json!([])),
    ]);
    ok(&db, "CreateTable", table("docs", &["pk"], indexes));
    for (pk, floats) in [
        ("a", [1.0, 0.0, 0.0]),
        ("b", [0.0, 1.0, 0.0]),
        ("c", [-1.0, 0.0, 0.0]),
        ("d", [0.6, 0.8, 0.0]),
    ] {
        put(&db, item(pk, &floats, json!({"label": pk})));
    }
    db
}

#[test]
fn each_function_ranks_best_first() {
    let db = compass();
    for (name, expected) in [
        ("cosine", [("a", 0.0), ("d", 0.4), ("b", 1.0), ("c", 2.0)]),
        ("euclidean", [("a", 0.0), ("d", 0.8f64.sqrt()), ("b", 2f64.sqrt()), ("c", 2.0)]),
        ("dot", [("a", 1.0), ("d", 0.6), ("b", 0.0), ("c", -1.0)]),
    ] {
        let reply = ok(&db, "SearchVectors", search(name, &[1.0, 0.0, 0.0], 10, json!({})));
        for ((key, score), (wanted, analytic)) in found(&reply).into_iter().zip(expected) {
            assert_eq!(key, wanted, "{name}");
            assert!((score - analytic).abs() < 1e-6, "{name} {key}: {score}");
            let narrowed = f64::from(score as f32);
            assert_eq!(score.to_bits(), narrowed.to_bits(), "scores are 32-bit floats");
        }
        let best = ok(&db, "SearchVectors", search(name, &[1.0, 0.0, 0.0], 2, json!({})));
        assert_eq!(keys(&best), ["a", "d"], "{name}");
    }
}

#[test]
fn equals_come_in_key_order() {
    let db = documents();
    for pk in ["d", "b", "c", "a"] {
        put(&db, item(pk, &[2.0, 0.0, 0.0], json!({})));
    }
    let reply = ok(&db, "SearchVectors", search("plain", &[1.0, 0.0, 0.0], 3, json!({})));
    assert_eq!(keys(&reply), ["a", "b", "c"]);
}

#[test]
fn the_vector_is_returned_on_request_only() {
    let db = compass();
    let first = |more: Value| {
        let reply = ok(&db, "SearchVectors", search("cosine", &[0.6, 0.8, 0.0], 1, more));
        reply["SearchResults"][0]["Item"].clone()
    };
    assert_eq!(first(json!({})), json!({"pk": {"S": "d"}, "label": {"S": "d"}}));
    assert_eq!(
        first(json!({"ProjectionExpression": "pk, embedding, absent"})),
        json!({"pk": {"S": "d"}, "embedding": {"L": [{"N": "0.6"}, {"N": "0.8"}, {"N": "0.0"}]}})
    );
    let aliased = json!({
        "ProjectionExpression": "#e[1]",
        "ExpressionAttributeNames": {"#e": "embedding"},
    });
    assert_eq!(first(aliased), json!({"embedding": {"L": [{"N": "0.8"}]}}));
}

#[test]
fn projections_decide_what_an_index_can_return() {
    let db = Database::memory();
    let mut keys_only = index("keys", "COSINE", crate::search_schema());
    keys_only["Projection"] = json!({"ProjectionType": "KEYS_ONLY"});
    let mut include = index("include", "COSINE", json!([]));
    include["Projection"] = json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]});
    ok(
        &db,
        "CreateTable",
        table("docs", &["pk", "tenant", "category"], json!([keys_only, include])),
    );
    let more = json!({"tenant": "t", "category": "c", "title": "T", "price": "1"});
    put(&db, item("a", &[1.0, 2.0, 3.0], more));
    let names = |body: Value| -> Vec<String> {
        let reply = ok(&db, "SearchVectors", body);
        reply["SearchResults"][0]["Item"].as_object().unwrap().keys().cloned().collect()
    };
    let scoped = json!({
        "SearchConditionExpression": "tenant = :t",
        "ExpressionAttributeValues": {":t": {"S": "t"}},
    });
    assert_eq!(names(search("keys", &[1.0, 2.0, 3.0], 1, scoped)), ["category", "pk", "tenant"]);
    assert_eq!(names(search("include", &[1.0, 2.0, 3.0], 1, json!({}))), ["pk", "title"]);
    let asked = json!({"ProjectionExpression": "pk, price, embedding"});
    assert_eq!(names(search("include", &[1.0, 2.0, 3.0], 1, asked)), ["embedding", "pk"]);
}

#[test]
fn conditions_limit_the_search_to_a_partition_and_filters() {
    let db = documents();
    for (pk, tenant, category) in [("a", "t1", "c1"), ("b", "t1", "c2"), ("c", "t2", "c1")] {
        put(&db, item(pk, &[1.0, 0.0, 0.0], json!({"tenant": tenant, "category": category})));
    }
    put(&db, item("d", &[1.0, 0.0, 0.0], json!({"tenant": "t1"})));
    let find = |condition: &str, values: Value| -> Vec<String> {
        let more = json!({
            "SearchConditionExpression": condition,
            "ExpressionAttributeValues": values,
        });
        let reply = ok(&db, "SearchVectors", search("schema", &[1.0, 0.0, 0.0], 10, more));
        keys(&reply).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(find("tenant = :t", json!({":t": {"S": "t1"}})), ["a", "b", "d"]);
    assert_eq!(find("tenant = :t", json!({":t": {"S": "t"}})), [""; 0], "a prefix is no partition");
    assert_eq!(
        find("category = :c AND tenant = :t", json!({":t": {"S": "t1"}, ":c": {"S": "c2"}})),
        ["b"]
    );
    assert_eq!(
        find("tenant = :t AND category = :c", json!({":t": {"S": "t2"}, ":c": {"S": "c2"}})),
        [""; 0]
    );
}

#[test]
fn the_typed_call_finds_the_same() {
    let db = compass();
    let input = SearchVectorsInput {
        table_name: "docs".into(),
        index_name: "dot".into(),
        search_vector: vec![1.0, 0.0, 0.0],
        top_k: 2,
        ..SearchVectorsInput::default()
    };
    let results = db.search_vectors(&input).unwrap().into_results().unwrap();
    let found: Vec<_> = results
        .iter()
        .map(|result| (result.item.get("pk").unwrap().as_s().unwrap(), result.score))
        .collect();
    assert_eq!(found, [("a", 1.0), ("d", f64::from(0.6f32))]);
    let broken = SearchVectorsInput { search_vector: vec![f32::NAN, 0.0, 0.0], ..input };
    assert!(db.search_vectors(&broken).is_err());
}

#[test]
fn an_answer_ends_where_it_would_become_too_large() {
    let db = documents();
    for n in 0..45 {
        let mut large = item(&format!("{n:02}"), &[1.0, 0.0, 0.0], json!({}));
        large["text"] = json!({"S": "x".repeat(400_000)});
        put(&db, large);
    }
    let reply = ok(&db, "SearchVectors", search("plain", &[1.0, 0.0, 0.0], 100, json!({})));
    assert_eq!(keys(&reply).len(), 16 * 1024 * 1024 / 400_006);
    let small = json!({"ProjectionExpression": "pk"});
    let reply = ok(&db, "SearchVectors", search("plain", &[1.0, 0.0, 0.0], 100, small));
    assert_eq!(keys(&reply).len(), 45);
}

#[test]
fn a_fork_is_searched_by_itself() {
    let db = compass();
    let fork = db.fork().unwrap();
    ok(&db, "DeleteItem", json!({"TableName": "docs", "Key": {"pk": {"S": "a"}}}));
    put(&fork, item("e", &[1.0, 0.0, 0.0], json!({})));
    let first = |db: &Database| {
        let reply = ok(db, "SearchVectors", search("cosine", &[1.0, 0.0, 0.0], 2, json!({})));
        keys(&reply).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(first(&db), ["d", "b"]);
    assert_eq!(first(&fork), ["a", "e"]);
    let table = ok(&fork, "DescribeTable", json!({"TableName": "docs"}))["Table"].clone();
    assert_eq!(table["VectorIndexes"][0]["ItemCount"], 5);
}
