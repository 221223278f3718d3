//! Templates of CloudFormation, SAM and the Serverless framework: their tables.

use serde_json::{Map, Value as Json, json};

use super::intrinsics::{Resolver, is_calculated};
use super::{Lost, Reading, table, text, without_entities};

/// The part of a document that has resources: all of it, or `resources` of a `serverless.yml`.
fn template(document: &Json) -> &Json {
    let inner = document.get("resources").filter(|inner| inner.get("Resources").is_some());
    inner.unwrap_or(document)
}

/// Whether a document has resources.
pub(super) fn is_template(document: &Json) -> bool {
    template(document).get("Resources").is_some()
}

/// Reads the tables of a template.
pub(super) fn read(document: &Json, reading: &mut Reading) {
    let template = template(document);
    let resolver = Resolver::new(template);
    let resources = template.get("Resources").and_then(Json::as_object);
    for (name, resource) in resources.into_iter().flatten() {
        let kind = text(resource, "Type").unwrap_or_default();
        let place = format!("resource {name}");
        let properties = resource.get("Properties").unwrap_or(&Json::Null);
        let mut properties = match kind {
            "AWS::DynamoDB::Table" | "AWS::DynamoDB::GlobalTable" => resolver.resolved(properties),
            "AWS::Serverless::SimpleTable" => simple_table(&resolver.resolved(properties)),
            _ => {
                let what = if kind.is_empty() { "it" } else { kind };
                reading.lost.push(Lost::new(place, format!("{what} is no table")));
                continue;
            }
        };
        if let Some(condition) = text(resource, "Condition") {
            let why = format!("the design has the table whether `{condition}` holds or not");
            reading.lost.push(Lost::new(format!("{place}: Condition"), why));
        }
        if is_calculated(properties.get("TableName")) {
            let why = format!(
                "it is calculated when the stack is deployed; the table is called {name} here"
            );
            reading.lost.push(Lost::new(format!("{place}: TableName"), why));
            if let Some(members) = properties.as_object_mut() {
                members.remove("TableName");
            }
        }
        for (member, function) in unknown(&properties) {
            let why =
                format!("`{function}` is calculated when the stack is deployed; write it by hand");
            reading.lost.push(Lost::new(format!("{place}: {member}"), why));
        }
        match table::table(&properties, name, &mut reading.lost) {
            Some(table) => reading.draft.tables.push(table),
            None => {
                reading.lost.push(Lost::new(place, "its key schema is not stated in the template"));
            }
        }
    }
    for parameter in resolver.defaults() {
        let why = "it is taken with its default value";
        reading.lost.push(Lost::new(format!("parameter {parameter}"), why));
    }
    without_entities(reading);
}

/// A table of SAM as CloudFormation has it.
fn simple_table(properties: &Json) -> Json {
    let key = properties.get("PrimaryKey");
    let name = key.and_then(|key| text(key, "Name")).unwrap_or("id");
    let kind = match key.and_then(|key| text(key, "Type")) {
        Some("Number") => "N",
        Some("Binary") => "B",
        _ => "S",
    };
    let mut members = Map::new();
    for member in ["TableName", "ProvisionedThroughput", "SSESpecification", "Tags"] {
        members.extend(properties.get(member).map(|value| (member.to_owned(), value.clone())));
    }
    members.insert("KeySchema".to_owned(), json!([{ "AttributeName": name, "KeyType": "HASH" }]));
    members.insert(
        "AttributeDefinitions".to_owned(),
        json!([{ "AttributeName": name, "AttributeType": kind }]),
    );
    Json::Object(members)
}

/// The members that a design is made of and that have functions without a value, each with its function.
fn unknown(properties: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for member in [
        "KeySchema",
        "AttributeDefinitions",
        "GlobalSecondaryIndexes",
        "LocalSecondaryIndexes",
        "BillingMode",
        "TableClass",
        "StreamSpecification",
        "TimeToLiveSpecification",
    ] {
        collect(member, properties.get(member), &mut found);
    }
    found
}

fn collect(path: &str, value: Option<&Json>, found: &mut Vec<(String, String)>) {
    let Some(value) = value else { return };
    if let Some(function) = super::intrinsics::function_of(value) {
        found.push((path.to_owned(), function.to_owned()));
        return;
    }
    match value {
        Json::Array(list) => {
            for one in list {
                let label = text(one, "IndexName").or_else(|| text(one, "AttributeName"));
                let path = label.map_or_else(|| path.to_owned(), |label| format!("{path} {label}"));
                collect(&path, Some(one), found);
            }
        }
        Json::Object(members) => {
            // Capacities do not matter here.
            for (name, one) in members.iter().filter(|(name, _)| !name.contains("Throughput")) {
                collect(&format!("{path}.{name}"), Some(one), found);
            }
        }
        _ => {}
    }
}
