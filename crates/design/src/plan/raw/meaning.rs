//! What a legal hand-written request finds, compared with what it is meant to find.

use std::sync::Arc;

use keyloom_core::AttributeValue;
use keyloom_keys::{ByteSet, Language};

use super::form::{RawForm, placeholders};
use super::keys::{pinned_fields, shared_start};
use super::{RawProblem, RawRule, sort_key};
use crate::key::{FieldPiece, KeyTemplate};
use crate::model::{Access, Entity, Escape, Field, Index, IndexKind, Operand, Table, same};
use crate::mutation::{Mutation, is_on};
use crate::plan::Read;
use crate::plan::bind::Source;
use crate::plan::concrete::{ConcreteRead, SortCondition};
use crate::plan::counter;
use crate::plan::coverage::uncovered;
use crate::plan::order::{OrderProblem, direction};
use crate::plan::purity::Bleed;
use crate::plan::range::{ReadRange, SortPart, condition_language};
use crate::plan::request::Placeholder;
use crate::plan::space::Space;

/// What is known about a legal request.
pub(super) struct Meaning {
    pub(super) reads: Vec<Read>,
    pub(super) order: Option<OrderProblem>,
    pub(super) bleeds: Vec<Bleed>,
    pub(super) uncovered: Vec<String>,
    pub(super) inconsistent: Option<String>,
    /// Entities that the request can never return.
    pub(super) missing: Vec<String>,
    pub(super) problems: Vec<RawProblem>,
    /// Whether attributes that a local index does not hold are fetched from the table.
    pub(super) fetches: bool,
    /// Whether rows come as asked when the sort order is followed upwards.
    pub(super) forward: bool,
}

pub(super) fn check(space: &Space, access: &Access, form: &RawForm) -> Meaning {
    let mut meaning = Meaning {
        reads: Vec::new(),
        order: None,
        bleeds: Vec::new(),
        uncovered: Vec::new(),
        inconsistent: None,
        missing: Vec::new(),
        problems: Vec::new(),
        fetches: false,
        forward: form.form().forward,
    };
    let mut inputs = counter::base_inputs(access);
    form.add_inputs(access, &mut inputs);
    let Some(first) = access.find.first() else { return meaning };
    let index = form.index_of(&first.table);
    let Ok(read) = form.concrete(&inputs) else { return meaning };
    let there = partition_matches(access, form, &read, index, &mut meaning);
    if there.is_empty() {
        return meaning;
    }
    sort_key::check(access, form, &read, &there, index, &mut meaning.problems);
    meaning.bleeds = vec![strangers(space, access, form, &read)];
    meaning.uncovered = uncovered(access, &there, index);
    if index.kind == IndexKind::Local {
        meaning.fetches = !meaning.uncovered.is_empty();
        meaning.uncovered.clear();
    }
    meaning.inconsistent =
        (access.consistent && index.kind == IndexKind::Global).then(|| index.label().to_owned());
    if let Some(planned) = equivalent(access, form, &there, &read, index) {
        if !access.order.is_empty() {
            match direction(access, &planned) {
                Ok(forward) => meaning.forward = forward,
                Err(problem) => meaning.order = Some(problem),
            }
        }
        meaning.reads = vec![planned];
    }
    meaning
}

/// The entities whose partition keys the request can meet; the others are missing rows.
fn partition_matches(
    access: &Access,
    form: &RawForm,
    read: &ConcreteRead,
    index: &Index,
    meaning: &mut Meaning,
) -> Vec<Arc<Entity>> {
    let mut there = Vec::new();
    let mut why = None;
    for entity in &access.find {
        let Some(key) = entity.index_key(index) else {
            meaning.missing.push(entity.name.clone());
            continue;
        };
        let unlike = key.hash.iter().zip(&read.equal).zip(form.equal()).find_map(
            |((part, (_, value)), (_, written))| {
                let text = value.as_s()?;
                let template = part.shape.template();
                let meets = part.shape.is_native() || meets(template, text, &written.text);
                (!meets).then(|| (template.text().to_owned(), written.text.clone()))
            },
        );
        match unlike {
            None => there.push(entity.clone()),
            Some(unlike) => {
                meaning.missing.push(entity.name.clone());
                why = Some((entity.name.clone(), unlike));
            }
        }
    }
    if let (true, Some((entity, (template, text)))) = (there.is_empty(), why) {
        let span = access.raw.as_ref().map_or(access.span, |raw| raw.key_span);
        meaning.problems.push(RawProblem {
            rule: RawRule::NeverMatches,
            message: format!("no `{entity}` has the partition key `{text}`"),
            evidence: format!(
                "its partition key is `{template}`; the request is legal and always empty"
            ),
            fix: "use the same template for writing and reading".to_owned(),
            span,
        });
    }
    there
}

/// Whether a template can produce the text or, if the text has inputs, a text of the same form.
fn meets(template: &KeyTemplate, sample: &str, written: &str) -> bool {
    if template.template().matches(sample) || template.language().contains(sample.as_bytes()) {
        return true;
    }
    let mut form = Language::empty_text();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('{') {
        form.literal(before.as_bytes());
        form.anything();
        rest = after.split_once('}').map_or("", |(_, tail)| tail);
    }
    form.literal(rest.as_bytes());
    form.shared_text(&template.language()).is_some()
}

