//! Terraform configuration (AWS provider 6.29 or later, for keys of several attributes).

use std::fmt::Write as _;

use super::{Capacity, capacity_of, positions, stream_view};
use crate::check::CheckReport;
use crate::model::{Billing, Design, Index, IndexKind, Projection, Table, TableClass};

/// The tables of a checked design as `aws_dynamodb_table` resources.
pub fn terraform(report: &CheckReport, design: &Design) -> String {
    let mut out = String::from(
        "terraform {\n  required_providers {\n    aws = {\n      source  = \"hashicorp/aws\"\n      \
         version = \">= 6.29\"\n    }\n  }\n}\n",
    );
    for table in design.tables() {
        out.push('\n');
        write_table(&mut out, report, table);
    }
    out
}

fn write_table(out: &mut String, report: &CheckReport, table: &Table) {
    let _ = writeln!(out, "resource \"aws_dynamodb_table\" {} {{", quoted(&snake(&table.name)));
    setting(out, 1, "name", &quoted(&table.name));
    let provisioned = table.billing == Billing::Provisioned;
    let mode = if provisioned { "PROVISIONED" } else { "PAY_PER_REQUEST" };
    setting(out, 1, "billing_mode", &quoted(mode));
    if provisioned {
        write_capacity(out, 1, capacity_of(report, table, 0));
    }
    for (name, attributes) in
        [("hash_key", &table.primary().hash), ("range_key", &table.primary().range)]
    {
        if let Some(attribute) = attributes.first() {
            setting(out, 1, name, &quoted(&attribute.name));
        }
    }
    if table.class == TableClass::InfrequentAccess {
        setting(out, 1, "table_class", &quoted("STANDARD_INFREQUENT_ACCESS"));
    }
    if let Some(view) = table.stream {
        setting(out, 1, "stream_enabled", "true");
        setting(out, 1, "stream_view_type", &quoted(stream_view(view)));
    }
    for attribute in table.key_attributes() {
        let _ = writeln!(out, "\n  attribute {{");
        setting(out, 2, "name", &quoted(&attribute.name));
        setting(out, 2, "type", &quoted(attribute.kind.as_str()));
        let _ = writeln!(out, "  }}");
    }
    for (at, index) in positions(table) {
        write_index(out, index, provisioned.then(|| capacity_of(report, table, at)));
    }
    if let Some(attribute) = &table.ttl {
        let _ = writeln!(out, "\n  ttl {{");
        setting(out, 2, "attribute_name", &quoted(attribute));
        setting(out, 2, "enabled", "true");
        let _ = writeln!(out, "  }}");
    }
    let _ = writeln!(out, "\n  point_in_time_recovery {{\n    enabled = true\n  }}");
    let _ = writeln!(out, "\n  lifecycle {{\n    prevent_destroy = true\n  }}\n}}");
}

fn write_index(out: &mut String, index: &Index, capacity: Option<Capacity>) {
    if index.kind == IndexKind::Local {
        let _ = writeln!(out, "\n  local_secondary_index {{");
        setting(out, 2, "name", &quoted(index.label()));
        if let Some(attribute) = index.range.first() {
            setting(out, 2, "range_key", &quoted(&attribute.name));
        }
    } else {
        let _ = writeln!(out, "\n  global_secondary_index {{");
        setting(out, 2, "name", &quoted(index.label()));
        if let Some(capacity) = capacity {
            write_capacity(out, 2, capacity);
        }
    }
    write_projection(out, &index.projection);
    if index.kind == IndexKind::Global {
        let hash = index.hash.iter().map(|attribute| (attribute, "HASH"));
        let range = index.range.iter().map(|attribute| (attribute, "RANGE"));
        for (attribute, kind) in hash.chain(range) {
            let _ = writeln!(out, "\n    key_schema {{");
            setting(out, 3, "attribute_name", &quoted(&attribute.name));
            setting(out, 3, "key_type", &quoted(kind));
            let _ = writeln!(out, "    }}");
        }
    }
    let _ = writeln!(out, "  }}");
}

fn write_projection(out: &mut String, projection: &Projection) {
    let (kind, names) = match projection {
        Projection::All => ("ALL", None),
        Projection::Keys => ("KEYS_ONLY", None),
        Projection::Include(names) => ("INCLUDE", Some(names)),
    };
    setting(out, 2, "projection_type", &quoted(kind));
    if let Some(names) = names {
        let list: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        setting(out, 2, "non_key_attributes", &format!("[{}]", list.join(", ")));
    }
}

fn write_capacity(out: &mut String, depth: usize, capacity: Capacity) {
    setting(out, depth, "read_capacity", &capacity.read.to_string());
    setting(out, depth, "write_capacity", &capacity.write.to_string());
}

fn setting(out: &mut String, depth: usize, name: &str, value: &str) {
    let _ = writeln!(out, "{}{name} = {value}", "  ".repeat(depth));
}

/// A text in quotes; `${` would begin an interpolation.
fn quoted(text: &str) -> String {
    format!("{text:?}").replace("${", "$${").replace("%{", "%%{")
}

fn snake(name: &str) -> String {
    let lower = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let text: String = name.chars().map(lower).collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) { format!("table_{text}") } else { text }
}
