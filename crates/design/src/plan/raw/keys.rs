//! Whether two requests take the same keys: what a sort key begins with, and the ranges between two ends.

use std::sync::Arc;

use keyloom_core::AttributeValue;
use keyloom_keys::Language;

use super::form::RawForm;
use crate::condition::Comparison;
use crate::key::{KeyTemplate, Piece, may_hold_separator};
use crate::model::{Access, Entity, Escape, KeyType};
use crate::plan::concrete::{ConcreteRead, SortCondition};

/// Whether two reads take the same keys of the entities to be found.
pub(super) fn same_keys(
    access: &Access,
    form: &RawForm,
    a: &ConcreteRead,
    b: &ConcreteRead,
) -> bool {
    if a.equal == b.equal && (a.sort == b.sort || same_range(access, form, a, b)) {
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

/// What sorts after every key: no text in UTF-8 has this byte.
const END: [u8; 4] = [0xff; 4];

/// The sort keys from one text to another, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Interval {
    low: Vec<u8>,
    high: Vec<u8>,
}

impl Interval {
    fn of(condition: Option<&SortCondition<AttributeValue>>) -> Option<Self> {
        let Some(condition) = condition else {
            return Some(Self { low: Vec::new(), high: END.to_vec() });
        };
        let bytes = |value: &AttributeValue| value.as_s().map(|text| text.as_bytes().to_vec());
        Some(match condition {
            SortCondition::BeginsWith(prefix) => {
                let low = bytes(prefix)?;
                let high = [low.as_slice(), &END].concat();
                Self { low, high }
            }
            SortCondition::Between(low, high) => Self { low: bytes(low)?, high: bytes(high)? },
            SortCondition::Compare(comparison, value) => {
                let value = bytes(value)?;
                match comparison {
                    Comparison::Equal => Self { low: value.clone(), high: value },
                    Comparison::Less => Self { low: Vec::new(), high: before(&value)? },
                    Comparison::LessOrEqual => Self { low: Vec::new(), high: value },
                    Comparison::Greater => Self { low: after(&value), high: END.to_vec() },
                    Comparison::GreaterOrEqual => Self { low: value, high: END.to_vec() },
                    Comparison::NotEqual => return None,
                }
            }
        })
    }

    /// What one interval holds and the other does not.
    fn differences(&self, other: &Self) -> Option<Vec<Self>> {
        let mut gaps = Vec::new();
        let (first, second) =
            (self.low.clone().min(other.low.clone()), self.low.clone().max(other.low.clone()));
        if first != second {
            gaps.push(Self { low: first, high: before(&second)? });
        }
        let (first, second) =
            (self.high.clone().min(other.high.clone()), self.high.clone().max(other.high.clone()));
        if first != second {
            gaps.push(Self { low: after(&first), high: second });
        }
        Some(gaps)
    }

    fn meets(&self, keys: &Language) -> bool {
        let mut own = Language::empty_text();
        own.between(&self.low, &self.high);
        self.low <= self.high && own.shared_text(keys).is_some()
    }
}

/// The first text after this one.
fn after(text: &[u8]) -> Vec<u8> {
    [text, &[0]].concat()
}

/// What every text before this one is not after.
fn before(text: &[u8]) -> Option<Vec<u8>> {
    let (last, rest) = text.split_last()?;
    Some(match last.checked_sub(1) {
        Some(lower) => [rest, &[lower], &END].concat(),
        None => rest.to_vec(),
    })
}

/// Whether two ranges of the same sort key attribute hold the same keys of the entities to be found: none lies in one
/// of them and not in the other.
fn same_range(access: &Access, form: &RawForm, a: &ConcreteRead, b: &ConcreteRead) -> bool {
    let condition = |read: &ConcreteRead| Interval::of(read.sort.as_ref().map(|(_, sort)| sort));
    let (Some(mine), Some(theirs)) = (condition(a), condition(b)) else { return false };
    let Some(gaps) = mine.differences(&theirs) else { return false };
    access.find.iter().all(|entity| {
        let index = form.index_of(&entity.table);
        let at = a.equal.len().checked_sub(index.hash.len());
        let text = at.and_then(|at| index.range.get(at)).is_some_and(|own| own.kind == KeyType::S);
        let part = entity.index_key(index).zip(at).and_then(|(key, at)| key.range.get(at).copied());
        part.is_some_and(|part| {
            let keys = part.shape.template().language();
            text && !part.shape.is_native() && !gaps.iter().any(|gap| gap.meets(&keys))
        })
    })
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

/// Whether a text is a whole value of a field.
pub(super) fn is_whole(piece: &Piece, text: &str) -> bool {
    piece.as_field().is_some_and(|field| field.format().decode(text).is_ok())
}

/// What two texts begin with.
pub(super) fn shared_start(a: &str, b: &str) -> String {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
}
