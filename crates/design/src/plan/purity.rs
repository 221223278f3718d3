//! Purity: which rows besides the wanted ones lie in a key range.

use std::sync::Arc;

use super::Read;
use super::range::SortPart;
use super::space::{Occupant, Space, may_meet};
use crate::key::{KeyTemplate, Piece};
use crate::model::{Entity, Escape, IndexKey, same};

/// What lies in a range besides the wanted rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bleed {
    /// Entities that the pattern does not ask for.
    pub(crate) strangers: Vec<Arc<Entity>>,
    /// The text that ends the range inside a value, so that longer values match too.
    pub(crate) open_end: Option<String>,
    /// A field whose values may carry the separator.
    pub(crate) unescaped: Option<String>,
}

impl Bleed {
    pub(crate) fn is_empty(&self) -> bool {
        self.strangers.is_empty() && self.open_end.is_none() && self.unescaped.is_none()
    }

    /// Whether the rows can be told apart by their type: then a filter helps.
    pub(crate) fn is_only_strangers(&self) -> bool {
        !self.strangers.is_empty() && self.open_end.is_none() && self.unescaped.is_none()
    }

    pub(crate) fn describe(&self) -> String {
        let mut parts = Vec::new();
        if !self.strangers.is_empty() {
            let names: Vec<String> =
                self.strangers.iter().map(|entity| format!("`{}`", entity.name)).collect();
            parts.push(format!("rows of {} lie in the same key range", names.join(", ")));
        }
        if let Some(end) = &self.open_end {
            parts.push(format!(
                "the prefix `{end}` ends inside a value, so that longer values match as well"
            ));
        }
        if let Some(field) = &self.unescaped {
            parts.push(format!(
                "`{field}` may contain the separator, so that its parts read as other fields"
            ));
        }
        parts.join("; ")
    }
}

/// Finds what else a read would return.
pub(crate) fn bleed(space: &Space, read: &Read) -> Bleed {
    let Some(key) = read.range.entity.index_key(read.index()) else { return Bleed::default() };
    let occupants = space.occupants(&read.table, read.index);
    let mine: Vec<&str> = key.parts().map(|part| beginning(part.shape.template())).collect();
    let languages = std::cell::OnceCell::new();
    let strangers = occupants
        .iter()
        .filter(|occupant| read.entities.iter().all(|wanted| !same(wanted, occupant.entity)))
        .filter(|occupant| meets_at_the_start(read, &mine, occupant))
        .filter(|occupant| {
            let own = languages.get_or_init(|| read.range.languages(&key));
            own.iter().zip(occupant.languages()).all(|(a, b)| a.shared_text(b).is_some())
        })
        .map(|occupant| occupant.entity.clone())
        .collect();
    Bleed { strangers, open_end: open_end(read, &key), unescaped: unescaped(read, &key) }
}

/// A cheap first look, so that most entities are ruled out without building automata.
fn meets_at_the_start(read: &Read, mine: &[&str], occupant: &Occupant) -> bool {
    let hashes = read.index().hash.len();
    let theirs: Vec<&str> = occupant.beginnings().collect();
    mine.iter().zip(theirs).enumerate().all(|(at, (a, b))| {
        if at < hashes {
            return may_meet(a, b);
        }
        match &read.range.sort {
            SortPart::Whole => true,
            SortPart::Common(pieces) => match pieces.first() {
                Some(Piece::Literal(text)) if at == hashes => may_meet(text, b),
                _ => true,
            },
            SortPart::Open { attribute, pieces, .. } if at - hashes == *attribute => {
                *pieces == 0 || may_meet(a, b)
            }
            SortPart::Open { attribute, .. } if at - hashes > *attribute => true,
            _ => may_meet(a, b),
        }
    })
}

fn beginning(template: &KeyTemplate) -> &str {
    match template.pieces().first() {
        Some(Piece::Literal(text)) => text,
        _ => "",
    }
}

/// A common beginning that ends with a value of varying length has no closing separator.
fn open_end(read: &Read, key: &IndexKey) -> Option<String> {
    let SortPart::Common(pieces) = &read.range.sort else { return None };
    let Some(Piece::Field(last)) = pieces.last() else { return None };
    let varies = !last.format.is_fixed_width();
    let template = key.range.first()?.shape.template();
    (varies && !template.pieces().is_empty()).then(|| super::request::pieces_text(pieces))
}

/// Without a policy, a value with the separator in it falls into its neighbours' ranges: where the key is
/// known whole, only if another value of varying length follows it; in a prefix, if anything does.
fn unescaped(read: &Read, key: &IndexKey) -> Option<String> {
    let hashes = key.hash.len();
    key.parts().enumerate().find_map(|(at, part)| {
        let template = part.shape.template();
        if part.shape.is_native() || template.escape() != Escape::None {
            return None;
        }
        let whole = at < hashes
            || match &read.range.sort {
                SortPart::Exact => true,
                SortPart::Open { attribute, .. } => at - hashes < *attribute,
                SortPart::Whole | SortPart::Common(_) => false,
            };
        template.pieces().iter().enumerate().find_map(|(n, piece)| {
            let field = piece.as_field()?;
            let mut after = template.pieces().iter().skip(n + 1);
            let followed = if whole {
                after.filter_map(Piece::as_field).any(|next| !next.format.is_fixed_width())
            } else {
                after.next().is_some()
            };
            let bound = read.range.source(&field.name).is_some();
            (bound && followed && crate::key::may_hold_separator(&field.format))
                .then(|| field.name.clone())
        })
    })
}
