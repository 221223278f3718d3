//! A CloudFormation template.

use serde_json::{Map, Value as Json, json};

use super::create_table::{properties, view_type};
use super::{pascal_case, tables};
use crate::check::CheckReport;
use crate::model::Design;

pub(super) fn text(design: &Design, report: &CheckReport) -> String {
    let mut resources = Map::new();
    let mut outputs = Map::new();
    for table in tables(design) {
        let mut body = properties(report, table);
        // CloudFormation states streams without the switch, and has TTL in the table.
        if let Some(stream) = table.stream {
            let view = json!({ "StreamViewType": view_type(stream) });
            body.insert("StreamSpecification".into(), view);
        }
        if let Some(attribute) = &table.ttl {
            let ttl = json!({ "AttributeName": attribute, "Enabled": true });
            body.insert("TimeToLiveSpecification".into(), ttl);
        }
        let id = format!("{}Table", pascal_case(&table.name));
        resources.insert(
            id.clone(),
            json!({
                "Type": "AWS::DynamoDB::Table",
                "DeletionPolicy": "Retain",
                "UpdateReplacePolicy": "Retain",
                "Properties": Json::Object(body),
            }),
        );
        outputs.insert(format!("{id}Arn"), json!({ "Value": { "Fn::GetAtt": [id, "Arn"] } }));
    }
    let template = json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": format!("Tables of the design {}", design.name()),
        "Resources": resources,
        "Outputs": outputs,
    });
    let mut text = serde_json::to_string_pretty(&template).unwrap_or_default();
    text.push('\n');
    text
}
