//! Whether a hand-written request is the one that the planner makes of the conditions.

use super::form::RawForm;
use super::keys::same_keys;
use crate::evaluate::Inputs;
use crate::model::Access;
use crate::mutation::{Mutation, is_on};
use crate::plan::Plan;
use crate::plan::candidate::candidates;
use crate::plan::concrete::{ConcreteRead, SortCondition, concretize};
use crate::plan::counter;
use crate::plan::request::read_forms;
use crate::plan::space::Space;
use crate::plan::verdict::accepted;
use crate::source::Spanned;

/// What the planner makes of the conditions on the index of a hand-written request.
fn planned(space: &Space, access: &Access, form: &RawForm) -> Option<(Access, Plan)> {
    let entity = access.find.first()?;
    let mut declared = access.clone();
    declared.raw = None;
    declared.index = Some(Spanned::free(form.index_of(&entity.table).label()));
    let (candidate, _) = candidates(space, &declared, &declared.find);
    let planned = accepted(&declared, candidate?, Vec::new());
    Some((declared, planned))
}

/// The plan of `where` whose request is the one that was written by hand. They are compared on samples; what other
/// inputs do, is looked at when they come ([`is_same`]).
pub(super) fn as_planned(space: &Space, access: &Access, form: &RawForm) -> Option<Plan> {
    let (_, planned) = planned(space, access, form)?;
    let mut used = form.inputs();
    used.sort_unstable();
    let mut declared: Vec<&str> = access.inputs.iter().map(|input| input.name.as_str()).collect();
    declared.sort_unstable();
    let same = used == declared
        && calls(access).iter().all(|inputs| {
            let Ok(mine) = form.concrete(inputs) else { return false };
            is_same(access, &planned, form, inputs, &mine) == Ok(true)
                || is_on(Mutation::HandsAreRight)
        });
    same.then_some(planned)
}

/// Calls that tell inputs apart: plausible ones, and for each input one in which only its value differs.
fn calls(access: &Access) -> Vec<Inputs> {
    let base = counter::inputs_numbered(access, 0);
    let mut calls = vec![base.clone()];
    for (name, value) in counter::inputs_numbered(access, 1) {
        let mut call = base.clone();
        call.insert(name, value);
        calls.push(call);
    }
    calls
}

/// Whether a hand-written request is the planned one with these inputs. An error says why they do not fit.
pub(super) fn is_same(
    access: &Access,
    planned: &Plan,
    form: &RawForm,
    inputs: &Inputs,
    mine: &ConcreteRead,
) -> Result<bool, String> {
    let theirs = concretize(access, planned, inputs)?;
    let [only] = theirs.as_slice() else { return Ok(false) };
    let filtered =
        |a: &ConcreteRead, b: &ConcreteRead| a.filter.iter().all(|test| b.filter.contains(test));
    Ok(filtered(only, mine) && filtered(mine, only) && same_keys(access, form, only, mine))
}

/// The one key condition that the conditions compile to, as a design file states it.
pub(super) fn planned_key(access: &Access, form: &RawForm) -> Option<String> {
    let (declared, planned) = planned(&Space::empty(), access, form)?;
    let [read] = planned.reads.as_slice() else { return None };
    (read.filter.is_empty() && read.fans.is_empty())
        .then(|| key_text(&declared, &planned))
        .flatten()
}

/// The key condition of the first request of a plan.
fn key_text(access: &Access, plan: &Plan) -> Option<String> {
    let form = read_forms(access, plan).into_iter().next()?;
    let mut parts: Vec<String> =
        form.equal.iter().map(|(name, value)| format!("{name} = \"{}\"", value.text)).collect();
    match &form.sort {
        Some((name, begins @ SortCondition::BeginsWith(_))) => {
            parts.push(begins.as_test().design_text(name, |value| format!("\"{}\"", value.text)));
        }
        Some(_) => return None,
        None => {}
    }
    Some(parts.join(" and "))
}
