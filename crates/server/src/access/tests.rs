//! What requests need: action, resource and condition keys, a line each.

use keyloom_core::Operation;
use keyloom_core::json;
use keyloom_core::policy::{Access, Known};
use keyloom_engine::Database;

use super::needs::needs;

/// A table with a sort key, an index of its own partition key, and a stream.
fn database() -> Database {
    let database = Database::memory();
    let body = r#"{"TableName":"app","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},
            {"AttributeName":"sk","AttributeType":"N"},{"AttributeName":"wday","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
        "GlobalSecondaryIndexes":[{"IndexName":"by-day","Projection":{"ProjectionType":"ALL"},
            "KeySchema":[{"AttributeName":"wday","KeyType":"HASH"}]}]}"#;
    assert_eq!(database.call("DynamoDB_20120810.CreateTable", body.as_bytes()).status, 200);
    database
}

fn list(name: &str, values: &Known<Vec<String>>) -> Option<String> {
    match values {
        Known::Absent => None,
        Known::Is(values) => Some(format!("{name}={}", values.join(","))),
        Known::Unknown => Some(format!("{name}=?")),
    }
}

/// A permission in one line; what is not asked for (`NONE`) is left out.
fn line(access: &Access) -> String {
    let prefix = "arn:aws:dynamodb:us-east-1:000000000000:";
    let text = |name: &str, value: &Option<String>| {
        value.as_ref().filter(|value| *value != "NONE").map(|value| format!("{name}={value}"))
    };
    let full = match access.full_table_scan {
        Known::Absent => None,
        Known::Is(full) => Some(format!("full={full}")),
        Known::Unknown => Some("full=?".to_owned()),
    };
    let tags = access.tags.iter().flatten().map(|(name, value)| format!("{name}:{value}"));
    let parts = [
        Some(access.action.trim_start_matches("dynamodb:").to_owned()),
        Some(access.resource.trim_start_matches(prefix).to_owned()),
        list("leading", &access.leading_keys),
        list("attributes", &access.attributes),
        text("select", &access.select),
        text("returns", &access.return_values),
        text("capacity", &access.return_consumed_capacity),
        text("in", &access.enclosing_operation),
        full,
        access.tags.as_ref().map(|_| format!("tags={}", tags.collect::<Vec<_>>().join(","))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(cases: &[(&str, &str, &[&str])]) {
    let database = database();
    for (operation, body, expected) in cases {
        let tree = json::parse(body.as_bytes()).unwrap();
        let operation = Operation::from_name(operation).unwrap();
        let found: Vec<String> = needs(&database, operation, &tree).iter().map(line).collect();
        assert_eq!(found, *expected, "{operation:?} {body}");
    }
}

#[test]
fn operations_on_one_item() {
    check(&[
        (
            "GetItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a#1"},"sk":{"N":"1"}}}"#,
            &["GetItem table/app leading=a#1 attributes=pk,sk select=ALL_ATTRIBUTES"],
        ),
        (
            "GetItem",
            r##"{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},
            "ProjectionExpression":"#x.y[1], z","ExpressionAttributeNames":{"#x":"x"},"ReturnConsumedCapacity":"TOTAL"}"##,
            &[
                "GetItem table/app leading=a attributes=pk,sk,x,z select=SPECIFIC_ATTRIBUTES capacity=TOTAL",
            ],
        ),
        (
            "GetItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"AttributesToGet":["x"]}"#,
            &["GetItem table/app leading=a attributes=pk,sk,x select=SPECIFIC_ATTRIBUTES"],
        ),
        (
            "PutItem",
            r#"{"TableName":"app","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"M":{"w":{"S":"x"}}}},
            "ConditionExpression":"attribute_not_exists(gone)","ReturnValues":"ALL_OLD"}"#,
            &["PutItem table/app leading=a attributes=gone,pk,sk,v returns=ALL_OLD"],
        ),
        (
            "UpdateItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},
            "UpdateExpression":"SET c = if_not_exists(d, :n) + :n REMOVE e","ExpressionAttributeValues":{":n":{"N":"1"}}}"#,
            &["UpdateItem table/app leading=a attributes=c,d,e,pk,sk"],
        ),
        (
            "UpdateItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},
            "AttributeUpdates":{"c":{"Action":"DELETE"}},"Expected":{"d":{"Exists":false}}}"#,
            &["UpdateItem table/app leading=a attributes=c,d,pk,sk"],
        ),
        (
            "DeleteItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}"#,
            &["DeleteItem table/app leading=a attributes=pk,sk"],
        ),
        // If the condition fails the whole item comes back, and nobody can say which attributes that are.
        (
            "UpdateItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"REMOVE e",
            "ConditionExpression":"attribute_exists(f)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}"#,
            &["UpdateItem table/app leading=a attributes=?"],
        ),
        (
            "DeleteItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"ReturnValuesOnConditionCheckFailure":"NONE"}"#,
            &["DeleteItem table/app leading=a attributes=pk,sk"],
        ),
        (
            "TransactWriteItems",
            r#"{"TransactItems":[{"ConditionCheck":{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},
            "ConditionExpression":"attribute_exists(f)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}}]}"#,
            &["ConditionCheckItem table/app leading=a attributes=? in=TransactWriteItems"],
        ),
        (
            "ExecuteStatement",
            r#"{"Statement":"DELETE FROM app WHERE pk = 'a' AND sk = 1","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}"#,
            &["PartiQLDelete table/app leading=a attributes=?"],
        ),
        // The ARN of another region or account means no table here: nobody is let through to it by its keys.
        (
            "DeleteItem",
            r#"{"TableName":"arn:aws:dynamodb:eu-west-1:999999999999:table/app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}"#,
            &["DeleteItem table/app leading=? attributes=pk,sk"],
        ),
    ]);
}

