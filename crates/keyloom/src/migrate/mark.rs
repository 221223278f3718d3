//! Marks: metadata that a migration stores in the items it writes, until it is complete.
//!
//! A mark has the key of the item's source and a version. The version is the generation of the backfill and the
//! stream's sequence number, as strings of fixed length, so that they compare correctly: a change from the stream is
//! newer than the backfill of its generation, and every generation is newer than the one before. A mark without an
//! item is a tombstone: it prevents a late backfill from recreating a deleted item.

use keyloom_api::items::ConditionInput;
use keyloom_core::expr::ast::Comparator;
use keyloom_core::expr::{Condition, Operand, Path, Step};
use keyloom_core::{AttributeValue, Item, Str};
use keyloom_design::migration::MARK;

use crate::entity::key_text;
use crate::expression::{all, equal, when};

const FROM: &str = "from";
const VERSION: &str = "v";
const GONE: &str = "gone";
/// The most attributes that one condition compares: each takes two of its 300 operators, less the last `AND`.
const MOST_COMPARED: usize = 150;
/// Digits of a sequence number: AWS has up to 40.
const DIGITS: usize = 40;

/// Where an item came from: its table and primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) table: String,
    pub(super) key: Item,
}

impl Origin {
    fn value(&self) -> AttributeValue {
        AttributeValue::L(vec![self.table.as_str().into(), AttributeValue::M(self.key.clone())])
    }

    fn read(value: &AttributeValue) -> Option<Self> {
        match value.as_l()? {
            [AttributeValue::S(table), AttributeValue::M(key)] => {
                Some(Self { table: table.to_string(), key: key.clone() })
            }
            _ => None,
        }
    }

    /// For people: table and key.
    pub(super) fn text(&self) -> String {
        format!("`{}` in table `{}`", key_text(&self.key), self.table)
    }
}

/// How new an image is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(String);

impl Version {
    /// Of the backfill of a generation.
    pub(super) fn backfilled(generation: u64) -> Self {
        Self::of(generation, "")
    }

    /// Whether nothing can be older.
    fn is_first(&self) -> bool {
        *self <= Self::backfilled(1)
    }

    /// Of a stream's record.
    pub(super) fn of(generation: u64, sequence: &str) -> Self {
        Self(format!("{generation:06}.{sequence:0>DIGITS$}"))
    }
}

/// The mark of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) from: Origin,
    pub(super) version: Version,
    pub(super) gone: bool,
}

impl Mark {
    /// The mark of an item, if it has one.
    pub(super) fn of(item: &Item) -> Option<Self> {
        let mark = item.get(MARK)?.as_m()?;
        Some(Self {
            from: Origin::read(mark.get(FROM)?)?,
            version: Version(mark.get(VERSION)?.as_s()?.to_owned()),
            gone: mark.contains_key(GONE),
        })
    }

    fn value(&self) -> AttributeValue {
        let mut mark = Item::new();
        mark.insert(FROM, self.from.value());
        mark.insert(VERSION, self.version.0.as_str());
        if self.gone {
            mark.insert(GONE, true);
        }
        AttributeValue::M(mark)
    }

    /// Puts the mark into an item.
    pub(super) fn stamp(&self, item: &mut Item) {
        item.insert(MARK, self.value());
    }

    /// The condition that an item has exactly this mark.
    pub(super) fn is_there(&self) -> ConditionInput {
        when(Some(equal(MARK, self.value())))
    }

    /// The condition that nothing newer is there, and nothing from elsewhere. What has no mark may be replaced where the
    /// target is the original form.
    pub(super) fn may_be_written(&self, partition: &str, over_unmarked: bool) -> ConditionInput {
        let absent = if over_unmarked { MARK } else { partition };
        let absent = Condition::NotExists(Path::attribute(absent));
        // The first copy of each item replaces nothing, which is said in fewer words.
        if self.version.is_first() {
            return when(Some(absent));
        }
        let inside =
            |name: &str| Path { attribute: MARK.into(), steps: vec![Step::Key(name.into())] };
        let test = |comparator, name, value| {
            Condition::Compare(comparator, Operand::Path(inside(name)), Operand::value(value))
        };
        let older = Condition::And(vec![
            test(Comparator::Equal, FROM, self.from.value()),
            test(Comparator::Less, VERSION, self.version.0.as_str().into()),
        ]);
        when(Some(Condition::Or(vec![absent, older])))
    }
}

/// The condition that an item is as it was read.
///
/// Of one that is too wide for a condition, the mark and as many other attributes as fit are compared. What the migration
/// writes is noticed all the same, because each write has another mark. What a program changes behind those attributes in the
/// form in use is carried over from the stream, where its record has a newer version than what was decided here; the form
/// that is removed at the end is written by nobody any more.
pub(super) fn unchanged(item: &Item) -> ConditionInput {
    let same = |name: &str| match item.get(name) {
        Some(value) => equal(name, value.clone()),
        None => Condition::NotExists(Path::attribute(name)),
    };
    let names = item.keys().map(Str::as_str);
    if item.len() <= MOST_COMPARED {
        return when(Some(all(names.map(same).collect())));
    }
    let others = names.filter(|name| *name != MARK).take(MOST_COMPARED - 1);
    when(Some(all(std::iter::once(MARK).chain(others).map(same).collect())))
}

/// Whether an item is nothing but a tombstone.
pub(super) fn is_tombstone(item: &Item) -> bool {
    Mark::of(item).is_some_and(|mark| mark.gone)
}

/// An item without its mark.
pub(super) fn unmarked(mut item: Item) -> Item {
    item.remove(MARK);
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_generation_and_then_by_number() {
        let order = [
            Version::backfilled(1),
            Version::of(1, "999"),
            Version::of(1, "100000000000000000000"),
            Version::of(1, "9999999999999999999999999999999999999999"),
            Version::backfilled(2),
            Version::of(2, "1"),
            Version::of(11, "1"),
        ];
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
    }

    #[test]
    fn a_mark_comes_back() {
        let key: Item = [("PK".into(), "a".into())].into_iter().collect();
        let from = Origin { table: "t".into(), key };
        for gone in [false, true] {
            let mark = Mark { from: from.clone(), version: Version::of(3, "17"), gone };
            let mut item = Item::new();
            mark.stamp(&mut item);
            assert_eq!(Mark::of(&item), Some(mark));
            assert_eq!(is_tombstone(&item), gone);
            assert!(unmarked(item).is_empty());
        }
    }
}
