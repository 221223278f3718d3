//! Applies puts and deletes to the other form, and never overwrites a newer version.
//!
//! Every write is a transaction that also checks the fence, so that a runner that has been replaced can no longer
//! write, however late its requests arrive.

use std::collections::HashSet;

use keyloom_api::Expression;
use keyloom_api::items::ConditionInput;
use keyloom_api::transactions::{TransactAction, TransactEdit};
use keyloom_core::error::{CancellationCode, CancellationReason};
use keyloom_core::expr::{Condition, Path, Update};
use keyloom_core::size::item_size;
use keyloom_core::{Error as Refusal, Item};
use keyloom_design::migration::{Amendment, Fate, ItemMap, Mapped};

use super::mark::{Mark, Origin, Version, unchanged, unmarked};
use super::pace::write_units_of;
use super::service::{Refused, Service};
use super::state::{Fence, judge};
use crate::entity::key_text;
use crate::error::{Error, Result};
use crate::expression::{self, Changes};

/// The most writes of one transaction; one more action is the fence.
const MOST_WRITES: usize = 99;
/// The most bytes of one transaction: DynamoDB takes 4 MB.
const MOST_BYTES: usize = 3 << 20;
/// How often a contested key is looked at again before its owner is told.
const LOOKS: usize = 8;

/// One change of the other form.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) table: String,
    pub(super) key: Item,
    pub(super) edit: Edit,
    pub(super) from: Origin,
    pub(super) version: Version,
}

#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// This is the item now.
    Put(Item),
    /// The item is no more.
    Gone,
    /// The item lacks these attributes.
    Amend(Item, Amendment),
}

impl Change {
    /// The change that makes a mapped item what it should be; none if it is.
    pub(super) fn of(
        mapped: Mapped,
        current: &Item,
        from: &Origin,
        version: &Version,
    ) -> Option<Self> {
        let edit = match mapped.amendment {
            None => Edit::Put(mapped.item),
            Some(amendment) if amendment.changes.is_empty() => return None,
            Some(amendment) => Edit::Amend(current.clone(), amendment),
        };
        let (table, key) = (mapped.table, mapped.key);
        Some(Self { table, key, edit, from: from.clone(), version: version.clone() })
    }

    fn mark(&self, gone: bool) -> Mark {
        Mark { from: self.from.clone(), version: self.version.clone(), gone }
    }

    /// The place that it changes.
    fn label(&self) -> String {
        format!("{}\n{}", self.table, key_text(&self.key))
    }

    /// What is written, about.
    fn image(&self) -> &Item {
        match &self.edit {
            Edit::Put(item) | Edit::Amend(item, _) => item,
            Edit::Gone => &self.key,
        }
    }
}

/// The last change of each item by each origin, in order; each with the place that it changes.
fn newest(changes: impl Iterator<Item = Change>) -> Vec<(String, Change)> {
    let mut placed: Vec<(String, Change)> =
        changes.map(|change| (change.label(), change)).collect();
    let mut places = HashSet::new();
    // A backfill has one change of each.
    if placed.iter().all(|(place, _)| places.insert(place.as_str())) {
        return placed;
    }
    let mut seen = HashSet::new();
    placed.reverse();
    placed.retain(|(place, change)| {
        let origin = format!("{}\n{}", change.from.table, key_text(&change.from.key));
        seen.insert((place.clone(), origin))
    });
    placed.reverse();
    placed
}

/// Writes changes of one direction.
pub(super) struct Writer<'m> {
    pub(super) service: &'m Service,
    pub(super) map: &'m ItemMap,
    pub(super) fence: Fence,
    /// Whether deletions leave tombstones, because a backfill is under way.
    pub(super) tombstones: bool,
    /// Whether items without a mark are the original form, which may be replaced.
    pub(super) over_unmarked: bool,
    /// Whether only deletions are carried over, because the form that is written to is on its way out.
    pub(super) only_deletions: bool,
}

