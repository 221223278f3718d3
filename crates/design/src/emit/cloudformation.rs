//! A CloudFormation template.

use serde_json::{Map, Value as Json, json};

use super::yaml::yaml;
use super::{capacity_of, create_table, pascal};
use crate::check::CheckReport;
use crate::model::{Design, Table};

/// The tables of a checked design as a CloudFormation template in YAML. Tables outlive their stack.
pub fn cloudformation(report: &CheckReport, design: &Design) -> String {
    let mut resources = Map::new();
    let mut outputs = Map::new();
    for table in design.tables() {
        let name = format!("{}Table", pascal(&table.name));
        outputs.insert(format!("{name}Arn"), json!({ "Value": { "Fn::GetAtt": [name, "Arn"] } }));
        resources.insert(name, resource(report, table));
    }
    let template = json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": description(design),
        "Resources": resources,
        "Outputs": outputs,
    });
    yaml(&template)
}

fn description(design: &Design) -> String {
    match design.description() {
        "" => design.name().to_owned(),
        text => format!("{}: {text}", design.name()),
    }
}

fn resource(report: &CheckReport, table: &Table) -> Json {
    let mut properties =
        create_table::with_capacity(table, &|index| capacity_of(report, table, index));
    if let Json::Object(map) = &mut properties {
        if let Some(stream) = map.get_mut("StreamSpecification").and_then(Json::as_object_mut) {
            // Here the stream is enabled by being described.
            stream.remove("StreamEnabled");
        }
        if let Some(attribute) = &table.ttl {
            let ttl = json!({ "AttributeName": attribute, "Enabled": true });
            map.insert("TimeToLiveSpecification".to_owned(), ttl);
        }
        let recovery = json!({ "PointInTimeRecoveryEnabled": true });
        map.insert("PointInTimeRecoverySpecification".to_owned(), recovery);
    }
    json!({
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": properties,
    })
}
