//! One table's life through the wire door.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use keyloom_engine::Database;

fn call(database: &Database, operation: &str, body: &str) -> (u16, serde_json::Value) {
    let reply = database.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
    (reply.status, serde_json::from_slice(&reply.body).unwrap())
}

#[test]
fn a_table_is_made_filled_read_and_dropped() {
    let db = Database::memory();
    let (status, reply) = call(
        &db,
        "CreateTable",
        r#"{"TableName":"music","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
        "GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}"#,
    );
    assert_eq!(status, 200, "{reply}");
    for sk in 0..5 {
        let body = format!(
            r#"{{"TableName":"music","Item":{{"pk":{{"S":"a"}},"sk":{{"N":"{sk}"}},"g":{{"S":"x"}}}},"ReturnConsumedCapacity":"INDEXES"}}"#
        );
        let (status, reply) = call(&db, "PutItem", &body);
        assert_eq!(status, 200, "{reply}");
        assert_eq!(reply["ConsumedCapacity"]["CapacityUnits"], 2.0);
    }
    let (_, reply) = call(
        &db,
        "Query",
        r#"{"TableName":"music","KeyConditionExpression":"pk = :p AND sk BETWEEN :a AND :b","ExpressionAttributeValues":{":p":{"S":"a"},":a":{"N":"1"},":b":{"N":"3"}},"ScanIndexForward":false}"#,
    );
    let keys: Vec<_> =
        reply["Items"].as_array().unwrap().iter().map(|i| i["sk"]["N"].as_str().unwrap()).collect();
    assert_eq!(keys, ["3", "2", "1"], "{reply}");
    let (_, reply) = call(
        &db,
        "Query",
        r#"{"TableName":"music","IndexName":"by-g","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"x"}},"Limit":2}"#,
    );
    assert_eq!(reply["Count"], 2, "{reply}");
    assert_eq!(reply["LastEvaluatedKey"]["sk"]["N"], "1", "{reply}");
    let (status, reply) = call(
        &db,
        "UpdateItem",
        r#"{"TableName":"music","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"SET n = if_not_exists(n, :z) + :one REMOVE g","ExpressionAttributeValues":{":z":{"N":"0"},":one":{"N":"1"}},"ReturnValues":"ALL_NEW"}"#,
    );
    assert_eq!((status, &reply["Attributes"]["n"]["N"]), (200, &"1".into()), "{reply}");
    let (_, reply) = call(&db, "Scan", r#"{"TableName":"music","IndexName":"by-g"}"#);
    assert_eq!(reply["Count"], 4, "{reply}");
    let (status, reply) = call(
        &db,
        "DeleteItem",
        r#"{"TableName":"music","Key":{"pk":{"S":"a"},"sk":{"N":"2"}},"ConditionExpression":"attribute_not_exists(pk)"}"#,
    );
    assert_eq!(
        (status, &reply["__type"]),
        (400, &"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException".into())
    );
    let (_, reply) = call(&db, "DescribeTable", r#"{"TableName":"music"}"#);
    assert_eq!(reply["Table"]["ItemCount"], 5, "{reply}");
    assert_eq!(call(&db, "DeleteTable", r#"{"TableName":"music"}"#).0, 200);
    assert_eq!(
        call(&db, "GetItem", r#"{"TableName":"music","Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}"#).0,
        400
    );
}

/// A suite that is run against AWS looks for "size cannot exceed", and calls what is measured the payload.
#[test]
fn a_transaction_carries_four_megabytes() {
    let db = Database::memory();
    let table = r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;
    assert_eq!(call(&db, "CreateTable", table).0, 200);
    let large = "x".repeat(100_000);
    let write = |count: usize| {
        let put = |n| {
            format!(
                r#"{{"Put":{{"TableName":"tab","Item":{{"pk":{{"S":"{n}"}},"x":{{"S":"{large}"}}}}}}}}"#
            )
        };
        let puts: Vec<String> = (0..count).map(put).collect();
        call(&db, "TransactWriteItems", &format!(r#"{{"TransactItems":[{}]}}"#, puts.join(",")))
    };
    assert_eq!(write(41).0, 200);
    let (status, reply) = write(42);
    assert_eq!(status, 400);
    assert_eq!(reply["message"], "Transaction payload size cannot exceed 4194304 bytes");
}
