//! What a gate refuses, and how a client sees it.

use super::*;

fn gated() -> (Database, Arc<Recorder>) {
    watched(Recorder { is_gate: true, is_blind: true, ..Recorder::default() })
}

/// The sentence for on-demand tables, as SDKs print it (boto/boto3#3834).
const ON_DEMAND: &str = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html";
const TABLE_ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";

#[test]
fn a_refused_write_leaves_nothing_behind_and_says_who_refused_it() {
    let (database, recorder) = gated();
    recorder.refuse(&["hot"]);
    let (status, reply) = put(&database, "hot", "1");
    let expected = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
        "message": ON_DEMAND,
        "throttlingReasons":
            [{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": TABLE_ARN}]});
    assert_eq!((status, reply), (400, expected));
    let mut indexed = item("cold", "1");
    indexed["status"] = json!({"S": "hot"});
    let (_, reply) = call(&database, "PutItem", json!({"TableName": "tab", "Item": indexed}));
    let reason = json!([{"reason": "IndexWriteKeyRangeThroughputExceeded",
        "resource": format!("{TABLE_ARN}/index/gsi")}]);
    assert_eq!(reply["throttlingReasons"], reason);
    assert!(reply["message"].as_str().unwrap().contains("global secondary indexes"));
    recorder.refuse(&[]);
    assert_eq!(call(&database, "Scan", json!({"TableName": "tab"})).1["Count"], 0);
    assert_eq!(put(&database, "hot", "1").0, 200);
}

#[test]
fn provisioned_tables_have_the_other_exception() {
    let (database, recorder) = gated();
    let table = json!({"TableName": "pro",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    assert_eq!(call(&database, "CreateTable", table).0, 200);
    recorder.refuse(&["hot"]);
    let get = json!({"TableName": "pro", "Key": {"pk": {"S": "hot"}}});
    let (status, reply) = call(&database, "GetItem", get);
    let expected = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
        "message": "The level of configured provisioned throughput for the table was exceeded. \
            Consider increasing your provisioning level with the UpdateTable API.",
        "ThrottlingReasons": [{"reason": "TableReadKeyRangeThroughputExceeded",
            "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/pro"}]});
    assert_eq!((status, reply), (400, expected));
}

#[test]
fn reads_are_asked_before_and_charged_after() {
    let (database, recorder) = gated();
    put(&database, "a", "1");
    assert_eq!(recorder.told(), ["admit tab(a/1) w1.0"]);
    call(&database, "GetItem", json!({"TableName": "tab", "Key": item("a", "1")}));
    assert_eq!(recorder.told(), ["admit tab(a/1) r0.0", "charge tab(a/1) r0.5"]);
    let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "a"}}});
    call(&database, "Query", query.clone());
    assert_eq!(recorder.told(), ["admit tab(a/) r0.0", "charge tab(a/) r0.5"]);
    recorder.refuse(&["a"]);
    let (_, reply) = call(&database, "Query", query);
    assert_eq!(reply["throttlingReasons"][0]["reason"], "TableReadKeyRangeThroughputExceeded");
    assert_eq!(recorder.told(), ["admit tab(a/) r0.0"]);
    let statement = json!({"Statement": "SELECT * FROM tab WHERE pk = 'a' AND sk = '1'"});
    let (status, reply) = call(&database, "ExecuteStatement", statement.clone());
    assert_eq!((status, &reply["message"]), (400, &json!(ON_DEMAND)));
    let (status, reply) =
        call(&database, "BatchExecuteStatement", json!({"Statements": [statement]}));
    assert_eq!((status, &reply["Responses"][0]["Error"]["Code"]), (200, &json!("ThrottlingError")));
}

/// A refused read is told as it was asked for.
#[test]
fn refused_reads_keep_their_consistency_and_projection() {
    let (database, recorder) = watched(Recorder { is_gate: true, ..Recorder::default() });
    recorder.refuse(&["a"]);
    let told = |operation: &str, body: Value| {
        call(&database, operation, body);
        let told = recorder.told().pop().unwrap();
        let (_, manner) = told.rsplit_once("0 returned").unwrap();
        manner.to_owned()
    };
    for (is_consistent, expected) in [(false, ""), (true, ", consistent")] {
        let key =
            json!({"TableName": "tab", "Key": item("a", "1"), "ConsistentRead": is_consistent});
        assert_eq!(told("GetItem", key), expected);
        let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p",
            "ConsistentRead": is_consistent, "ExpressionAttributeValues": {":p": {"S": "a"}}});
        assert_eq!(told("Query", query), expected);
        let batch = json!({"RequestItems":
            {"tab": {"Keys": [item("a", "1")], "ConsistentRead": is_consistent}}});
        assert_eq!(told("BatchGetItem", batch), expected);
        for (statement, columns) in [
            ("SELECT * FROM tab WHERE pk = 'a' AND sk = '1'", ""),
            ("SELECT n FROM tab WHERE pk = 'a' AND sk = '1'", ", projected"),
            ("SELECT n FROM tab WHERE pk = 'a' AND sk > '1'", ", projected"),
        ] {
            let body = json!({"Statement": statement, "ConsistentRead": is_consistent});
            assert_eq!(told("ExecuteStatement", body), format!("{columns}{expected}"));
        }
    }
}

