//! `ReplicaUpdates`: adds regions to a global table, and removes them.
//!
//! The request only changes the list of regions. [`crate::replication`] then creates the table there and sends its
//! items.

use keyloom_api::settings::ReplicaUpdate;
use keyloom_core::Result;
use keyloom_core::error::table as message;

use crate::catalog::Change;
use crate::database::Inner;
use crate::identity;
use crate::replication::{self, Member, Members, Replication};

use super::Update;

/// Applies the updates of replicas.
pub(super) fn apply(
    updates: &[ReplicaUpdate],
    database: &Inner,
    change: &Change<'_>,
    update: &mut Update,
) -> Result<()> {
    // AWS takes one at a time, however often it is named.
    let mut different = updates.iter().skip(1).filter(|update| Some(*update) != updates.first());
    if different.next().is_some() {
        return Err(message::one_replica_at_a_time());
    }
    for replica in updates.iter().take(1) {
        let own = &database.options.region;
        let (region, present) = match replica {
            ReplicaUpdate::Create(region) => (region, true),
            ReplicaUpdate::Delete(region) => (region, false),
        };
        if region == own {
            return Err(message::replica_in_own_region());
        }
        let at = database.streams.number();
        let known = update.record.replication.get_or_insert_with(|| Replication {
            group: identity::uuid(),
            members: Members::from([(own.clone(), Member { at, present: true })]),
            settings: None,
        });
        if known.has(region) == present {
            return Err(if present {
                message::replica_exists(&update.record.name)
            } else {
                message::replica_missing(region)
            });
        }
        let peers = database.options.peers.as_ref();
        if present && !peers.is_some_and(|peers| peers.regions().contains(region)) {
            return Err(message::replica_region_unknown(region));
        }
        known.members.insert(region.clone(), Member { at: database.streams.number(), present });
    }
    let Some(known) = &update.record.replication else { return Ok(()) };
    update.shown.replication = Some(known.clone());
    match update.record.stream.as_ref().filter(|stream| stream.enabled) {
        Some(stream) if stream.view == replication::VIEW => Ok(()),
        Some(_) => Err(message::replica_stream_view(&update.record.name)),
        None => update.begin_stream(replication::VIEW, database, change),
    }
}
