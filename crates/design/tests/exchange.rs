//! Models of other tools: read, written, and back again.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "support/examples.rs"]
mod examples;

use keyloom_design::cost::Prices;
use keyloom_design::exchange::{Lost, ModelFormat, export, import};
use keyloom_design::{CheckReport, check_text};
use serde_json::json;

use examples::examples;

const ALL: [ModelFormat; 6] = [
    ModelFormat::Workbench,
    ModelFormat::OneTable,
    ModelFormat::McpModel,
    ModelFormat::McpSchema,
    ModelFormat::CreateTable,
    ModelFormat::CloudFormation,
];

fn checked(text: &str) -> CheckReport {
    check_text("model.toml", text, &Prices::default())
}

fn designs() -> Vec<(String, String)> {
    examples(|name| !name.contains(".as-written"))
}

/// Key templates by table, entity and attribute, with the keys of tables and indexes.
fn keys_of(report: &CheckReport, only_primary: bool) -> Vec<String> {
    let design = report.design.as_ref().unwrap();
    let mut keys = Vec::new();
    for table in design.tables() {
        for index in &table.indexes {
            let names: Vec<String> =
                index.attributes().map(|it| format!("{}:{}", it.name, it.kind.as_str())).collect();
            keys.push(format!("{}.{} {names:?} {:?}", table.name, index.label(), index.projection));
        }
        for entity in design.entities_in(table) {
            let primary: Vec<&str> =
                table.primary().attributes().map(|it| it.name.as_str()).collect();
            for key in entity
                .keys
                .iter()
                .filter(|key| !only_primary || primary.contains(&key.attribute.as_str()))
            {
                let text = key.shape.template().text();
                // Formats inside braces are what other tools do not have.
                let strip = |(at, part): (usize, &str)| match part.split_once('}') {
                    Some((field, rest)) if at > 0 => {
                        format!("{{{}}}{rest}", field.split(':').next().unwrap())
                    }
                    _ => part.to_owned(),
                };
                let bare: String = text.split('{').enumerate().map(strip).collect();
                keys.push(format!("{}.{} = {bare}", entity.name, key.attribute));
            }
        }
    }
    keys.sort();
    keys
}

fn is_about(lost: &[Lost], what: &str) -> bool {
    lost.iter().any(|one| one.what.contains(what))
}

#[test]
fn designs_come_back_from_formats_that_can_carry_their_keys() {
    for (name, text) in designs() {
        let report = checked(&text);
        let design = report.design.as_ref().unwrap();
        for format in ALL {
            let (model, lost) = export(&report, design, format);
            if format == ModelFormat::CloudFormation {
                // YAML is read by the command, which has a test of its own.
                continue;
            }
            let back = import(&model, None, &design.tables()[0].name)
                .unwrap_or_else(|error| panic!("{name} {format:?}: {error}\n{model}"));
            assert_eq!(back.format, format, "{name}");
            let again = checked(&back.text);
            assert!(again.is_whole, "{name} {format:?}:\n{}\n{:?}", back.text, again.findings);
            let templates = matches!(
                format,
                ModelFormat::OneTable | ModelFormat::McpSchema | ModelFormat::Workbench
            );
            if templates && design.tables().len() == 1 && !is_about(&lost, "index ") {
                let only_primary = format == ModelFormat::Workbench;
                assert_eq!(
                    keys_of(&again, only_primary),
                    keys_of(&report, only_primary),
                    "{name} {format:?}\n{}",
                    back.text
                );
            }
            for entity in design.entities() {
                let carried =
                    templates && again.design.as_ref().unwrap().entity(&entity.name).is_some();
                assert!(
                    carried || is_about(&lost, &entity.name) || is_about(&lost, &entity.table.name),
                    "{name} {format:?}: {}",
                    entity.name
                );
            }
        }
    }
}

