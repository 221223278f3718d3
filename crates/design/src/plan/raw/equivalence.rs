//! Whether a hand-written request is the one that the planner makes of the conditions.

use std::sync::Arc;

use super::form::RawForm;
use super::sort_key::is_whole;
use crate::evaluate::Inputs;
use crate::key::{KeyTemplate, Piece, may_hold_separator};
use crate::model::{Access, Entity, Escape};
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

/// Whether two reads take the same keys of the entities to be found.
fn same_keys(access: &Access, form: &RawForm, a: &ConcreteRead, b: &ConcreteRead) -> bool {
    if a.equal == b.equal && a.sort == b.sort {
        return true;
    }
    let Some(table) = access.find.first().map(|entity| &entity.table) else { return false };
    let index = form.index_of(table);
    let hashes = index.hash.len();
    let (Some(x), Some(y)) = (beginning(a, hashes), beginning(b, hashes)) else { return false };
    let same_hash = a.equal.get(..hashes) == b.equal.get(..hashes);
    // One begins with the other, and what it has more is text that all keys of the entity have there.
    let begins = x.0.starts_with(y.0) || y.0.starts_with(x.0);
    let alike = |entity: &Arc<Entity>| {
        let key = entity.index_key(index)?;
        let [part] = key.range.as_slice() else { return None };
        let template = part.shape.template();
        let (x, y) = (pinned_fields(template, x)?, pinned_fields(template, y)?);
        (!part.shape.is_native()).then_some(x == y)
    };
    same_hash && begins && access.find.iter().all(|entity| alike(entity) == Some(true))
}

/// What the sort keys of a read begin with, and whether that is all of them; nothing if it takes a range.
fn beginning(read: &ConcreteRead, hashes: usize) -> Option<(&str, bool)> {
    match (&read.sort, read.equal.get(hashes)) {
        (None, None) => Some(("", false)),
        (None, Some((_, value))) => Some((value.as_s()?, true)),
        (Some((_, SortCondition::BeginsWith(value))), None) => Some((value.as_s()?, false)),
        _ => None,
    }
}

/// How many fields of a template a beginning pins; nothing if it may end inside of one.
pub(super) fn pinned_fields(template: &KeyTemplate, (text, exact): (&str, bool)) -> Option<usize> {
    let loose = template.field_pieces().any(|piece| may_hold_separator(piece.format()));
    if template.escape() == Escape::None && loose {
        return None;
    }
    let separator = template.template().separator();
    let mut rest = text;
    let mut fields = 0;
    let mut pieces = template.pieces().iter().peekable();
    while let Some(piece) = pieces.next() {
        if rest.is_empty() {
            return Some(fields);
        }
        let field = match piece {
            Piece::Literal(literal) => match rest.strip_prefix(literal.as_str()) {
                Some(tail) => {
                    rest = tail;
                    continue;
                }
                None => return literal.starts_with(rest).then_some(fields),
            },
            Piece::Field(field) => field,
        };
        fields += 1;
        let next = match pieces.peek() {
            Some(Piece::Literal(next)) => next.as_str(),
            _ => "",
        };
        if let Some((value, _)) = rest.split_once(next).filter(|_| !next.is_empty()) {
            rest = rest.get(value.len()..)?;
            continue;
        }
        // The text ends here: with the beginning of what follows, which closes the value, or with the value.
        let closed = next.starts_with(separator) && rest.ends_with(separator);
        let whole = exact && next.is_empty() || field.format().is_fixed_width();
        return (closed || whole && is_whole(piece, rest)).then_some(fields);
    }
    rest.is_empty().then_some(fields)
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