/// The entities besides the wanted ones that the request returns.
fn strangers(space: &Space, access: &Access, form: &RawForm, read: &ConcreteRead) -> Bleed {
    let Some(first) = access.find.first() else { return Bleed::default() };
    let mut wanted: Vec<Language> = Vec::new();
    for (_, written) in form.equal() {
        wanted.push(text_language(&written.text, &first.table));
    }
    if let (Some((_, condition)), Some((_, written))) = (&read.sort, form.sort()) {
        wanted.push(sort_language(condition, written, &first.table));
    }
    let strangers = space
        .occupants(&first.table, form.index)
        .iter()
        .filter(|occupant| access.find.iter().all(|found| !same(found, occupant.entity)))
        .filter(|occupant| {
            wanted.iter().zip(occupant.languages()).all(|(a, b)| a.shared_text(b).is_some())
        })
        .map(|occupant| occupant.entity.clone())
        .collect();
    Bleed { strangers, ..Bleed::default() }
}

/// The language of a text whose inputs may have any value that keys of the table can hold.
fn text_language(written: &str, table: &Table) -> Language {
    let mut language = Language::empty_text();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('{') {
        language.literal(before.as_bytes());
        match table.escape {
            Escape::None => language.anything(),
            _ => language.text(ByteSet::ALL, table.separator.as_bytes()),
        }
        rest = after.split_once('}').map_or("", |(_, tail)| tail);
    }
    language.literal(rest.as_bytes());
    language
}

/// The sort keys that satisfy a condition, whatever values its inputs have.
fn sort_language(
    condition: &SortCondition<AttributeValue>,
    written: &SortCondition<Placeholder>,
    table: &Table,
) -> Language {
    let fixed = |text: &str| text.split('{').next().unwrap_or_default().to_owned();
    let (mut language, texts) = match written {
        SortCondition::BeginsWith(prefix) => {
            let mut language = text_language(&prefix.text, table);
            language.anything();
            return language;
        }
        SortCondition::Between(low, high) => {
            let mut language = Language::empty_text();
            language.literal(shared_start(&fixed(&low.text), &fixed(&high.text)).as_bytes());
            (language, vec![low, high])
        }
        SortCondition::Compare(_, value) => (Language::empty_text(), vec![value]),
    };
    if texts.iter().all(|text| placeholders(&text.text).is_empty()) {
        return condition_language(condition);
    }
    language.anything();
    language
}

/// The request as a planned read, for the order proof and the estimate.
fn equivalent(
    access: &Access,
    form: &RawForm,
    there: &[Arc<Entity>],
    read: &ConcreteRead,
    index: &Index,
) -> Option<Read> {
    let entity = there.first()?;
    let key = entity.index_key(index)?;
    let mut sources: Vec<(String, Source)> = Vec::new();
    // A key that holds only the day of a moment, or a text without its case, does not pin the field.
    let mut bind = |piece: &FieldPiece| {
        let field = entity.field(piece.name());
        let whole = field.is_none_or(|field| field.is_told_by(piece.format()));
        let name = piece.name().to_owned();
        let whole = whole || is_on(Mutation::HandsPinPeriods);
        if whole && !field.is_some_and(Field::is_loose_time) {
            sources.push((name.clone(), Source::Pinned(Operand::Input(name))));
        }
    };
    key.hash.iter().flat_map(|part| part.shape.template().field_pieces()).for_each(&mut bind);
    let bound = read.equal.len().saturating_sub(index.hash.len());
    for part in key.range.iter().take(bound) {
        part.shape.template().field_pieces().for_each(&mut bind);
    }
    let sort = match (&read.sort, key.range.get(bound)) {
        (None, None) => SortPart::Exact,
        (None, Some(_)) if bound == 0 => SortPart::Whole,
        (None, Some(_)) => SortPart::Open { attribute: bound, pieces: 0, range: None },
        (Some((_, condition)), Some(part)) => {
            let template = part.shape.template();
            let start = match condition {
                SortCondition::BeginsWith(value) => value.as_s().unwrap_or_default().to_owned(),
                SortCondition::Between(low, high) => {
                    shared_start(low.as_s().unwrap_or_default(), high.as_s().unwrap_or_default())
                }
                SortCondition::Compare(..) => String::new(),
            };
            let fields = pinned_fields(template, (&start, false)).unwrap_or(0);
            let fields = fields.saturating_sub(usize::from(ends_in_period(form, template, fields)));
            template.field_pieces().take(fields).for_each(&mut bind);
            let pieces = template.pieces().iter().enumerate();
            let last = pieces.filter(|(_, piece)| piece.as_field().is_some()).take(fields).last();
            let pieces = last.map_or(0, |(at, _)| at + 1);
            SortPart::Open { attribute: bound, pieces, range: None }
        }
        (Some(_), None) => return None,
    };
    Some(Read {
        table: entity.table.clone(),
        index: form.index,
        entities: there.to_vec(),
        range: ReadRange { entity: entity.clone(), sources, sort },
        fans: Vec::new(),
        filter: Vec::new(),
        type_filter: false,
        forward: read.forward,
        limit: access.limit,
        fetches: false,
    })
}

/// Whether the beginning of the sort keys ends with an input for the last of so many fields, which is a time: given as a
/// day or a month, it is the beginning of many.
fn ends_in_period(form: &RawForm, template: &KeyTemplate, fields: usize) -> bool {
    let last = fields.checked_sub(1).and_then(|at| template.field_pieces().nth(at));
    let texts = match form.sort() {
        Some((_, SortCondition::BeginsWith(text))) => vec![text],
        Some((_, SortCondition::Between(low, high))) => vec![low, high],
        Some((_, SortCondition::Compare(..))) | None => Vec::new(),
    };
    last.is_some_and(|piece| piece.format().precision().is_some())
        && texts.iter().any(|written| written.text.ends_with('}'))
}
