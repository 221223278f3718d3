//! SARIF 2.1.0, which code hosts show beside the changed lines.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::rule_link;
use crate::check::CheckReport;
use crate::diagnostic::{Code, Severity};
use crate::lint::{Finding, RULES};
use crate::source::Source;

/// The findings of one or more files.
pub fn sarif(reports: &[CheckReport]) -> Json {
    let rules: Vec<Json> = RULES
        .iter()
        .map(|rule| (rule.id, rule.title, rule.severity))
        .chain(Code::ALL.iter().map(|code| (code.as_str(), code.title(), code.severity())))
        .map(|(id, title, severity)| {
            json!({
                "id": id,
                "shortDescription": { "text": title },
                "helpUri": rule_link(id),
                "defaultConfiguration": { "level": level(severity) },
            })
        })
        .collect();
    let results: Vec<Json> = reports
        .iter()
        .flat_map(|report| {
            let open = report.findings.iter().map(|finding| result(finding, &report.source, None));
            let closed = report
                .suppressed
                .iter()
                .map(|(finding, reason)| result(finding, &report.source, Some(reason)));
            open.chain(closed)
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "keyloom",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info => "note",
    }
}

fn result(finding: &Finding, source: &Source, suppressed: Option<&String>) -> Json {
    let mut text = finding.message.clone();
    for (label, part) in [("Evidence", &finding.evidence), ("Fix", &finding.fix)] {
        if !part.is_empty() {
            let _ = write!(text, "\n{label}: {part}");
        }
    }
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [location(finding, source)],
        "properties": { "subject": finding.subject },
    });
    if let (Some(reason), Json::Object(map)) = (suppressed, &mut result) {
        let entry = json!([{ "kind": "inSource", "justification": reason }]);
        map.insert("suppressions".to_owned(), entry);
    }
    result
}

fn location(finding: &Finding, source: &Source) -> Json {
    let mut physical = json!({ "artifactLocation": { "uri": source.name() } });
    if let (Some(start), Json::Object(map)) = (source.position(finding.span), &mut physical) {
        let width = source.excerpt(finding.span).chars().take_while(|c| *c != '\n').count().max(1);
        let region = json!({
            "startLine": start.line,
            "startColumn": start.column,
            "endLine": start.line,
            "endColumn": start.column + width,
        });
        map.insert("region".to_owned(), region);
    }
    json!({ "physicalLocation": physical })
}
