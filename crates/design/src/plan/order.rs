//! Order: whether keys come in the order that the pattern asks for.

use keyloom_keys::Precision;

use super::Read;
use super::bind::{Fan, Source};
use super::periods;
use super::range::SortPart;
use crate::key::{FieldPiece, KeyTemplate, Piece};
use crate::model::{Access, Entity, EntityKey, Field, FieldKind, Index, Operand, OrderBy};
use crate::mutation::{Mutation, is_on};

/// Why rows do not come as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrderProblem {
    pub(crate) why: String,
    pub(crate) fix: String,
    pub(crate) moved: Option<MovedKey>,
}

/// A key with its fields in another order, in which rows would come as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedKey {
    /// The name of the entity.
    pub entity: String,
    /// The key attribute.
    pub attribute: String,
    /// The new template.
    pub template: String,
}

/// Whether to read forward so that rows come as asked, or why they cannot.
pub(crate) fn direction(access: &Access, read: &Read) -> Result<bool, OrderProblem> {
    let sorts =
        |term: &&OrderBy| !is_constant(read, &term.field) && !is_pinned(access, read, &term.field);
    let terms: Vec<&OrderBy> = access.order.iter().filter(sorts).collect();
    if terms.is_empty() || is_single_item(read) {
        return Ok(true);
    }
    let mut forward = None;
    let mut paths: Vec<Vec<&Piece>> = Vec::new();
    for entity in &read.entities {
        let (ascending, path) = Walk { read, entity, terms: &terms }.go()?;
        if *forward.get_or_insert(ascending) != ascending {
            return Err(mixed_directions());
        }
        paths.push(path);
    }
    // Rows of several entities are interleaved only where their keys look alike up to the order.
    let differ = paths.array_windows::<2>().any(|[a, b]| a != b);
    if differ && !is_on(Mutation::EntitiesInterleave) {
        let first = terms.first().map_or("", |term| term.field.as_str());
        return Err(OrderProblem {
            why: format!(
                "rows are grouped by entity first, because their sort keys begin differently before `{first}`"
            ),
            fix: format!(
                "give every one of them the same text before `{first}`, for example an index key `FEED#{{{first}}}`"
            ),
            moved: None,
        });
    }
    Ok(forward.unwrap_or(true))
}

/// A field that has one value in each request sorts nothing. A time may be a whole period there.
fn is_constant(read: &Read, field: &str) -> bool {
    let bucket =
        read.fans.iter().any(|fan| fan.field() == field && matches!(fan, Fan::Buckets { .. }));
    let is_period = |operand: &Operand| {
        if is_on(Mutation::PeriodsAreMoments) {
            return false;
        }
        let mut formats = read.entities.iter().filter_map(|e| e.field(field)?.format());
        formats.any(|format| match operand {
            Operand::Value(value) => periods::is_period(value, format.precision()),
            // Where keys hold only the period of a moment, an input may be a period, too.
            Operand::Input(_) => is_coarse(read, field, format.precision()),
        })
    };
    let key = read.range.entity.index_key(read.index());
    if key.is_none_or(|key| !read.range.is_stated(&key, field)) {
        return false;
    }
    match read.range.source(field) {
        Some(Source::Pinned(operand)) => !bucket && !is_period(operand),
        Some(Source::Fanned) => {
            let mut values = read.fans.iter().filter(|fan| fan.field() == field);
            !bucket
                && values.all(|fan| match fan {
                    Fan::Values { values, .. } => !values.iter().any(is_period),
                    _ => true,
                })
        }
        Some(Source::Calculated { .. }) => true,
        None => false,
    }
}

/// Whether what a read states of its keys holds a time of this precision only by the period it falls into. The moment may
/// stand in the open part of the sort key, which is asked of no input.
fn is_coarse(read: &Read, field: &str, own: Option<Precision>) -> bool {
    let key = read.range.entity.index_key(read.index());
    let stated = key.iter().flat_map(|key| read.range.stated_fields(key));
    let mut pieces = stated.filter(|piece| piece.name() == field).peekable();
    own.is_some() && pieces.peek().is_some() && pieces.all(|piece| piece.format().precision() < own)
}

/// A field with one value in all rows of the answer; a time may be a whole period.
fn is_pinned(access: &Access, read: &Read, field: &str) -> bool {
    let is_time = |entity: &Entity| entity.field(field).is_none_or(Field::is_time);
    access.equality(field).is_some() && !read.entities.iter().any(|entity| is_time(entity))
}

/// Whether the primary key leaves at most one row to sort.
fn is_single_item(read: &Read) -> bool {
    let key = read.range.entity.index_key(read.index());
    read.entities.len() == 1
        && key.is_some_and(|key| read.range.most_rows(&key).is_some_and(|most| most <= 1))
}