#[test]
fn nothing_is_lost_in_silence() {
    let text = r#"
[table.app]
partition_key = "PK"
sort_key      = "SK"
ttl           = "gone"

[table.app.index.GSI1]
partition_key = "GSI1PK"

[entity.Task]
PK     = "TASK#{task}"
SK     = "{at:date}#{number}#{shard}"
GSI1PK = { template = "OPEN#{owner}", when = "state = 'open'" }
count  = 10

[entity.Task.fields]
task   = "ulid"
at     = "datetime"
number = { type = "u32", width = 6 }
shard  = { type = "shard", shards = 4, by = "task" }
owner  = "token"
state  = { type = "string", values = ["open", "done"] }
gone   = "number"

[access."open tasks"]
find  = "Task"
where = "owner = ? and state = 'open'"
"#;
    let report = checked(text);
    let design = report.design.as_ref().unwrap();
    for (format, missing) in [
        (
            ModelFormat::Workbench,
            &["{at}", "{number}", "{shard}", "GSI1PK", "ttl", "open tasks", "volumes"][..],
        ),
        (ModelFormat::OneTable, &["{at}", "{shard}", "when", "open tasks", "volumes", "_type"]),
        (ModelFormat::McpSchema, &["{at}", "{number}", "{shard}", "when", "ttl", "volumes"]),
        (ModelFormat::McpModel, &["entity Task", "open tasks"]),
        (ModelFormat::CreateTable, &["entity Task", "ttl"]),
    ] {
        let (_, lost) = export(&report, design, format);
        for what in missing {
            let all = format!("{lost:?}");
            assert!(all.contains(what), "{format:?}: {what}\n{lost:#?}");
        }
    }
    let (schema, lost) = export(&report, design, ModelFormat::OneTable);
    assert!(schema.contains("${number:6:0}"), "{schema}");
    assert!(!format!("{lost:?}").contains("{number}"), "OneTable pads");
}

#[test]
fn a_workbench_model_is_read() {
    let facets = r#"{"ModelName": "Shop", "ModelMetadata": {"Version": "3.0", "Description": "orders"}, "DataModel": [{
        "TableName": "shop",
        "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}, "SortKey": {"AttributeName": "SK", "AttributeType": "S"}},
        "NonKeyAttributes": [{"AttributeName": "email", "AttributeType": "S"}, {"AttributeName": "age", "AttributeType": "N"}],
        "TableFacets": [
            {"FacetName": "User", "KeyAttributeAlias": {"PartitionKeyAlias": "USER#<user id>", "SortKeyAlias": "PROFILE"}, "NonKeyAttributes": ["email", "age"]},
            {"FacetName": "Order", "KeyAttributeAlias": {"PartitionKeyAlias": "USER#<user id>", "SortKeyAlias": "ORDER#<number>"}, "NonKeyAttributes": []}],
        "BillingMode": "PROVISIONED", "DataAccess": {"MySql": {}}}]}"#;
    let read = import(facets, None, "x").unwrap();
    assert!(
        read.text.contains("PK  = \"USER#{user_id}\"") || read.text.contains("USER#{user_id}"),
        "{}",
        read.text
    );
    assert!(
        read.text.contains("ORDER#{number}") && read.text.contains("age     = \"number\""),
        "{}",
        read.text
    );
    assert!(is_about(&read.lost, "ProvisionedCapacitySettings"), "{:?}", read.lost);
    assert!(!checked(&read.text).has_errors(), "{}", read.text);
    let with_data = facets.replace("USER#<user id>", "PK").replace("ORDER#<number>", "SK").replace("\"DataAccess\"", r#""TableData": [
        {"PK": {"S": "USER#ann"}, "SK": {"S": "PROFILE"}, "email": {"S": "a@b.c"}},
        {"PK": {"S": "USER#ann"}, "SK": {"S": "ORDER#0007"}, "number": {"N": "7"}},
        {"PK": {"S": "USER#bob"}, "SK": {"S": "ORDER#0012"}, "number": {"N": "12"}}], "DataAccess""#);
    let read = import(&with_data, None, "x").unwrap();
    assert!(
        read.text.contains("ORDER#{number}") && read.text.contains("number  = \"u16:4\""),
        "{}",
        read.text
    );
}

