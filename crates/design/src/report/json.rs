//! The JSON report.

use keyloom_core::json::write_item;
use serde_json::{Map, Value as Json, json};

use super::{proofs, rule_link};
use crate::check::CheckReport;
use crate::cost::{BillLine, Money};
use crate::lint::Finding;
use crate::model::Access;
use crate::plan::{CounterExample, Plan, Request, Verdict, shapes};
use crate::source::Source;

/// The report of one or more files: `{"findings": […], "patterns": […], …}`.
pub fn json(reports: &[CheckReport]) -> Json {
    let mut findings = Vec::new();
    let mut suppressed = Vec::new();
    let mut patterns = Vec::new();
    let mut writes = Vec::new();
    let mut designs = Vec::new();
    for report in reports {
        findings.extend(report.findings.iter().map(|f| finding_json(f, &report.source)));
        suppressed.extend(report.suppressed.iter().map(|(finding, reason)| {
            let mut value = finding_json(finding, &report.source);
            if let Json::Object(map) = &mut value {
                map.insert("reason".to_owned(), json!(reason));
            }
            value
        }));
        let Some(design) = &report.design else { continue };
        for (access, plan) in design.accesses().iter().zip(&report.plans) {
            let mut value = pattern_json(access, plan);
            if let Json::Object(map) = &mut value {
                map.insert("file".to_owned(), json!(report.source.name()));
            }
            patterns.push(value);
        }
        for write in &report.writes {
            writes.push(json!({
                "file": report.source.name(),
                "name": write.name,
                "write_units": write.units,
                "table_write_units": write.table_units,
                "monthly_cost": write.money.map(money_json),
                "index_effects": write.effects.iter().map(|effect| json!({
                    "entity": effect.entity,
                    "index": effect.index,
                    "rewrites": effect.rewrites,
                    "lacks": effect.lacks,
                    "write_units": effect.units,
                })).collect::<Vec<_>>(),
            }));
        }
        designs.push(json!({
            "file": report.source.name(),
            "name": design.name(),
            "tables": design.tables().len(),
            "whole": report.is_whole,
            "entities": design.entities().len(),
            "indexes": report.index_uses.iter().map(|used| json!({
                "table": used.table,
                "index": used.index,
                "patterns": used.patterns,
            })).collect::<Vec<_>>(),
            "monthly_cost": bill_json(report),
        }));
    }
    json!({
        "findings": findings,
        "suppressed": suppressed,
        "patterns": patterns,
        "writes": writes,
        "designs": designs,
    })
}

pub(super) fn finding_json(finding: &Finding, source: &Source) -> Json {
    let position = source.position(finding.span);
    json!({
        "rule": finding.rule,
        "severity": finding.severity.as_str(),
        "where": {
            "file": source.name(),
            "line": position.map(|p| p.line),
            "column": position.map(|p| p.column),
        },
        "subject": finding.subject,
        "message": finding.message,
        "evidence": finding.evidence,
        "fix": finding.fix,
        "help": rule_link(finding.rule),
        "change": finding.change.as_ref().map(|change| json!({
            "start": change.span.start(),
            "end": change.span.end(),
            "text": change.text,
        })),
    })
}

fn money_json(money: Money) -> Json {
    json!({ "on_demand": money.on_demand, "provisioned": money.provisioned })
}

fn bill_json(report: &CheckReport) -> Json {
    let lines = |lines: &[BillLine]| -> Vec<Json> {
        lines
            .iter()
            .map(|line| {
                json!({
                    "subject": line.subject,
                    "amount": line.amount,
                    "unit": line.unit,
                    "cost": money_json(line.money),
                })
            })
            .collect()
    };
    json!({
        "total": money_json(report.bill.total),
        "missing": report.bill.missing,
        "reads": lines(&report.bill.reads),
        "writes": lines(&report.bill.writes),
        "storage": lines(&report.bill.storage),
        "indexes": lines(&report.bill.indexes),
    })
}

/// One pattern of the report.
pub fn pattern_json(access: &Access, plan: &Plan) -> Json {
    let requests: Vec<Json> = shapes(access, plan).iter().map(Request::to_json).collect();
    let proven: Map<String, Json> = proofs(plan)
        .into_iter()
        .map(|(name, proof)| (name.to_owned(), json!(proof.as_str())))
        .collect();
    json!({
        "name": plan.name,
        "verdict": plan.verdict.as_str(),
        "index": plan.index_name(),
        "indexes": plan.places(),
        "request": requests.first(),
        "requests": requests,
        "calls": plan.calls(),
        "requests_per_call": (plan.verdict != Verdict::Refused).then(|| plan.calls_text()),
        "items": plan.estimate.items,
        "bytes": plan.estimate.bytes,
        "read_units": plan.estimate.read_units,
        "pages": plan.estimate.pages,
        "monthly_cost": plan.estimate.money.map(money_json),
        "second_step": plan.hydrate.as_ref().map(|step| json!({
            "operation": if step.batch { "BatchGetItem" } else { "Query" },
            "index": step.index,
            "entities": step.entities.iter().map(|e| e.name.clone()).collect::<Vec<_>>(),
            "reason": step.reason,
        })),
        "inputs": access.inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>(),
        "implied_by": access.implied_by,
        "proofs": proven,
        "rejected": plan.rejected.iter().map(|no| json!({
            "index": no.index,
            "entity": no.entity,
            "reason": no.reason.to_string(),
        })).collect::<Vec<_>>(),
        "counter_example": plan.counter_example.as_ref().map(counter_json),
    })
}

/// A counter-example with its items as DynamoDB JSON.
pub(super) fn counter_json(example: &CounterExample) -> Json {
    let items: Vec<Json> = example
        .rows
        .iter()
        .map(|row| {
            let mut bytes = Vec::new();
            write_item(&row.item(), &mut bytes);
            serde_json::from_slice(&bytes).unwrap_or(Json::Null)
        })
        .collect();
    let inputs: Map<String, Json> = example
        .inputs
        .iter()
        .map(|(name, value)| (name.clone(), json!(value.to_string())))
        .collect();
    json!({
        "inputs": inputs,
        "items": items,
        "returns": example.returns,
        "should_return": example.should_return,
        "wrong": example.wrong.to_string(),
    })
}
