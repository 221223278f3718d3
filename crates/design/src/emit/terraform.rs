//! Terraform resources for the AWS provider.

use std::fmt::Write as _;

use super::create_table::view_type;
use super::{capacity, tables};
use crate::check::CheckReport;
use crate::model::{Design, Index, IndexKind, Projection, Table, TableClass};

pub(super) fn text(design: &Design, report: &CheckReport) -> String {
    let native = tables(design).flat_map(Table::secondary).any(Index::is_multi_attribute);
    let mut out = String::new();
    // Keys of several attributes came with 6.29.
    let version = if native { ">= 6.29" } else { ">= 5.0" };
    let _ = write!(
        out,
        "terraform {{\n  required_providers {{\n    aws = {{\n      source  = \"hashicorp/aws\"\n      version = \"{version}\"\n    }}\n  }}\n}}\n"
    );
    for table in tables(design) {
        write_table(&mut out, report, table);
    }
    out
}

fn write_table(out: &mut String, report: &CheckReport, table: &Table) {
    let primary = table.primary();
    let _ =
        writeln!(out, "\nresource \"aws_dynamodb_table\" {} {{", quoted(&identifier(&table.name)));
    let mut pairs = vec![("name", quoted(&table.name))];
    match capacity(report, table, primary) {
        None => pairs.push(("billing_mode", quoted("PAY_PER_REQUEST"))),
        Some(units) => {
            pairs.push(("billing_mode", quoted("PROVISIONED")));
            pairs.push(("read_capacity", units.read.to_string()));
            pairs.push(("write_capacity", units.write.to_string()));
        }
    }
    pairs.extend(primary.hash.first().map(|attribute| ("hash_key", quoted(&attribute.name))));
    pairs.extend(primary.range.first().map(|attribute| ("range_key", quoted(&attribute.name))));
    if table.class == TableClass::InfrequentAccess {
        pairs.push(("table_class", quoted("STANDARD_INFREQUENT_ACCESS")));
    }
    if let Some(stream) = table.stream {
        pairs.push(("stream_enabled", "true".to_owned()));
        pairs.push(("stream_view_type", quoted(view_type(stream))));
    }
    write_pairs(out, 2, &pairs);
    for attribute in table.key_attributes() {
        let _ = writeln!(out, "\n  attribute {{");
        write_pairs(
            out,
            4,
            &[("name", quoted(&attribute.name)), ("type", quoted(attribute.kind.as_str()))],
        );
        out.push_str("  }\n");
    }
    for index in table.secondary() {
        write_index(out, report, table, index);
    }
    if let Some(attribute) = &table.ttl {
        out.push_str("\n  ttl {\n");
        write_pairs(
            out,
            4,
            &[("attribute_name", quoted(attribute)), ("enabled", "true".to_owned())],
        );
        out.push_str("  }\n");
    }
    out.push_str("\n  point_in_time_recovery {\n    enabled = true\n  }\n}\n");
}

fn write_index(out: &mut String, report: &CheckReport, table: &Table, index: &Index) {
    let local = index.kind == IndexKind::Local;
    let block = if local { "local_secondary_index" } else { "global_secondary_index" };
    let _ = writeln!(out, "\n  {block} {{");
    let mut pairs = vec![("name", quoted(index.label()))];
    if !index.is_multi_attribute() {
        if !local {
            pairs.extend(index.hash.first().map(|attribute| ("hash_key", quoted(&attribute.name))));
        }
        pairs.extend(index.range.first().map(|attribute| ("range_key", quoted(&attribute.name))));
    }
    pairs.push((
        "projection_type",
        quoted(match &index.projection {
            Projection::All => "ALL",
            Projection::Keys => "KEYS_ONLY",
            Projection::Include(_) => "INCLUDE",
        }),
    ));
    if let Projection::Include(names) = &index.projection {
        let list: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        pairs.push(("non_key_attributes", format!("[{}]", list.join(", "))));
    }
    if let (false, Some(units)) = (local, capacity(report, table, index)) {
        pairs.push(("read_capacity", units.read.to_string()));
        pairs.push(("write_capacity", units.write.to_string()));
    }
    write_pairs(out, 4, &pairs);
    if index.is_multi_attribute() {
        let hash = index.hash.iter().map(|attribute| (attribute, "HASH"));
        let range = index.range.iter().map(|attribute| (attribute, "RANGE"));
        for (attribute, kind) in hash.chain(range) {
            out.push_str("\n    key_schema {\n");
            write_pairs(
                out,
                6,
                &[("attribute_name", quoted(&attribute.name)), ("key_type", quoted(kind))],
            );
            out.push_str("    }\n");
        }
    }
    out.push_str("  }\n");
}

/// Arguments with their equals signs in one column, as `terraform fmt` wants them.
fn write_pairs(out: &mut String, indent: usize, pairs: &[(&str, String)]) {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in pairs {
        let _ = writeln!(out, "{:indent$}{name:<width$} = {value}", "");
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A resource name: letters, digits, `_` and `-`, not beginning with a digit.
fn identifier(name: &str) -> String {
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    if safe.starts_with(|c: char| c.is_ascii_alphabetic()) { safe } else { format!("t_{safe}") }
}
