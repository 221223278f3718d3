//! Models of other tools: read, written, and back again.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::{Path, PathBuf};

use keyloom_design::cost::Prices;
use keyloom_design::exchange::{Lost, ModelFormat, export, import};
use keyloom_design::{CheckReport, check_text};

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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named = files.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        let as_written = path.file_stem()?.to_str()?.ends_with(".as-written");
        let wanted = path.extension()? == "toml" && !as_written;
        wanted.then(|| (name, std::fs::read_to_string(path).unwrap()))
    });
    named.collect()
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
                assert!(import(&model, None, "table").unwrap_err().contains("YAML"));
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

#[test]
fn what_is_no_model_is_refused_with_the_reason() {
    for (text, reason) in [
        ("", "no JSON"),
        ("{}", "--from"),
        ("[1, 2]", "--from"),
        ("Resources:\n  A:\n", "no JSON"),
        ("AWSTemplateFormatVersion: 2010\nResources:\n  A: 1\n", "YAML"),
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
