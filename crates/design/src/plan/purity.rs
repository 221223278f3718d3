//! Purity: which rows other than the wanted ones a key range contains.

use std::sync::Arc;

use super::range::SortPart;
use super::space::{Occupant, Space, may_meet};
use super::{Problem, Read};
use crate::key::{KeyTemplate, Piece, may_hold_separator};
use crate::model::{Entity, EntityKey, Escape, Index, IndexKey, same};
use crate::mutation::{Mutation, is_on};

/// So many entities are named that lie in a range; where thousands do, comparing all of them takes minutes.
const MAX_STRANGERS: usize = 50;

/// What a range contains besides the wanted rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bleed {
    /// Entities that the pattern does not ask for.
    pub(crate) strangers: Vec<Arc<Entity>>,
    /// The prefix of the range, if it ends inside a value so that longer values match, too.
    pub(crate) open_end: Option<String>,
    /// A field whose values may contain the separator.
    pub(crate) unescaped: Option<String>,
}

impl Bleed {
    pub(crate) fn is_empty(&self) -> bool {
        self.strangers.is_empty() && self.open_end.is_none() && self.unescaped.is_none()
    }

    /// Whether the unwanted rows differ by their entity type, so that a filter can remove them.
    pub(crate) fn is_only_strangers(&self) -> bool {
        !self.strangers.is_empty() && self.open_end.is_none() && self.unescaped.is_none()
    }

    /// The problem to report in the plan.
    pub(crate) fn problem(&self) -> Problem {
        Problem::Bleed {
            entities: self.strangers.iter().map(|entity| entity.name.clone()).collect(),
            why: self.describe(),
        }
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

/// Finds the unwanted rows that a read would return.
pub(crate) fn bleed(space: &Space, read: &Read) -> Bleed {
    let Some(key) = read.range.entity.index_key(read.index()) else { return Bleed::default() };
    let occupants = space.occupants(&read.table, read.index);
    let mine: Vec<&str> = key.parts().map(|part| beginning(part.shape.template())).collect();
    let languages = std::cell::OnceCell::new();
    let strangers = occupants
        .iter()
        .filter(|occupant| read.entities.iter().all(|wanted| !same(wanted, occupant.entity)))
        .filter(|occupant| meets_at_the_start(read, &mine, occupant))
        .filter(|_| !is_on(Mutation::StrangersNeverMeet))
        .filter(|occupant| {
            let own = languages.get_or_init(|| read.range.languages(&key, &read.fans));
            own.iter().zip(occupant.languages()).all(|(a, b)| a.shared_text(b).is_some())
        })
        .map(|occupant| occupant.entity.clone())
        .take(MAX_STRANGERS)
        .collect();
    Bleed { strangers, open_end: open_end(read, &key), unescaped: unescaped(read, &key) }
}

/// Whether a read could return items of an entity, which may be one of another design, through its own form of the
/// index.
pub(crate) fn meets(read: &Read, entity: &Entity, index: &Index) -> bool {
    let (Some(own), Some(other)) =
        (read.range.entity.index_key(read.index()), entity.index_key(index))
    else {
        return false;
    };
    let languages = read.range.languages(&own, &read.fans);
    let others = other.parts().map(|part| part.shape.template().language());
    languages.iter().zip(others).all(|(a, b)| a.shared_text(&b).is_some())
}

/// A cheap check of literal prefixes, which rules out most entities without building automata.
fn meets_at_the_start(read: &Read, mine: &[&str], occupant: &Occupant) -> bool {
    let hashes = read.index().hash.len();
    let theirs: Vec<&str> = occupant.beginnings().collect();
    mine.iter().zip(theirs).enumerate().all(|(at, (a, b))| {
        if at < hashes {
            return may_meet(a, b) && !(is_on(Mutation::BeginningsTellApart) && *a != b);
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

/// The common prefix, if it ends with a value of varying length and so without a separator.
fn open_end(read: &Read, key: &IndexKey) -> Option<String> {
    let SortPart::Common(pieces) = &read.range.sort else { return None };
    let Some(Piece::Field(last)) = pieces.last() else { return None };
    let varies = !last.format().is_fixed_width() && !is_on(Mutation::PrefixesEndValues);
    let template = key.range.first()?.shape.template();
    (varies && !template.pieces().is_empty()).then(|| super::request::pieces_text(pieces))
}

/// Without a policy, a value that contains the separator can fall into the range of other values: in a completely bound
/// key if two fields may contain it, so that a part can move from one to the other; in a prefix if anything follows the
/// value.
fn unescaped(read: &Read, key: &IndexKey) -> Option<String> {
    let hashes = key.hash.len();
    let whole = |at: usize| {
        at < hashes
            || match &read.range.sort {
                SortPart::Exact => true,
                SortPart::Open { attribute, .. } => at - hashes < *attribute,
                SortPart::Whole | SortPart::Common(_) => false,
            }
    };
    let (known, open): (Vec<_>, Vec<_>) = key.parts().enumerate().partition(|(at, _)| whole(*at));
    let known: Vec<&EntityKey> = known.into_iter().map(|(_, part)| part).collect();
    let told = determined(&known);
    let ambiguous =
        known.iter().map(|part| loose_fields(part, &told)).find(|loose| loose.len() > 1);
    if let Some(loose) = ambiguous {
        return loose.first().map(|&name| name.to_owned());
    }
    let (_, part) = open.into_iter().next()?;
    let template = part.shape.template();
    let bound = match &read.range.sort {
        SortPart::Open { pieces, .. } => *pieces,
        SortPart::Common(pieces) => pieces.len(),
        SortPart::Whole | SortPart::Exact => 0,
    };
    let loose = loose_fields(part, &told);
    let ends = template.pieces().len();
    let pieces = template.pieces().iter().enumerate().take(bound);
    pieces
        .filter(|(at, _)| at + 1 < ends)
        .filter_map(|(_, piece)| piece.as_field())
        .find(|field| loose.contains(&field.name()))
        .map(|field| field.name().to_owned())
}

/// The fields that have one value in all rows with these keys: a key determines its fields if at most one of them may
/// contain the separator, and the fields of one key help to parse the next.
fn determined<'k>(parts: &[&'k EntityKey]) -> Vec<&'k str> {
    let mut told: Vec<&str> = Vec::new();
    loop {
        let before = told.len();
        for part in parts {
            if loose_fields(part, &told).len() < 2 {
                for name in part.shape.template().fields() {
                    if !told.contains(&name) {
                        told.push(name);
                    }
                }
            }
        }
        if told.len() == before {
            return told;
        }
    }
}

/// The fields of a key that may contain the separator and are not determined by other keys.
fn loose_fields<'k>(part: &'k EntityKey, told: &[&str]) -> Vec<&'k str> {
    let template = part.shape.template();
    let safe = is_on(Mutation::SeparatorsAreSafe);
    if part.shape.is_native() || template.escape() != Escape::None || safe {
        return Vec::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for field in template.field_pieces() {
        let open = may_hold_separator(field.format()) && !told.contains(&field.name());
        if open && !names.contains(&field.name()) {
            names.push(field.name());
        }
    }
    names
}
