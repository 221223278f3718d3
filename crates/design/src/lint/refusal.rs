//! K05, A01, A06: patterns that no index serves, and the ways out.

use keyloom_keys::Precision;

use super::access::{patterns, raw_findings};
use super::{Context, Findings, quoted};
use crate::cost::Prices;
use crate::model::{Access, Operand, Question, Test};
use crate::plan::{Plan, Problem, RawRule, Reason, Verdict, plan_access};

/// Why a refused pattern is refused.
#[derive(PartialEq, Eq)]
enum Refusal {
    /// A range or prefix on a partition key field.
    PartitionRange,
    /// Its conditions are on fields that no key has.
    NoKey,
    /// A partition key lacks fields.
    Scan,
}

fn refusal(access: &Access, plan: &Plan) -> Option<Refusal> {
    if plan.verdict != Verdict::Refused || access.raw.is_some() {
        return None;
    }
    if plan.problems.iter().any(|problem| matches!(problem, Problem::NoKeyForStep { .. })) {
        return Some(Refusal::NoKey);
    }
    if plan.rejected.iter().any(|no| matches!(no.reason, Reason::PartitionRange { .. })) {
        return Some(Refusal::PartitionRange);
    }
    let in_some_key = |term: &Question| {
        access.asked().is_some_and(|entity| {
            entity
                .keys
                .iter()
                .any(|key| key.shape.template().fields().any(|name| name == term.field))
        })
    };
    let pinned = access.questions().any(|term| matches!(term.test, Test::Equal(_)));
    if pinned && !access.questions().any(in_some_key) {
        return Some(Refusal::NoKey);
    }
    Some(Refusal::Scan)
}

fn reasons(plan: &Plan) -> String {
    let lines: Vec<String> = plan
        .rejected
        .iter()
        .filter(|no| no.reason != Reason::NotChosen)
        .map(|no| {
            let entity =
                if no.entity.is_empty() { String::new() } else { format!(" ({})", no.entity) };
            format!("{}{entity}: {}", no.index, no.reason)
        })
        .collect();
    lines.join("\n")
}

/// A pattern that no index serves, with its plan; of `or`, each alternative that none serves, alone.
fn refused_parts(context: &Context, access: &Access, plan: &Plan) -> Vec<(Access, Plan, Refusal)> {
    if refusal(access, plan).is_none() {
        return Vec::new();
    }
    let parts = if access.alternatives.is_empty() {
        vec![(access.clone(), plan.clone())]
    } else {
        let alone = |part: Access| {
            let plan = plan_access(context.design, &part, &Prices::default());
            (part, plan)
        };
        access.each().into_iter().map(alone).collect()
    };
    let why = |(part, plan)| refusal(&part, &plan).map(|why| (part, plan, why));
    parts.into_iter().filter_map(why).collect()
}

/// Which alternative of `or` a finding is about.
fn alternative(access: &Access, part: &Access) -> String {
    if access.alternatives.is_empty() {
        return String::new();
    }
    format!(" for `{}`", part.where_text(Operand::describe))
}

/// Words of a way out that needs no other key.
pub(crate) const CLOSES: &str = "there are items, with";