impl Writer<'_> {
    /// Makes changes in their order, as far as they concern one item. Of several changes of one item by one origin only
    /// the last counts: a program may write the same item all the time.
    pub(super) fn write(&self, changes: Vec<Change>) -> Result<()> {
        let (mut batch, mut bytes, mut units, mut seen) = (Vec::new(), 0, 0.0, HashSet::new());
        let most_units = self.service.pace.write_units();
        let wanted = |change: &Change| !self.only_deletions || matches!(change.edit, Edit::Gone);
        for (place, change) in newest(changes.into_iter().filter(wanted)) {
            let (own_bytes, own_units) =
                (item_size(change.image()), write_units_of(change.image()));
            let is_full = batch.len() >= MOST_WRITES
                || bytes + own_bytes > MOST_BYTES
                || units + own_units > most_units;
            if is_full || seen.contains(&place) {
                self.commit(std::mem::take(&mut batch))?;
                (bytes, units) = (0, 0.0);
                seen.clear();
            }
            bytes += own_bytes;
            units += own_units;
            seen.insert(place);
            batch.push(change);
        }
        self.commit(batch)
    }

    /// Makes changes of different items in one transaction; those whose conditions fail are looked at one by one.
    fn commit(&self, mut batch: Vec<Change>) -> Result<()> {
        while !batch.is_empty() {
            let mut actions: Vec<TransactAction> =
                batch.iter().map(|change| self.action(change)).collect::<Result<_>>()?;
            actions.push(self.fence.check());
            let reasons = match self.service.write(actions) {
                Ok(()) => return Ok(()),
                Err(Refused::Canceled(reasons)) => reasons,
                Err(Refused::Failed(Error::Database(refusal @ Refusal::Validation(_)))) => {
                    return self.divide(batch, refusal);
                }
                Err(Refused::Failed(error)) => return Err(error),
            };
            judge(&reasons)?;
            let mut rest = Vec::new();
            for (change, reason) in batch.into_iter().zip(reasons) {
                match reason.code {
                    CancellationCode::ConditionalCheckFailed => self.settle(change, reason)?,
                    CancellationCode::ValidationError => {
                        return Err(misfit(&change, &reason.message.unwrap_or_default()));
                    }
                    _ => rest.push(change),
                }
            }
            batch = rest;
        }
        Ok(())
    }

    /// A transaction that no endpoint takes has one change that is to blame: half of it is tried, and the other half.
    fn divide(&self, mut batch: Vec<Change>, refusal: Refusal) -> Result<()> {
        if let [change] = batch.as_slice() {
            return Err(misfit(change, &refusal.to_string()));
        }
        let second = batch.split_off(batch.len() / 2);
        self.commit(batch)?;
        self.commit(second)
    }

    fn action(&self, change: &Change) -> Result<TransactAction> {
        let partition = self.partition(&change.table);
        let may = |mark: &Mark| mark.may_be_written(partition, self.over_unmarked);
        let stamped = |item: &Item, gone| {
            let (mut item, mark) = (item.clone(), change.mark(gone));
            mark.stamp(&mut item);
            (TransactEdit::Put(item), may(&mark))
        };
        let (edit, condition) = match &change.edit {
            Edit::Put(item) => stamped(item, false),
            Edit::Gone if self.tombstones => stamped(&change.key, true),
            Edit::Gone => (TransactEdit::Delete(change.key.clone()), may(&change.mark(false))),
            Edit::Amend(current, amendment) => {
                let mut changes = Changes::default();
                for (name, value) in &amendment.changes {
                    changes.assign(name, value.clone());
                }
                let update = changes.finish()?.unwrap_or_else(|| "".into());
                (
                    TransactEdit::Update(change.key.clone(), update),
                    still(current, amendment, partition),
                )
            }
        };
        Ok(action(&change.table, edit, condition))
    }

    /// The first key attribute of a target table, which every item has.
    fn partition(&self, table: &str) -> &str {
        let mut tables = self.map.targets().iter().filter(|known| known.name == table);
        let first = tables.next().and_then(|table| table.primary().hash.first());
        first.map_or("", |key| key.name.as_str())
    }

    /// Decides a change whose condition failed, by what is there.
    fn settle(&self, change: Change, reason: CancellationReason) -> Result<()> {
        let Edit::Put(_) = change.edit else {
            // There is something newer, or nothing of this origin; what was to be amended has changed, as the stream tells.
            return Ok(());
        };
        let Some(there) = reason.item else { return Ok(()) };
        match Mark::of(&there) {
            Some(mark) if mark.from == change.from => Ok(()),
            Some(mark) => self.contest(&change, mark),
            None => Err(Error::Migration(format!(
                "{} becomes `{}` in table `{}`, where there is an item that the migration did not write; \
                 delete one of them, then run it again",
                change.from.text(),
                key_text(&change.key),
                change.table
            ))),
        }
    }

    /// Two origins claim one key. One of them has gone, and its deletion is on its way; or the designs make two items one.
    fn contest(&self, change: &Change, mut mark: Mark) -> Result<()> {
        for _ in 0..LOOKS {
            let origins = [&change.from, &mark.from];
            let keys = origins.map(|origin| (origin.table.clone(), origin.key.clone()));
            let found = self.service.get_together(&keys)?;
            let [own, other] = found.as_slice() else { return Ok(()) };
            let Some(image) = self.image(&change.from, own.as_ref(), change) else {
                return Ok(());
            };
            if self.image(&mark.from, other.as_ref(), change).is_some() {
                return Err(collision(change, &mark.from));
            }
            let mut item = image;
            change.mark(false).stamp(&mut item);
            let actions = vec![
                action(&change.table, TransactEdit::Put(item), mark.is_there()),
                as_read(&change.from, own.as_ref()),
                as_read(&mark.from, other.as_ref()),
                self.fence.check(),
            ];
            match self.service.write(actions) {
                Ok(()) => return Ok(()),
                Err(Refused::Canceled(reasons)) => {
                    judge(&reasons)?;
                    let there = self.service.get(&change.table, &change.key)?;
                    match there.as_ref().and_then(Mark::of) {
                        Some(now) if now.from == change.from => return Ok(()),
                        Some(now) => mark = now,
                        None => return self.commit(vec![change.clone()]),
                    }
                }
                Err(refused) => return Err(refused.into()),
            }
        }
        Err(Error::Migration(format!(
            "{} and {} are written so often that neither can be moved; run the migration again",
            change.from.text(),
            mark.from.text()
        )))
    }

    /// What an origin puts at the changed key now, if anything.
    fn image(&self, from: &Origin, item: Option<&Item>, change: &Change) -> Option<Item> {
        let Ok(Fate::Mapped(mapped)) = self.map.fate(&from.table, item?) else { return None };
        let here = |mapped: &Mapped| mapped.table == change.table && mapped.key == change.key;
        mapped.into_iter().find(here).map(|mapped| mapped.item)
    }
}

