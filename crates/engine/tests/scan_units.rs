//! What a Scan costs.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use keyloom_engine::Database;

fn units(billing: &str, scan: &str) -> f64 {
    let db = Database::memory();
    let call = |operation: &str, body: &str| {
        let reply = db.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
        let json: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(reply.status, 200, "{json}");
        json
    };
    call(
        "CreateTable",
        &format!(
            r#"{{"TableName":"tbl",{billing},"AttributeDefinitions":[{{"AttributeName":"p","AttributeType":"S"}}],
            "KeySchema":[{{"AttributeName":"p","KeyType":"HASH"}}]}}"#
        ),
    );
    call("PutItem", r#"{"TableName":"tbl","Item":{"p":{"S":"x"}}}"#);
    let body = format!(r#"{{"TableName":"tbl","ReturnConsumedCapacity":"TOTAL"{scan}}}"#);
    call("Scan", &body)["ConsumedCapacity"]["CapacityUnits"].as_f64().unwrap()
}

/// Scylla's suite, checked on AWS, sees 2 and 4 units for a Scan of one small item in a new
/// on-demand table: its four partitions round up one by one.
#[test]
fn a_scan_of_a_new_on_demand_table_pays_for_its_four_partitions() {
    let on_demand = r#""BillingMode":"PAY_PER_REQUEST""#;
    assert!((units(on_demand, "") - 2.0).abs() < f64::EPSILON);
    assert!((units(on_demand, r#","ConsistentRead":true"#) - 4.0).abs() < f64::EPSILON);
    // The page ends in the partition of its last item.
    assert!((units(on_demand, r#","Limit":1"#) - 0.5).abs() < f64::EPSILON);
}

#[test]
fn a_scan_of_a_small_provisioned_table_pays_for_one() {
    let provisioned = r#""ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}"#;
    assert!((units(provisioned, "") - 0.5).abs() < f64::EPSILON);
}