fn mixed_directions() -> OrderProblem {
    OrderProblem {
        why: "the order asks for one field upwards and another downwards, and a key is read in one direction"
            .to_owned(),
        fix: "declare one of the fields with desc = true, which reverses it inside keys".to_owned(),
        moved: None,
    }
}

/// Texts of times that have no fixed form.
pub(super) fn loose_order(field: &str) -> OrderProblem {
    OrderProblem {
        why: format!(
            "`{field}` is written with varying fractions or offsets, and its text does not sort by time"
        ),
        fix: "use the type datetime or datetime:ms, which are UTC and of fixed width".to_owned(),
        moved: None,
    }
}

fn not_in_key(wanted: &str, index: &Index) -> OrderProblem {
    let index_name = index.label();
    let why = match index.range.first() {
        Some(range) => format!(
            "`{wanted}` is not in the sort key `{}` of {index_name} after what the pattern binds",
            range.name
        ),
        None => format!("{index_name} has no sort key, so nothing there sorts by `{wanted}`"),
    };
    OrderProblem {
        why,
        fix: format!("add an index whose sort key has `{wanted}` there, or sort in the program"),
        moved: None,
    }
}

struct Walk<'a> {
    read: &'a Read,
    entity: &'a Entity,
    terms: &'a [&'a OrderBy],
}

impl<'a> Walk<'a> {
    /// Follows the sort key from where the range leaves it open. Returns whether the order is upwards,
    /// and the pieces passed on the way.
    fn go(&self) -> Result<(bool, Vec<&'a Piece>), OrderProblem> {
        let index = self.read.index();
        let key = self.entity.index_key(index).ok_or_else(|| self.absent(index))?;
        let (first_attribute, first_piece) = self.start();
        let mut terms = self.terms.iter();
        let Some(mut wanted) = terms.next() else { return Ok((true, Vec::new())) };
        let mut ascending = None;
        let mut period = None;
        let mut path = Vec::new();
        for (attribute, part) in key.range.iter().enumerate().skip(first_attribute) {
            let template = part.shape.template();
            let from = if attribute == first_attribute { first_piece } else { 0 };
            let mut sorted_from = None;
            for (at, piece) in template.pieces().iter().enumerate().skip(from) {
                path.push(piece);
                let Piece::Field(field) = piece else { continue };
                if is_constant(self.read, field.name()) {
                    continue;
                }
                if self.is_period_of(field, wanted) {
                    let upwards = wanted.descending == field.format().is_desc();
                    if ascending.or(period).is_some_and(|known| known != upwards) {
                        return Err(mixed_directions());
                    }
                    period = Some(upwards);
                    continue;
                }
                if field.name() != wanted.field && is_on(Mutation::FieldsBeforeDoNotSort) {
                    continue;
                }
                if field.name() != wanted.field {
                    return Err(self.sorted_by(field.name(), &wanted.field, part));
                }
                // A native key holds the field as it is.
                let turned = field.format().is_desc() && !part.shape.is_native();
                let turned = turned && !is_on(Mutation::KeysAreUpright);
                let upwards = wanted.descending == turned;
                let is_turned = period.is_some_and(|period| period != upwards);
                if *ascending.get_or_insert(upwards) != upwards || is_turned {
                    return Err(mixed_directions());
                }
                let start = *sorted_from.get_or_insert(at);
                self.check_text(part, template, start, at, field)?;
                period = None;
                match terms.next() {
                    Some(next) => wanted = next,
                    None => return Ok((upwards, path)),
                }
            }
        }
        // Where no other field comes before it, the end of a primary key leaves nothing to sort: two rows
        // of one entity never share it, so that days sort rows as their moments do.
        let unique = self.read.index == 0 && self.read.entities.len() == 1;
        match (ascending, period) {
            (Some(ascending), Some(period)) if unique && ascending != period => {
                Err(mixed_directions())
            }
            (Some(upwards), _) | (None, Some(upwards)) if unique => Ok((upwards, path)),
            _ => Err(not_in_key(&wanted.field, index)),
        }
    }

    fn start(&self) -> (usize, usize) {
        match &self.read.range.sort {
            SortPart::Whole => (0, 0),
            SortPart::Exact => (usize::MAX, 0),
            SortPart::Open { attribute, pieces, .. } => (*attribute, *pieces),
            SortPart::Common(pieces) => (
                0,
                pieces.len().saturating_sub(usize::from(
                    // A common literal that is only part of the entity's literal leaves the rest of it open.
                    self.ends_inside_literal(pieces),
                )),
            ),
        }
    }

    fn ends_inside_literal(&self, common: &[Piece]) -> bool {
        let Some(Piece::Literal(text)) = common.last() else { return false };
        let key = self.entity.index_key(self.read.index());
        let own = key.as_ref().and_then(|key| {
            key.range.first()?.shape.template().pieces().get(common.len() - 1).cloned()
        });
        !matches!(own, Some(Piece::Literal(own)) if own == *text)
    }

