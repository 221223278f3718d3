//! A13, A14, A16: claims without a proof, fan-outs that are too wide, and requests that claim nothing.

use super::access::{patterns, with_example};
use super::{Context, Findings, quoted, short};
use crate::model::{Access, FieldKind, IndexKey};
use crate::plan::{Fan, Plan, Problem, Proof, Verdict};
use crate::words::about;

/// A13: whatever is asked and not proven, unless a rule of its own says so.
pub(super) fn unproven(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        let claims = unexplained(plan);
        if claims.is_empty() {
            continue;
        }
        let span = access.raw.as_ref().map_or(access.span, |raw| raw.key_span);
        let why: Vec<String> = plan.problems.iter().filter_map(reason).collect();
        let why = if why.is_empty() {
            "no proof was found for what it asks".to_owned()
        } else {
            why.join("\n")
        };
        findings
            .add(
                span,
                &access.name,
                format!("`{}` is not proven: {}", access.name, claims.join(", ")),
            )
            .because(with_example(&why, plan, |_| true))
            .fix(way_out(access, plan));
    }
}

/// The refuted claims of a plan that no other rule is about.
fn unexplained(plan: &Plan) -> Vec<&'static str> {
    if plan.verdict == Verdict::Refused {
        return Vec::new();
    }
    let has = |wanted: fn(&Problem) -> bool| plan.problems.iter().any(wanted);
    // K05 to K08, E04 and E05 are about the rows of hand-written requests, A03 and A04 about those of all. That other rows
    // come along (A04) does not say whether a hand-written request returns all of its own.
    let missing = has(|p| matches!(p, Problem::Raw(_) | Problem::MissingRows { .. }));
    let foreign = has(|p| matches!(p, Problem::Bleed { .. }));
    let rows = missing || foreign;
    let order = has(|p| matches!(p, Problem::Order { .. }));
    let consistency = has(|p| matches!(p, Problem::Inconsistent { .. }));
    let filter = plan.verdict == Verdict::Filter;
    let proofs = &plan.proofs;
    // A hand-written limit behind a filter cuts rows off, which A02 says.
    let cut = filter && plan.raw.is_some() && proofs.limit == Proof::Refuted;
    let mut left: Vec<&'static str> = [
        ("rows", proofs.rows, missing || cut || foreign && plan.raw.is_none()),
        ("order", proofs.order, order || rows),
        ("purity", proofs.purity, rows),
        ("coverage", proofs.coverage, false),
        ("consistency", proofs.consistency, consistency),
    ]
    .into_iter()
    .filter(|(_, proof, explained)| *proof == Proof::Refuted && !explained)
    .map(|(name, ..)| name)
    .collect();
    // A limit fails with what it counts, or by the filter behind it (A02).
    if proofs.limit == Proof::Refuted && !(rows || order || filter || !left.is_empty()) {
        left.push("limit");
    }
    left
}

fn reason(problem: &Problem) -> Option<String> {
    Some(match problem {
        Problem::LooseTime { field } => format!(
            "`{field}` is written with varying fractions and offsets: DynamoDB compares its text, which is not in the order of time"
        ),
        Problem::NotAsPlanned { .. } => {
            "the hand-written request is not the one that `where` compiles to".to_owned()
        }
        Problem::Uncovered { fields } => {
            format!(
                "the index returns no {}: attributes come only where they are projected",
                quoted(fields)
            )
        }
        Problem::Lost { fields } => format!(
            "{} kept in keys only, and no key that every item has holds all of it: a day does not tell the moment, nor a folded text its case",
            is_or_are(fields)
        ),
        _ => return None,
    })
}

fn is_or_are(fields: &[String]) -> String {
    format!("{} {}", quoted(fields), if fields.len() == 1 { "is" } else { "are" })
}

