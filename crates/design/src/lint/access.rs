//! K06–K08, E04, E05, I09, A02–A05, A10: what the planner found out about patterns.

use std::fmt::Write as _;

use keyloom_core::limits::MAX_PAGE_BYTES;

use super::{Context, Findings, quoted, short_bytes};
use crate::cost::{cardinality, entry_size};
use crate::diagnostic::Severity;
use crate::evaluate::Mismatch;
use crate::model::{Access, Test};
use crate::plan::{Plan, Problem, Proof, RawRule, Verdict};
use crate::words::{about, counted};

pub(super) fn patterns<'a>(context: &'a Context) -> impl Iterator<Item = (&'a Access, &'a Plan)> {
    context.design.accesses().iter().zip(context.plans)
}

pub(super) fn raw_findings(context: &Context, findings: &mut Findings, wanted: RawRule) {
    for (access, plan) in patterns(context) {
        for problem in &plan.problems {
            if let Problem::Raw(raw) = problem
                && raw.rule == wanted
            {
                findings
                    .add(raw.span, &access.name, raw.message.clone())
                    .because(with_example(&raw.evidence, plan, |wrong| {
                        is_missing(wrong) || is_foreign(wrong)
                    }))
                    .fix(raw.fix.clone());
            }
        }
    }
}

/// K06
pub(super) fn two_conditions(context: &Context, findings: &mut Findings) {
    raw_findings(context, findings, RawRule::TwoConditions);
}

/// K07
pub(super) fn bad_prefix(context: &Context, findings: &mut Findings) {
    raw_findings(context, findings, RawRule::NeverMatches);
}

/// K08
pub(super) fn cut_period(context: &Context, findings: &mut Findings) {
    raw_findings(context, findings, RawRule::CutsLastPeriod);
}

/// E04
pub(super) fn filter_on_key(context: &Context, findings: &mut Findings) {
    raw_findings(context, findings, RawRule::FilterOnKey);
}

/// E05
pub(super) fn refused_filter(context: &Context, findings: &mut Findings) {
    raw_findings(context, findings, RawRule::FilterRefused);
}

/// I09
pub(super) fn inconsistent(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        for problem in &plan.problems {
            let Problem::Inconsistent { index } = problem else { continue };
            findings
                .add(
                    access.span,
                    &access.name,
                    format!("`{}` wants a strongly consistent read of {index}", access.name),
                )
                .because("global indexes are copied after the write; DynamoDB refuses ConsistentRead on them")
                .fix("drop `consistent`, read the table by its primary key, or use a local index");
        }
    }
}

/// A02
pub(super) fn filter_waste(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        if plan.verdict != Verdict::Filter {
            continue;
        }
        let written = access.raw.as_ref().and_then(|raw| raw.filter.as_ref());
        let fields: Vec<&str> = if let Some(filter) = written {
            filter.terms.iter().map(|term| term.name.trim_start_matches('#')).collect()
        } else {
            let filters = plan.reads.iter().flat_map(|read| &read.filter);
            filters.map(|question| question.field.as_str()).collect()
        };
        let kept = access.keeps.or_else(|| estimated_keep(context, access, plan));
        let (severity, share) = match kept {
            // The limit is asked for, and the request does not keep it.
            kept if plan.proofs.limit == Proof::Refuted => {
                (Severity::Error, kept.map(|kept| 1.0 - kept))
            }
            Some(kept) if kept < 0.2 => (Severity::Warn, Some(1.0 - kept)),
            Some(kept) if kept < 0.5 => (Severity::Info, Some(1.0 - kept)),
            Some(_) => continue,
            None => (Severity::Info, None),
        };
        let what = if fields.is_empty() { "the entity's type".to_owned() } else { quoted(&fields) };
        let waste = share.map_or_else(
            || "how much it throws away is unknown: declare `keeps`".to_owned(),
            |share| format!("it throws away about {:.0} % of what is read", share * 100.0),
        );
        let units = plan.estimate.read_units.map_or_else(String::new, |units| {
            format!("; each call costs {}, whatever the filter keeps", about(units, "read unit"))
        });
        let mut evidence = format!(
            "{waste}{units}; a filter never saves capacity, and a limit counts what was read"
        );
        if let (Some(limit), Proof::Refuted, Some(example)) =
            (access.limit, plan.proofs.limit, &plan.counter_example)
            && is_missing(&example.wrong)
        {
            let _ = write!(
                evidence,
                "\nfor example, sent with Limit = {limit} to {} it returns {} and should return {}",
                counted(example.rows.len(), "item"),
                shown(&example.returns),
                shown(&example.should_return)
            );
        }
        findings
            .add(access.span, &access.name, format!("`{}` filters by {what} after reading", access.name))
            .because(evidence)
            .fix(format!("put {what} into a key: after the pinned part of the sort key, or in an index of its own"))
            .severity(severity);
    }
}