#[test]
fn what_cannot_be_read_is_unknown() {
    check(&[
        (
            "GetItem",
            r#"{"TableName":"app"}"#,
            &["GetItem table/app leading=? attributes=? select=ALL_ATTRIBUTES"],
        ),
        (
            "GetItem",
            r#"{"TableName":"app","Key":{"sk":{"N":"1"}}}"#,
            &["GetItem table/app leading=? attributes=sk select=ALL_ATTRIBUTES"],
        ),
        (
            "GetItem",
            r#"{"TableName":"app","Key":{"pk":{"SS":["a"]}}}"#,
            &["GetItem table/app leading=? attributes=pk select=ALL_ATTRIBUTES"],
        ),
        (
            "GetItem",
            r#"{"TableName":"none","Key":{"pk":{"S":"a"}}}"#,
            &["GetItem table/none leading=? attributes=pk select=ALL_ATTRIBUTES"],
        ),
        (
            "GetItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"}},"ProjectionExpression":"a,"}"#,
            &["GetItem table/app leading=a attributes=? select=SPECIFIC_ATTRIBUTES"],
        ),
        // Of two members with one name the last counts, as for the database.
        (
            "DeleteItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"}},"Key":{"pk":{"S":"b"}}}"#,
            &["DeleteItem table/app leading=b attributes=pk"],
        ),
        (
            "DeleteItem",
            r#"{"TableName":"app","Key":{"pk":{"S":"a"},"pk":{"S":"b"}}}"#,
            &["DeleteItem table/app leading=b attributes=pk"],
        ),
        ("GetItem", "[]", &["GetItem table/*"]),
    ]);
}

