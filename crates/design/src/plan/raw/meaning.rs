//! What a legal hand-written request finds, compared with what it is meant to find.

use std::sync::Arc;

use keyloom_core::AttributeValue;
use keyloom_keys::{ByteSet, Language, PrefixMatch};

use super::form::{RawForm, placeholders};
use super::keys::{is_whole, pinned_fields, same_keys, shared_start};
use super::{RawProblem, RawRule};
use crate::condition::Comparison;
use crate::evaluate::Inputs;
use crate::key::{FieldPiece, KeyTemplate, Piece};
use crate::model::{
    Access, Entity, Escape, Field, Index, IndexKey, IndexKind, Operand, Table, Test, same,
};
use crate::plan::bind::Source;
use crate::plan::candidate::candidates;
use crate::plan::concrete::{ConcreteRead, SortCondition, concretize};
use crate::plan::counter;
use crate::plan::coverage::uncovered;
use crate::plan::order::{OrderProblem, direction};
use crate::plan::purity::Bleed;
use crate::plan::range::{ReadRange, SortPart, condition_language};
use crate::plan::request::{Placeholder, read_forms};
use crate::plan::space::Space;
use crate::plan::verdict::accepted;
use crate::plan::{Plan, Read};

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
    check_sort(access, form, &read, &there, index, &mut meaning.problems);
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

fn sort_template<'a>(
    key: &IndexKey<'a>,
    read: &ConcreteRead,
    index: &Index,
) -> Option<&'a KeyTemplate> {
    let at = read.equal.len().checked_sub(index.hash.len())?;
    key.range.get(at).filter(|part| !part.shape.is_native()).map(|part| part.shape.template())
}

/// Prefixes that never match or match too much, and upper bounds that cut the last period.
fn check_sort(
    access: &Access,
    form: &RawForm,
    read: &ConcreteRead,
    there: &[Arc<Entity>],
    index: &Index,
    problems: &mut Vec<RawProblem>,
) {
    let span = access.raw.as_ref().map_or(access.span, |raw| raw.key_span);
    let (Some((_, condition)), Some((_, written))) = (&read.sort, form.sort()) else { return };
    let templates: Vec<(&Arc<Entity>, &KeyTemplate)> = there
        .iter()
        .filter_map(|entity| {
            let key = entity.index_key(index)?;
            Some((entity, sort_template(&key, read, index)?))
        })
        .collect();
    match (condition, written) {
        (SortCondition::BeginsWith(value), SortCondition::BeginsWith(written)) => {
            let Some(prefix) = value.as_s() else { return };
            problems.extend(never(&templates, prefix, &written.text, span));
            problems.extend(open_ended(access, &templates, prefix, &written.text, span));
        }
        (
            SortCondition::Between(_, high) | SortCondition::Compare(Comparison::LessOrEqual, high),
            _,
        ) => {
            let Some(high) = high.as_s() else { return };
            problems.extend(cuts(&templates, high, span));
        }
        _ => {}
    }
}

fn never(
    templates: &[(&Arc<Entity>, &KeyTemplate)],
    prefix: &str,
    written: &str,
    span: crate::source::Span,
) -> Option<RawProblem> {
    let mut nearest: Option<(&Arc<Entity>, &KeyTemplate, String, String)> = None;
    for (entity, template) in templates {
        match template.template().match_prefix(prefix) {
            PrefixMatch::Never { longest, reason } => {
                if nearest.as_ref().is_none_or(|(.., best, _)| best.len() < longest.len()) {
                    nearest = Some((entity, template, longest, reason));
                }
            }
            _ => return None,
        }
    }
    let (entity, template, longest, reason) = nearest?;
    Some(RawProblem {
        rule: RawRule::NeverMatches,
        message: format!("no key of `{}` begins with `{written}`", entity.name),
        evidence: format!(
            "its key is `{}`: {reason}; the request is legal and always empty",
            template.text()
        ),
        fix: format!("begin with `{longest}`, or state the condition on the field in `where`"),
        span,
    })
}

