//! A CDK stack in TypeScript.

use std::fmt::Write as _;

use super::create_table::view_type;
use super::{capacity, pascal_case, tables};
use crate::check::CheckReport;
use crate::model::{
    Design, Index, IndexKind, KeyAttribute, KeyType, Projection, Table, TableClass,
};

pub(super) fn text(design: &Design, report: &CheckReport) -> String {
    let name = pascal_case(design.name());
    let name = if name.is_empty() { "Design".to_owned() } else { name };
    let mut out = String::from(
        "import { RemovalPolicy, Stack, StackProps } from 'aws-cdk-lib';\n\
         import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';\n\
         import { Construct } from 'constructs';\n\n",
    );
    let _ = write!(
        out,
        "export class {name}Stack extends Stack {{\n  constructor(scope: Construct, id: string, props?: StackProps) {{\n    super(scope, id, props);\n"
    );
    for table in tables(design) {
        write_table(&mut out, report, table);
    }
    out.push_str("  }\n}\n");
    out
}

fn write_table(out: &mut String, report: &CheckReport, table: &Table) {
    let primary = table.primary();
    let id = pascal_case(&table.name);
    let _ = writeln!(out, "\n    new dynamodb.TableV2(this, '{id}Table', {{");
    let _ = writeln!(out, "      tableName: {},", quoted(&table.name));
    if let Some(attribute) = primary.hash.first() {
        let _ = writeln!(out, "      partitionKey: {},", key(attribute));
    }
    if let Some(attribute) = primary.range.first() {
        let _ = writeln!(out, "      sortKey: {},", key(attribute));
    }
    match capacity(report, table, primary) {
        None => out.push_str("      billing: dynamodb.Billing.onDemand(),\n"),
        Some(units) => {
            let _ = writeln!(
                out,
                "      billing: dynamodb.Billing.provisioned({{ readCapacity: dynamodb.Capacity.fixed({}), writeCapacity: dynamodb.Capacity.autoscaled({{ maxCapacity: {} }}) }}),",
                units.read, units.write
            );
        }
    }
    if table.class == TableClass::InfrequentAccess {
        out.push_str("      tableClass: dynamodb.TableClass.STANDARD_INFREQUENT_ACCESS,\n");
    }
    if let Some(stream) = table.stream {
        let view = view_type(stream);
        let _ = writeln!(out, "      dynamoStream: dynamodb.StreamViewType.{view},");
    }
    if let Some(attribute) = &table.ttl {
        let _ = writeln!(out, "      timeToLiveAttribute: {},", quoted(attribute));
    }
    write_indexes(out, table, IndexKind::Global, "globalSecondaryIndexes");
    write_indexes(out, table, IndexKind::Local, "localSecondaryIndexes");
    out.push_str("      removalPolicy: RemovalPolicy.RETAIN,\n    });\n");
}

fn write_indexes(out: &mut String, table: &Table, kind: IndexKind, property: &str) {
    let mut indexes = table.secondary().iter().filter(|index| index.kind == kind).peekable();
    if indexes.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "      {property}: [");
    for index in indexes {
        write_index(out, index);
    }
    out.push_str("      ],\n");
}

fn write_index(out: &mut String, index: &Index) {
    let _ = writeln!(out, "        {{\n          indexName: {},", quoted(index.label()));
    let list =
        |attributes: &[KeyAttribute]| attributes.iter().map(key).collect::<Vec<_>>().join(", ");
    if index.kind == IndexKind::Global {
        match index.hash.as_slice() {
            [only] => {
                let _ = writeln!(out, "          partitionKey: {},", key(only));
            }
            several => {
                let _ = writeln!(out, "          partitionKeys: [{}],", list(several));
            }
        }
    }
    match index.range.as_slice() {
        [] => {}
        [only] => {
            let _ = writeln!(out, "          sortKey: {},", key(only));
        }
        several => {
            let _ = writeln!(out, "          sortKeys: [{}],", list(several));
        }
    }
    match &index.projection {
        Projection::All => {}
        Projection::Keys => {
            out.push_str("          projectionType: dynamodb.ProjectionType.KEYS_ONLY,\n");
        }
        Projection::Include(names) => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(
                out,
                "          projectionType: dynamodb.ProjectionType.INCLUDE,\n          nonKeyAttributes: [{}],",
                names.join(", ")
            );
        }
    }
    out.push_str("        },\n");
}

fn key(attribute: &KeyAttribute) -> String {
    let kind = match attribute.kind {
        KeyType::S => "STRING",
        KeyType::N => "NUMBER",
        KeyType::B => "BINARY",
    };
    format!("{{ name: {}, type: dynamodb.AttributeType.{kind} }}", quoted(&attribute.name))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
