//! Time to live: removes expired items.
//!
//! Each table tracks the earliest expiry time of its items: writes lower it, and a scan of the table recomputes it.
//! So a table is scanned only when an item in it has expired, and a table without time to live never. Closing a
//! database saves these times with the counts ([`crate::counting`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use keyloom_core::expiry::{Expiry, OLDEST_EXPIRY_S};
use keyloom_core::expr::ast::Comparator;
use keyloom_core::expr::{Condition, Operand, Path};
use keyloom_core::image::{Row, Stored};
use keyloom_core::{AttributeValue, Error, Item, Result};
use keyloom_store::{Bytes, CommitError, Direction, KeyRange};

use crate::catalog::Table;
use crate::catalog::record::{Status, TtlSetting};
use crate::database::Inner;
use crate::write::{self, OneOrMore, Origin, Write};
use crate::{layout, store_error};

/// How many rows of a page are checked for expiry.
const LOOKED_AT: usize = 64;

/// Expired items that are removed in one commit: one sync for all of them, and others wait for their locks
/// no longer than for a large batch.
const REMOVED_AT_ONCE: usize = 100;
const REMOVED_BYTES_AT_ONCE: usize = 1 << 20;

/// After how many items that stay a walk asks whether it is still wanted.
const ASKED_EVERY: usize = 64;

/// Stands for "nothing expires".
const NEVER: u64 = u64::MAX;

/// Notes the expiry of an item that was written.
pub(crate) fn note(database: &Inner, table: &Table, item: &Item) {
    let Some(ttl) = enabled(table) else { return };
    let now_s = database.clock.now_ms() / 1000;
    if let Expiry::At(second) = Expiry::of(item.get(&ttl.attribute), now_s) {
        table.shared.next_expiry_s.fetch_min(second, Ordering::Relaxed);
        table.shared.noted_expiry_s.fetch_min(second, Ordering::Relaxed);
    }
}

/// How many of a page's rows have expired and are still there; of many rows, some are looked at and
/// stand for the rest.
pub(crate) fn expired(database: &Inner, table: &Table, rows: &[Row]) -> usize {
    let Some(ttl) = enabled(table) else { return 0 };
    let now_s = database.clock.now_ms() / 1000;
    let seen = rows.len().min(LOOKED_AT);
    let value = |row: &Row| match row {
        Row::Stored(stored) => stored.get(&ttl.attribute).ok().flatten(),
        Row::Item(item) => item.get(&ttl.attribute).cloned(),
    };
    let past = (0..seen).filter_map(|turn| rows.get(spread(turn, rows.len()))).filter(|row| {
        let expiry = Expiry::of(value(row).as_ref(), now_s);
        expiry.is_past(now_s)
    });
    past.count() * rows.len() / seen.max(1)
}

/// Where to look the next time, so that all places are met alike: a fixed step could fall in with what
/// repeats in the rows.
fn spread(turn: usize, count: usize) -> usize {
    if count <= LOOKED_AT {
        return turn;
    }
    // The golden ratio: each position lies in the widest gap that the earlier ones left.
    let share = (turn as u32).wrapping_mul(0x9e37_79b9);
    ((u64::from(share) * count as u64) >> 32) as usize
}

/// Whether one item has expired and is still there.
pub(crate) fn has_expired(database: &Inner, table: &Table, stored: Option<&Stored>) -> bool {
    let (Some(ttl), Some(stored)) = (enabled(table), stored) else { return false };
    let now_s = database.clock.now_ms() / 1000;
    let value = stored.get(&ttl.attribute).ok().flatten();
    Expiry::of(value.as_ref(), now_s).is_past(now_s)
}

/// For how many seconds the item that expired first is waiting to be removed; none if nothing is, or if
/// that is not known.
pub(crate) fn overdue_s(database: &Inner, table: &Table) -> Option<u64> {
    let next_s = table.shared.next_expiry_s.load(Ordering::Relaxed);
    let now_s = database.clock.now_ms() / 1000;
    enabled(table).and(now_s.checked_sub(next_s)).filter(|overdue| next_s > 0 && *overdue > 0)
}

