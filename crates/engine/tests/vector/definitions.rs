//! Vector indexes of new tables: what is accepted and shown, what is refused.

use keyloom_engine::Database;
use serde_json::json;

use crate::{documents, index, invalid, ok, search_schema, table};

#[test]
fn an_index_is_described_as_it_was_made() {
    let db = Database::memory();
    let body = table(
        "docs",
        &["pk", "tenant", "category"],
        json!([index("schema", "EUCLIDEAN", search_schema())]),
    );
    let created = ok(&db, "CreateTable", body);
    let described = &created["TableDescription"]["VectorIndexes"][0];
    assert_eq!(described["IndexStatus"], "CREATING");
    assert!(described.get("Backfilling").is_none());
    let reply = ok(&db, "DescribeTable", json!({"TableName": "docs"}));
    assert_eq!(
        reply["Table"]["VectorIndexes"],
        json!([{
            "IndexName": "schema",
            "VectorAttribute": {"AttributeName": "embedding"},
            "Dimensions": 3,
            "DistanceFunction": "EUCLIDEAN",
            "SearchSchema": search_schema(),
            "Projection": {"ProjectionType": "ALL"},
            "IndexStatus": "ACTIVE",
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": "arn:aws:dynamodb:us-east-1:000000000000:table/docs/index/schema",
        }])
    );
    // The attribute definitions are those of the key and the search schema.
    assert_eq!(reply["Table"]["AttributeDefinitions"].as_array().unwrap().len(), 3);
}

#[test]
fn a_fraction_of_a_dimension_is_cut_off() {
    let db = Database::memory();
    let mut fraction = index("plain", "COSINE", json!([]));
    fraction["Dimensions"] = json!(3.9);
    ok(&db, "CreateTable", table("docs", &["pk"], json!([fraction])));
    let reply = ok(&db, "DescribeTable", json!({"TableName": "docs"}));
    assert_eq!(reply["Table"]["VectorIndexes"][0]["Dimensions"], 3);
}

#[test]
fn provisioned_tables_have_none() {
    let db = Database::memory();
    let mut body = table("docs", &["pk"], json!([index("plain", "COSINE", json!([]))]));
    body.as_object_mut().unwrap().remove("BillingMode");
    body["ProvisionedThroughput"] = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 5});
    let message = "One or more parameter values were invalid: Vector indexes are only supported for \
                   PAY_PER_REQUEST tables";
    assert_eq!(invalid(&db, "CreateTable", body), message);
    let db = documents();
    let switch = json!({
        "TableName": "docs",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    });
    assert_eq!(invalid(&db, "UpdateTable", switch), message);
}

#[test]
fn names_are_unique_over_all_kinds_of_indexes() {
    let db = Database::memory();
    let mut body = table("docs", &["pk", "g"], json!([index("same", "COSINE", json!([]))]));
    body["GlobalSecondaryIndexes"] = json!([{
        "IndexName": "same",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }]);
    assert_eq!(
        invalid(&db, "CreateTable", body),
        "One or more parameter values were invalid: Duplicate index name: same"
    );
}

#[test]
fn wrong_members_are_named_with_their_place() {
    let db = Database::memory();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = index("plain", "COSINE", json!([]));
        change(&mut changed);
        invalid(&db, "CreateTable", table("docs", &["pk"], json!([changed])))
    };
    let null = |member: &str| {
        format!(
            "1 validation error detected: Value null at 'vectorIndexes.1.member.{member}' failed to \
             satisfy constraint: Member must not be null"
        )
    };
    for (member, path) in [
        ("VectorAttribute", "vectorAttribute"),
        ("Dimensions", "dimensions"),
        ("Projection", "projection"),
        ("DistanceFunction", "distanceFunction"),
        ("IndexName", "indexName"),
    ] {
        let remove = |index: &mut serde_json::Value| {
            index.as_object_mut().unwrap().remove(member);
        };
        assert_eq!(refused(&remove), null(path));
    }
    assert_eq!(
        refused(&|index| index["VectorAttribute"] = json!({})),
        null("vectorAttribute.attributeName")
    );
    assert_eq!(
        refused(&|index| index["SearchSchema"] = json!([])),
        "1 validation error detected: Value '[]' at 'vectorIndexes.1.member.searchSchema' failed to \
         satisfy constraint: Member must have length greater than or equal to 1"
    );
    assert_eq!(
        refused(&|index| index["Projection"] = json!({"ProjectionType": "INCLUDE"})),
        "One or more parameter values were invalid: ProjectionType is INCLUDE, but \
         NonKeyAttributes is not specified"
    );
}

#[test]
fn only_search_vectors_reads_them() {
    let db = documents();
    let query = json!({
        "TableName": "docs",
        "IndexName": "plain",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "a"}},
    });
    assert_eq!(invalid(&db, "Query", query), "Query operation not supported on this index type.");
    assert_eq!(
        invalid(&db, "Scan", json!({"TableName": "docs", "IndexName": "plain"})),
        "Scan operation not supported on this index type"
    );
    let statement = json!({"Statement": "SELECT * FROM \"docs\".\"plain\" WHERE pk = 'a'"});
    assert_eq!(
        invalid(&db, "ExecuteStatement", statement),
        "Scan operation not supported on this index type"
    );
}
