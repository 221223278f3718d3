//! The history of a table with point-in-time recovery.
//!
//! Every record lies under the day of its number, and holds an item with the key that it is recorded
//! under, or nothing.

use keyloom_core::image;
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};

use crate::catalog::Table;
use crate::history;
use crate::layout::{self, HISTORY_HEADER_BYTES};

use super::report::{Finding, Kind, Report};
use super::show;

/// Checks a table's history, if it has one.
pub(super) fn check(snapshot: &dyn Snapshot, table: &Table, report: &mut Report) {
    let Some(recovery) = table.recovery else { return };
    let range = KeyRange::prefix(&layout::history(recovery.keyspace));
    for entry in snapshot.scan(range, Direction::Forward) {
        let (key, value) = match entry {
            Ok((key, value)) => (key.into_bytes(), value),
            Err(error) => {
                let finding = Finding::new(Kind::Damage, error.to_string());
                return report.add(finding.of_table(table.name()));
            }
        };
        report.totals.history_records += 1;
        if let Err((kind, detail)) = check_record(table, recovery.keyspace, &key, &value) {
            let finding = Finding::new(kind, format!("in the history: {detail}"));
            report.add(finding.of_table(table.name()).at(show::hex(&key)));
        }
    }
}

fn check_record(
    table: &Table,
    keyspace: layout::Keyspace,
    key: &Bytes,
    value: &Bytes,
) -> Result<(), (Kind, String)> {
    let end = key.len().saturating_sub(size_of::<u64>());
    let (item_key, number) = key
        .get(HISTORY_HEADER_BYTES..end)
        .zip(layout::sequence_of(key))
        .ok_or_else(|| (Kind::UnknownKey, "it is no key of a history record".to_owned()))?;
    if history::record_key(keyspace, item_key, number) != *key {
        return Err((Kind::WrongKey, format!("number {number} lies under another day")));
    }
    if value.is_empty() {
        return Ok(());
    }
    let item = image::decode(value).map_err(|error| (Kind::Undecodable, error.message()))?;
    let own = table.item_key(&item).map_err(|error| (Kind::WrongKey, error.message()))?;
    if own.get(layout::ENTRY_HEADER_BYTES..) != Some(item_key) {
        return Err((Kind::WrongKey, "the item has another key".to_owned()));
    }
    Ok(())
}
