//! Entries of indexes that a write touched.
//!
//! Where the answer shows the item before and after, its entries are known exactly. Elsewhere the client knows at most the
//! key of the new entry and, if it wrote the whole item, its size. What the account of the index states beyond that goes to
//! entries whose size is not known, up to what their items cost on the table, because an entry is never larger than its
//! item. The rest paid for old entries that were removed: they count for the index, and for no key.

use std::borrow::Cow;
use std::sync::Arc;

use keyloom_core::capacity::{IndexChange, Units, write_units};
use keyloom_core::expr::{Change, SetValue};
use keyloom_core::schema::{IndexSchema, Projection, VectorIndexSchema, vector_entry_size};
use keyloom_core::size::item_size;
use keyloom_core::{AttributeValue, Item};

use super::described::{Described, Spot};
use super::exchange::{Act, Point, State};
use super::touches::{Drawn, Encoded, encoded, share, values};

/// An entry with the least that it cost, and the most that it may have cost.
struct Entry {
    drawn: Drawn,
    most: Units,
}

impl Entry {
    fn new(table: &Arc<Described>, at: usize, key: Encoded, bytes: usize, units: Units) -> Self {
        let drawn = Drawn {
            partition: key.0,
            sort: key.1,
            bytes,
            ..Drawn::somewhere(table, Spot::Index(at), units)
        };
        Self { drawn, most: units }
    }

    fn up_to(self, most: Units) -> Self {
        Self { most: self.most.max(most), ..self }
    }
}