/// Makes the sweeper scan the whole table at its next run.
pub(crate) fn look_through(table: &Table) {
    expect_none_before(table, 0);
}

/// Records that none of the table's items expires before this second.
pub(crate) fn expect_none_before(table: &Table, second: u64) {
    table.shared.next_expiry_s.store(second, Ordering::Relaxed);
}

/// Before which second none of the table's items expires; none if the table has not been scanned.
pub(crate) fn next_expiry_s(table: &Table) -> Option<u64> {
    let second = table.shared.next_expiry_s.load(Ordering::Relaxed);
    (second > 0 && enabled(table).is_some()).then_some(second)
}

/// What the notes of servers for the one that removes are kept under.
const NOTES: &str = "expiry";

/// Publishes the earliest expiry noted here to the server that removes expired items.
pub(crate) fn flush(database: &Inner) -> Result<()> {
    for table in database.catalog.all().values() {
        let shared = &table.shared;
        let noted = shared.noted_expiry_s.swap(NEVER, Ordering::Relaxed);
        if noted == NEVER || enabled(table).is_none() {
            continue;
        }
        let name = format!("{} {}", table.record.keyspace, database.coordination.id);
        let key = layout::coordination_row(NOTES, &name);
        let stored = database.store.get(&key).map_err(store_error)?;
        let stored = stored.and_then(|note| serde_json::from_slice(&note).ok()).unwrap_or(NEVER);
        let mut transaction = database.store.begin(&[]).map_err(store_error)?;
        transaction.put(key.into(), noted.min(stored).to_string().into_bytes().into());
        if let Err(error) = transaction.commit() {
            shared.noted_expiry_s.fetch_min(noted, Ordering::Relaxed);
            return Err(crate::commit_error(error));
        }
    }
    Ok(())
}

/// Takes over what servers have noted of a table. What they note meanwhile stays for the next time.
fn collect(database: &Inner, table: &Table) -> Result<()> {
    let prefix = layout::coordination_row(NOTES, &format!("{} ", table.record.keyspace));
    let snapshot = database.store.late_snapshot().map_err(store_error)?;
    let notes = snapshot.scan(KeyRange::prefix(&prefix), Direction::Forward);
    let notes: Vec<_> = notes.collect::<Result<_, _>>().map_err(store_error)?;
    let notes = notes.into_iter().map(|(key, note)| (key.into_bytes(), note));
    let notes: Vec<(Bytes, Bytes)> = notes.collect();
    drop(snapshot);
    for (key, note) in notes {
        let second = serde_json::from_slice(&note).unwrap_or(0);
        table.shared.next_expiry_s.fetch_min(second, Ordering::Relaxed);
        let mut transaction = database.store.begin(&[&key]).map_err(store_error)?;
        if transaction.get(&key).map_err(store_error)? == Some(note) {
            transaction.delete(key.clone());
            match transaction.commit() {
                Ok(()) | Err(CommitError::Conflict | CommitError::Stale) => {}
                Err(error) => return Err(crate::commit_error(error)),
            }
        }
    }
    Ok(())
}

/// Removes what has expired in all tables.
pub(crate) fn sweep(database: &Inner) -> Result<()> {
    let now_s = database.clock.now_ms() / 1000;
    for name in database.catalog.all().keys() {
        // It may have been changed while another one was swept.
        let Some(table) = database.catalog.find(name) else { continue };
        if database.store.is_shared() && enabled(&table).is_some() {
            collect(database, &table)?;
        }
        let is_due = || table.shared.next_expiry_s.load(Ordering::Relaxed) < now_s;
        if table.record.status == Status::Active && enabled(&table).is_some() && is_due() {
            sweep_table(database, &table, now_s)?;
        }
    }
    Ok(())
}

fn enabled(table: &Table) -> Option<&TtlSetting> {
    table.record.ttl.as_ref().filter(|ttl| ttl.enabled)
}

/// A walk over a table; one that does not come to its end, for whatever reason, has to be made again.
struct Walk<'a> {
    table: &'a Table,
    is_complete: bool,
}

impl<'a> Walk<'a> {
    fn begin(table: &'a Table) -> Self {
        expect_none_before(table, NEVER);
        Self { table, is_complete: false }
    }