#[test]
fn a_onetable_schema_is_read() {
    let schema = r#"{"format": "onetable:1.1.0", "version": "0.0.1",
        "indexes": {"primary": {"hash": "pk", "sort": "sk"}, "gs1": {"hash": "gs1pk", "sort": "gs1sk", "project": ["email"]}},
        "models": {"Account": {
            "pk": {"type": "String", "value": "${_type}:${id}"}, "sk": {"type": "String", "value": "${_type}:"},
            "id": {"type": "String", "generate": "ulid"}, "version": {"type": "Number", "required": true},
            "gs1pk": {"type": "String", "value": "version:${version:5:0}"}, "gs1sk": {"type": "String", "value": "x"},
            "status": {"type": "String", "enum": ["active", "gone"], "default": "active"},
            "email": {"type": "String", "unique": true}, "expires": {"type": "Date", "ttl": true}}},
        "params": {"isoDates": true, "timestamps": true}}"#;
    let read = import(schema, None, "accounts").unwrap();
    for wanted in [
        "[table.accounts]",
        "separator      = \":\"",
        "type_attribute = \"_type\"",
        "Account:{id}",
        "version:{version}",
        "\"u64:5\"",
        "ttl            = \"expires\"",
        "created",
    ] {
        assert!(read.text.contains(wanted), "{wanted}\n{}", read.text);
    }
    assert!(
        is_about(&read.lost, "email: unique") && is_about(&read.lost, "status: default"),
        "{:?}",
        read.lost
    );
    assert!(checked(&read.text).is_whole, "{}", read.text);
}

#[test]
fn mapped_fields_of_onetable_have_the_names_of_their_attributes() {
    let schema = r#"{
        "format": "onetable:1.1.0", "version": "0.0.1",
        "indexes": {"primary": {"hash": "pk", "sort": "sk"}, "gs1": {"hash": "gs1pk", "sort": "gs1sk", "project": ["gs1pk", "data"]}},
        "models": {"User": {
            "primaryHash": {"type": "string", "value": "us#${email}", "map": "pk"},
            "primarySort": {"type": "string", "value": "us#", "map": "sk"},
            "gs1pk": {"type": "string", "value": "ty#us"},
            "index": {"type": "string", "value": "us#${email:20:0}", "map": "gs1sk"},
            "email": {"type": "string", "map": "em", "required": true},
            "city": {"type": "string", "map": "data.c"}, "zip": {"type": "string", "map": "data.z"}
        }}
    }"#;
    let read = import(schema, None, "users").unwrap();
    for line in [
        "pk    = \"us#{em}\"",
        "gs1sk = \"us#{em}\"",
        "em   = \"string\"",
        "data = { type = \"map\"",
    ] {
        assert!(read.text.contains(line), "{line}\n{}", read.text);
    }
    assert!(is_about(&read.lost, "city") && is_about(&read.lost, "zip"), "{:?}", read.lost);
    let report = checked(&read.text);
    assert!(report.is_whole, "{}\n{:?}", read.text, report.findings);
}

#[test]
fn templates_and_descriptions_are_read() {
    let template = r#"{"AWSTemplateFormatVersion": "2010-09-09", "Resources": {
        "Orders": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Ref": "Name"},
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}, {"AttributeName": "day", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [{"IndexName": "by_day", "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}], "Projection": {"ProjectionType": "KEYS_ONLY"}}],
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": true}, "SSESpecification": {"SSEEnabled": true}}},
        "Queue": {"Type": "AWS::SQS::Queue"}}}"#;
    let read = import(template, None, "x").unwrap();
    for wanted in
        ["[table.Orders]", "\"id:N\"", "projection    = \"keys\"", "ttl           = \"ttl\""]
    {
        assert!(read.text.contains(wanted), "{wanted}\n{}", read.text);
    }
    for what in ["TableName", "SSESpecification", "Queue"] {
        assert!(is_about(&read.lost, what), "{what}: {:?}", read.lost);
    }
    let described = r#"{"Table": {"TableName": "orders", "TableStatus": "ACTIVE", "ItemCount": 3,
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}, {"AttributeName": "b", "AttributeType": "S"}, {"AttributeName": "c", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}],
        "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "ALL"}}],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}, "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}}}"#;
    let read = import(described, None, "x").unwrap();
    assert!(
        read.text.contains("local    = true") && read.text.contains("stream        = \"new\""),
        "{}",
        read.text
    );
    assert!(checked(&read.text).is_whole, "{}", read.text);
}