#[test]
fn reads_of_ranges() {
    check(&[
        (
            "Query",
            r##"{"TableName":"app","KeyConditionExpression":"#p = :p AND sk > :s","FilterExpression":"f.g < :s",
            "ExpressionAttributeNames":{"#p":"pk"},"ExpressionAttributeValues":{":p":{"S":"a#1"},":s":{"N":"1"}}}"##,
            &["Query table/app leading=a#1 attributes=f,pk,sk select=ALL_ATTRIBUTES"],
        ),
        (
            "Query",
            r#"{"TableName":"app","IndexName":"by-day","KeyConditionExpression":":d = wday","Select":"COUNT",
            "ExpressionAttributeValues":{":d":{"S":"mon"}}}"#,
            &["Query table/app/index/by-day leading=mon attributes=wday select=COUNT"],
        ),
        (
            "Query",
            r#"{"TableName":"app","IndexName":"by-day","KeyConditions":{"wday":{"ComparisonOperator":"EQ",
            "AttributeValueList":[{"S":"tue"}]}},"QueryFilter":{"f":{"ComparisonOperator":"NULL"}}}"#,
            &[
                "Query table/app/index/by-day leading=tue attributes=f,wday select=ALL_PROJECTED_ATTRIBUTES",
            ],
        ),
        (
            "Query",
            r#"{"TableName":"app","KeyConditions":{"pk":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"a"}]}}}"#,
            &["Query table/app leading=? attributes=pk select=ALL_ATTRIBUTES"],
        ),
        (
            "Query",
            r#"{"TableName":"app","IndexName":"none","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}"#,
            &["Query table/app/index/none leading=? attributes=pk select=ALL_PROJECTED_ATTRIBUTES"],
        ),
        (
            "Scan",
            r#"{"TableName":"app","ScanFilter":{"f":{"ComparisonOperator":"NULL"}},"AttributesToGet":["g"]}"#,
            &["Scan table/app attributes=f,g select=SPECIFIC_ATTRIBUTES"],
        ),
        (
            "Scan",
            r#"{"TableName":"app","IndexName":"by-day"}"#,
            &["Scan table/app/index/by-day attributes= select=ALL_PROJECTED_ATTRIBUTES"],
        ),
        (
            "SearchVectors",
            r#"{"TableName":"app","IndexName":"v"}"#,
            &["SearchVectors table/app/index/v leading=? attributes="],
        ),
    ]);
}

#[test]
fn batches_and_transactions() {
    check(&[
        (
            "BatchGetItem",
            r#"{"RequestItems":{"app":{"Keys":[{"pk":{"S":"b"},"sk":{"N":"1"}},{"pk":{"S":"a"},"sk":{"N":"2"}}],
            "ProjectionExpression":"v"},"none":{"Keys":[{"k":{"S":"x"}}]}}}"#,
            &[
                "BatchGetItem table/app leading=a,b attributes=pk,sk,v select=SPECIFIC_ATTRIBUTES",
                "BatchGetItem table/none leading=? attributes=k select=ALL_ATTRIBUTES",
            ],
        ),
        (
            "BatchWriteItem",
            r#"{"RequestItems":{"app":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"S":"x"}}}},
            {"DeleteRequest":{"Key":{"pk":{"S":"b"},"sk":{"N":"1"}}}}]}}"#,
            &["BatchWriteItem table/app leading=a,b attributes=pk,sk,v"],
        ),
        (
            "TransactGetItems",
            r#"{"TransactItems":[{"Get":{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}}],"ReturnConsumedCapacity":"TOTAL"}"#,
            &[
                "GetItem table/app leading=a attributes=pk,sk select=ALL_ATTRIBUTES capacity=TOTAL in=TransactGetItems",
            ],
        ),
        (
            "TransactWriteItems",
            r#"{"TransactItems":[
            {"Put":{"TableName":"app","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"S":"x"}}}},
            {"Update":{"TableName":"app","Key":{"pk":{"S":"b"},"sk":{"N":"1"}},"UpdateExpression":"REMOVE w"}},
            {"Delete":{"TableName":"app","Key":{"pk":{"S":"c"},"sk":{"N":"1"}}}},
            {"ConditionCheck":{"TableName":"app","Key":{"pk":{"S":"d"},"sk":{"N":"1"}},"ConditionExpression":"attribute_exists(u)"}}]}"#,
            &[
                "PutItem table/app leading=a attributes=pk,sk,v in=TransactWriteItems",
                "UpdateItem table/app leading=b attributes=pk,sk,w in=TransactWriteItems",
                "DeleteItem table/app leading=c attributes=pk,sk in=TransactWriteItems",
                "ConditionCheckItem table/app leading=d attributes=pk,sk,u in=TransactWriteItems",
            ],
        ),
    ]);
}