/// What equality filters keep, from the number of values of their fields.
fn estimated_keep(context: &Context, access: &Access, plan: &Plan) -> Option<f64> {
    let entity = access.asked().filter(|_| access.raw.is_none())?;
    let mut kept = 1.0;
    for question in plan.reads.iter().flat_map(|read| &read.filter) {
        match &question.test {
            Test::Equal(_) => {
                kept /= cardinality(context.design, entity, &question.field)?.max(1.0);
            }
            Test::In(values) => {
                let all = cardinality(context.design, entity, &question.field)?.max(1.0);
                kept *= (values.len() as f64 / all).min(1.0);
            }
            _ => return None,
        }
    }
    Some(kept)
}

/// A03
pub(super) fn wrong_order(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        for problem in &plan.problems {
            let Problem::Order { why, fix, .. } = problem else { continue };
            let span = access.order.first().map_or(access.span, |term| term.span);
            findings
                .add(
                    span,
                    &access.name,
                    format!(
                        "`{}` does not come in the order `{}`",
                        access.name,
                        access.order_text()
                    ),
                )
                .because(with_example(why, plan, |wrong| {
                    matches!(wrong, Mismatch::Disorder(_))
                        || matches!(wrong, Mismatch::Missing(_)) && access.limit.is_some()
                }))
                .fix(fix.clone());
        }
    }
}

/// Why, and the counter-example if it shows this fault and not another.
pub(super) fn with_example(why: &str, plan: &Plan, fits: impl Fn(&Mismatch) -> bool) -> String {
    match &plan.counter_example {
        Some(example) if fits(&example.wrong) => format!(
            "{why}\nfor example it returns {} and should return {}",
            shown(&example.returns),
            shown(&example.should_return)
        ),
        _ => why.to_owned(),
    }
}

/// The most keys of an example that are worth reading.
const SHOWN: usize = 4;

fn shown(keys: &[String]) -> String {
    match keys.split_at_checked(SHOWN) {
        _ if keys.is_empty() => "nothing".to_owned(),
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", quoted(first), rest.len())
        }
        _ => quoted(keys),
    }
}

fn is_foreign(wrong: &Mismatch) -> bool {
    matches!(wrong, Mismatch::Foreign(_))
}

fn is_missing(wrong: &Mismatch) -> bool {
    matches!(wrong, Mismatch::Missing(_))
}

/// A04
pub(super) fn bleeds(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        // A request that no key meets finds nothing, its own rows included (K07).
        let never = plan.problems.iter().any(
            |problem| matches!(problem, Problem::Raw(raw) if raw.rule == RawRule::NeverMatches),
        );
        for problem in plan.problems.iter().filter(|_| !never) {
            match problem {
                Problem::Bleed { why, entities } => {
                    let fix = if entities.is_empty() {
                        "close the key of the parent with a separator, or use a fixed-width id"
                    } else {
                        "give the wanted rows a sort key prefix of their own and ask for it, list the others in `find`, or set type_attribute on the table"
                    };
                    findings
                        .add(
                            access.span,
                            &access.name,
                            format!("`{}` also returns other rows", access.name),
                        )
                        .because(with_example(why, plan, is_foreign))
                        .fix(fix);
                }
                Problem::MissingRows { entities, why } => {
                    findings
                        .add(
                            access.span,
                            &access.name,
                            format!("`{}` never returns {}", access.name, quoted(entities)),
                        )
                        .because(with_example(why, plan, is_missing))
                        .fix(format!(
                            "give {} a key under the same partition of this index",
                            quoted(entities)
                        ));
                }
                _ => {}
            }
        }
    }
}

/// A05
pub(super) fn one_by_one(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        for problem in &plan.problems {
            let Problem::OneByOne { entity } = problem else { continue };
            let why = plan.hydrate.as_ref().map(|step| step.reason.clone()).unwrap_or_default();
            findings
                .add(
                    access.span,
                    &access.name,
                    format!("`{}` fetches each `{entity}` with a query of its own", access.name),
                )
                .because(why)
                .fix(format!(
                    "store the primary key fields of `{entity}` in the link item, so that BatchGetItem can fetch 100 at once"
                ));
        }
    }
}

/// A10
pub(super) fn large_page(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        let Some(limit) = access.limit else { continue };
        let sizes = plan.reads.iter().flat_map(|read| {
            read.entities
                .iter()
                .filter(|entity| entity.volume.size.is_some())
                .map(|entity| entry_size(entity, read.index()))
        });
        let Some(size) = sizes.reduce(f64::max) else { continue };
        let bytes = size * limit as f64;
        if bytes <= MAX_PAGE_BYTES as f64 {
            continue;
        }
        findings
            .add(
                access.span,
                &access.name,
                format!(
                    "`{}` wants {}, more than fits one page",
                    access.name,
                    counted(limit, "item")
                ),
            )
            .because(format!(
                "{} of {} make {}; a page ends at 1 MB",
                counted(limit, "item"),
                short_bytes(size),
                short_bytes(bytes)
            ))
            .fix("lower the limit, project less into the index, or read on with LastEvaluatedKey");
    }
}
