//! UpdateTable: billing, throughput, indexes, settings, and what it refuses.

use std::time::Duration;

use serde_json::json;

use crate::{Fixture, create_index, describe, table};

fn provisioned(fixture: &Fixture, name: &str) {
    let body = table(
        name,
        json!({
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        }),
    );
    fixture.ok("CreateTable", body);
}

fn throughput(read: i64, write: i64) -> serde_json::Value {
    json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write})
}

#[test]
fn throughput_changes_and_the_answer_shows_what_was_in_effect() {
    let f = Fixture::new();
    provisioned(&f, "music");
    let body = json!({"TableName": "music", "ProvisionedThroughput": throughput(10, 20)});
    let reply = f.ok("UpdateTable", body.clone());
    assert_eq!(reply["TableDescription"]["TableStatus"], "UPDATING");
    assert_eq!(reply["TableDescription"]["ProvisionedThroughput"]["ReadCapacityUnits"], 5);
    let table = describe(&f.db, "music");
    assert_eq!(table["TableStatus"], "ACTIVE");
    assert_eq!(table["ProvisionedThroughput"]["ReadCapacityUnits"], 10);
    assert_eq!(table["ProvisionedThroughput"]["WriteCapacityUnits"], 20);
    assert!(table["ProvisionedThroughput"]["LastIncreaseDateTime"].is_number());
    let (code, message) = f.err("UpdateTable", body);
    assert_eq!(code, "ValidationException");
    assert_eq!(
        message,
        "The provisioned throughput for the table will not change. The requested value equals the \
         current value. Current ReadCapacityUnits provisioned for the table: 10. Requested \
         ReadCapacityUnits: 10. Current WriteCapacityUnits provisioned for the table: 20. Requested \
         WriteCapacityUnits: 20. Refer to the Amazon DynamoDB Developer Guide for current limits and \
         how to request higher limits."
    );
}

#[test]
fn decreases_are_limited_within_a_day() {
    let f = Fixture::new();
    provisioned(&f, "music");
    let raise = |units| {
        f.ok(
            "UpdateTable",
            json!({"TableName": "music", "ProvisionedThroughput": throughput(units, 5)}),
        )
    };
    raise(100);
    for units in [99, 98, 97, 96] {
        raise(units);
    }
    let body = json!({"TableName": "music", "ProvisionedThroughput": throughput(95, 5)});
    assert_eq!(f.err("UpdateTable", body.clone()).0, "LimitExceededException");
    f.advance(Duration::from_hours(1));
    f.ok("UpdateTable", body);
    assert_eq!(describe(&f.db, "music")["ProvisionedThroughput"]["NumberOfDecreasesToday"], 5);
}