/// The demand that an origin is as it was read.
pub(super) fn as_read(from: &Origin, item: Option<&Item>) -> TransactAction {
    let condition = if let Some(item) = item {
        unchanged(item)
    } else {
        let first = from.key.keys().next().map_or("", |name| name.as_str());
        expression::presence(first, false)
    };
    action(&from.table, TransactEdit::Check(from.key.clone()), condition)
}

/// One action of a transaction; if its condition fails, the item comes back.
pub(super) fn action(table: &str, edit: TransactEdit, condition: ConditionInput) -> TransactAction {
    TransactAction { table_name: table.to_owned(), edit, condition, return_item_on_failure: true }
}

/// The condition that an item still is what an amendment was made from.
fn still(item: &Item, amendment: &Amendment, partition: &str) -> ConditionInput {
    let mut tests = vec![Condition::Exists(Path::attribute(partition))];
    for name in &amendment.inputs {
        tests.push(match item.get(name) {
            Some(value) => expression::equal(name, value.clone()),
            None => Condition::NotExists(Path::attribute(name)),
        });
    }
    expression::when(Some(expression::all(tests)))
}

/// An update of some attributes, if the item is there.
pub(super) fn amend(
    table: &str,
    key: &Item,
    changes: impl IntoIterator<Item = (String, Option<keyloom_core::AttributeValue>)>,
    condition: ConditionInput,
) -> Result<TransactAction> {
    let mut list = Changes::default();
    for (name, value) in changes {
        list.assign(&name, value);
    }
    let update: Expression<Update> = list.finish()?.unwrap_or_else(|| "".into());
    Ok(action(table, TransactEdit::Update(key.clone(), update), condition))
}

fn collision(change: &Change, other: &Origin) -> Error {
    Error::Migration(format!(
        "{} and {} would both become `{}` in table `{}`; nothing was overwritten. Change one of them, \
         or put what tells them apart into the new key",
        change.from.text(),
        other.text(),
        key_text(&change.key),
        change.table
    ))
}

fn misfit(change: &Change, why: &str) -> Error {
    let shown = unmarked(change.key.clone());
    Error::Migration(format!(
        "{} cannot become `{}` in table `{}`: {why}",
        change.from.text(),
        key_text(&shown),
        change.table
    ))
}