/// Adds the entries in one index, each to those of its point, so that they cost this much together. `paid` is what each
/// point cost on the table.
pub(super) fn add(
    total: Units,
    points: &[&Point<'_>],
    paid: &[Units],
    table: &Arc<Described>,
    at: usize,
    each: &mut [Vec<Drawn>],
) {
    let mut entries = Vec::new();
    for (owner, (point, paid)) in points.iter().zip(paid).enumerate() {
        let own = of(point, table, at, *paid, total);
        entries.extend(own.into_iter().map(|entry| (owner, entry)));
    }
    let rest = settle(total, entries.iter_mut().map(|(_, entry)| entry).collect());
    for (owner, entry) in entries {
        if let Some(list) = each.get_mut(owner) {
            list.push(entry.drawn);
        }
    }
    if !rest.is_zero()
        && let Some(last) = each.last_mut()
    {
        last.push(Drawn::somewhere(table, Spot::Index(at), rest));
    }
}

/// Makes the entries cost this much together; what none of them can have cost is left over.
fn settle(total: Units, mut entries: Vec<&mut Entry>) -> Units {
    let least: Units = entries.iter().map(|entry| entry.drawn.units).sum();
    if total < least {
        // Some entries stayed as they were, and nobody says which.
        share(total, entries.into_iter().map(|entry| &mut entry.drawn));
        return Units::ZERO;
    }
    let mut rest = total.as_halves() - least.as_halves();
    let one = Units::whole(1).as_halves();
    entries.retain(|entry| entry.drawn.units < entry.most);
    // Whole units, and as many for each, so that equals get the same; the first ones get what cannot be shared.
    while rest > 0 && !entries.is_empty() {
        let each = (rest / one / entries.len() as u64).max(1) * one;
        for entry in &mut entries {
            let room = entry.most.as_halves().saturating_sub(entry.drawn.units.as_halves());
            let more = each.min(room.div_ceil(one) * one).min(rest);
            rest -= more;
            entry.drawn.units += Units::halves(more);
        }
        entries.retain(|entry| entry.drawn.units < entry.most);
    }
    Units::halves(rest)
}

/// The entries of one point in an index, as far as the client can know which they are.
fn of(
    point: &Point<'_>,
    table: &Arc<Described>,
    at: usize,
    paid: Units,
    total: Units,
) -> Vec<Entry> {
    let writes = matches!(point.act, Act::Write | Act::Update(_));
    let Some(index) = table.schema.indexes.get(at).filter(|_| writes) else { return Vec::new() };
    if point.before.is_known() && point.after.is_known() {
        return exact(point, table, at, index);
    }
    // The partition of an entry that the primary key names is never left.
    let stays = index.key.hash.iter().all(|part| table.schema.key.contains(&part.name));
    let entry = match point.after {
        State::Is(item) => whole(item, table, at, index),
        State::Unknown | State::Absent => partly_known(point, table, at, index)
            .map(|(entry, is_whole)| if is_whole { entry } else { entry.up_to(paid) }),
    };
    entry.map(|entry| if stays { entry.up_to(total) } else { entry }).into_iter().collect()
}

/// The first entry of a point in an index that can be known.
pub(super) fn first(point: &Point<'_>, table: &Arc<Described>, at: usize) -> Option<Drawn> {
    let unit = Units::whole(1);
    of(point, table, at, unit, unit).into_iter().next().map(|entry| entry.drawn)
}

/// What became of an item's entry, where the item is known before and after.
fn exact(point: &Point<'_>, table: &Arc<Described>, at: usize, index: &IndexSchema) -> Vec<Entry> {
    let entry_of =
        |state: State<'_>| table.schema.project(state.item()?, index).map(Cow::into_owned);
    let (old, new) = (entry_of(point.before), entry_of(point.after));
    let change = IndexChange::between(old.as_ref(), new.as_ref(), &index.key);
    let entry = |of: &Option<Item>, bytes, paid_bytes| {
        let key = encoded(&index.key, of.as_ref()?)?;
        Some(Entry::new(table, at, key, bytes, write_units(paid_bytes)))
    };
    // What leaves is paid for, and leaves nothing behind.
    let (left, entered) = match change {
        IndexChange::Unchanged => (None, None),
        IndexChange::Insert { bytes } => (None, entry(&new, bytes, bytes)),
        IndexChange::Delete { bytes } => (entry(&old, 0, bytes), None),
        IndexChange::Update { old_bytes, new_bytes } => {
            let bytes = old_bytes.max(new_bytes);
            (None, entry(&new, bytes, bytes))
        }
        IndexChange::Move { old_bytes, new_bytes } => {
            (entry(&old, 0, old_bytes), entry(&new, new_bytes, new_bytes))
        }
    };
    left.into_iter().chain(entered).collect()
}

/// The new entry of an item that is wholly known; none if it is not in the index.
fn whole(item: &Item, table: &Arc<Described>, at: usize, index: &IndexSchema) -> Option<Entry> {
    let entry = table.schema.project(item, index)?;
    let bytes = item_size(&entry);
    Some(Entry::new(table, at, encoded(&index.key, &entry)?, bytes, write_units(bytes)))
}

/// The entry of an item of which some attributes are known, with its sort key only if that is known, too; and whether
/// nothing else can be in it.
fn partly_known(
    point: &Point<'_>,
    table: &Arc<Described>,
    at: usize,
    index: &IndexSchema,
) -> Option<(Entry, bool)> {
    let known = known(point);
    let partition = values(&index.key.hash, &known)?;
    let sort = values(&index.key.range, &known);
    let is_whole = sort.is_some() && index.projection == Projection::KeysOnly;
    let held = known.iter().filter(|(name, _)| table.schema.projects(index, name));
    let held: Item = held.map(|(name, value)| (name.clone(), value.clone())).collect();
    let units = write_units(item_size(&held));
    let key = (partition, sort.unwrap_or_default());
    Some((Entry::new(table, at, key, 0, units), is_whole))
}

/// The attributes of an item after a write, as far as the request says: its key, and what an update sets to a value.
fn known(point: &Point<'_>) -> Item {
    let mut known = point.key.clone();
    if let Act::Update(changes) = point.act
        && let Ok(update) = changes.update()
    {
        for action in update.actions().iter().filter(|action| !action.path.is_nested()) {
            if let Change::Set(SetValue::Value(value)) = &action.change {
                known.insert(action.path.attribute.clone(), AttributeValue::clone(value));
            }
        }
    }
    known
}

/// Adds the entries in one vector index. They are paid by the byte and take no units.
pub(super) fn add_vectors(
    points: &[&Point<'_>],
    table: &Arc<Described>,
    at: usize,
    each: &mut [Vec<Drawn>],
) {
    let Some(index) = table.schema.vector_indexes.get(at) else { return };
    let spot = Spot::Vector(at);
    let mut is_known = false;
    for (point, list) in points.iter().zip(each.iter_mut()) {
        let entry_of = |state: State<'_>| vector_entry(state.item()?, table, index);
        let (old, new) = (entry_of(point.before), entry_of(point.after));
        let moves = |(partition, _): &(Vec<u8>, usize)| {
            new.as_ref().is_none_or(|(other, _)| other != partition)
        };
        let left = old.filter(moves).map(|(partition, _)| (partition, 0));
        for (partition, bytes) in left.into_iter().chain(new.clone()) {
            is_known = true;
            let drawn = Drawn::somewhere(table, spot, Units::ZERO);
            list.push(Drawn { partition, bytes, ..drawn });
        }
    }
    if !is_known && let Some(last) = each.last_mut() {
        last.push(Drawn::somewhere(table, spot, Units::ZERO));
    }
}

/// The partition and the size of an item's entry in a vector index.
fn vector_entry(
    item: &Item,
    table: &Described,
    index: &VectorIndexSchema,
) -> Option<(Vec<u8>, usize)> {
    let entry = table.schema.project_vector(item, index)?;
    let partition = match index.hash() {
        Some(hash) => values(std::slice::from_ref(hash), item)?,
        None => Vec::new(),
    };
    Some((partition, vector_entry_size(index, item_size(&entry.rest))))
}

#[cfg(test)]
mod tests {
    use keyloom_api::items::ConditionInput;
    use keyloom_core::capacity::{Arm, ConsumedCapacity};
    use keyloom_core::key::decode_key_value;
    use keyloom_core::schema::ScalarType;

    use super::super::exchange::Changes;
    use super::super::touches::drawn;
    use super::*;
    use crate::item;

    /// What points touched in an index that cost this much, while each cost `own` on the table: partitions and units.
    fn told(points: &[Point<'_>], own: u64, index: (&str, u64)) -> Vec<(String, f64)> {
        let table = Described::example();
        let mut account = ConsumedCapacity::new("t");
        account.add_table(Arm::new(Units::whole(own * points.len() as u64)));
        account.add_global(index.0, Arm::new(Units::whole(index.1)));
        let points: Vec<&Point<'_>> = points.iter().collect();
        let each = drawn(&points, &table, Some(&account), false);
        let entries = each.iter().flatten().filter(|one| one.spot != Spot::Table);
        let shown = |one: &Drawn| {
            let value = decode_key_value(ScalarType::S, &mut one.partition.as_slice());
            let text = value.ok().and_then(|value| value.as_s().map(str::to_owned));
            (text.unwrap_or_else(|| "?".into()), one.units.as_f64())
        };
        entries.map(shown).collect()
    }

    fn list(entries: &[(&str, u32)]) -> Vec<(String, f64)> {
        entries.iter().map(|(key, units)| ((*key).to_owned(), f64::from(*units))).collect()
    }

    #[test]
    fn what_an_index_cost_goes_to_keys_as_far_as_they_can_have_cost_it() {
        let key = item! { "pk" => "A", "sk" => "B" };
        let values = Some(vec![(":v".into(), "X".into())]);
        let input = ConditionInput { values, ..ConditionInput::default() };
        let text = "SET gk = :v".into();
        let set = Point::update("t", &key, Changes::Expression(&text, &input));
        let one = |point: &Point<'_>, own, index| told(std::slice::from_ref(point), own, index);
        // An entry whose size nobody knows costs at most what its item does; the rest was an old one.
        assert_eq!(one(&set, 3, ("h", 1)), list(&[("X", 1)]));
        assert_eq!(one(&set, 3, ("h", 3)), list(&[("X", 3)]));
        assert_eq!(one(&set, 3, ("h", 6)), list(&[("X", 3), ("?", 3)]));
        // A partition that the primary key names is not left.
        assert_eq!(one(&set, 3, ("g", 6)), list(&[("B", 6)]));
        let delete = Point::delete("t", &key);
        assert_eq!(one(&delete, 3, ("g", 3)), list(&[("B", 3)]));
        assert_eq!(one(&delete, 3, ("h", 3)), list(&[("?", 3)]));
        // The size of a put is known: what is more was an old entry.
        let put = item! { "pk" => "A", "sk" => "B", "gk" => "Y", "text" => "x".repeat(1500) };
        let put = Point::put("t", &put);
        assert_eq!(one(&put, 2, ("h", 5)), list(&[("Y", 2), ("?", 3)]));
        // Equals get the same, and a sum that is too small is shared.
        let two = || Point::update("t", &key, Changes::Expression(&text, &input));
        assert_eq!(told(&[two(), two()], 3, ("h", 4)), list(&[("X", 2), ("X", 2)]));
        let halves = [("X".to_owned(), 0.5), ("X".to_owned(), 0.5)];
        assert_eq!(told(&[two(), two()], 3, ("h", 1)), halves);
        assert_eq!(told(&[two(), two()], 3, ("h", 5)), list(&[("X", 3), ("X", 2)]));
        // However much is stated, it takes no longer: here nearly all of it was one old entry's.
        let stated = told(&[two(), two(), set], 3, ("h", 1 << 50));
        let absurd = (1_u64 << 50) as f64;
        assert_eq!(stated[..3], list(&[("X", 3), ("X", 3), ("X", 3)]));
        assert_eq!(stated[3..], [("?".to_owned(), absurd - 9.0)]);
        let stated = one(&delete, 3, ("g", 1 << 50));
        assert_eq!(stated, [("B".to_owned(), absurd)]);
    }

    #[test]
    fn an_item_that_is_known_before_and_after_tells_which_entries_changed() {
        let old = item! { "pk" => "A", "sk" => "B", "gk" => "X", "text" => "x".repeat(1500) };
        let new = item! { "pk" => "A", "sk" => "B", "gk" => "Y" };
        let put = |before| Point { before, ..Point::put("t", &new) };
        let moved = [put(State::Is(&old))];
        assert_eq!(told(&moved, 2, ("h", 3)), list(&[("X", 2), ("Y", 1)]));
        assert_eq!(told(&[put(State::Absent)], 1, ("h", 1)), list(&[("Y", 1)]));
        let removed = [Point { before: State::Is(&old), ..Point::delete("t", &new) }];
        assert_eq!(told(&removed, 2, ("h", 2)), list(&[("X", 2)]));
    }
}
