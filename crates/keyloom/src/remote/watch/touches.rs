//! Keys that a request touched, with what each cost.
//!
//! `ConsumedCapacity` has one sum for a table and one for each index, however many items a request was about. Each item
//! gets what it must have cost by its size, and the difference is shared.

use std::sync::Arc;

use keyloom_core::capacity::{
    ConsumedCapacity, ReadMode, Units, item_write_units, read_units, write_units,
};
use keyloom_core::expr::{Bindings, Change, SetValue};
use keyloom_core::key::encode_key_value;
use keyloom_core::observation::{Touch, Work};
use keyloom_core::size::item_size;
use keyloom_core::{IndexSchema, Item, KeyAttribute, KeySchema};

use super::described::Described;
use super::exchange::{Act, Point};

/// A touch that owns its key.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) table: Arc<Described>,
    /// The position of the index, if it is one.
    pub(super) index: Option<usize>,
    pub(super) partition: Vec<u8>,
    pub(super) sort: Vec<u8>,
    pub(super) units: Units,
    pub(super) is_write: bool,
    pub(super) bytes: usize,
}

impl Drawn {
    pub(super) fn touch(&self) -> Touch<'_> {
        let work = if self.is_write { Work::Write(self.units) } else { Work::Read(self.units) };
        let (partition, sort) = (&self.partition, &self.sort);
        Touch { place: self.table.place(self.index), partition, sort, work, bytes: self.bytes }
    }

    /// The item itself, at the price that its size has.
    pub(super) fn of(point: &Point<'_>, table: &Arc<Described>, is_transaction: bool) -> Self {
        let bytes = point.image.map(item_size);
        let (units, is_write) = match point.act {
            Act::Read(mode) => (read_units(bytes.unwrap_or(0), mode), false),
            Act::Write | Act::Check | Act::Update(..) => {
                let units = item_write_units(None, bytes);
                (if is_transaction { units.transactional() } else { units }, true)
            }
        };
        let (partition, sort) = encoded(&table.schema.key, point.key).unwrap_or_default();
        let bytes = bytes.unwrap_or(0);
        Self { table: Arc::clone(table), index: None, partition, sort, units, is_write, bytes }
    }

    /// The entry of a written item in an index, if the client can know which it is.
    pub(super) fn entry(point: &Point<'_>, table: &Arc<Described>, at: usize) -> Option<Self> {
        let index = table.schema.indexes.get(at).filter(|_| !matches!(point.act, Act::Check))?;
        let known = known(point);
        let whole = point.image.and_then(|image| table.schema.project(image, index));
        let bytes = whole.as_deref().map(item_size);
        let key = match (&whole, &known) {
            (Some(entry), _) => encoded(&index.key, entry)?,
            // The whole item is known, and it is not in the index.
            (None, _) if point.image.is_some() => return None,
            (None, known) => half_known(index, known)?,
        };
        Some(Self {
            table: Arc::clone(table),
            index: Some(at),
            partition: key.0,
            sort: key.1,
            units: write_units(bytes.unwrap_or(0)),
            is_write: true,
            bytes: bytes.unwrap_or(0),
        })
    }

    /// Something of an index whose key the client cannot know.
    pub(super) fn somewhere(table: &Arc<Described>, at: usize) -> Self {
        let (partition, sort) = (Vec::new(), Vec::new());
        let (table, index) = (Arc::clone(table), Some(at));
        Self { table, index, partition, sort, units: Units::whole(1), is_write: true, bytes: 0 }
    }
}

/// The attributes of an item after a write, as far as the request says: its key, and what an update sets to a value.
fn known(point: &Point<'_>) -> Item {
    let mut known = point.key.clone();
    if let Act::Update(Some(text), input) = point.act
        && let Ok(mut bindings) = Bindings::new(input.names.clone(), input.values.clone())
        && let Ok(update) = bindings.update(text)
    {
        for action in update.actions() {
            if let Change::Set(SetValue::Value(value)) = &action.change
                && !action.path.is_nested()
            {
                known.insert(action.path.attribute.clone(), value.as_ref().clone());
            }
        }
    }
    known
}

type Encoded = (Vec<u8>, Vec<u8>);

fn encoded(key: &KeySchema, item: &Item) -> Option<Encoded> {
    Some((values(&key.hash, item)?, values(&key.range, item)?))
}

/// The partition of an entry, with its sort key if that is known, too.
fn half_known(index: &IndexSchema, known: &Item) -> Option<Encoded> {
    Some((values(&index.key.hash, known)?, values(&index.key.range, known).unwrap_or_default()))
}

fn values(attributes: &[KeyAttribute], item: &Item) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for attribute in attributes {
        let value = item.get(&attribute.name).filter(|value| attribute.kind.accepts(value))?;
        encode_key_value(value, &mut out).ok()?;
    }
    Some(out)
}

/// What the points of one table touched, at the prices that its account states.
pub(super) fn drawn(
    points: &[&Point<'_>],
    table: &Arc<Described>,
    account: Option<&ConsumedCapacity>,
    is_transaction: bool,
) -> Vec<Drawn> {
    let mut drawn: Vec<Drawn> =
        points.iter().map(|point| Drawn::of(point, table, is_transaction)).collect();
    let Some(account) = account else { return drawn };
    share(account.table.total, &mut drawn);
    if account.table.read.is_some() && account.table.write.is_none() {
        // A transaction that was done before under the same token reads its items, and no more.
        for one in &mut drawn {
            one.is_write = false;
        }
    }
    for (name, arm) in account.local.iter().chain(&account.global) {
        let Some(at) = table.position(name) else { continue };
        let entries = points.iter().filter_map(|point| Drawn::entry(point, table, at));
        let mut entries: Vec<Drawn> = entries.collect();
        let sum: Units = entries.iter().map(|entry| entry.units).sum();
        if arm.total < sum {
            // Some entries stayed as they were.
            share(arm.total, &mut entries);
        } else if sum < arm.total {
            // Old entries that were removed: nobody says where.
            let rest = Units::halves(arm.total.as_halves() - sum.as_halves());
            entries.push(Drawn { units: rest, ..Drawn::somewhere(table, at) });
        }
        drawn.append(&mut entries);
    }
    drawn
}

/// Makes the units of all come to this sum.
pub(super) fn share(total: Units, all: &mut [Drawn]) {
    let sum: u64 = all.iter().map(|one| one.units.as_halves()).sum();
    let (total, count) = (total.as_halves(), all.len() as u64);
    if count == 0 {
        return;
    }
    let given = |one: &Drawn| {
        let own = one.units.as_halves();
        if sum <= total { own + (total - sum) / count } else { own * total / sum }
    };
    let mut left = total - all.iter().map(given).sum::<u64>();
    for one in all {
        let extra = u64::from(left > 0);
        left -= extra;
        one.units = Units::halves(given(one) + extra);
    }
}

/// What reading these bytes costs at least, where no account says.
pub(super) fn estimated_read(bytes: usize, is_consistent: bool) -> Units {
    read_units(bytes, if is_consistent { ReadMode::Strong } else { ReadMode::Eventual })
}