#[test]
fn the_billing_mode_switches_both_ways() {
    let f = Fixture::new();
    provisioned(&f, "music");
    let on_demand = json!({"TableName": "music", "BillingMode": "PAY_PER_REQUEST"});
    f.ok("UpdateTable", on_demand.clone());
    let table = describe(&f.db, "music");
    assert_eq!(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(table["ProvisionedThroughput"]["ReadCapacityUnits"], 0);
    // The same mode again is accepted.
    f.ok("UpdateTable", on_demand);
    f.ok("UpdateTable", create_index("music", "by-g"));
    f.tidy();
    let back = json!({
        "TableName": "music",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": throughput(7, 8),
    });
    let (_, message) = f.err("UpdateTable", back.clone());
    assert_eq!(
        message,
        "One or more parameter values were invalid: ProvisionedThroughput must be specified for \
         index: by-g"
    );
    let mut with_index = back;
    with_index["GlobalSecondaryIndexUpdates"] =
        json!([{"Update": {"IndexName": "by-g", "ProvisionedThroughput": throughput(1, 2)}}]);
    f.ok("UpdateTable", with_index);
    let table = describe(&f.db, "music");
    assert_eq!(table["BillingModeSummary"]["BillingMode"], "PROVISIONED");
    assert_eq!(table["ProvisionedThroughput"]["WriteCapacityUnits"], 8);
    let index = &table["GlobalSecondaryIndexes"][0];
    assert_eq!(index["ProvisionedThroughput"]["WriteCapacityUnits"], 2);
}

#[test]
fn switches_to_on_demand_are_limited_within_a_day() {
    let f = Fixture::new();
    provisioned(&f, "music");
    let on_demand = json!({"TableName": "music", "BillingMode": "PAY_PER_REQUEST"});
    let back = json!({
        "TableName": "music",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": throughput(7, 8),
    });
    for _ in 0..4 {
        f.ok("UpdateTable", on_demand.clone());
        f.ok("UpdateTable", back.clone());
    }
    assert_eq!(f.err("UpdateTable", on_demand.clone()).0, "LimitExceededException");
    f.advance(Duration::from_hours(24));
    f.ok("UpdateTable", on_demand);
}

#[test]
fn on_demand_limits_merge_and_minus_one_removes() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    let update = |limit: serde_json::Value| {
        f.ok("UpdateTable", json!({"TableName": "music", "OnDemandThroughput": limit}));
        describe(&f.db, "music")["OnDemandThroughput"].clone()
    };
    let shown = update(json!({"MaxReadRequestUnits": 50}));
    assert_eq!(shown, json!({"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": -1}));
    let shown = update(json!({"MaxWriteRequestUnits": 60}));
    assert_eq!(shown, json!({"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 60}));
    let shown = update(json!({"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}));
    assert!(shown.is_null());
    let body = json!({"TableName": "music", "OnDemandThroughput": {"MaxReadRequestUnits": 0}});
    assert_eq!(
        f.err("UpdateTable", body).1,
        "One or more parameter values were invalid: Requested MaxReadRequestUnits for \
         OnDemandThroughput for table is outside of valid range"
    );
}

#[test]
fn an_index_is_deleted_with_the_definitions_that_only_it_used() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    let reply = f.ok("UpdateTable", create_index("music", "by-g"));
    let index = &reply["TableDescription"]["GlobalSecondaryIndexes"][0];
    assert_eq!((&index["IndexStatus"], &index["Backfilling"]), (&json!("CREATING"), &json!(false)));
    f.tidy();
    assert_eq!(describe(&f.db, "music")["AttributeDefinitions"].as_array().unwrap().len(), 3);
    let delete = json!({
        "TableName": "music",
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}],
    });
    let reply = f.ok("UpdateTable", delete.clone());
    assert_eq!(reply["TableDescription"]["GlobalSecondaryIndexes"][0]["IndexStatus"], "DELETING");
    let table = describe(&f.db, "music");
    assert!(table.get("GlobalSecondaryIndexes").is_none());
    assert_eq!(table["AttributeDefinitions"].as_array().unwrap().len(), 2);
    assert_eq!(f.err("UpdateTable", delete).0, "ResourceNotFoundException");
}

#[test]
fn one_index_is_created_or_deleted_at_a_time() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    f.ok("UpdateTable", create_index("music", "first"));
    let limit = (
        "LimitExceededException".to_owned(),
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously \
         per table"
            .to_owned(),
    );
    assert_eq!(f.err("UpdateTable", create_index("music", "second")), limit);
    assert_eq!(f.err("DeleteTable", json!({"TableName": "music"})).0, "ResourceInUseException");
    f.tidy();
    f.ok("UpdateTable", create_index("music", "second"));
    f.tidy();
    let both = json!({
        "TableName": "music",
        "GlobalSecondaryIndexUpdates": [
            {"Delete": {"IndexName": "first"}},
            {"Delete": {"IndexName": "second"}},
        ],
    });
    assert_eq!(f.err("UpdateTable", both), limit);
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    f.ok("UpdateTable", create_index("music", "by-g"));
    f.tidy();
    let validation = "ValidationException";
    for (body, code, message) in [
        (
            json!({}),
            validation,
            "The parameter 'TableName' is required but was not present in the request",
        ),
        (json!({"TableName": "music"}), validation, "At least one of ProvisionedThroughput"),
        (
            json!({"TableName": "music", "GlobalSecondaryIndexUpdates": []}),
            validation,
            "At least one of",
        ),
        (
            json!({"TableName": "music", "GlobalSecondaryIndexUpdates": [{}]}),
            validation,
            "One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate.Update",
        ),
        // In the order of the model. A public suite recorded from AWS has the write units first, but accepts
        // any order.
        (
            json!({"TableName": "music", "ProvisionedThroughput": {}}),
            validation,
            "2 validation errors detected: Value null at 'provisionedThroughput.readCapacityUnits' \
             failed to satisfy constraint: Member must not be null; Value null at \
             'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must not \
             be null",
        ),
        (
            json!({"TableName": "music", "ProvisionedThroughput": throughput(1, 1)}),
            validation,
            "One or more parameter values were invalid: Neither ReadCapacityUnits nor",
        ),
        (
            json!({"TableName": "music", "BillingMode": "PROVISIONED"}),
            validation,
            "One or more parameter values were invalid: ProvisionedThroughput must be specified when",
        ),
        (
            json!({"TableName": "missing", "BillingMode": "PAY_PER_REQUEST"}),
            "ResourceNotFoundException",
            "Requested resource not found: Table: missing not found",
        ),
        (
            create_index("music", "by-g"),
            validation,
            "Attempting to create an index which already exists",
        ),
        (
            json!({"TableName": "music", "GlobalSecondaryIndexUpdates": [
                {"Delete": {"IndexName": "abc"}}, {"Delete": {"IndexName": "abc"}}]}),
            validation,
            "One or more parameter values were invalid: Only one global secondary index update per \
             index is allowed simultaneously. Index: abc",
        ),
        (
            json!({"TableName": "music", "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "abc"}}]}),
            validation,
            "This operation cannot be performed with given input values.",
        ),
    ] {
        let (found_code, found) = f.err("UpdateTable", body.clone());
        assert_eq!(found_code, code, "{body}: {found}");
        assert!(found.starts_with(message), "{body}: {found}");
    }
}

#[test]
fn settings_are_stored_and_shown() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    // AWS takes each of them only by itself.
    for (member, value) in [
        ("DeletionProtectionEnabled", json!(true)),
        ("TableClass", json!("STANDARD_INFREQUENT_ACCESS")),
        ("SSESpecification", json!({"Enabled": true, "SSEType": "KMS"})),
        ("WarmThroughput", json!({"ReadUnitsPerSecond": 20_000})),
    ] {
        let two = json!({"TableName": "music", member: value, "BillingMode": "PAY_PER_REQUEST"});
        assert!(f.err("UpdateTable", two).1.ends_with("must be the only operation in the request"));
        f.ok("UpdateTable", json!({"TableName": "music", member: value}));
    }
    let shown = describe(&f.db, "music");
    assert_eq!(shown["DeletionProtectionEnabled"], true);
    assert_eq!(shown["TableClassSummary"]["TableClass"], "STANDARD_INFREQUENT_ACCESS");
    assert_eq!(shown["SSEDescription"]["Status"], "ENABLED");
    assert_eq!(shown["WarmThroughput"]["ReadUnitsPerSecond"], 20_000);
    assert_eq!(shown["WarmThroughput"]["WriteUnitsPerSecond"], 4_000);
    assert_eq!(f.err("DeleteTable", json!({"TableName": "music"})).0, "ValidationException");
    f.ok("UpdateTable", json!({"TableName": "music", "DeletionProtectionEnabled": false}));
    f.ok("DeleteTable", json!({"TableName": "music"}));
}

#[test]
fn a_stream_can_be_enabled_disabled_and_enabled_again() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    let end = json!({"TableName": "music", "StreamSpecification": {"StreamEnabled": false}});
    assert_eq!(f.err("UpdateTable", end).1, "Table has no stream to disable: TableName: music");
    let begin = json!({
        "TableName": "music",
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    });
    f.ok("UpdateTable", begin.clone());
    let first = describe(&f.db, "music");
    assert_eq!(first["StreamSpecification"]["StreamViewType"], "NEW_IMAGE");
    assert_eq!(
        f.err("UpdateTable", begin.clone()).1,
        "Table already has an enabled stream: TableName: music"
    );
    f.ok(
        "UpdateTable",
        json!({"TableName": "music", "StreamSpecification": {"StreamEnabled": false}}),
    );
    assert!(describe(&f.db, "music").get("StreamSpecification").is_none());
    f.ok("UpdateTable", begin);
    let second = describe(&f.db, "music");
    assert_ne!(first["LatestStreamArn"], second["LatestStreamArn"]);
}
