//! What an observer receives for each kind of request.

use super::*;

#[test]
fn writes_are_observed_with_every_entry_of_every_index_that_they_touch() {
    let (database, recorder) = watched(Recorder::default());
    put(&database, "a", "1");
    assert_eq!(recorder.told(), ["PutItem: tab(a/1) w1.0"]);
    let update = |expression: &str, values: Value| {
        let body = json!({"TableName": "tab", "Key": item("a", "1"),
            "UpdateExpression": expression, "ExpressionAttributeNames": {"#s": "status"},
            "ExpressionAttributeValues": values});
        assert_eq!(call(&database, "UpdateItem", body).0, 200);
    };
    update("SET #s = :s, grade = :r", json!({":s": {"S": "new"}, ":r": {"S": "7"}}));
    assert_eq!(recorder.told(), ["UpdateItem: tab(a/1) w1.0 tab.lsi(a/7) w1.0 tab.gsi(new/) w1.0"]);
    // Both the partition that the entry leaves and the one that it enters.
    update("SET #s = :s", json!({":s": {"S": "old"}}));
    assert_eq!(
        recorder.told(),
        ["UpdateItem: tab(a/1) w1.0 tab.gsi(new/) w1.0 tab.gsi(old/) w1.0"]
    );
    call(&database, "DeleteItem", json!({"TableName": "tab", "Key": item("a", "1")}));
    assert_eq!(recorder.told(), ["DeleteItem: tab(a/1) w1.0 tab.lsi(a/7) w1.0 tab.gsi(old/) w1.0"]);
}

#[test]
fn batches_and_transactions_are_one_request() {
    let (database, recorder) = watched(Recorder::default());
    let requests = json!({"tab": [{"PutRequest": {"Item": item("a", "1")}},
        {"PutRequest": {"Item": item("b", "2")}}]});
    call(&database, "BatchWriteItem", json!({"RequestItems": requests}));
    assert_eq!(recorder.told(), ["BatchWriteItem: tab(a/1) w1.0 tab(b/2) w1.0"]);
    let mut indexed = item("c", "3");
    indexed["status"] = json!({"S": "new"});
    let actions = json!([{"Put": {"TableName": "tab", "Item": indexed}},
        {"Delete": {"TableName": "tab", "Key": item("b", "2")}}]);
    call(&database, "TransactWriteItems", json!({"TransactItems": actions}));
    let told = ["TransactWriteItems: tab(c/3) w2.0 tab.gsi(new/) w1.0 tab(b/2) w2.0"];
    assert_eq!(recorder.told(), told);
    let gets = json!([{"Get": {"TableName": "tab", "Key": item("a", "1")}},
        {"Get": {"TableName": "tab", "Key": item("x", "1")}}]);
    call(&database, "TransactGetItems", json!({"TransactItems": gets}));
    let told = ["TransactGetItems: tab(a/1) r2.0 tab(x/1) r2.0 | 1 returned, consistent"];
    assert_eq!(recorder.told(), told);
    let keys = json!({"tab": {"Keys": [item("a", "1"), item("c", "3")], "ConsistentRead": true}});
    call(&database, "BatchGetItem", json!({"RequestItems": keys}));
    let told = ["BatchGetItem: tab(a/1) r1.0 tab(c/3) r1.0 | 2 returned, consistent"];
    assert_eq!(recorder.told(), told);
}

#[test]
fn reads_are_observed_with_what_was_asked_and_found() {
    let (database, recorder) = watched(Recorder::default());
    for sk in ["1", "2", "3"] {
        put(&database, "a", sk);
    }
    recorder.told();
    let get = json!({"TableName": "tab", "Key": item("a", "9"), "ProjectionExpression": "sk"});
    call(&database, "GetItem", get);
    assert_eq!(recorder.told(), ["GetItem: tab(a/9) r0.5 | 0 returned, projected"]);
    let query = json!({"TableName": "tab", "KeyConditionExpression": "pk = :p AND sk > :s",
        "FilterExpression": "n = :n", "Limit": 1, "ConsistentRead": true,
        "ExclusiveStartKey": item("a", "2"),
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":s": {"S": "1"}, ":n": {"N": "1"}}});
    call(&database, "Query", query);
    let told = "Query: tab(a/) r1.0 | key a filter n limit Some(1) continued true more true \
        scanned 1 | 0 returned, consistent";
    assert_eq!(recorder.told(), [told]);
    call(&database, "Scan", json!({"TableName": "tab", "IndexName": "lsi"}));
    let told = "Scan: tab.lsi(/) r0.5 | key - filter  limit None continued false more false \
        scanned 0 | 0 returned";
    assert_eq!(recorder.told(), [told]);
    let local = json!({"TableName": "tab", "Item": {"pk": {"S": "b"}, "sk": {"S": "1"},
        "grade": {"S": "7"}}});
    call(&database, "PutItem", local);
    recorder.told();
    let query = json!({"TableName": "tab", "IndexName": "lsi", "KeyConditionExpression": "pk = :p",
        "Select": "ALL_ATTRIBUTES", "ExpressionAttributeValues": {":p": {"S": "b"}}});
    call(&database, "Query", query);
    let told = "Query: tab.lsi(b/) r0.5 tab(b/) r0.5 | key b filter  limit None continued false \
        more false scanned 1 | 1 returned";
    assert_eq!(recorder.told(), [told]);
}

