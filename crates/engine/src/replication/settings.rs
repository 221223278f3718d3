//! Replicated settings: a change at one replica is applied to the others.
//!
//! As on AWS these are: capacity mode, throughput and its limits, global secondary indexes, encryption, table class
//! and time to live. Tags, deletion protection, recovery, insights and policies are per replica. All replicated
//! settings share one version: of two concurrent changes, the later one wins as a whole.

use keyloom_core::Result;

use crate::catalog::TableRecord;
use crate::catalog::record::IndexRecord;
use crate::database::Inner;
use crate::ops::tables::update_table;

use super::Version;
use super::message::{self, SettingsAnswer, SettingsMessage};
use super::receive::{check_clock, not_here, table_of};

/// Notes in the record of a global table that this region has changed settings which all regions share.
pub(crate) fn note_change(database: &Inner, before: &TableRecord, record: &mut TableRecord) {
    if has_same_settings(before, record) {
        return;
    }
    if let Some(replication) = &mut record.replication {
        let region = database.options.region.clone();
        replication.settings = Some(Version { at: database.streams.number(), region });
    }
}

/// Takes over the settings of another region, unless they are older than those that are known here.
pub(super) fn receive(database: &Inner, message: &SettingsMessage) -> Result<Vec<u8>> {
    check_clock(database, message.version.at)?;
    database.streams.advance_past(message.version.at);
    let change = database.change()?;
    let table = table_of(database, &message.table, &message.group)
        .ok_or_else(|| not_here(database, &message.table))?;
    let known = table.record.replication.as_ref().and_then(|it| it.settings.as_ref());
    let is_complete = known.is_some_and(|known| *known >= message.version)
        || update_table::follow(database, &change, &table, &message.definition, &message.version)?;
    message::encode(&SettingsAnswer { is_complete })
}

/// Whether two records of a table have the same settings of those that all regions share.
pub(crate) fn has_same_settings(a: &TableRecord, b: &TableRecord) -> bool {
    let indexes = |record: &TableRecord| -> Vec<IndexRecord> {
        record.indexes.iter().filter(|index| index.global).cloned().collect()
    };
    let (ours, theirs) = (indexes(a), indexes(b));
    a.billing == b.billing
        && a.encryption == b.encryption
        && a.table_class == b.table_class
        && a.ttl == b.ttl
        && ours.len() == theirs.len()
        && ours.iter().all(|one| theirs.iter().any(|other| one.has_settings_of(other)))
}