#[expect(clippy::too_many_lines, reason = "a template and what is made of it")]
#[test]
fn functions_of_templates_are_calculated_or_named() {
    let template = r#"{
        "Parameters": {
            "Stage": {"Type": "String", "Default": "dev"},
            "Key": {"Type": "String", "Default": "PK"},
            "Mode": {"Type": "String"},
            "Zones": {"Type": "CommaDelimitedList", "Default": "a, b"}
        },
        "Mappings": {"Names": {"dev": {"sort": "SK"}}},
        "Conditions": {
            "IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
            "Streams": {"Fn::And": [{"Fn::Not": [{"Condition": "IsProd"}]}, {"Fn::Equals": ["x", "x"]}]},
            "Loop": {"Condition": "Loop"}
        },
        "Resources": {
            "Orders": {
                "Type": "AWS::DynamoDB::Table",
                "Properties": {
                    "TableName": {"Fn::Sub": "orders-${Stage}"},
                    "AttributeDefinitions": [
                        {"AttributeName": {"Ref": "Key"}, "AttributeType": "S"},
                        {"AttributeName": "SK", "AttributeType": "N"},
                        {"AttributeName": "b", "AttributeType": "S"}
                    ],
                    "KeySchema": [
                        {"AttributeName": {"Ref": "Key"}, "KeyType": "HASH"},
                        {"AttributeName": {"Fn::FindInMap": ["Names", {"Ref": "Stage"}, "sort"]}, "KeyType": "RANGE"}
                    ],
                    "BillingMode": {"Fn::If": ["IsProd", "PROVISIONED", {"Ref": "AWS::NoValue"}]},
                    "StreamSpecification": {"Fn::If": ["Streams", {"StreamViewType": "NEW_IMAGE"}, {"Ref": "AWS::NoValue"}]},
                    "TableClass": {"Ref": "Mode"},
                    "GlobalSecondaryIndexes": [{
                        "IndexName": {"Fn::Join": ["-", ["by", {"Fn::Select": ["1", {"Ref": "Zones"}]}]]},
                        "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": {"Fn::If": ["Loop", "ALL", "KEYS_ONLY"]}}
                    }]
                }
            },
            "Named": {
                "Type": "AWS::DynamoDB::Table",
                "Condition": "IsProd",
                "Properties": {
                    "TableName": {"Fn::Sub": "${AWS::StackName}-named"},
                    "KeySchema": [{"AttributeName": {"Fn::ImportValue": "key"}, "KeyType": "HASH"}]
                }
            },
            "Simple": {"Type": "AWS::Serverless::SimpleTable", "Properties": {"PrimaryKey": {"Name": "id", "Type": "Number"}}},
            "Topic": {"Type": "AWS::SNS::Topic"}
        }
    }"#;
    let found = import(template, None, "table").unwrap();
    for line in [
        "[table.orders-dev]",
        "partition_key = \"PK\"",
        "sort_key      = \"SK:N\"",
        "stream        = \"new\"",
        ".index.by-b]",
        "[table.Simple]",
        "partition_key = \"id:N\"",
    ] {
        assert!(found.text.contains(line), "{line}\n{}", found.text);
    }
    assert!(!found.text.contains("provisioned"), "{}", found.text);
    for (what, why) in [
        ("resource Orders: TableClass", "`Ref` is calculated"),
        ("Projection.ProjectionType", "`Fn::If` is calculated"),
        ("resource Named: TableName", "called Named here"),
        ("resource Named: KeySchema", "`Fn::ImportValue` is calculated"),
        ("resource Named: Condition", "whether `IsProd` holds"),
        ("resource Named", "not stated"),
        ("resource Topic", "AWS::SNS::Topic is no table"),
        ("parameter Stage", "default"),
    ] {
        let is_said = |lost: &Lost| lost.what.contains(what) && lost.why.contains(why);
        assert!(found.lost.iter().any(is_said), "{what}: {:?}", found.lost);
    }
}

