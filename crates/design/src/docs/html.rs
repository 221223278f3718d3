//! The design as one HTML page: no scripts, nothing loaded from elsewhere.

use std::fmt::Write as _;

use super::markdown::{key_conditions, projection};
use super::{chart, er_svg, found, key_map_svg, mermaid, question};
use crate::check::CheckReport;
use crate::key::Piece;
use crate::lint::short;
use crate::model::{Design, Table};
use crate::plan::{Plan, Proof, placeholder};
use crate::report::proofs;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#1c2430;background:#fff}\
h1{margin-bottom:0}table{border-collapse:collapse;width:100%;margin:1rem 0}\
th,td{border:1px solid #d5dbe3;padding:.35rem .6rem;text-align:left;vertical-align:top}th{background:#f3f5f8}\
code{font:13px ui-monospace,monospace;background:#f3f5f8;padding:0 .2rem;border-radius:3px;overflow-wrap:anywhere}\
.collections{display:grid;grid-template-columns:repeat(auto-fill,minmax(18rem,1fr));gap:1rem;margin:1rem 0}\
.collection{border:1px solid #d5dbe3;border-radius:8px;padding:.75rem}.collection h3{margin:0 0 .5rem;font-size:1rem}\
.collection li{list-style:none;margin:.2rem 0}.collection ul{margin:0;padding:0}\
.get,.query{color:#0a7d33}.fan-out,.two-step{color:#8a5a00}.filter{color:#a04600}.refused{color:#b00020;font-weight:600}\
figure{margin:1rem 0;overflow-x:auto}.error{color:#b00020}.warn{color:#8a5a00}.info{color:#3b5b92}\
@media(prefers-color-scheme:dark){body{background:#12161c;color:#dfe5ec}th,code{background:#1d232c}th,td,.collection{border-color:#343d49}\
.get,.query{color:#56c979}.fan-out,.two-step{color:#e0b050}.filter{color:#f09050}.refused,.error{color:#ff7a85}.warn{color:#e0b050}.info{color:#8fb2ee}}";

/// A page with the collections, entity chart, patterns and findings.
pub fn html(report: &CheckReport) -> String {
    let Some(design) = &report.design else { return String::new() };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escaped(design.name())
    );
    if !design.description().is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escaped(design.description()));
    }
    for table in design.tables() {
        write_table(&mut out, design, table);
    }
    write_patterns(&mut out, design, report);
    write_findings(&mut out, report);
    let _ = writeln!(
        out,
        "<h2>Diagram</h2>\n<figure>{}</figure>\n<h2>Keys</h2>\n<figure>{}</figure>\n<details><summary>Mermaid source</summary><pre><code>{}</code></pre></details>",
        er_svg(design),
        key_map_svg(design),
        escaped(&mermaid(design))
    );
    out.push_str("</body>\n</html>\n");
    out
}

fn write_table(out: &mut String, design: &Design, table: &Table) {
    let _ = writeln!(out, "<h2>Table <code>{}</code></h2>", escaped(&table.name));
    for index in &table.indexes {
        let collections = collections(design, table, index.label());
        if collections.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "<h3>{} <small>({})</small></h3>\n<div class=\"collections\">",
            escaped(index.label()),
            escaped(&projection(&index.projection))
        );
        for (partition, rows) in collections {
            let _ = writeln!(
                out,
                "<div class=\"collection\"><h3><code>{}</code></h3><ul>",
                escaped(&partition)
            );
            for (entity, sort) in rows {
                let _ =
                    writeln!(out, "<li><code>{}</code> {}</li>", escaped(&sort), escaped(&entity));
            }
            out.push_str("</ul></div>\n");
        }
        out.push_str("</div>\n");
    }
    let (columns, rows) = chart(design, table);
    out.push_str("<table><tr><th>entity</th>");
    for column in &columns {
        let _ = write!(out, "<th>{}</th>", escaped(column));
    }
    out.push_str("</tr>\n");
    for row in &rows {
        let _ = write!(out, "<tr><td>{}</td>", escaped(&row.entity.name));
        for key in &row.cells {
            let shown = key.as_ref().map_or_else(String::new, |key| {
                let when = key.when.as_ref().map_or_else(String::new, |when| {
                    format!(" <small>when <code>{}</code></small>", escaped(when))
                });
                format!("<code>{}</code>{when}", escaped(&key.template))
            });
            let _ = write!(out, "<td>{shown}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
}

type Collections = Vec<(String, Vec<(String, String)>)>;

/// Entities grouped by the partition key they share in an index, in sort key order.
fn collections(design: &Design, table: &Table, label: &str) -> Collections {
    let Some(index) = table.indexes.iter().find(|index| index.label() == label) else {
        return Vec::new();
    };
    let mut groups: Collections = Vec::new();
    for entity in design.entities_in(table) {
        let Some(key) = entity.index_key(index) else { continue };
        let text = |parts: &[&crate::model::EntityKey]| {
            parts.iter().map(|part| part.shape.template().text()).collect::<Vec<_>>().join(" + ")
        };
        let piece = |piece: &Piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Field(field) => placeholder(entity, field, field.name()),
        };
        let pieces = key.hash.iter().flat_map(|part| part.shape.template().pieces());
        let partition: String = pieces.map(piece).collect();
        let row = (entity.name.clone(), text(&key.range));
        match groups.iter_mut().find(|(known, _)| *known == partition) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((partition, vec![row])),
        }
    }
    for (_, rows) in &mut groups {
        rows.sort_by(|a, b| a.1.cmp(&b.1));
    }
    groups
}

fn write_patterns(out: &mut String, design: &Design, report: &CheckReport) {
    if report.plans.is_empty() {
        return;
    }
    out.push_str("<h2>Access patterns</h2>\n<table><tr><th>pattern</th><th>finds</th><th>asks</th><th>read</th><th>key condition</th><th>units</th><th>proofs</th></tr>\n");
    for (access, plan) in design.accesses().iter().zip(&report.plans) {
        let requests = crate::plan::shapes(access, plan);
        let conditions: Vec<String> = key_conditions(&requests)
            .iter()
            .map(|condition| condition.trim_matches('`').replace("`, `", ", "))
            .map(|condition| format!("<code>{}</code>", escaped(&condition)))
            .collect();
        let verdict = plan.verdict.as_str();
        let places = plan.places().join(", ");
        // What reads the table alone needs no mention.
        let index = if places == "table" { String::new() } else { format!(" {places}") };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"{verdict}\">{verdict}{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&access.name),
            escaped(&found(access)),
            escaped(&question(access)),
            escaped(&index),
            conditions.join("<br>"),
            plan.estimate.read_units.map(short).unwrap_or_default(),
            proof_words(plan)
        );
    }
    out.push_str("</table>\n");
}

fn proof_words(plan: &Plan) -> String {
    let words: Vec<String> = proofs(plan)
        .into_iter()
        .filter_map(|(name, proof)| match proof {
            Proof::Proven => Some(name.to_owned()),
            Proof::Refuted => Some(format!("<span class=\"error\">not {name}</span>")),
            Proof::NotAsked => None,
        })
        .collect();
    words.join(", ")
}

fn write_findings(out: &mut String, report: &CheckReport) {
    if report.findings.is_empty() {
        return;
    }
    out.push_str("<h2>Findings</h2>\n<table><tr><th>rule</th><th>subject</th><th>finding</th><th>fix</th></tr>\n");
    for finding in &report.findings {
        let _ = writeln!(
            out,
            "<tr><td class=\"{}\">{}</td><td>{}</td><td>{}<br><small>{}</small></td><td>{}</td></tr>",
            finding.severity.as_str(),
            finding.rule,
            escaped(&finding.subject),
            escaped(&finding.message),
            escaped(&finding.evidence).replace('\n', "<br>"),
            escaped(&finding.fix).replace('\n', "<br>")
        );
    }
    out.push_str("</table>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
