//! One item of a response, and whether a field can be read from it.

use keyloom_core::{AttributeValue, Item};

use super::compare::same_attribute;
use super::record::Record;
use crate::model::{Field, FieldKind};

/// One item that a run returned.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The position in the population of the record it was written from; nothing if nobody wrote it.
    pub record: Option<usize>,
    /// The item as it was returned.
    pub item: Item,
    /// The fields that the plan promises to parse out of its keys.
    pub parsed: Vec<String>,
}

impl Returned {
    /// Whether a field of the record can be had from what was returned.
    pub(super) fn has(&self, record: &Record, field: &Field) -> bool {
        let Some(expected) = record.attribute(&field.name) else { return true };
        if let Some(found) = self.item.get(&field.name) {
            return same_attribute(found, &expected);
        }
        let parsed = field.key_only || self.parsed.contains(&field.name);
        parsed && self.is_spelled_out(record, field)
    }

    /// Whether some key attribute of the response spells the field out, losing nothing.
    fn is_spelled_out(&self, record: &Record, field: &Field) -> bool {
        record.entity.keys.iter().any(|key| {
            let there = matches!(self.item.get(&key.attribute), Some(AttributeValue::S(_)));
            let whole = key.shape.template().field_pieces().any(|piece| {
                let own = field.format();
                piece.name() == field.name
                    && own.is_none_or(|own| {
                        own.precision() == piece.format().precision()
                            && own.case() == piece.format().case()
                    })
            });
            there && whole
        })
    }
}

/// The fields that must come back when a pattern names none: all but shards, which only place an item.
pub(super) fn is_data(field: &Field) -> bool {
    !matches!(field.kind, FieldKind::Shard(_))
}