fn way_out(access: &Access, plan: &Plan) -> String {
    let mut ways: Vec<String> = Vec::new();
    for problem in &plan.problems {
        ways.push(match problem {
            Problem::LooseTime { field } => {
                format!("give `{field}` the type datetime or datetime:ms, which are UTC and of fixed width")
            }
            Problem::NotAsPlanned { planned: Some(key) } => {
                format!("leave `key` out, and the planner writes it: {key}")
            }
            Problem::NotAsPlanned { planned: None } if access.index.is_some() => {
                "leave `key` and `index` out, and the planner looks for requests that mean what `where` says".to_owned()
            }
            Problem::NotAsPlanned { planned: None } => {
                "leave `key` out, and the planner looks for requests that mean what `where` says".to_owned()
            }
            Problem::Uncovered { fields } => format!(
                "project {}, name only what the index holds in `returns`, or leave `key` out: the planner then fetches the items in a second step",
                quoted(fields)
            ),
            Problem::Lost { fields } => format!(
                "drop `key_only`, so that {} stored as an attribute, write it whole into a key, or leave it out of `returns`",
                is_or_are(fields)
            ),
            _ => continue,
        });
    }
    if ways.is_empty() {
        ways.push("ask for less, or allow it by name with a reason".to_owned());
    }
    ways.join(";\n")
}

/// A16: a hand-written request that no `where` says the meaning of. Whatever it misses, nothing would notice.
pub(super) fn unstated(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        let (Some(raw), Some(form)) = (&access.raw, &plan.raw) else { continue };
        let told = plan.problems.iter().any(|problem| matches!(problem, Problem::Raw(_)));
        if !access.terms.is_empty() || plan.verdict == Verdict::Refused || told {
            continue;
        }
        let Some(entity) = access.find.first() else { continue };
        let key = plan.reads.first().and_then(|read| entity.index_key(read.index()));
        let shards = key.iter().flat_map(IndexKey::hash_fields).find_map(|name| {
            match &entity.field(name)?.kind {
                FieldKind::Shard(shards) if shards.count > 1 => Some(shards.count),
                _ => None,
            }
        });
        let is_shard = |name: &str| {
            entity.field(name).is_none_or(|field| matches!(field.kind, FieldKind::Shard(_)))
        };
        let known: Vec<String> = form.inputs().into_iter().filter(|name| !is_shard(name)).collect();
        let question = match known.as_slice() {
            [] => "say in `where` what it is to return".to_owned(),
            names => {
                format!("say what it is to return: where = \"{} = ?\"", names.join(" = ? and "))
            }
        };
        let (message, why, fix) = match shards {
            Some(count) => (
                format!("`{}` reads one of {count} shards", access.name),
                "the rows of the other shards are not returned, and without `where` it claims nothing".to_owned(),
                format!("{question}; leave `key` out, and the planner reads every shard"),
            ),
            None => (
                format!("`{}` does not say what it is to return", access.name),
                "without `where` a hand-written request claims nothing, so nothing is proven about its rows".to_owned(),
                question,
            ),
        };
        findings.add(raw.key_span, &access.name, message).because(why).fix(fix);
    }
}

/// The most requests that a call may make without saying so.
const WIDE: u64 = 100;

/// A14: each call pays for all of them.
pub(super) fn wide_fan(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        let most = access.max_requests.unwrap_or(WIDE);
        let Some(calls) = plan.first_calls().filter(|calls| *calls > most as f64) else {
            continue;
        };
        let fans: Vec<String> = plan
            .reads
            .iter()
            .flat_map(|read| &read.fans)
            .filter_map(|fan| Some(format!("{} for `{}`", short(fan.width()?), fan.field())))
            .collect();
        let limit = match access.max_requests {
            Some(most) => format!("it declares max_requests = {most}"),
            None => format!("more than {WIDE} must be declared"),
        };
        let shards = plan
            .reads
            .iter()
            .flat_map(|read| &read.fans)
            .any(|fan| matches!(fan, Fan::Shards { .. }));
        findings
            .add(
                access.span,
                &access.name,
                format!("`{}` takes {} for one call", access.name, about(calls, "request")),
            )
            .because(format!("{}; {limit}", fans.join(" times ")))
            .fix(format!(
                "{}; if so many are meant, max_requests = {calls:.0}",
                if shards {
                    "fewer shards, or an index for this pattern"
                } else {
                    "a coarser key, or an index for this pattern"
                }
            ));
    }
}