    /// `{at:month}` before `{at}` sorts the same way.
    fn is_period_of(&self, piece: &FieldPiece, wanted: &OrderBy) -> bool {
        let own = self.entity.field(piece.name()).and_then(Field::format);
        let finer = own.and_then(|format| format.precision());
        piece.name() == wanted.field
            && matches!((piece.format().precision(), finer), (Some(here), Some(own)) if here < own)
    }

    fn check_text(
        &self,
        part: &EntityKey,
        template: &KeyTemplate,
        from: usize,
        at: usize,
        piece: &FieldPiece,
    ) -> Result<(), OrderProblem> {
        let field = self.entity.field(piece.name());
        if is_on(Mutation::TextsSortLikeValues) {
            return Ok(());
        }
        if field.is_some_and(Field::is_loose_time) {
            return Err(loose_order(piece.name()));
        }
        if part.shape.is_native() {
            return Ok(());
        }
        let own = field.and_then(Field::format);
        if own.is_some_and(|own| own.case() != piece.format().case()) {
            return Err(OrderProblem {
                why: format!(
                    "`{}` is written without its case in `{}`, and does not sort like its values",
                    piece.name(),
                    template.text()
                ),
                fix: format!("fold the case of `{}` itself, or write it as it is", piece.name()),
                moved: None,
            });
        }
        template.sorts_by(from, at).map_err(|broken| OrderProblem {
            why: format!(
                "the text of `{}` in `{}` does not sort like its values: {}",
                broken.field,
                template.text(),
                broken.reason
            ),
            fix: broken.fix.clone(),
            moved: None,
        })
    }

    fn sorted_by(&self, first: &str, wanted: &str, part: &EntityKey) -> OrderProblem {
        let template = part.shape.template();
        let why = format!(
            "`{}` of `{}` is `{}`: rows come sorted by `{first}` before `{wanted}`",
            part.attribute,
            self.entity.name,
            template.text()
        );
        // What a template cannot write may be a key by itself.
        let native = match self.entity.field(wanted).map(|field| &field.kind) {
            Some(FieldKind::Number) => Some("N"),
            Some(FieldKind::Binary) => Some("B"),
            _ => None,
        };
        if let Some(kind) = native {
            let fix = format!("add an index with sort_key = \"{wanted}:{kind}\", the field itself");
            return OrderProblem { why, fix, moved: None };
        }
        OrderProblem {
            why,
            fix: format!("put `{wanted}` before `{first}` in {}", part.attribute),
            moved: Some(MovedKey {
                entity: self.entity.name.clone(),
                attribute: part.attribute.clone(),
                template: reordered(template, first, wanted),
            }),
        }
    }

    fn absent(&self, index: &Index) -> OrderProblem {
        OrderProblem {
            why: format!("`{}` is not in {}", self.entity.name, index.label()),
            fix: "give it a key there".to_owned(),
            moved: None,
        }
    }
}

/// The template with one field moved before another; everything else stays as it is written.
fn reordered(template: &KeyTemplate, first: &str, wanted: &str) -> String {
    let pieces = template.pieces();
    let is = |piece: &Piece, name: &str| piece.as_field().is_some_and(|field| field.name() == name);
    let Some(at) = pieces.iter().position(|piece| is(piece, first)) else {
        return template.text().to_owned();
    };
    let own = template.field_pieces().map(|field| (field.name(), written(template, field)));
    let own: Vec<(&str, String)> = own.collect();
    let text = |piece: &Piece| match piece {
        Piece::Literal(literal) => literal.replace('{', "{{").replace('}', "}}"),
        Piece::Field(field) => own
            .iter()
            .find(|(name, _)| *name == field.name())
            .map_or_else(|| format!("{{{}}}", field.name()), |(_, text)| text.clone()),
    };
    let later = pieces.iter().skip(at).position(|piece| is(piece, wanted)).map(|n| n + at);
    let separator = template.template().separator();
    let texts = pieces.iter().enumerate().map(|(n, piece)| match later {
        Some(later) if n == at => pieces.get(later).map(text).unwrap_or_default(),
        Some(later) if n == later => pieces.get(at).map(text).unwrap_or_default(),
        None if n == at => format!("{{{wanted}}}{separator}{}", text(piece)),
        _ => text(piece),
    });
    texts.collect()
}

/// A field as the template's text writes it, with its format if one stands there.
fn written(template: &KeyTemplate, field: &FieldPiece) -> String {
    let text = template.text();
    let plain = format!("{{{}}}", field.name());
    let start = format!("{{{}:", field.name());
    match text.find(&start).and_then(|at| text.get(at..)?.split_once('}')) {
        Some((inside, _)) if !text.contains(&plain) => format!("{inside}}}"),
        _ => plain,
    }
}
