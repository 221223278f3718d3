//! Tells the other regions that a deleted table has left its global table.
//!
//! The message is kept in the store until it is delivered, because the table itself no longer exists.

use keyloom_core::Result;
use keyloom_store::Bytes;
use serde::{Deserialize, Serialize};

use crate::catalog::TableRecord;
use crate::database::Inner;
use crate::resource;

use super::link::position_name;
use super::message::{self, MEMBERS, MembersMessage};
use super::notes::LinkError;
use super::{Member, Members, Peers, REPLICATION_TARGET, Replication};

/// The kind of the resources that hold undelivered messages.
pub(super) const KIND: &str = "replica-departure";

/// What one region has to hear.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Departure {
    pub(super) table: String,
    /// The regions to notify.
    pub(super) region: String,
    pub(super) group: String,
    pub(super) members: Members,
}

/// The messages that go into the same commit as the removal of a table.
pub(crate) fn alongside(database: &Inner, record: &TableRecord) -> Result<Vec<(Bytes, Bytes)>> {
    let Some(replication) = &record.replication else { return Ok(Vec::new()) };
    let own = &database.options.region;
    let mut members = replication.members.clone();
    members.insert(own.clone(), Member { at: database.streams.number(), present: false });
    let departure = |region: &str| {
        let name = position_name(&record.name, region);
        let departure = Departure {
            table: record.name.clone(),
            region: region.to_owned(),
            group: replication.group.clone(),
            members: members.clone(),
        };
        resource::encode(KIND, &name, &departure)
    };
    replication.others(own).map(departure).collect()
}

/// Whether this region has left the group and some regions may not have been notified yet.
pub(super) fn left(database: &Inner, group: &str) -> Result<Option<Members>> {
    let waiting: Vec<Departure> = resource::all(database, KIND)?;
    Ok(waiting.into_iter().find(|one| one.group == group).map(|one| one.members))
}

/// Delivers the pending notifications for a region; returns whether there were any.
pub(super) fn deliver(
    database: &Inner,
    peers: &dyn Peers,
    region: &str,
) -> Result<bool, LinkError> {
    let waiting: Vec<Departure> = resource::all(database, KIND)?;
    let mut delivered = false;
    for departure in waiting.into_iter().filter(|departure| departure.region == region) {
        let message = MembersMessage {
            from: database.options.region.clone(),
            table: departure.table.clone(),
            group: departure.group,
            definition: None,
            settings: None,
            members: departure.members,
        };
        let target = format!("{REPLICATION_TARGET}{MEMBERS}");
        peers.send(region, &target, &message::encode(&message)?)?;
        resource::delete(database, KIND, &position_name(&departure.table, region))?;
        delivered = true;
    }
    Ok(delivered)
}

/// Forgets the positions of a table that has been removed.
pub(crate) fn end(database: &Inner, table: &str, replication: Option<&Replication>) {
    if let Some(replication) = replication {
        // What is left behind belongs to a group that does not come back.
        let _ = super::forget_links(database, table, replication);
    }
}
