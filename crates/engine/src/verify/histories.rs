//! Verifies the history of a table with point-in-time recovery.
//!
//! Every record must be stored under the day of its number, and contain an item with the key that it is stored under,
//! or be empty. Images are read as a restore reads them, together with the table.

use keyloom_core::image;
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};

use crate::catalog::Table;
use crate::history::{self, Past, Version, Versions};
use crate::layout::{self, HISTORY_HEADER_BYTES};

use super::report::{Finding, Kind, Report};
use super::show;

/// Checks a table's history, if it has one.
pub(super) fn check(snapshot: &dyn Snapshot, table: &Table, report: &mut Report) {
    let Some(recovery) = table.recovery else { return };
    let range = KeyRange::prefix(&layout::history(recovery.keyspace));
    let (mut has_records, mut are_keys_sound) = (false, true);
    for entry in snapshot.scan(range, Direction::Forward) {
        let key = match entry {
            Ok((key, _)) => key.into_bytes(),
            Err(error) => {
                let finding = Finding::new(Kind::Damage, error.to_string());
                return report.add(finding.of_table(table.name()));
            }
        };
        report.totals.history_records += 1;
        has_records = true;
        if let Err(found) = check_key(recovery.keyspace, &key) {
            are_keys_sound = false;
            add(report, table, &key, found);
        }
    }
    // Nothing that is behind a broken key can be read.
    if has_records && are_keys_sound {
        let all = Past { history: recovery.keyspace, before: 0 };
        if let Err(error) = check_images(snapshot, table, all, report) {
            let finding =
                Finding::new(Kind::Undecodable, format!("in the history: {}", error.message()));
            report.add(finding.of_table(table.name()));
        }
    }
}

fn add(report: &mut Report, table: &Table, key: &[u8], (kind, detail): (Kind, String)) {
    let finding = Finding::new(kind, format!("in the history: {detail}"));
    report.add(finding.of_table(table.name()).at(show::hex(key)));
}

fn check_key(keyspace: layout::Keyspace, key: &Bytes) -> Result<(), (Kind, String)> {
    let end = key.len().saturating_sub(size_of::<u64>());
    let (item_key, number) = key
        .get(HISTORY_HEADER_BYTES..end)
        .zip(layout::sequence_of(key))
        .ok_or_else(|| (Kind::UnknownKey, "it is no key of a history record".to_owned()))?;
    if history::record_key(keyspace, item_key, number) != *key {
        return Err((Kind::WrongKey, format!("number {number} lies under another day")));
    }
    Ok(())
}

/// Reads every version of every item.
fn check_images(
    snapshot: &dyn Snapshot,
    table: &Table,
    all: Past,
    report: &mut Report,
) -> keyloom_core::Result<()> {
    let versions = Versions::since(snapshot, table.record.keyspace, all)?;
    versions.visit(|version| {
        let Some(number) = version.changed_at() else { return };
        if let Err(found) = check_image(table, version) {
            add(report, table, &history::record_key(all.history, &version.item, number), found);
        }
    })
}

fn check_image(table: &Table, version: &Version) -> Result<(), (Kind, String)> {
    let Some(stored) = version.image() else { return Ok(()) };
    let item = image::decode(&stored).map_err(|error| (Kind::Undecodable, error.message()))?;
    let own = table.item_key(&item).map_err(|error| (Kind::WrongKey, error.message()))?;
    if own.get(layout::ENTRY_HEADER_BYTES..) != Some(&version.item[..]) {
        return Err((Kind::WrongKey, "the item has another key".to_owned()));
    }
    Ok(())
}
