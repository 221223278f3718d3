//! Sweep: removes what a finished backfill leaves behind.
//!
//! Tombstones guard against late writes of the backfill, and are no longer needed. Items of an earlier generation
//! that the backfill did not renew are removed, too: their source was deleted while no runner followed the stream.

use keyloom_api::transactions::{TransactAction, TransactEdit};
use keyloom_core::Item;
use keyloom_design::migration::{Fate, ItemMap};

use super::apply::{Writer, action, as_read};
use super::backfill::key_of;
use super::mark::{Mark, Origin, Version, unchanged};
use super::service::Refused;
use super::state::judge;
use super::verify::Companion;
use crate::error::Result;

/// Sweeps one page of a target table; returns where the next one begins.
pub(super) fn page(
    writer: &Writer<'_>,
    inverse: &ItemMap,
    table: &str,
    generation: u64,
    after: Option<Item>,
    companion: &mut dyn Companion,
) -> Result<Option<Item>> {
    let page = writer.service.scan(table, None, after)?;
    for item in page.items.iter().filter(|item| writer.map.is_made(table, item)) {
        let key = key_of(writer.map, table, item);
        let delete = TransactEdit::Delete(key.clone());
        let actions = match Mark::of(item) {
            Some(mark) if mark.gone => vec![action(table, delete, mark.is_there())],
            Some(mark) if mark.version >= Version::backfilled(generation) => continue,
            None if !writer.over_unmarked => continue,
            _ => match orphaned(writer, inverse, table, item, &key)? {
                Some(mut checks) => {
                    checks.push(action(table, delete, unchanged(item)));
                    checks
                }
                None => continue,
            },
        };
        // What has changed meanwhile is needed.
        change(writer, actions)?;
        companion.looked_at(1)?;
    }
    Ok(page.last_key)
}

/// The demands that nothing maps to an item any more; none if something does.
fn orphaned(
    writer: &Writer<'_>,
    inverse: &ItemMap,
    table: &str,
    item: &Item,
    key: &Item,
) -> Result<Option<Vec<TransactAction>>> {
    let origins = match Mark::of(item) {
        Some(mark) => vec![(mark.from.table, mark.from.key)],
        None => match inverse.fate(table, item) {
            Ok(Fate::Mapped(mapped)) => {
                mapped.into_iter().map(|new| (new.table, new.key)).collect()
            }
            _ => return Ok(None),
        },
    };
    let mut checks = Vec::new();
    for (from, from_key) in origins {
        let origin = writer.service.get(&from, &from_key)?;
        if let Some(origin) = &origin
            && !writer.map.fate(&from, origin).is_ok_and(|fate| fate.is_elsewhere(table, key))
        {
            return Ok(None);
        }
        checks.push(as_read(&Origin { table: from, key: from_key }, origin.as_ref()));
    }
    Ok(Some(checks))
}

/// Changes an item, unless it is another one by now; whether it was changed.
pub(super) fn change(writer: &Writer<'_>, mut actions: Vec<TransactAction>) -> Result<bool> {
    actions.push(writer.fence.check());
    match writer.service.write(actions) {
        Ok(()) => Ok(true),
        Err(Refused::Canceled(reasons)) => judge(&reasons).map(|()| false),
        Err(refused) => Err(refused.into()),
    }
}