#[test]
fn statements_count_as_what_they_come_down_to() {
    let (database, recorder) = watched(Recorder::default());
    let run = |statement: &str| {
        call(&database, "ExecuteStatement", json!({"Statement": statement}));
        recorder.told()
    };
    assert_eq!(run("INSERT INTO tab VALUE {'pk': 'a', 'sk': '1'}"), ["PutItem: tab(a/1) w1.0"]);
    let told = ["PutItem ConditionFailed: tab(a/1) w1.0"];
    assert_eq!(run("INSERT INTO tab VALUE {'pk': 'a', 'sk': '1'}"), told);
    let told = ["UpdateItem: tab(a/1) w1.0"];
    assert_eq!(run("UPDATE tab SET n = 1 WHERE pk = 'a' AND sk = '1'"), told);
    let told = ["GetItem: tab(a/1) r0.5 | 1 returned"];
    assert_eq!(run("SELECT * FROM tab WHERE pk = 'a' AND sk = '1'"), told);
    let told = "Query: tab(a/) r0.5 | key a filter  limit None continued false more false \
        scanned 1 | 1 returned";
    assert_eq!(run("SELECT * FROM tab WHERE pk = 'a' AND sk >= '0'"), [told]);
    let told = "Query: tab(a/) r0.5 | key a filter  limit None continued false more false \
        scanned 1 | 1 returned, projected";
    assert_eq!(run("SELECT n FROM tab WHERE pk = 'a' AND sk >= '0'"), [told]);
    let told = run("SELECT * FROM tab WHERE n = 1");
    assert!(told[0].starts_with("Scan: tab(/) r2.0 | key - filter n"), "{told:?}");
    let batch = json!({"Statements": [{"Statement": "SELECT * FROM tab WHERE pk='a' AND sk='1'"}]});
    call(&database, "BatchExecuteStatement", batch);
    assert_eq!(recorder.told(), ["GetItem: tab(a/1) r0.5 | 1 returned"]);
}

#[test]
fn failures_are_observed_once_where_they_arose() {
    let (database, recorder) = watched(Recorder::default());
    put(&database, "a", "1");
    recorder.told();
    let body = json!({"TableName": "tab", "Item": item("a", "1"),
        "ConditionExpression": "attribute_not_exists(pk)"});
    assert_eq!(call(&database, "PutItem", body).0, 400);
    assert_eq!(recorder.told(), ["PutItem ConditionFailed: tab(a/1) w1.0"]);
    let actions = json!([{"ConditionCheck": {"TableName": "tab", "Key": item("a", "2"),
        "ConditionExpression": "attribute_exists(pk)"}}]);
    assert_eq!(call(&database, "TransactWriteItems", json!({"TransactItems": actions})).0, 400);
    assert_eq!(recorder.told(), ["TransactWriteItems ConditionFailed: tab(a/2) w2.0"]);
    call(&database, "GetItem", json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}}));
    assert_eq!(recorder.told(), ["GetItem failed: ValidationException"]);
    call(&database, "GetItem", json!({"TableName": "none", "Key": item("a", "1")}));
    assert_eq!(recorder.told(), ["GetItem failed: ResourceNotFoundException"]);
    let body = json!({"TableName": "tab", "Key": item("a", "1"), "UpdateExpression": "ADD sk :n",
        "ExpressionAttributeValues": {":n": {"N": "1"}}});
    call(&database, "UpdateItem", body);
    assert_eq!(recorder.told(), ["UpdateItem failed: ValidationException"]);
}

