//! Checks whether another region still has the tables that were replicated to it.
//!
//! A server that was started on an empty directory responds like any other, and an idle table sends it nothing. So
//! each region is asked every second for the ids of its tables. If an id is missing or differs, the table does not
//! have what was sent before, even if a third region has created it again meanwhile. A table restored from an older
//! backup has the right id, but not the right [position](lineage).

use std::sync::Arc;

use keyloom_core::Result;

use crate::catalog::Table;
use crate::database::Inner;

use super::link::Link;
use super::message::{self, PROBE, ProbeAnswer, ProbeMessage};
use super::notes::LinkError;
use super::receive::table_of;
use super::{Peers, REPLICATION_TARGET, lineage, returned};

/// Asks a region, and lets the links to tables that it has lost begin anew.
pub(super) fn ask(database: &Inner, peers: &dyn Peers, region: &str) -> Result<(), LinkError> {
    let tables = sent_to(database, region);
    if tables.is_empty() {
        return Ok(());
    }
    let group = |table: &Table| {
        table.record.replication.as_ref().map(|it| it.group.clone()).unwrap_or_default()
    };
    let heard = |table: &Arc<Table>| lineage::heard(database, table.name(), &group(table), region);
    let before = tables.iter().map(heard).collect::<Result<Vec<_>>>()?;
    let takes = returned::takes(database);
    let names = tables.iter().map(|table| (table.name().to_owned(), group(table))).collect();
    let message = ProbeMessage { tables: names };
    let body = message::encode(&message)?;
    let answer = peers.send(region, &format!("{REPLICATION_TARGET}{PROBE}"), &body)?;
    let answers: Vec<Option<ProbeAnswer>> = message::decode(&answer)?;
    for ((table, before), answer) in tables.into_iter().zip(before).zip(answers) {
        Link { database, peers, table, region }.check(before, takes, answer)?;
    }
    Ok(())
}

/// Notes for all tables of a region that it does not answer.
pub(super) fn note(database: &Inner, region: &str, error: &LinkError) {
    let now_ms = database.clock.now_ms();
    for table in sent_to(database, region) {
        database.replication_notes.failed(table.name(), region, error, now_ms);
    }
}

fn sent_to(database: &Inner, region: &str) -> Vec<Arc<Table>> {
    let is_sent = |table: &&Arc<Table>| {
        table.record.replication.as_ref().is_some_and(|replication| replication.has(region))
    };
    database.catalog.all().values().filter(is_sent).cloned().collect()
}

/// What there is of the tables that another region asks for.
pub(super) fn answer(database: &Inner, message: &ProbeMessage) -> Result<Vec<u8>> {
    let answer = |(name, group): &(String, String)| {
        let Some(table) = table_of(database, name, group) else { return Ok(None) };
        Ok(Some(ProbeAnswer {
            table_id: table.record.id.clone(),
            progress: lineage::progress(database, &table, group)?,
            former: lineage::former(database, &table),
            since: Some(lineage::since(database)),
        }))
    };
    message::encode(&message.tables.iter().map(answer).collect::<Result<Vec<_>>>()?)
}
