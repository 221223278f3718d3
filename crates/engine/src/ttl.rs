//! The removal of expired items.
//!
//! A table remembers the earliest second at which one of its items expires: writers lower it, a walk
//! over the table finds it anew. So a table is walked only when something in it has expired, and a
//! table without time to live never.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use keyloom_core::expr::ast::Comparator;
use keyloom_core::expr::{Condition, Operand, Path};
use keyloom_core::{AttributeValue, Error, Item, Result};
use keyloom_store::{Direction, KeyRange};

use crate::catalog::Table;
use crate::catalog::record::{Status, TtlSetting};
use crate::database::Inner;
use crate::image::Stored;
use crate::write::{self, Edit, Origin, Write};
use crate::{layout, store_error};

/// Items that expired longer ago than five years stay: their times are likely mistakes.
const OLDEST_S: u64 = 5 * 365 * 24 * 60 * 60;

/// The expiry of "nothing expires".
const NEVER: u64 = u64::MAX;

/// When an item expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    /// It never does, or too long ago to be meant.
    Never,
    /// At this second, which may be past.
    At(u64),
}

/// Reads an expiry. Only numbers count, in seconds.
fn expiry_of(value: Option<&AttributeValue>, now_s: u64) -> Expiry {
    let Some(AttributeValue::N(number)) = value else { return Expiry::Never };
    let seconds = number.to_f64();
    if seconds.is_sign_negative() || (seconds as u64) < now_s.saturating_sub(OLDEST_S) {
        return Expiry::Never;
    }
    Expiry::At(seconds.ceil() as u64)
}

/// Notes the expiry of an item that was written.
pub(crate) fn note(database: &Inner, table: &Table, item: &Item) {
    let Some(ttl) = enabled(table) else { return };
    let now_s = database.clock.now_ms() / 1000;
    if let Expiry::At(second) = expiry_of(item.get(&ttl.attribute), now_s) {
        table.shared.next_expiry_s.fetch_min(second, Ordering::Relaxed);
    }
}

/// Has the whole table looked through at the next occasion.
pub(crate) fn look_through(table: &Table) {
    table.shared.next_expiry_s.store(0, Ordering::Relaxed);
}

/// Removes what has expired in all tables.
pub(crate) fn sweep(database: &Inner) -> Result<()> {
    let now_s = database.clock.now_ms() / 1000;
    for table in database.catalog.all().values() {
        let is_due = || table.shared.next_expiry_s.load(Ordering::Relaxed) < now_s;
        if table.record.status == Status::Active && enabled(table).is_some() && is_due() {
            sweep_table(database, table, now_s)?;
        }
    }
    Ok(())
}

fn enabled(table: &Table) -> Option<&TtlSetting> {
    table.record.ttl.as_ref().filter(|ttl| ttl.enabled)
}

fn sweep_table(database: &Inner, table: &Arc<Table>, now_s: u64) -> Result<()> {
    let Some(ttl) = enabled(table) else { return Ok(()) };
    let next = &table.shared.next_expiry_s;
    // Before the snapshot: what is written from here on lowers it again.
    next.store(NEVER, Ordering::Relaxed);
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let range = KeyRange::prefix(&layout::entries(table.record.keyspace));
    for entry in snapshot.scan(range, Direction::Forward) {
        let stored = Stored::new(entry.map_err(store_error)?.1);
        let value = stored.get(&ttl.attribute)?;
        let Expiry::At(second) = expiry_of(value.as_ref(), now_s) else { continue };
        if second >= now_s || !remove(database, table, ttl, stored, now_s)? {
            next.fetch_min(second, Ordering::Relaxed);
        }
        let current = database.catalog.find(table.name());
        if database.background.is_ending()
            || current.is_none_or(|now| now.record.ttl != table.record.ttl)
        {
            look_through(table);
            return Ok(());
        }
    }
    Ok(())
}

/// Removes an item, unless it has been given more time meanwhile; false if it must be tried again.
fn remove(
    database: &Inner,
    table: &Arc<Table>,
    ttl: &TtlSetting,
    stored: Stored,
    now_s: u64,
) -> Result<bool> {
    let attribute = || Operand::Path(Path::attribute(ttl.attribute.as_str()));
    let seconds = |second: u64| Operand::value(AttributeValue::N(second.into()));
    let oldest = seconds(now_s.saturating_sub(OLDEST_S));
    let write = Write {
        table: Arc::clone(table),
        key: table.schema.key_of(&stored.into_item()?)?,
        condition: Some(Condition::And(vec![
            Condition::Compare(Comparator::Less, attribute(), seconds(now_s)),
            Condition::Compare(Comparator::GreaterOrEqual, attribute(), oldest),
        ])),
        edit: Edit::Delete,
        origin: Origin::TimeToLive,
    };
    match write::one(database, write, false) {
        Ok(_) | Err(Error::ConditionalCheckFailed { .. } | Error::ResourceNotFound(_)) => Ok(true),
        Err(Error::TransactionConflict(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_are_seconds_expire() {
        let now_s = 1_794_700_800;
        let number = |text: &str| AttributeValue::N(text.parse().unwrap());
        let cases = [
            (Some(number("1794700799")), Expiry::At(now_s - 1)),
            (Some(number("1794700799.5")), Expiry::At(now_s)),
            (Some(number("1794700900")), Expiry::At(now_s + 100)),
            (Some(number("1794700800000")), Expiry::At(now_s * 1000)),
            (Some(number("1637020800")), Expiry::At(now_s - OLDEST_S)),
            (Some(number("1637020799")), Expiry::Never),
            (Some(number("0")), Expiry::Never),
            (Some(number("-5")), Expiry::Never),
            (Some(number("1E100")), Expiry::At(u64::MAX)),
            (Some(AttributeValue::from("1794700799")), Expiry::Never),
            (None, Expiry::Never),
        ];
        for (value, expected) in cases {
            assert_eq!(expiry_of(value.as_ref(), now_s), expected, "{value:?}");
        }
    }
}