/// A condition may use others many times, and those others; or itself, also in a value.
#[test]
fn conditions_that_use_each_other_are_judged_once() {
    let mut conditions = serde_json::Map::new();
    for at in 0..15 {
        let next = json!({ "Condition": format!("c{}", at + 1) });
        conditions.insert(format!("c{at}"), json!({ "Fn::Or": vec![next; 10] }));
    }
    conditions.insert("c15".into(), json!({ "Fn::Equals": ["a", "a"] }));
    let own = json!({ "Fn::If": ["self", "a", "b"] });
    conditions.insert("self".into(), json!({ "Fn::Equals": [own, "a"] }));
    let billing = |condition: &str| {
        let template = json!({
            "Conditions": conditions,
            "Resources": { "Orders": { "Type": "AWS::DynamoDB::Table", "Properties": {
                "AttributeDefinitions": [{ "AttributeName": "PK", "AttributeType": "S" }],
                "KeySchema": [{ "AttributeName": "PK", "KeyType": "HASH" }],
                "TableClass": { "Fn::If": [condition, "STANDARD_INFREQUENT_ACCESS", "STANDARD"] },
            } } },
        });
        import(&template.to_string(), None, "table").unwrap()
    };
    let found = billing("c0");
    assert!(found.text.contains("infrequent-access") && found.lost.is_empty(), "{}", found.text);
    let found = billing("self");
    assert!(found.lost.iter().any(|lost| lost.why.contains("`Fn::If` is calculated")));
}

#[test]
fn filters_and_projections_of_mcp_schemas_are_carried_over() {
    let schema = r#"{"tables": [{
        "table_config": {"table_name": "parcels", "partition_key": "pk", "sort_key": "sk"},
        "gsi_list": [{"name": "ByCity", "partition_key": "city", "sort_key": "at", "projection": "INCLUDE", "included_attributes": ["fee"]}],
        "entities": {"Parcel": {
            "entity_type": "PARCEL", "pk_template": "CUSTOMER#{customer}", "sk_template": "PARCEL#{at}",
            "gsi_mappings": [{"name": "ByCity", "pk_template": "{city}", "sk_template": "{at}"}],
            "fields": [
                {"name": "customer", "type": "string"}, {"name": "at", "type": "string"}, {"name": "city", "type": "string"},
                {"name": "fee", "type": "decimal"}, {"name": "note", "type": "string", "required": false},
                {"name": "tags", "type": "array", "required": false}
            ],
            "access_patterns": [
                {"name": "costly", "operation": "Query", "parameters": [{"name": "customer"}, {"name": "least"}, {"name": "most"}],
                 "filter_expression": {"conditions": [{"field": "fee", "operator": "between", "param": "least", "param2": "most"},
                   {"field": "note", "function": "attribute_exists"}, {"field": "tags", "function": "contains", "param": "tag"}]}},
                {"name": "in_city", "operation": "Query", "index_name": "ByCity", "parameters": [{"name": "city"}]},
                {"name": "either", "operation": "Query", "parameters": [{"name": "customer"}],
                 "filter_expression": {"logical_operator": "OR", "conditions": [{"field": "fee", "operator": ">", "param": "x"}]}},
                {"name": "long", "operation": "Query", "parameters": [{"name": "customer"}],
                 "filter_expression": {"conditions": [{"field": "tags", "function": "size", "operator": ">", "param": "x"}]}}
            ]
        }}
    }]}"#;
    let found = import(schema, None, "table").unwrap();
    let report = checked(&found.text);
    assert!(report.is_whole, "{}\n{:?}", found.text, report.findings);
    let filtered = "customer = ? and fee between ? and ? and exists(note) and contains(tags, ?)";
    assert!(found.text.contains(filtered), "{}", found.text);
    assert!(
        found.text.contains("returns = [\"customer\", \"at\", \"city\", \"fee\"]"),
        "{}",
        found.text
    );
    assert!(!report.has_errors(), "{}\n{:?}", found.text, report.findings);
    assert!(is_about(&found.lost, "either") && is_about(&found.lost, "long"), "{:?}", found.lost);
}

#[test]
fn what_is_no_model_is_refused_with_the_reason() {
    for (text, reason) in [
        ("", "no JSON"),
        ("{}", "--from"),
        ("[1, 2]", "--from"),
        ("Resources:\n  A:\n", "no JSON"),
        (r#"{"DataModel": []}"#, "no table"),
        (r#"{"Resources": {"A": {"Type": "AWS::DynamoDB::Table"}}}"#, "no table"),
        (r#"{"format": "onetable:1.1.0", "indexes": {}, "models": {}}"#, "no table"),
    ] {
        let error = import(text, None, "table").unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
    for format in ALL {
        for text in [
            "null",
            "[]",
            "3",
            r#"{"tables": 3, "models": [], "indexes": 1, "DataModel": {}, "Resources": []}"#,
        ] {
            assert!(import(text, Some(format), "table").is_err(), "{format:?} {text}");
        }
    }
}
