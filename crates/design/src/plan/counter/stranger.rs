//! Rows of other entities that lie in the key range of a pattern.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::AttributeValue;
use keyloom_keys::{Language, Value};

use super::Case;
use super::rows::sample_row;
use crate::evaluate::{Inputs, Row};
use crate::generate::{sample, set_shards};
use crate::key::{KeyTemplate, Piece};
use crate::model::{Access, Design, Entity, EntityKey, Escape, Index, Operand};
use crate::plan::concrete::ConcreteRead;
use crate::plan::range::{SortPart, condition_language};
use crate::plan::simulate::simulate;
use crate::plan::{Plan, Problem};

type Values = BTreeMap<String, Value<'static>>;

/// The entities that share the key range: those that a failed purity proof names, and where a filter on
/// the type keeps others out, all others of the table.
pub(super) fn entities(design: &Design, access: &Access, plan: &Plan) -> Vec<Arc<Entity>> {
    let mut found: Vec<Arc<Entity>> = Vec::new();
    if let Some(read) = plan.reads.iter().find(|read| read.type_filter) {
        let is_asked =
            |entity: &Entity| read.entities.iter().any(|asked| asked.name == entity.name);
        found.extend(design.entities_in(&read.table).filter(|entity| !is_asked(entity)).cloned());
    }
    if plan.raw.is_some() && access.raw.as_ref().is_some_and(|raw| raw.filter.is_some()) {
        let table = access.find.first().map(|entity| &entity.table);
        let others = table.into_iter().flat_map(|table| design.entities_in(table));
        found.extend(others.filter(|entity| !access.finds(entity)).cloned());
    }
    let names = plan.problems.iter().flat_map(|problem| match problem {
        Problem::Bleed { entities, .. } => entities.as_slice(),
        _ => &[],
    });
    found.extend(names.filter_map(|name| design.entity(name).cloned()));
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    found
}

/// Inputs for which the key is one that a stranger can have too.
pub(super) fn inputs_like(case: &Case, stranger: &Arc<Entity>, base: &Inputs) -> Vec<Inputs> {
    let mut calls = Vec::new();
    for read in &case.plan.reads {
        let index = read.index();
        let (Some(theirs), Some(mine)) =
            (stranger.index_key(index), read.range.entity.index_key(index))
        else {
            continue;
        };
        let (whole, begun) = match &read.range.sort {
            SortPart::Exact => (mine.range.len(), 0),
            SortPart::Open { attribute, pieces, .. } => (*attribute, *pieces),
            SortPart::Common(pieces) => (0, pieces.len()),
            SortPart::Whole => (0, 0),
        };
        let whole = mine.hash.len() + whole;
        let pairs: Vec<_> = mine
            .parts()
            .zip(theirs.parts())
            .enumerate()
            .map(|(at, (mine, theirs))| {
                let template = mine.shape.template();
                let all = template.pieces().len();
                let bound = match at.cmp(&whole) {
                    Ordering::Less => all,
                    Ordering::Equal => begun,
                    Ordering::Greater => 0,
                };
                (template, bound, theirs.shape.template())
            })
            .filter(|(_, bound, _)| *bound > 0)
            .collect();
        // From the left and from the right: the values found in one key restrict the next.
        let (own, foreign) = (sample_row(&read.range.entity, 3), sample_row(stranger, 3));
        let nothing = Values::new();
        let starts = [with_times(&nothing, &foreign), nothing.clone()];
        let orders = [pairs.clone(), pairs.into_iter().rev().collect()];
        let starts = starts.iter().flat_map(|other| {
            [with_times(&nothing, &own), nothing.clone()].map(|mine| (mine, other.clone()))
        });
        for ((mut known, mut other), parts) in
            starts.flat_map(|start| orders.iter().map(move |order| (start.clone(), order)))
        {
            let all = parts.iter().all(|(mine, bound, theirs)| {
                let own = language(mine, *bound, &known);
                let text = own.shared_text(&language(theirs, usize::MAX, &other));
                let Some(text) = text.and_then(|bytes| String::from_utf8(bytes).ok()) else {
                    return false;
                };
                known.extend(begun_with(mine, *bound, &text).unwrap_or_default());
                other.extend(taken_apart(theirs, &text).unwrap_or_default());
                true
            });
            let call = with_values(case.access, base, &known);
            if all && !calls.contains(&call) {
                calls.push(call);
            }
        }
        // The key of a sample of theirs, if mine can be that.
        let row = sample_row(stranger, 3);
        let mut known = Values::new();
        for (mine, theirs) in mine.hash.iter().zip(&theirs.hash) {
            let text = theirs.shape.template().build(|name| row.values.get(name).cloned());
            let told = text.and_then(|text| taken_apart(mine.shape.template(), &text));
            known.extend(told.unwrap_or_default());
        }
        calls.insert(0, with_values(case.access, base, &known));
    }
    calls
}

