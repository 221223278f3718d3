//! The keys of a request with the units that its answer states.

use std::sync::Arc;

use keyloom_core::capacity::{Arm, ConsumedCapacity, Units};
use keyloom_core::expr::ResolvedKeyCondition;
use keyloom_core::key::encode_key_values;
use keyloom_core::observation::{Touch, Work};
use keyloom_core::size::item_size;
use keyloom_core::{Item, KeyAttribute, Str};

use super::tables::Described;

/// A touch that owns its key.
#[derive(Clone, Debug)]
pub(super) struct OwnedTouch {
    table: Arc<Described>,
    index: Option<String>,
    partition: Vec<u8>,
    sort: Vec<u8>,
    work: Work,
    bytes: usize,
}

impl OwnedTouch {
    /// None if the table has no such index.
    pub(super) fn touch(&self) -> Option<Touch<'_>> {
        Some(Touch {
            place: self.table.place(self.index.as_deref())?,
            partition: &self.partition,
            sort: &self.sort,
            work: self.work,
            bytes: self.bytes,
        })
    }

    /// A table or index, at an unknown key.
    pub(super) fn new(table: &Arc<Described>, index: Option<&str>, work: Work) -> Self {
        let (table, index) = (Arc::clone(table), index.map(str::to_owned));
        Self { table, index, partition: Vec::new(), sort: Vec::new(), work, bytes: 0 }
    }
}

/// The indexes that an answer names, with what it states of them; of vector indexes nothing.
pub(super) fn indexes(consumed: &ConsumedCapacity) -> impl Iterator<Item = (&Str, Arm)> {
    let indexes = consumed.local.iter().chain(&consumed.global).map(|(name, arm)| (name, *arm));
    indexes.chain(consumed.vector.keys().map(|name| (name, Arm::default())))
}

/// What was consumed, as work. A transaction that was carried out before, under the same token, only reads.
fn work(arm: Arm, is_write: bool) -> Work {
    let is_read = arm.read.is_some() && arm.write.is_none();
    Work::of(is_write && !is_read, arm.total)
}

/// What a request touched of one table: its keys, or whole items of puts, each with an even share of the units that are
/// stated, then the indexes.
pub(super) fn of_keys(
    table: &Arc<Described>,
    keys: &[&Item],
    is_write: bool,
    consumed: Option<&ConsumedCapacity>,
) -> Vec<OwnedTouch> {
    let own = work(consumed.map_or(Arm::default(), |consumed| consumed.table), is_write);
    let (total, count) = (own.units().as_halves(), keys.len() as u64);
    let key = |(at, key): (usize, &&Item)| {
        let share = (total + count - 1 - at as u64) / count;
        let work = Work::of(own.is_write(), Units::halves(share));
        let is_put = is_write && key.len() > table.key.len();
        OwnedTouch {
            partition: encoded(&table.key.hash, key).unwrap_or_default(),
            sort: encoded(&table.key.range, key).unwrap_or_default(),
            bytes: if is_put { item_size(key) } else { 0 },
            ..OwnedTouch::new(table, None, work)
        }
    };
    let mut touches: Vec<OwnedTouch> = keys.iter().enumerate().map(key).collect();
    if let Some(consumed) = consumed {
        if keys.is_empty() {
            touches.push(OwnedTouch::new(table, None, own));
        }
        touches.extend(
            indexes(consumed)
                .map(|(name, arm)| OwnedTouch::new(table, Some(name), work(arm, is_write))),
        );
    }
    touches
}

/// What a Query, Scan or search touched: the table or index that was asked, and the table from which items were fetched for
/// a local index.
pub(super) fn of_range(
    table: &Arc<Described>,
    index: Option<&str>,
    condition: Option<&ResolvedKeyCondition>,
    consumed: Option<&ConsumedCapacity>,
    bytes: usize,
) -> Vec<OwnedTouch> {
    let hash = condition.map_or(&[][..], |condition| &condition.hash);
    let partition = encode_key_values(hash).unwrap_or_default();
    let touch = |index, units, bytes| OwnedTouch {
        partition: partition.clone(),
        bytes,
        ..OwnedTouch::new(table, index, Work::Read(units))
    };
    let own = consumed.map_or(Units::ZERO, |consumed| consumed.table.total);
    let stated = |(consumed, index): (&ConsumedCapacity, &str)| {
        indexes(consumed).find(|(name, _)| *name == index).map(|(_, arm)| arm.total)
    };
    match consumed.zip(index).and_then(stated) {
        Some(units) if own.is_zero() => vec![touch(index, units, bytes)],
        Some(units) => vec![touch(index, units, bytes), touch(None, own, 0)],
        // If only a sum is stated, the index that was read consumed it.
        None => vec![touch(index, own, bytes)],
    }
}

/// The values of these attributes, if the item has all of them in their types.
fn encoded(attributes: &[KeyAttribute], item: &Item) -> Option<Vec<u8>> {
    let values = attributes
        .iter()
        .map(|attribute| item.get(&attribute.name).filter(|value| attribute.kind.accepts(value)));
    encode_key_values(values.collect::<Option<Vec<_>>>()?).ok()
}