    /// Says of an item that stays when it expires.
    fn met(&self, second: u64) {
        self.table.shared.next_expiry_s.fetch_min(second, Ordering::Relaxed);
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        if !self.is_complete {
            look_through(self.table);
        }
    }
}

fn sweep_table(database: &Inner, table: &Arc<Table>, now_s: u64) -> Result<()> {
    let Some(ttl) = enabled(table) else { return Ok(()) };
    let is_outdated = || {
        let current = database.catalog.find(table.name());
        current.is_none_or(|now| now.record.ttl != table.record.ttl)
    };
    // Before the snapshot: what is written from here on lowers the expiry again.
    let mut walk = Walk::begin(table);
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let range = KeyRange::prefix(&layout::entries(table.record.keyspace));
    let mut expired = Expired { database, table, ttl, now_s, items: Vec::new(), bytes: 0 };
    for (position, entry) in snapshot.scan(range, Direction::Forward).enumerate() {
        let stored = Stored::new(entry.map_err(store_error)?.1);
        let value = stored.get(&ttl.attribute)?;
        let expiry = Expiry::of(value.as_ref(), now_s);
        let is_past = expiry.is_past(now_s);
        if (is_past || position % ASKED_EVERY == 0)
            && (database.background.is_ending() || is_outdated())
        {
            return Ok(());
        }
        match expiry {
            Expiry::At(second) if is_past => expired.add(stored, second, &walk)?,
            Expiry::At(second) => walk.met(second),
            Expiry::Never => {}
        }
    }
    expired.remove(&walk)?;
    walk.is_complete = !is_outdated();
    Ok(())
}

/// Expired items that are removed together.
struct Expired<'a> {
    database: &'a Inner,
    table: &'a Arc<Table>,
    ttl: &'a TtlSetting,
    now_s: u64,
    /// Each with the second at which it expired.
    items: Vec<(Item, u64)>,
    bytes: usize,
}

impl Expired<'_> {
    fn add(&mut self, stored: Stored, second: u64, walk: &Walk<'_>) -> Result<()> {
        self.bytes += stored.size_bytes()?;
        self.items.push((self.table.schema.key_of(&stored.into_item()?)?, second));
        if self.items.len() == REMOVED_AT_ONCE || self.bytes >= REMOVED_BYTES_AT_ONCE {
            self.remove(walk)?;
        }
        Ok(())
    }

    /// Removes the items, unless their expiry was postponed meanwhile.
    fn remove(&mut self, walk: &Walk<'_>) -> Result<()> {
        self.bytes = 0;
        let items = std::mem::take(&mut self.items);
        let (keys, seconds): (Vec<Item>, Vec<u64>) = items.into_iter().unzip();
        let writes = keys.into_iter().map(|key| self.removal(key)).collect::<Result<Vec<_>>>()?;
        let Some(writes) = OneOrMore::of(writes) else { return Ok(()) };
        let removed = match write::several(self.database, writes) {
            Ok(removed) => removed,
            // The table was deleted with its items.
            Err(Error::ResourceNotFound(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        for (removed, second) in removed.into_iter().zip(seconds) {
            match removed {
                Ok(()) | Err(Error::ConditionalCheckFailed { .. } | Error::ResourceNotFound(_)) => {
                }
                // It is tried again.
                Err(Error::TransactionConflict(_)) => walk.met(second),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn removal(&self, key: Item) -> Result<Write> {
        let attribute = || Operand::Path(Path::attribute(self.ttl.attribute.as_str()));
        let seconds = |second: u64| Operand::value(AttributeValue::N(second.into()));
        let oldest = seconds(self.now_s.saturating_sub(OLDEST_EXPIRY_S));
        let condition = Condition::And(vec![
            Condition::Compare(Comparator::Less, attribute(), seconds(self.now_s)),
            Condition::Compare(Comparator::GreaterOrEqual, attribute(), oldest),
        ]);
        let write = Write::delete(Arc::clone(self.table), key, Some(condition))?;
        Ok(write.by(Origin::TimeToLive))
    }
}