/// Statements, the string that is their parameter, and what they need.
const STATEMENTS: &[(&str, Option<&str>, &str)] = &[
    (
        "SELECT * FROM app WHERE pk = ? AND v > 1",
        Some("a"),
        "PartiQLSelect table/app leading=a attributes=pk,v select=ALL_ATTRIBUTES full=false",
    ),
    (
        "SELECT v.w FROM app WHERE pk IN ['a', 'b']",
        None,
        "PartiQLSelect table/app leading=a,b attributes=pk,v select=SPECIFIC_ATTRIBUTES full=false",
    ),
    (
        "SELECT * FROM app WHERE pk = 'a' OR pk = 'b'",
        None,
        "PartiQLSelect table/app leading=a,b attributes=pk select=ALL_ATTRIBUTES full=false",
    ),
    (
        "SELECT * FROM app WHERE pk = 'a' OR v = 1",
        None,
        "PartiQLSelect table/app attributes=pk,v select=ALL_ATTRIBUTES full=true",
    ),
    (
        "SELECT * FROM app",
        None,
        "PartiQLSelect table/app attributes= select=ALL_ATTRIBUTES full=true",
    ),
    (
        "SELECT * FROM app.\\\"by-day\\\" WHERE wday = 'mon'",
        None,
        "PartiQLSelect table/app/index/by-day leading=mon attributes=wday select=ALL_PROJECTED_ATTRIBUTES full=false",
    ),
    (
        "SELECT * FROM app WHERE pk = ?",
        None,
        "PartiQLSelect table/app leading=? attributes=? full=?",
    ),
    (
        "SELECT * FROM none WHERE pk = 'a'",
        None,
        "PartiQLSelect table/none leading=? attributes=? full=?",
    ),
    (
        "INSERT INTO app VALUE {'pk': 'a', 'sk': 1, 'v': ?}",
        Some("x"),
        "PartiQLInsert table/app leading=a attributes=pk,sk,v",
    ),
    (
        "UPDATE app SET v = w REMOVE u WHERE pk = 'a' AND sk = 1 RETURNING ALL OLD *",
        None,
        "PartiQLUpdate table/app leading=a attributes=pk,sk,u,v,w returns=ALL_OLD",
    ),
    ("UPDATE app SET v = 1 WHERE v = 2", None, "PartiQLUpdate table/app leading=? attributes=v"),
    (
        "DELETE FROM app WHERE pk = 'a' AND sk = 1",
        None,
        "PartiQLDelete table/app leading=a attributes=pk,sk",
    ),
];

