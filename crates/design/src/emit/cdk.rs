//! A CDK construct in TypeScript, with `TableV2`.

use std::fmt::Write as _;

use super::{capacity_of, pascal, positions};
use crate::check::CheckReport;
use crate::model::{
    Billing, Design, Index, IndexKind, KeyAttribute, KeyType, Projection, StreamView, Table,
    TableClass,
};

/// The tables of a checked design as one CDK construct.
pub fn cdk(report: &CheckReport, design: &Design) -> String {
    let class = format!("{}Tables", pascal(design.name()));
    let mut out = String::from(
        "import { RemovalPolicy } from 'aws-cdk-lib';\nimport * as dynamodb from 'aws-cdk-lib/aws-dynamodb';\n\
         import { Construct } from 'constructs';\n\n",
    );
    let _ = writeln!(out, "export class {class} extends Construct {{");
    for table in design.tables() {
        let _ = writeln!(out, "  readonly {}: dynamodb.TableV2;", camel(&table.name));
    }
    out.push_str("\n  constructor(scope: Construct, id: string) {\n    super(scope, id);\n");
    for table in design.tables() {
        out.push('\n');
        write_table(&mut out, report, table);
    }
    out.push_str("  }\n}\n");
    out
}

fn write_table(out: &mut String, report: &CheckReport, table: &Table) {
    let (member, id) = (camel(&table.name), pascal(&table.name));
    let _ = writeln!(out, "    this.{member} = new dynamodb.TableV2(this, '{id}', {{");
    let mut line = |text: String| {
        let _ = writeln!(out, "      {text},");
    };
    line(format!("tableName: {}", quoted(&table.name)));
    if let Some(key) = table.primary().hash.first() {
        line(format!("partitionKey: {}", attribute(key)));
    }
    if let Some(key) = table.primary().range.first() {
        line(format!("sortKey: {}", attribute(key)));
    }
    line(format!("billing: {}", billing(report, table)));
    if let Some(name) = &table.ttl {
        line(format!("timeToLiveAttribute: {}", quoted(name)));
    }
    if let Some(view) = table.stream {
        line(format!("dynamoStream: dynamodb.StreamViewType.{}", stream(view)));
    }
    if table.class == TableClass::InfrequentAccess {
        line("tableClass: dynamodb.TableClass.STANDARD_INFREQUENT_ACCESS".to_owned());
    }
    line("pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true }".to_owned());
    line("removalPolicy: RemovalPolicy.RETAIN".to_owned());
    for (kind, name) in
        [(IndexKind::Global, "globalSecondaryIndexes"), (IndexKind::Local, "localSecondaryIndexes")]
    {
        let list: Vec<String> = positions(table)
            .filter(|(_, index)| index.kind == kind)
            .map(|(_, index)| format!("        {}", secondary(index)))
            .collect();
        if !list.is_empty() {
            line(format!("{name}: [\n{},\n      ]", list.join(",\n")));
        }
    }
    let _ = writeln!(out, "    }});");
}

fn billing(report: &CheckReport, table: &Table) -> String {
    if table.billing == Billing::OnDemand {
        return "dynamodb.Billing.onDemand()".to_owned();
    }
    let capacity = capacity_of(report, table, 0);
    let (read, write) = (capacity.read, capacity.write);
    format!(
        "dynamodb.Billing.provisioned({{ readCapacity: dynamodb.Capacity.fixed({read}), \
         writeCapacity: dynamodb.Capacity.autoscaled({{ maxCapacity: {write} }}) }})"
    )
}

fn secondary(index: &Index) -> String {
    let mut parts = vec![format!("indexName: {}", quoted(index.label()))];
    let list = |keys: &[KeyAttribute]| keys.iter().map(attribute).collect::<Vec<_>>().join(", ");
    match (index.kind, index.is_multi_attribute()) {
        (IndexKind::Local, _) => parts.push(format!("sortKey: {}", list(&index.range))),
        (_, true) => {
            parts.push(format!("partitionKeys: [{}]", list(&index.hash)));
            if !index.range.is_empty() {
                parts.push(format!("sortKeys: [{}]", list(&index.range)));
            }
        }
        (_, false) => {
            parts.push(format!("partitionKey: {}", list(&index.hash)));
            if !index.range.is_empty() {
                parts.push(format!("sortKey: {}", list(&index.range)));
            }
        }
    }
    match &index.projection {
        Projection::All => {}
        Projection::Keys => {
            parts.push("projectionType: dynamodb.ProjectionType.KEYS_ONLY".to_owned());
        }
        Projection::Include(names) => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            parts.push("projectionType: dynamodb.ProjectionType.INCLUDE".to_owned());
            parts.push(format!("nonKeyAttributes: [{}]", names.join(", ")));
        }
    }
    format!("{{ {} }}", parts.join(", "))
}

fn attribute(key: &KeyAttribute) -> String {
    let kind = match key.kind {
        KeyType::S => "STRING",
        KeyType::N => "NUMBER",
        KeyType::B => "BINARY",
    };
    format!("{{ name: {}, type: dynamodb.AttributeType.{kind} }}", quoted(&key.name))
}

fn stream(view: StreamView) -> &'static str {
    match view {
        StreamView::KeysOnly => "KEYS_ONLY",
        StreamView::NewImage => "NEW_IMAGE",
        StreamView::OldImage => "OLD_IMAGE",
        StreamView::NewAndOldImages => "NEW_AND_OLD_IMAGES",
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn camel(name: &str) -> String {
    let name = pascal(name);
    let mut chars = name.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + chars.as_str())
}