#[test]
fn batches_leave_what_was_refused_for_later() {
    let (database, recorder) = gated();
    recorder.refuse(&["hot"]);
    let write = |keys: &[&str]| {
        let puts: Vec<Value> =
            keys.iter().map(|pk| json!({"PutRequest": {"Item": item(pk, "1")}})).collect();
        call(&database, "BatchWriteItem", json!({"RequestItems": {"tab": puts}}))
    };
    let (status, reply) = write(&["a", "hot", "b"]);
    let left = json!({"tab": [{"PutRequest": {"Item": item("hot", "1")}}]});
    assert_eq!((status, &reply["UnprocessedItems"]), (200, &left));
    let (status, reply) = write(&["hot"]);
    assert_eq!((status, &reply["message"]), (400, &json!(ON_DEMAND)));
    recorder.refuse(&[]);
    let (_, reply) = call(&database, "Scan", json!({"TableName": "tab"}));
    assert_eq!(reply["Count"], 2, "{reply}");

    recorder.refuse(&["a"]);
    let read = |keys: &[&str]| {
        let keys: Vec<Value> = keys.iter().map(|pk| item(pk, "1")).collect();
        call(&database, "BatchGetItem", json!({"RequestItems": {"tab": {"Keys": keys}}}))
    };
    let (status, reply) = read(&["a", "b"]);
    assert_eq!((status, &reply["Responses"]["tab"]), (200, &json!([item("b", "1")])));
    assert_eq!(reply["UnprocessedKeys"]["tab"]["Keys"], json!([item("a", "1")]));
    let (status, reply) = read(&["a"]);
    assert_eq!(status, 400);
    assert_eq!(reply["throttlingReasons"][0]["reason"], "TableReadKeyRangeThroughputExceeded");
}

#[test]
fn transactions_are_cancelled_with_the_reason_of_the_action() {
    let (database, recorder) = gated();
    recorder.refuse(&["hot"]);
    let mut indexed = item("b", "1");
    indexed["status"] = json!({"S": "hot"});
    let actions = json!([{"Put": {"TableName": "tab", "Item": item("a", "1")}},
        {"Put": {"TableName": "tab", "Item": indexed}}]);
    let (status, reply) = call(&database, "TransactWriteItems", json!({"TransactItems": actions}));
    assert_eq!(status, 400);
    let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
    assert_eq!(reply["__type"], kind);
    let codes = |reply: &Value| {
        [&reply["CancellationReasons"][0], &reply["CancellationReasons"][1]]
            .map(|reason| reason["Code"].as_str().unwrap().to_owned())
    };
    assert_eq!(codes(&reply), ["None", "ThrottlingError"]);
    let gets = json!([{"Get": {"TableName": "tab", "Key": item("hot", "1")}},
        {"Get": {"TableName": "tab", "Key": item("a", "1")}}]);
    let (_, reply) = call(&database, "TransactGetItems", json!({"TransactItems": gets}));
    assert_eq!(codes(&reply), ["ThrottlingError", "None"]);
    recorder.refuse(&[]);
    assert_eq!(call(&database, "Scan", json!({"TableName": "tab"})).1["Count"], 0);
}

#[test]
fn a_write_whose_condition_is_false_is_refused_like_any_other() {
    let (database, recorder) = gated();
    put(&database, "hot", "1");
    recorder.told();
    let body = json!({"TableName": "tab", "Item": item("hot", "1"),
        "ConditionExpression": "attribute_not_exists(pk)"});
    let (_, reply) = call(&database, "PutItem", body.clone());
    assert!(reply["__type"].as_str().unwrap().ends_with("ConditionalCheckFailedException"));
    assert_eq!(recorder.told(), ["admit tab(hot/1) w1.0"]);
    recorder.refuse(&["hot"]);
    let (status, reply) = call(&database, "PutItem", body);
    assert_eq!((status, &reply["message"]), (400, &json!(ON_DEMAND)));
    recorder.told();
    let check = |pk: &str| {
        json!({"ConditionCheck": {"TableName": "tab", "Key": item(pk, "1"),
            "ConditionExpression": "attribute_exists(nowhere)"}})
    };
    let actions = json!({"TransactItems": [check("a"), check("hot")]});
    let (_, reply) = call(&database, "TransactWriteItems", actions);
    assert_eq!(recorder.told(), ["admit tab(a/1) w2.0 tab(hot/1) w2.0"]);
    let codes = ["None", "ThrottlingError"];
    assert_eq!([0, 1].map(|at| reply["CancellationReasons"][at]["Code"].clone()), codes);
}

#[test]
fn a_statement_that_is_refused_costs_nothing() {
    let (database, recorder) = gated();
    recorder.refuse(&["hot"]);
    let insert = |pk: &str| json!({"Statement": format!("INSERT INTO tab VALUE {{'pk': '{pk}', 'sk': '1'}}")});
    let body =
        json!({"Statements": [insert("a"), insert("hot")], "ReturnConsumedCapacity": "TOTAL"});
    let (status, reply) = call(&database, "BatchExecuteStatement", body);
    assert_eq!(status, 200, "{reply}");
    assert_eq!(reply["Responses"][1]["Error"]["Code"], "ThrottlingError");
    assert_eq!(reply["ConsumedCapacity"], json!([{"TableName": "tab", "CapacityUnits": 1.0}]));
}