/// A prefix that ends inside a value of varying length matches longer values too.
fn open_ended(
    access: &Access,
    templates: &[(&Arc<Entity>, &KeyTemplate)],
    prefix: &str,
    written: &str,
    span: crate::source::Span,
) -> Option<RawProblem> {
    templates.iter().find_map(|(entity, template)| {
        let field = match template.template().match_prefix(prefix) {
            PrefixMatch::InsideField { field } => field,
            PrefixMatch::WholeKey => template.pieces().last()?.as_field()?.name().to_owned(),
            _ => return None,
        };
        let piece = template.field_pieces().find(|piece| piece.name() == field)?;
        let meant = access.terms.iter().any(|term| {
            term.field == field && matches!(term.test, Test::BeginsWith(_) | Test::Range { .. })
        });
        if meant || piece.format().is_fixed_width() || piece.format().precision().is_some() {
            return None;
        }
        Some(RawProblem {
            rule: RawRule::NeverMatches,
            message: format!("the prefix `{written}` ends inside `{field}`"),
            evidence: format!(
                "`begins_with {prefix}` also matches `{prefix}0` and every other longer value of `{field}` in `{}` (`{}`)",
                template.text(),
                entity.name
            ),
            fix: format!(
                "end the prefix with the separator: `{written}{}`; give a parent item a closing separator of its own or read it with a second request",
                template.template().separator()
            ),
            span,
        })
    })
}

/// An upper bound that is only the beginning of keys leaves those keys out.
fn cuts(
    templates: &[(&Arc<Entity>, &KeyTemplate)],
    high: &str,
    span: crate::source::Span,
) -> Option<RawProblem> {
    templates.iter().find_map(|(entity, template)| {
        let inside = match template.template().match_prefix(high) {
            PrefixMatch::InsideField { field } => Some(field),
            PrefixMatch::AtBoundary => {
                let at = covered(template, high);
                template
                    .pieces()
                    .iter()
                    .take(at)
                    .filter_map(Piece::as_field)
                    .next_back()
                    .map(|piece| piece.name().to_owned())
            }
            _ => None,
        }?;
        let time = entity.field(&inside).is_some_and(crate::model::Field::is_time);
        if !time {
            return None;
        }
        let example = template.template().example()?;
        let tail = example.get(high.len()..).unwrap_or("…");
        Some(RawProblem {
            rule: RawRule::CutsLastPeriod,
            message: format!("the upper bound `{high}` leaves out everything of its last period"),
            evidence: format!(
                "keys of `{}` go on after it (`{high}{tail}`), and a longer text sorts after its beginning",
                entity.name
            ),
            fix: format!(
                "state the range on the field: where = \"… {inside} between ? and ?\"; the upper bound then gets the end of the period"
            ),
            span,
        })
    })
}

/// How many pieces of a template a text covers.
fn covered(template: &KeyTemplate, text: &str) -> usize {
    let mut rest = text;
    let mut pieces = template.pieces().iter().enumerate().peekable();
    while let Some((at, piece)) = pieces.next() {
        match piece {
            Piece::Literal(literal) => match rest.strip_prefix(literal.as_str()) {
                Some(tail) => rest = tail,
                None => return at,
            },
            Piece::Field(_) => match pieces.peek() {
                Some((_, Piece::Literal(next))) => match rest.split_once(next.as_str()) {
                    Some((before, _)) => rest = rest.get(before.len()..).unwrap_or(""),
                    None => {
                        return if rest.is_empty() {
                            at
                        } else {
                            at + usize::from(is_whole(piece, rest))
                        };
                    }
                },
                _ => return at + usize::from(is_whole(piece, rest)),
            },
        }
    }
    template.pieces().len()
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

/// What the planner makes of the conditions on the index of a hand-written request.
fn planned(space: &Space, access: &Access, form: &RawForm) -> Option<(Access, Plan)> {
    let entity = access.find.first()?;
    let mut declared = access.clone();
    declared.raw = None;
    declared.index = Some(crate::source::Spanned::free(form.index_of(&entity.table).label()));
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