/// The inputs, with those that ask for these values changed.
fn with_values(access: &Access, base: &Inputs, values: &Values) -> Inputs {
    let mut inputs = base.clone();
    for (name, value) in values {
        if let Some(Operand::Input(input)) = access.equality(name) {
            inputs.insert(input.clone(), value.clone());
        }
    }
    inputs
}

/// A row of another entity inside the range of a read.
pub(super) fn row_in(
    entity: &Arc<Entity>,
    read: &ConcreteRead,
    model: Option<&Row>,
) -> Option<Row> {
    let index = index_of(entity, read.index.as_deref())?;
    [like(entity, model), sample_row(entity, 3)]
        .into_iter()
        .find_map(|row| fitted(row, index, read))
}

/// A sample with the values of another row in the fields that both have.
fn like(entity: &Arc<Entity>, model: Option<&Row>) -> Row {
    let mut row = sample_row(entity, 3);
    let Some(model) = model else { return row };
    for (name, value) in &model.values {
        let kind = |of: &Entity| of.field(name).map(|field| field.kind.clone());
        if entity.field(name).is_some() && kind(&model.entity) == kind(entity) {
            row.values.insert(name.clone(), value.clone());
        }
    }
    set_shards(&mut row);
    row
}

/// The row with other values in its key, so that a read covers it.
fn fitted(mut row: Row, index: &Index, read: &ConcreteRead) -> Option<Row> {
    let entity = row.entity.clone();
    let key = entity.index_key(index)?;
    let covers = |row: &Row| !within(read, row).is_empty();
    if covers(&row) {
        return Some(row);
    }
    let mut told = Values::new();
    for (part, (_, value)) in key.parts().zip(&read.equal) {
        tell(&mut told, part, &entity, value);
    }
    adopt(&mut row, &told);
    if covers(&row) {
        return Some(row);
    }
    if let (Some((_, condition)), Some(part)) = (&read.sort, key.parts().nth(read.equal.len())) {
        let wanted = condition_language(condition);
        let template = part.shape.template();
        // Familiar times make better examples, so the times of the row are tried first.
        for known in [with_times(&told, &row), told.clone()] {
            let theirs = language(template, usize::MAX, &known);
            let text = wanted.shared_text(&theirs).and_then(|text| String::from_utf8(text).ok());
            let Some(values) = text.and_then(|text| taken_apart(template, &text)) else { continue };
            let mut fitted = row.clone();
            adopt(&mut fitted, &values);
            if covers(&fitted) {
                return Some(fitted);
            }
        }
    }
    None
}

/// What is known, and the times of a row.
fn with_times(known: &Values, row: &Row) -> Values {
    let times = row.values.iter().filter(|(_, value)| matches!(value, Value::Time(_)));
    let mut all: Values = times.map(|(name, value)| (name.clone(), value.clone())).collect();
    all.extend(known.clone());
    all
}

/// More rows like this one inside the read: other values in all fields that the range leaves free.
pub(super) fn varied(row: &Row, read: &ConcreteRead, count: usize) -> Vec<Row> {
    let mut rows = vec![row.clone()];
    for n in 0..(4 * count) as u32 {
        if rows.len() > count {
            break;
        }
        for field in &row.entity.fields {
            let mut other = row.clone();
            other.values.insert(field.name.clone(), sample(field, n));
            set_shards(&mut other);
            let new = other.label() != row.label();
            if new && !within(read, &other).is_empty() {
                rows.push(other);
            }
        }
    }
    rows
}

