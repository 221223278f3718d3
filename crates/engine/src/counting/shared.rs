//! Counts on a store that several processes share: sums of counters that every commit increments.

use keyloom_core::Result;
use keyloom_store::{Store, Transaction};

use crate::catalog::{Catalog, Home, Stats, Table};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::{records, store_error};

/// Adds to the counters of a keyspace in the commit of what is counted.
pub(crate) fn add(
    transaction: &mut dyn Transaction,
    keyspace: Keyspace,
    (items, bytes): (i64, i64),
) {
    for (counter, delta) in layout::item_and_byte_counters(keyspace).into_iter().zip([items, bytes])
    {
        if delta != 0 {
            transaction.add(counter.into(), delta);
        }
    }
}

/// Counts what is in a store, and sets its counters to that. Nobody else may write meanwhile.
pub(crate) fn count_anew(store: &dyn Store) -> Result<()> {
    let tables = Catalog::load(store, Home::nowhere(), records::NEWEST)?.all();
    let snapshot = store.late_snapshot().map_err(store_error)?;
    for table in tables.values() {
        super::count_table(table, snapshot.as_ref(), || false)?;
        for (keyspace, stats) in table.counted() {
            let counters = layout::item_and_byte_counters(keyspace);
            let names: Vec<&[u8]> = counters.iter().map(Vec::as_slice).collect();
            let before = store.sum(&names).map_err(store_error)?;
            let [items, bytes] = before.as_slice() else { continue };
            let (counted_items, counted_bytes) = stats.raw();
            let mut transaction = store.begin(&[]).map_err(store_error)?;
            add(transaction.as_mut(), keyspace, (counted_items - items, counted_bytes - bytes));
            transaction.commit().map_err(crate::commit_error)?;
        }
    }
    Ok(())
}

/// Reads the counts of all tables.
pub(crate) fn refresh_all(database: &Inner) -> Result<()> {
    let tables = database.catalog.all();
    refresh(database, tables.values().map(AsRef::as_ref))
}

/// Reads the counts of tables and their indexes.
pub(super) fn refresh<'a>(
    database: &Inner,
    tables: impl IntoIterator<Item = &'a Table>,
) -> Result<()> {
    let counted: Vec<(Keyspace, &Stats)> = tables.into_iter().flat_map(Table::counted).collect();
    let counters =
        counted.iter().flat_map(|(keyspace, _)| layout::item_and_byte_counters(*keyspace));
    let counters: Vec<Vec<u8>> = counters.collect();
    if counters.is_empty() {
        return Ok(());
    }
    let names: Vec<&[u8]> = counters.iter().map(Vec::as_slice).collect();
    let sums = database.store.sum(&names).map_err(store_error)?;
    for ((_, stats), sums) in counted.iter().zip(sums.chunks_exact(2)) {
        if let [items, bytes] = sums {
            stats.set(*items, *bytes);
        }
    }
    Ok(())
}