#[test]
fn unknown_operations_are_observed_as_one() {
    let (database, recorder) = watched(Recorder::default());
    for name in ["Nonsense1", "Nonsense2.GetItem", ""] {
        assert_eq!(call(&database, name, json!({})).0, 400);
        assert_eq!(recorder.told(), ["unknown failed: UnknownOperationException"]);
    }
}

#[test]
fn what_is_deleted_is_to_be_forgotten() {
    let (database, recorder) = watched(Recorder::default());
    let delete = json!({"TableName": "tab",
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "gsi"}}]});
    assert_eq!(call(&database, "UpdateTable", delete).0, 200);
    assert_eq!(recorder.told(), [r#"forget tab Some("gsi")"#]);
    database.run_maintenance().unwrap();
    let index = json!({"IndexName": "vix", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
        "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "ALL"}});
    let update = |change| json!({"TableName": "tab", "VectorIndexUpdates": [change]});
    assert_eq!(call(&database, "UpdateTable", update(json!({"Create": index}))).0, 200);
    database.run_maintenance().unwrap();
    assert!(recorder.told().is_empty());
    let delete = update(json!({"Delete": {"IndexName": "vix"}}));
    assert_eq!(call(&database, "UpdateTable", delete).0, 200);
    assert_eq!(recorder.told(), [r#"forget tab Some("vix")"#]);
    assert_eq!(call(&database, "DeleteTable", json!({"TableName": "tab"})).0, 200);
    assert_eq!(recorder.told(), ["forget tab None"]);
}

#[test]
fn who_does_not_look_is_observed_errors_only() {
    let (database, recorder) = watched(Recorder { is_blind: true, ..Recorder::default() });
    put(&database, "a", "1");
    call(&database, "GetItem", json!({"TableName": "tab", "Key": item("a", "1")}));
    call(&database, "Scan", json!({"TableName": "tab"}));
    assert!(recorder.told().is_empty());
    call(&database, "Scan", json!({"TableName": "none"}));
    assert_eq!(recorder.told(), ["Scan failed: ResourceNotFoundException"]);
}

#[test]
fn tables_are_listed_with_their_indexes_and_sizes() {
    let (database, _) = watched(Recorder::default());
    put(&database, "a", "1");
    let tables = database.tables();
    let [table] = tables.as_slice() else { panic!("{tables:?}") };
    assert_eq!((table.name.as_str(), table.items, table.size_bytes), ("tab", 1, 6));
    assert!(table.throughput.on_demand && table.throughput.write.is_none());
    let indexes: Vec<_> =
        table.indexes.iter().map(|index| (index.schema.name.as_str(), index.is_global())).collect();
    assert_eq!(indexes, [("lsi", false), ("gsi", true)]);
}

/// Says that the table has grown with its traffic, and the index little.
#[derive(Debug)]
struct Grown;

impl Observer for Grown {
    fn sample(&self) -> Option<NonZeroU32> {
        None
    }

    fn observe(&self, _: &Observation<'_>) {}

    fn grown(&self, _: &str, index: Option<&str>) -> Option<(u64, u64)> {
        Some(if index.is_none() { (30_000, 10_000) } else { (6_000, 2_000) })
    }
}

#[test]
fn warm_throughput_is_what_traffic_has_made_of_it_and_never_less() {
    let database =
        Database::memory_with(Options { observer: Some(Arc::new(Grown)), ..Options::default() });
    let definitions = [("pk", "S"), ("status", "S")]
        .map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind }));
    let key = |name: &str| json!([{ "AttributeName": name, "KeyType": "HASH" }]);
    call(
        &database,
        "CreateTable",
        json!({
            "TableName": "warm", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": definitions, "KeySchema": key("pk"),
            "WarmThroughput": { "ReadUnitsPerSecond": 40_000, "WriteUnitsPerSecond": 8_000 },
            "GlobalSecondaryIndexes": [{
                "IndexName": "gsi", "KeySchema": key("status"),
                "Projection": { "ProjectionType": "ALL" },
            }],
        }),
    );
    let described = call(&database, "DescribeTable", json!({ "TableName": "warm" })).1;
    let units = |place: &Value| {
        let warm = &place["WarmThroughput"];
        (warm["ReadUnitsPerSecond"].as_i64(), warm["WriteUnitsPerSecond"].as_i64())
    };
    let table = &described["Table"];
    assert_eq!(units(table), (Some(40_000), Some(10_000)));
    assert_eq!(units(&table["GlobalSecondaryIndexes"][0]), (Some(12_000), Some(4_000)));
    let facts = &database.tables()[0].throughput;
    assert_eq!((facts.warm_read, facts.warm_write), (Some(40_000), Some(8_000)));
}