/// Time buckets of a partition key whose range is open, and how the design could close it: with `since` and `until` each
/// period is one request.
fn closing(access: &Access, plan: &Plan) -> Option<String> {
    let asked = access.asked()?;
    let open = plan.rejected.iter().find_map(|no| match &no.reason {
        Reason::PartitionRange { field, .. } => Some((field.as_str(), &no.index)),
        Reason::PartitionOpen { open, bound, .. } if !bound.is_empty() => match open.as_slice() {
            [field] => Some((field.as_str(), &no.index)),
            _ => None,
        },
        _ => None,
    });
    let (name, index) = open?;
    let field = asked.field(name)?;
    let index = asked.table.indexes.iter().find(|known| known.label() == index)?;
    let key = asked.index_key(index)?;
    let pieces = key.hash.iter().flat_map(|part| part.shape.template().field_pieces());
    let period =
        pieces.filter(|piece| piece.name() == name).find_map(|piece| piece.format().precision())?;
    // A request for each second would be no help.
    if period > Precision::Hour {
        return None;
    }
    let (low, high) =
        match access.questions().find(|term| term.field == name).map(|term| &term.test) {
            Some(Test::Range { low, high }) => (low.is_some(), high.is_some()),
            Some(_) => return None,
            None => (false, false),
        };
    let missing: Vec<&str> = [
        (!low && field.since.is_none()).then_some("`since`"),
        (!high && field.until.is_none()).then_some("`until`"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let when = match missing.as_slice() {
        ["`since`"] => "from when",
        ["`until`"] => "until when",
        _ => "from when to when",
    };
    (!missing.is_empty()).then(|| {
        format!(
            "say {when} {CLOSES} {} of `{name}`: then each {} is one query (more than 100 need \
             `max_requests`)",
            missing.join(" and "),
            format!("{period:?}").to_lowercase()
        )
    })
}

/// Three ways out of a missing key.
fn ways_out(access: &Access) -> String {
    let asked = access.asked();
    let pinned: Vec<&str> = access
        .questions()
        .filter(|term| matches!(term.test, Test::Equal(_)))
        .map(|term| term.field.as_str())
        .collect();
    let rest: Vec<&str> = access
        .questions()
        .map(|term| term.field.as_str())
        .chain(access.order.iter().map(|term| term.field.as_str()))
        .filter(|name| !pinned.contains(name))
        .fold(Vec::new(), |mut names, name| {
            if !names.contains(&name) {
                names.push(name);
            }
            names
        });
    let name = asked.map_or_else(String::new, |entity| entity.name.clone());
    if pinned.is_empty() {
        return format!(
            "pin something by =: there is no key that all wanted `{name}` share; for a list of everything, shard it: \"ALL#{{shard}}\""
        );
    }
    let sort = if rest.is_empty() {
        String::new()
    } else {
        format!(" and whose sort key begins with {}", quoted(&rest))
    };
    format!("add an index of `{name}` whose partition key is {}{sort}", quoted(&pinned))
}

/// K05
pub(super) fn partition_range(context: &Context, findings: &mut Findings) {
    raw_findings(context, findings, RawRule::PartitionNotEqual);
    for (access, plan) in patterns(context) {
        for (part, plan, why) in refused_parts(context, access, plan) {
            if why != Refusal::PartitionRange {
                continue;
            }
            let which = alternative(access, &part);
            let closing = closing(&part, &plan).unwrap_or_else(|| {
                "declare the values, so that each value is one query".to_owned()
            });
            findings
                .add(
                    access.span,
                    &access.name,
                    format!("`{}` asks for a range of partition keys{which}", access.name),
                )
                .because(reasons(&plan))
                .fix(format!(
                    "(a) move the field into the sort key;\n(b) {};\n(c) {closing}",
                    ways_out(&part)
                ));
        }
    }
}

/// A01
pub(super) fn scan(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        for (part, plan, why) in refused_parts(context, access, plan) {
            if why != Refusal::Scan {
                continue;
            }
            let message =
                format!("`{}` would need a Scan{}", access.name, alternative(access, &part));
            let fix = match closing(&part, &plan) {
                Some(closing) => format!("{closing}; or {}", ways_out(&part)),
                None => ways_out(&part),
            };
            findings.add(access.span, &access.name, message).because(reasons(&plan)).fix(fix);
        }
    }
}

/// A06
pub(super) fn no_key(context: &Context, findings: &mut Findings) {
    for (access, plan) in patterns(context) {
        let step = plan.problems.iter().find_map(|problem| match problem {
            Problem::NoKeyForStep { entity, fields } => Some((entity, fields)),
            _ => None,
        });
        if let Some((entity, fields)) = step {
            findings
                .add(
                    access.span,
                    &access.name,
                    format!("`{}` cannot build the key of `{entity}`", access.name),
                )
                .because(format!("the link items do not have {}", quoted(fields)))
                .fix(format!(
                    "store {} in the link items, or index `{entity}` by what they have",
                    quoted(fields)
                ));
            continue;
        }
        for (part, plan, why) in refused_parts(context, access, plan) {
            if why != Refusal::NoKey {
                continue;
            }
            let fields: Vec<&str> = part.questions().map(|term| term.field.as_str()).collect();
            let entity = part.asked().map(|entity| entity.name.clone()).unwrap_or_default();
            findings
                .add(
                    access.span,
                    &access.name,
                    format!(
                        "`{}` knows {}, which no key of `{entity}` holds{}",
                        access.name,
                        quoted(&fields),
                        alternative(access, &part)
                    ),
                )
                .because(reasons(&plan))
                .fix(ways_out(&part));
        }
    }
}
