//! Removes history that is past its retention period.
//!
//! Whole days are removed, so up to one day more than the period is kept. History that a running restore reads is
//! kept, because after a kill the restore begins again.

use keyloom_core::Result;

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::ops::backups;
use crate::store_error;

use super::reader::first_day;
use super::{day_of, number_at};

/// Keys per transaction where whole files cannot be dropped.
const CHUNK: usize = 1000;

/// Removes what no time in a table's window needs.
pub(crate) fn run(database: &Inner) -> Result<()> {
    let now_ms = database.streams.now_ms();
    let mut outcome = Ok(());
    for table in database.catalog.all().values() {
        if let Some(recovery) = table.recovery {
            let earliest = number_at(recovery.earliest_ms(now_ms));
            let read = backups::earliest_read(database, recovery.keyspace);
            let needed = day_of(read.map_or(earliest, |read| read.min(earliest)));
            // One that cannot be trimmed does not keep the others.
            outcome = outcome.and(trim(database, recovery.keyspace, needed));
        }
    }
    outcome
}

/// Removes the days before this one.
fn trim(database: &Inner, history: Keyspace, needed: u32) -> Result<()> {
    while !database.background.is_ending() {
        let snapshot = database.store.snapshot().map_err(store_error)?;
        let Some(day) = first_day(snapshot.as_ref(), history, 0)?.filter(|day| *day < needed)
        else {
            break;
        };
        let prefix = layout::history_day(history, day);
        database.store.delete_prefix(&prefix, CHUNK).map_err(store_error)?;
    }
    Ok(())
}
