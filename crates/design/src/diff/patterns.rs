//! Access patterns: which are gained and lost, and what becomes of the others.

use super::{Pair, paired};
use crate::check::CheckReport;
use crate::model::Access;
use crate::plan::{Plan, Verdict};

/// An access pattern of either design.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternDiff {
    /// The pattern's name.
    pub name: String,
    /// What becomes of it.
    pub change: PatternChange,
    /// How the old design answers it.
    pub before: Option<PatternSide>,
    /// How the new design answers it.
    pub after: Option<PatternSide>,
}

/// What becomes of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternChange {
    /// It is read as it was, at the same cost.
    Same,
    /// Only the new design has it, or proves it.
    Gained,
    /// Only the old design had it, or proved it.
    Lost,
    /// A call costs more units or requests.
    Dearer,
    /// A call costs fewer units or requests.
    Cheaper,
    /// Another request answers it at the same cost.
    Reads,
    /// It asks for something else: other rows, another order or limit.
    Asks,
}

/// How a design answers a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternSide {
    /// What the planner says of it.
    pub verdict: Verdict,
    /// The index, or `table`; nothing if the pattern is refused.
    pub index: Option<String>,
    /// Whether everything that it asks is proven.
    pub proven: bool,
    /// Requests per call, as far as they are known.
    pub requests: Option<f64>,
    /// Read units per call, as far as they are known.
    pub read_units: Option<f64>,
}

/// Costs that differ by less than this share are the same.
const NOISE: f64 = 0.005;

/// Compares the plans of two designs.
pub(super) fn compare(old: &CheckReport, new: &CheckReport) -> Vec<PatternDiff> {
    paired(&old.plans, &new.plans, |plan| &plan.name)
        .into_iter()
        .map(|pair| {
            let (name, before, after) = match pair {
                Pair::Both(old, new) => (&new.name, Some(side(old)), Some(side(new))),
                Pair::Added(new) => (&new.name, None, Some(side(new))),
                Pair::Removed(old) => (&old.name, Some(side(old)), None),
            };
            let mut change = change(before.as_ref(), after.as_ref());
            let asks = |report: &CheckReport| {
                report.design.as_ref().and_then(|design| design.access(name).map(question))
            };
            if matches!(change, PatternChange::Same | PatternChange::Reads)
                && asks(old) != asks(new)
            {
                change = PatternChange::Asks;
            }
            PatternDiff { name: name.clone(), change, before, after }
        })
        .collect()
}

/// What a pattern asks, whichever index serves it.
fn question(access: &Access) -> String {
    let find: Vec<&str> = access.find.iter().map(|entity| entity.name.as_str()).collect();
    let terms: Vec<String> =
        access.terms.iter().map(|term| term.test.describe(&term.field)).collect();
    let order: Vec<(&str, bool)> =
        access.order.iter().map(|by| (by.field.as_str(), by.descending)).collect();
    let via = access.via.as_ref().map(|entity| entity.name.as_str());
    let Access { limit, returns, consistent, .. } = access;
    format!("{find:?} {via:?} {terms:?} {order:?} {limit:?} {returns:?} {consistent}")
}

fn side(plan: &Plan) -> PatternSide {
    let index = plan.reads.first().map(|read| read.index().label().to_owned());
    PatternSide {
        verdict: plan.verdict,
        index,
        proven: plan.is_proven(),
        requests: plan.calls(),
        read_units: plan.estimate.read_units,
    }
}

fn change(before: Option<&PatternSide>, after: Option<&PatternSide>) -> PatternChange {
    let (Some(before), Some(after)) = (before, after) else {
        return if after.is_some() { PatternChange::Gained } else { PatternChange::Lost };
    };
    match (before.proven, after.proven) {
        (false, true) => return PatternChange::Gained,
        (true, false) => return PatternChange::Lost,
        _ => {}
    }
    // Units decide; requests count where units are the same or unknown.
    for (old, new) in [(before.read_units, after.read_units), (before.requests, after.requests)] {
        let (Some(old), Some(new)) = (old, new) else { continue };
        if new > old * (1.0 + NOISE) {
            return PatternChange::Dearer;
        }
        if new < old * (1.0 - NOISE) {
            return PatternChange::Cheaper;
        }
    }
    let read = |side: &PatternSide| (side.verdict, side.index.clone());
    if read(before) == read(after) { PatternChange::Same } else { PatternChange::Reads }
}
