//! `explain`: one pattern in full.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::json::{counter_json, pattern_json};
use super::{dollars, proofs};
use crate::evaluate::Inputs;
use crate::lint::short_bytes;
use crate::model::{Access, Operand};
use crate::plan::{Fan, Plan, Problem, Request, Verdict, requests, shapes};
use crate::words::about;

/// One pattern as JSON; with inputs, its exact requests.
pub fn explain_json(access: &Access, plan: &Plan, inputs: Option<&Inputs>) -> Result<Json, String> {
    let mut value = pattern_json(access, plan);
    if let (Some(inputs), Json::Object(map)) = (inputs, &mut value) {
        let exact: Vec<Json> =
            requests(access, plan, inputs)?.iter().map(Request::to_json).collect();
        map.insert("request".to_owned(), json!(exact.first()));
        map.insert("requests".to_owned(), json!(exact));
    }
    Ok(value)
}

/// One pattern as text; with inputs, its exact requests.
pub fn explain(access: &Access, plan: &Plan, inputs: Option<&Inputs>) -> Result<String, String> {
    let mut out = String::new();
    let places: Vec<&str> = plan.places();
    let places: Vec<&str> = places
        .into_iter()
        .map(|place| if place == "table" { "the table" } else { place })
        .collect();
    let index =
        if places.is_empty() { String::new() } else { format!(" on {}", places.join(" and ")) };
    let _ = writeln!(out, "{}: {}{index}", plan.name, verdict_words(plan));
    write_question(&mut out, access);
    let shown = match inputs {
        Some(inputs) => requests(access, plan, inputs)?,
        None => shapes(access, plan),
    };
    for request in &shown {
        let body = serde_json::to_string_pretty(&request.body).unwrap_or_default();
        let _ = writeln!(out, "\n{} {body}", request.operation.name());
    }
    write_steps(&mut out, plan);
    write_cost(&mut out, plan);
    let _ = writeln!(out, "\nproofs");
    for (name, proof) in proofs(plan) {
        let _ = writeln!(out, "  {name:<12} {}", proof.as_str());
    }
    write_problems(&mut out, plan);
    if !plan.rejected.is_empty() {
        let _ = writeln!(out, "\nother indexes");
        for no in &plan.rejected {
            let entity =
                if no.entity.is_empty() { String::new() } else { format!(" ({})", no.entity) };
            let _ = writeln!(out, "  {}{entity}: {}", no.index, no.reason);
        }
    }
    if let Some(example) = &plan.counter_example {
        let text = serde_json::to_string_pretty(&counter_json(example)).unwrap_or_default();
        let _ = writeln!(out, "\ncounter-example {text}");
    }
    Ok(out)
}

fn verdict_words(plan: &Plan) -> String {
    match plan.verdict {
        Verdict::Get => "one GetItem".to_owned(),
        Verdict::Query => "one Query".to_owned(),
        Verdict::Batch => format!("BatchGetItem, {}", plan.calls_text()),
        Verdict::FanOut => plan.calls_text(),
        Verdict::TwoStep => "a Query, then the items".to_owned(),
        Verdict::Filter => "a Query with a filter".to_owned(),
        Verdict::Refused => {
            "refused: no index serves this pattern; it would need a Scan".to_owned()
        }
    }
}

fn write_question(out: &mut String, access: &Access) {
    let found: Vec<&str> = access.find.iter().map(|entity| entity.name.as_str()).collect();
    let _ = writeln!(out, "  find  {}", found.join(", "));
    if let Some(via) = &access.via {
        let _ = writeln!(out, "  via   {}", via.name);
    }
    if access.questions().next().is_some() {
        let _ = writeln!(out, "  where {}", access.where_text(Operand::describe));
    }
    if !access.order.is_empty() {
        let _ = writeln!(out, "  order {}", access.order_text());
    }
    if let Some(limit) = access.limit {
        let _ = writeln!(out, "  limit {limit}");
    }
}

fn write_steps(out: &mut String, plan: &Plan) {
    for fan in plan.reads.iter().flat_map(|read| &read.fans) {
        let text = match fan {
            Fan::Shards { field, count } => {
                format!("once for each of the {count} shards of `{field}`")
            }
            Fan::Values { field, values } => {
                format!("once for each of the {} values of `{field}`", values.len())
            }
            Fan::Buckets { field, precision, .. } => {
                format!(
                    "once for each {} that the range of `{field}` touches",
                    format!("{precision:?}").to_lowercase()
                )
            }
        };
        let _ = writeln!(out, "  {text}, merged in key order");
    }
    if let Some(step) = &plan.hydrate {
        let how =
            if step.batch { "BatchGetItem, 100 keys at a time" } else { "one Query for each item" };
        let _ = writeln!(out, "  then {how}: {}", step.reason);
    }
}

fn write_cost(out: &mut String, plan: &Plan) {
    let cost = &plan.estimate;
    let mut parts = Vec::new();
    if let Some(items) = cost.items {
        parts.push(about(items, "item"));
    }
    if let Some(bytes) = cost.bytes {
        parts.push(short_bytes(bytes));
    }
    if let Some(units) = cost.read_units {
        parts.push(about(units, "read unit"));
    }
    if let Some(pages) = cost.pages {
        parts.push(about(pages, "page"));
    }
    if let Some(money) = cost.money {
        parts.push(format!(
            "{} a month on demand, {} provisioned",
            dollars(money.on_demand),
            dollars(money.provisioned)
        ));
    }
    if !parts.is_empty() {
        let _ = writeln!(out, "\ncost per call: {}", parts.join(", "));
    }
}

fn write_problems(out: &mut String, plan: &Plan) {
    for problem in &plan.problems {
        let text = match problem {
            Problem::Order { why, fix, .. } => format!("order: {why}\n    fix: {fix}"),
            Problem::Bleed { why, .. } => format!("purity: {why}"),
            Problem::MissingRows { why, .. } => format!("missing rows: {why}"),
            Problem::Uncovered { fields } => format!("not in the index: {}", fields.join(", ")),
            Problem::Lost { fields } => format!("no key holds all of: {}", fields.join(", ")),
            Problem::NoKeyForStep { entity, fields } => {
                format!("the key of {entity} needs {}", fields.join(", "))
            }
            Problem::OneByOne { entity } => format!("each {entity} takes a request of its own"),
            Problem::Inconsistent { index } => format!("{index} is never strongly consistent"),
            Problem::LooseTime { field } => {
                format!("rows: the texts of {field} are compared, not the moments they mean")
            }
            Problem::NotAsPlanned { planned: Some(key) } => {
                format!("rows: the conditions compile to another request: {key}")
            }
            Problem::NotAsPlanned { planned: None } => {
                "rows: the conditions do not compile to one request like this".to_owned()
            }
            Problem::Raw(raw) => {
                format!("{}\n    {}\n    fix: {}", raw.message, raw.evidence, raw.fix)
            }
        };
        let _ = writeln!(out, "  {text}");
    }
}