#[test]
fn statements() {
    for (statement, parameter, expected) in STATEMENTS {
        let parameters = parameter.map(|text| format!(r#","Parameters":[{{"S":"{text}"}}]"#));
        let body = format!(r#"{{"Statement":"{statement}"{}}}"#, parameters.unwrap_or_default());
        check(&[("ExecuteStatement", &body, &[expected])]);
        let batch = format!(r#"{{"Statements":[{body}]}}"#);
        let inside = match expected.split_once(" full=") {
            Some((front, full)) => format!("{front} in=BatchExecuteStatement full={full}"),
            None => format!("{expected} in=BatchExecuteStatement"),
        };
        check(&[("BatchExecuteStatement", &batch, &[&inside])]);
    }
    let exists = "EXISTS(SELECT * FROM app WHERE pk = 'a' AND sk = 1)";
    check(&[
        (
            "ExecuteTransaction",
            &format!(r#"{{"TransactStatements":[{{"Statement":"{exists}"}}]}}"#),
            &[
                "PartiQLSelect table/app leading=a attributes=pk,sk select=ALL_ATTRIBUTES in=ExecuteTransaction full=false",
            ],
        ),
        // The database refuses these before it looks at any table.
        ("ExecuteStatement", r#"{"Statement":"SELEC * FROM app"}"#, &[]),
        ("ExecuteStatement", "{}", &[]),
    ]);
}

const ELSEWHERE: &str = "arn:aws:dynamodb:eu-west-1:999999999999:table/app";

#[test]
fn tables_and_what_belongs_to_them() {
    let arn = |member: &str, rest: &str| format!(r#"{{"{member}":"{ELSEWHERE}{rest}"}}"#);
    check(&[
        ("DescribeTable", r#"{"TableName":"app"}"#, &["DescribeTable table/app"]),
        ("ListTables", "{}", &["ListTables table/*"]),
        (
            "UpdateContributorInsights",
            r#"{"TableName":"app","IndexName":"by-day"}"#,
            &["UpdateContributorInsights table/app/index/by-day"],
        ),
        (
            "CreateTable",
            r#"{"TableName":"new","Tags":[{"Key":"env","Value":"dev"}],"ResourcePolicy":"{}"}"#,
            &[
                "CreateTable table/new tags=env:dev",
                "TagResource table/new tags=env:dev",
                "PutResourcePolicy table/new",
            ],
        ),
        (
            "UntagResource",
            &format!(r#"{{"ResourceArn":"{ELSEWHERE}","TagKeys":["env"]}}"#),
            &["UntagResource table/app tags=env:"],
        ),
        ("PutResourcePolicy", &arn("ResourceArn", ""), &["PutResourcePolicy table/app"]),
        (
            "PutResourcePolicy",
            &arn("ResourceArn", "/stream/now"),
            &["PutResourcePolicy table/app/stream/now"],
        ),
        ("DeleteBackup", &arn("BackupArn", "/backup/1"), &["DeleteBackup table/app/backup/1"]),
        ("DescribeExport", &arn("ExportArn", "/export/1"), &["DescribeExport table/app/export/1"]),
        ("DescribeImport", &arn("ImportArn", "/import/1"), &["DescribeImport table/app/import/1"]),
        (
            "CancelBulkOperation",
            &arn("BulkOperationArn", "/bulk-operation/1"),
            &["CancelBulkOperation table/app/bulk-operation/1"],
        ),
        ("StartBulkPutItems", r#"{"TableName":"app"}"#, &["StartBulkPutItems table/app"]),
        ("ExportTableToPointInTime", &arn("TableArn", ""), &["ExportTableToPointInTime table/app"]),
        (
            "ImportTable",
            r#"{"TableCreationParameters":{"TableName":"new"}}"#,
            &["ImportTable table/new"],
        ),
        (
            "CreateGlobalTable",
            r#"{"GlobalTableName":"app"}"#,
            &["CreateGlobalTable arn:aws:dynamodb::000000000000:global-table/app"],
        ),
        ("ListStreams", r#"{"TableName":"app"}"#, &["ListStreams table/app/stream/*"]),
        ("ListStreams", "{}", &["ListStreams table/*/stream/*"]),
        (
            "DescribeStream",
            &arn("StreamArn", "/stream/now"),
            &["DescribeStream table/app/stream/now"],
        ),
        (
            "GetRecords",
            &arn("ShardIterator", "/stream/now|1|AAAA"),
            &["GetRecords table/app/stream/now"],
        ),
        ("GetRecords", r#"{"ShardIterator":"x"}"#, &["GetRecords table/*/stream/*"]),
    ]);
}

#[test]
fn a_restore_needs_to_write_its_target() {
    let body = r#"{"SourceTableName":"app","TargetTableName":"new"}"#;
    let database = database();
    let needed = needs(
        &database,
        Operation::RestoreTableToPointInTime,
        &json::parse(body.as_bytes()).unwrap(),
    );
    let lines: Vec<String> = needed.iter().map(line).collect();
    assert_eq!(lines[0], "RestoreTableToPointInTime table/app");
    assert_eq!(lines[1], "RestoreTableToPointInTime table/new leading=? attributes=?");
    assert!(lines.contains(&"PutItem table/new leading=? attributes=?".to_owned()), "{lines:?}");
}
