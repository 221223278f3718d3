//! What is wrong with the condition on the sort key of a legal hand-written request.

use std::sync::Arc;

use keyloom_keys::PrefixMatch;

use super::form::RawForm;
use super::keys::is_whole;
use super::{RawProblem, RawRule};
use crate::condition::Comparison;
use crate::key::{KeyTemplate, Piece};
use crate::model::{Access, Entity, Field, Index, IndexKey, Test};
use crate::plan::concrete::{ConcreteRead, SortCondition};
use crate::source::Span;

/// Prefixes that never match or match too much, and upper bounds that cut the last period.
pub(super) fn check(
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

fn sort_template<'a>(
    key: &IndexKey<'a>,
    read: &ConcreteRead,
    index: &Index,
) -> Option<&'a KeyTemplate> {
    let at = read.equal.len().checked_sub(index.hash.len())?;
    key.range.get(at).filter(|part| !part.shape.is_native()).map(|part| part.shape.template())
}

fn never(
    templates: &[(&Arc<Entity>, &KeyTemplate)],
    prefix: &str,
    written: &str,
    span: Span,
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
    span: Span,
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
fn cuts(templates: &[(&Arc<Entity>, &KeyTemplate)], high: &str, span: Span) -> Option<RawProblem> {
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
        let time = entity.field(&inside).is_some_and(Field::is_time);
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