/// A row of another entity that has the key of a row in an index.
pub(super) fn row_with_key_of(other: &Arc<Entity>, row: &Row, index: Option<&str>) -> Option<Row> {
    let index = index_of(&row.entity, index)?;
    let values = row.index_values(index)?;
    let key = other.index_key(index)?;
    let mut told = Values::new();
    for (part, value) in key.parts().zip(&values) {
        tell(&mut told, part, other, value);
    }
    let mut found = sample_row(other, 3);
    adopt(&mut found, &told);
    (found.index_values(index)? == values).then_some(found)
}

/// What a read returns of one row without its filter.
fn within<'r>(read: &ConcreteRead, row: &'r Row) -> Vec<&'r Row> {
    let open = ConcreteRead { filter: Vec::new(), limit: None, ..read.clone() };
    simulate(&open, std::slice::from_ref(row))
}

fn index_of<'e>(entity: &'e Entity, name: Option<&str>) -> Option<&'e Index> {
    match name {
        None => Some(entity.table.primary()),
        Some(name) => entity.table.index(name),
    }
}

fn adopt(row: &mut Row, told: &Values) {
    row.values.extend(told.clone());
    set_shards(row);
}

/// Adds the field values that a key attribute of an entity contains.
fn tell(told: &mut Values, part: &EntityKey, entity: &Entity, value: &AttributeValue) {
    let template = part.shape.template();
    if let Some(text) = value.as_s() {
        told.extend(taken_apart(template, text).unwrap_or_default());
        return;
    }
    let field = template.fields().next().and_then(|name| entity.field(name));
    if let (Some(field), AttributeValue::N(number)) = (field, value)
        && let Some(format) = field.format()
        && let Ok(value) = Value::parse_for(&format, &number.to_string())
    {
        told.insert(field.name.clone(), value.into_owned());
    }
}

/// The keys that begin with so many pieces of a template, whose known fields have their values.
fn language(template: &KeyTemplate, pieces: usize, known: &Values) -> Language {
    let mut language = Language::empty_text();
    for piece in template.pieces().iter().take(pieces) {
        match piece {
            Piece::Literal(text) => language.literal(text.as_bytes()),
            Piece::Field(field) => {
                let text = known.get(field.name()).and_then(|v| template.encode_field(field, v));
                match text {
                    Some(text) => language.literal(text.as_bytes()),
                    None => template.add_field(&mut language, field),
                }
            }
        }
    }
    if pieces < template.pieces().len() {
        language.anything();
    }
    language
}

/// The fields of a key text; without a policy, the first way that it can be read.
fn taken_apart(template: &KeyTemplate, text: &str) -> Option<Values> {
    if template.escape() != Escape::None {
        let fields = template.template().parse_key(text).ok()?;
        return Some(fields.iter().map(|(name, v)| (name.to_owned(), v.into_owned())).collect());
    }
    let mut values = Values::new();
    split(template.pieces(), text, false, &mut values).then_some(values)
}

/// The fields of the first pieces of a key text.
fn begun_with(template: &KeyTemplate, pieces: usize, text: &str) -> Option<Values> {
    match template.pieces().get(..pieces) {
        Some(begun) if begun.len() < template.pieces().len() => {
            let mut values = Values::new();
            split(begun, text, true, &mut values).then_some(values)
        }
        _ => taken_apart(template, text),
    }
}

fn split(pieces: &[Piece], text: &str, open: bool, values: &mut Values) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return open || text.is_empty() };
    match first {
        Piece::Literal(literal) => {
            text.strip_prefix(literal.as_str()).is_some_and(|tail| split(rest, tail, open, values))
        }
        Piece::Field(field) => {
            text.char_indices().map(|(at, _)| at).skip(1).chain(std::iter::once(text.len())).any(
                |end| {
                    let Some((head, tail)) = text.split_at_checked(end) else { return false };
                    let Ok(value) = field.format().decode(head) else { return false };
                    let same = values.get(field.name()).is_none_or(|known| *known == value);
                    if !same || !split(rest, tail, open, values) {
                        return false;
                    }
                    values.insert(field.name().to_owned(), value.into_owned());
                    true
                },
            )
        }
    }
}
