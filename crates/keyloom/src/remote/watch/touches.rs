//! Keys that a request touched, with what each cost.
//!
//! `ConsumedCapacity` has one sum for a table and one for each index, however many items a request was about. Each item
//! gets what it must have cost by its size, and the difference is shared; the sums are always those that were stated.

use std::sync::Arc;

use keyloom_core::capacity::{ConsumedCapacity, Units, item_write_units, read_units};
use keyloom_core::key::encode_key_values;
use keyloom_core::observation::{Touch, Work};
use keyloom_core::size::item_size;
use keyloom_core::{Item, KeyAttribute, KeySchema};

use super::described::{Described, Spot};
use super::entries;
use super::exchange::{Act, Point};

/// A touch that owns its key.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) table: Arc<Described>,
    pub(super) spot: Spot,
    pub(super) partition: Vec<u8>,
    pub(super) sort: Vec<u8>,
    pub(super) units: Units,
    pub(super) is_write: bool,
    pub(super) bytes: usize,
}

impl Drawn {
    pub(super) fn touch(&self) -> Touch<'_> {
        Touch {
            place: self.table.place(self.spot),
            partition: &self.partition,
            sort: &self.sort,
            work: Work::of(self.is_write, self.units),
            bytes: self.bytes,
        }
    }

    /// The item itself, at the price that its size has.
    pub(super) fn of(point: &Point<'_>, table: &Arc<Described>, is_transaction: bool) -> Self {
        let bytes = point.after.item().map_or(0, item_size);
        let (units, is_write) = match point.act {
            Act::Read(mode) => (read_units(bytes, mode), false),
            Act::Write | Act::Check | Act::Update(_) => {
                let size = |item: &Item| table.schema.written_size(item);
                let (before, after) = (point.before.item(), point.after.item());
                let units = item_write_units(before.map(size), after.map(size));
                (if is_transaction { units.transactional() } else { units }, true)
            }
        };
        let (partition, sort) = encoded(&table.schema.key, point.key).unwrap_or_default();
        let (table, spot) = (Arc::clone(table), Spot::Table);
        Self { table, spot, partition, sort, units, is_write, bytes }
    }

    /// A read of a partition, or of everything if it is empty.
    pub(super) fn range(table: &Arc<Described>, spot: Spot, partition: Vec<u8>) -> Self {
        let (table, sort) = (Arc::clone(table), Vec::new());
        Self { table, spot, partition, sort, units: Units::ZERO, is_write: false, bytes: 0 }
    }

    /// A write to an index at a key that the client cannot know.
    pub(super) fn somewhere(table: &Arc<Described>, spot: Spot, units: Units) -> Self {
        Self { units, is_write: true, ..Self::range(table, spot, Vec::new()) }
    }
}

/// A partition key and a sort key, encoded.
pub(super) type Encoded = (Vec<u8>, Vec<u8>);

pub(super) fn encoded(key: &KeySchema, item: &Item) -> Option<Encoded> {
    Some((values(&key.hash, item)?, values(&key.range, item)?))
}

/// The values of these attributes, if the item has all of them as they must be.
pub(super) fn values(attributes: &[KeyAttribute], item: &Item) -> Option<Vec<u8>> {
    let values = attributes
        .iter()
        .map(|attribute| item.get(&attribute.name).filter(|value| attribute.kind.accepts(value)));
    encode_key_values(values.collect::<Option<Vec<_>>>()?).ok()
}

/// What each of the points of one table touched, at the prices that its account states: the item first, then entries of
/// indexes. What is nobody's is the last one's.
pub(super) fn drawn(
    points: &[&Point<'_>],
    table: &Arc<Described>,
    account: Option<&ConsumedCapacity>,
    is_transaction: bool,
) -> Vec<Vec<Drawn>> {
    let own = points.iter().map(|point| Drawn::of(point, table, is_transaction));
    let mut own: Vec<Drawn> = own.collect();
    let Some(account) = account else { return own.into_iter().map(|one| vec![one]).collect() };
    share(account.table.total, &mut own);
    if account.table.read.is_some() && account.table.write.is_none() {
        // A transaction that was done before under the same token reads its items, and no more.
        for one in &mut own {
            one.is_write = false;
        }
    }
    let paid: Vec<Units> = own.iter().map(|one| untransacted(one.units, is_transaction)).collect();
    let mut each: Vec<Vec<Drawn>> = own.into_iter().map(|one| vec![one]).collect();
    for (name, arm) in account.local.iter().chain(&account.global) {
        if let Some(at) = table.position(name) {
            entries::add(arm.total, points, &paid, table, at, &mut each);
        }
    }
    for name in account.vector.keys() {
        if let Some(at) = table.vector_position(name) {
            entries::add_vectors(points, table, at, &mut each);
        }
    }
    each
}

/// What an item would cost outside a transaction: indexes are not written at its double price.
fn untransacted(units: Units, is_transaction: bool) -> Units {
    Units::halves(if is_transaction { units.as_halves() / 2 } else { units.as_halves() })
}

/// Makes the units of all come to this sum.
pub(super) fn share<'d>(total: Units, all: impl IntoIterator<Item = &'d mut Drawn>) {
    let mut all: Vec<&mut Drawn> = all.into_iter().collect();
    let sum: u64 = all.iter().map(|one| one.units.as_halves()).sum();
    let (total, count) = (total.as_halves(), all.len() as u64);
    if count == 0 {
        return;
    }
    let given = |one: &Drawn| {
        let own = one.units.as_halves();
        if sum <= total { own + (total - sum) / count } else { own * total / sum }
    };
    let mut left = total - all.iter().map(|one| given(one)).sum::<u64>();
    for one in &mut all {
        let extra = u64::from(left > 0);
        left -= extra;
        one.units = Units::halves(given(one) + extra);
    }
}
