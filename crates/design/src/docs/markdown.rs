//! The design as a Markdown page.

use std::fmt::Write as _;

use super::{Cell, chart, found, mermaid, question};
use crate::check::CheckReport;
use crate::lint::short;
use crate::model::{Design, Index, IndexKind, Projection, Table};
use crate::report::{cell, dollars};

/// Entity chart, access-pattern table and diagram.
pub fn markdown(report: &CheckReport) -> String {
    let Some(design) = &report.design else { return String::new() };
    let mut out = format!("# {}\n\n", design.name());
    if !design.description().is_empty() {
        let _ = writeln!(out, "{}\n", design.description());
    }
    for table in design.tables() {
        write_table(&mut out, design, table);
    }
    write_patterns(&mut out, design, report);
    write_writes(&mut out, report);
    let _ = write!(out, "## Diagram\n\n```mermaid\n{}```\n", mermaid(design));
    if report.bill.total.on_demand > 0.0 {
        let _ = writeln!(
            out,
            "\n## Cost\n\n{} a month on demand, {} provisioned, as far as rates and counts are declared.",
            dollars(report.bill.total.on_demand),
            dollars(report.bill.total.provisioned)
        );
    }
    out
}

fn write_table(out: &mut String, design: &Design, table: &Table) {
    let _ = writeln!(out, "## Table `{}`\n", table.name);
    out.push_str("| index | partition key | sort key | projection |\n|---|---|---|---|\n");
    for index in &table.indexes {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            index_name(index),
            names(&index.hash.iter().map(|a| a.name.as_str()).collect::<Vec<_>>()),
            names(&index.range.iter().map(|a| a.name.as_str()).collect::<Vec<_>>()),
            projection(&index.projection)
        );
    }
    let (columns, rows) = chart(design, table);
    let _ = writeln!(out, "\n| entity | {} |", columns.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(columns.len()));
    for row in &rows {
        let cells: Vec<String> = row
            .cells
            .iter()
            .map(|key| match key {
                None => String::new(),
                Some(Cell { template, when: None }) => format!("`{}`", cell(template)),
                Some(Cell { template, when: Some(when) }) => {
                    format!("`{}` when `{}`", cell(template), cell(when))
                }
            })
            .collect();
        let _ = writeln!(out, "| {} | {} |", row.entity.name, cells.join(" | "));
    }
    out.push('\n');
}

fn index_name(index: &Index) -> String {
    match index.kind {
        IndexKind::Primary => "table".to_owned(),
        IndexKind::Global => index.label().to_owned(),
        IndexKind::Local => format!("{} (local)", index.label()),
    }
}

fn names(list: &[&str]) -> String {
    list.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub(super) fn projection(projection: &Projection) -> String {
    match projection {
        Projection::All => "all".to_owned(),
        Projection::Keys => "keys".to_owned(),
        Projection::Include(list) => list.join(", "),
    }
}

fn write_patterns(out: &mut String, design: &Design, report: &CheckReport) {
    if report.plans.is_empty() {
        return;
    }
    out.push_str("## Access patterns\n\n| # | pattern | finds | asks | read | index | key condition | units |\n|---|---|---|---|---|---|---|---|\n");
    for (n, (access, plan)) in design.accesses().iter().zip(&report.plans).enumerate() {
        let requests = crate::plan::shapes(access, plan);
        let condition = key_conditions(&requests).join("; ");
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            n + 1,
            cell(&access.name),
            found(access),
            cell(&question(access)),
            plan.verdict.as_str(),
            plan.places().join(", "),
            cell(&condition),
            plan.estimate.read_units.map(short).unwrap_or_default()
        );
    }
    out.push('\n');
}

/// The keys of requests, once each: the alternatives of `or` have one each.
pub(super) fn key_conditions(requests: &[crate::plan::Request]) -> Vec<String> {
    let mut conditions: Vec<String> = Vec::new();
    for condition in requests.iter().map(key_condition) {
        if !condition.is_empty() && !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    conditions
}

/// The key of a request in one line: `PK = "PROJECT#{project_id}" AND begins_with(SK, "TASK#")`.
fn key_condition(request: &crate::plan::Request) -> String {
    let body = &request.body;
    if let Some(key) = body.get("Key").and_then(|key| key.as_object()) {
        let parts: Vec<String> =
            key.iter().map(|(name, value)| format!("`{name} = {}`", plain(value))).collect();
        return parts.join(", ");
    }
    let Some(text) = body.get("KeyConditionExpression").and_then(|text| text.as_str()) else {
        return String::new();
    };
    let mut text = text.to_owned();
    let values = body.get("ExpressionAttributeValues").and_then(|values| values.as_object());
    // Longer aliases first, so that `:sk` does not eat the beginning of `:sk_from`.
    let mut aliases: Vec<_> = values.into_iter().flatten().collect();
    aliases.sort_by_key(|(alias, _)| std::cmp::Reverse(alias.len()));
    for (alias, value) in aliases {
        text = text.replace(alias.as_str(), &plain(value));
    }
    let names = body.get("ExpressionAttributeNames").and_then(|names| names.as_object());
    let mut aliases: Vec<_> = names.into_iter().flatten().collect();
    aliases.sort_by_key(|(alias, _)| std::cmp::Reverse(alias.len()));
    for (alias, name) in aliases {
        text = text.replace(alias.as_str(), name.as_str().unwrap_or_default());
    }
    format!("`{text}`")
}

fn plain(value: &serde_json::Value) -> String {
    match value.as_object().and_then(|map| map.iter().next()) {
        Some((kind, serde_json::Value::String(text))) if kind == "S" => format!("\"{text}\""),
        Some((_, serde_json::Value::String(text))) => text.clone(),
        _ => value.to_string(),
    }
}

fn write_writes(out: &mut String, report: &CheckReport) {
    if report.writes.is_empty() {
        return;
    }
    out.push_str("## Writes\n\n| write | units | index keys rewritten |\n|---|---|---|\n");
    for write in &report.writes {
        let rewritten: Vec<String> = write
            .effects
            .iter()
            .filter(|effect| !effect.rewrites.is_empty())
            .map(|effect| format!("{}: {}", effect.index, effect.rewrites.join(", ")))
            .collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            cell(&write.name),
            short(write.units),
            rewritten.join("; ")
        );
    }
    out.push('\n');
}
