//! The replicas of global tables, as UpdateTable names them, and what of them is refused.

use keyloom_core::Result;
use keyloom_core::error::table as message;

use crate::{Constraints, Fields};

/// One element of `ReplicaUpdates`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaUpdate {
    /// The table is to be in this region, too.
    Create(String),
    /// The table is to be removed from this region.
    Delete(String),
}

/// What a replica cannot have of its own, and why.
const REFUSED_OPTIONS: [(&str, &str); 5] = [
    ("KMSMasterKeyId", "no server of this kind has access to KMS"),
    ("TableClassOverride", "every replica has the table's class; change it with TableClass there"),
    (
        "ProvisionedThroughputOverride",
        "every replica begins with the table's throughput; change it at the replica's own server",
    ),
    (
        "OnDemandThroughputOverride",
        "every replica begins with the table's throughput; change it at the replica's own server",
    ),
    (
        "GlobalSecondaryIndexes",
        "every replica begins with the table's indexes; change them at the replica's own server",
    ),
];

/// Members of UpdateTable and CreateTable that belong to kinds of global tables which are not served, and why.
const REFUSED_MEMBERS: [(&str, &str); 4] = [
    ("GlobalTableWitnessUpdates", "replication is asynchronous, which needs no witness"),
    ("GlobalTableSettingsReplicationMode", "all replicas belong to one account"),
    (
        "GlobalTableSourceArn",
        "all replicas belong to one account; use UpdateTable's ReplicaUpdates",
    ),
    (
        "DisassociationProtectionEnabled",
        "replicas cannot be disassociated, so there is nothing to protect from",
    ),
];

/// Refuses what no table can have here.
pub fn check_members(fields: &Fields<'_>) -> Result<()> {
    match REFUSED_MEMBERS.iter().find(|(member, _)| fields.has(member)) {
        Some((member, reason)) => Err(message::not_served(member, reason)),
        None => Ok(()),
    }
}

/// Checks `MultiRegionConsistency`: only `EVENTUAL` is served.
pub fn check_consistency(fields: &Fields<'_>, constraints: &mut Constraints) -> Result<()> {
    let choices = [("EVENTUAL", false), ("STRONG", true)];
    let wanted = fields.string("MultiRegionConsistency");
    if constraints.one_of(wanted, "multiRegionConsistency", &choices) == Some(true) {
        let reason = "replication is asynchronous; EVENTUAL is served";
        return Err(message::not_served("MultiRegionConsistency STRONG", reason));
    }
    Ok(())
}

impl ReplicaUpdate {
    /// Decodes `ReplicaUpdates`.
    pub fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Result<Vec<Self>> {
        let Some(list) = fields.structures("ReplicaUpdates") else { return Ok(Vec::new()) };
        constraints.count(list.len(), "[]", "replicaUpdates", 1, usize::MAX);
        let mut updates = Vec::with_capacity(list.len());
        for (position, element) in list.iter().enumerate() {
            let actions = ["Create", "Update", "Delete", "Disassociate"];
            let mut stated = actions.iter().filter(|action| element.has(action));
            let (Some(action), None) = (stated.next(), stated.next()) else {
                return Err(message::replica_update_ambiguous());
            };
            let Some(request) = element.structure(action) else { continue };
            let region = request.owned_string("RegionName");
            let path = format!("replicaUpdates.{}.member.{}", position + 1, action.to_lowercase());
            constraints.required(region.is_some(), &format!("{path}.regionName"));
            if let Some((option, reason)) = REFUSED_OPTIONS.iter().find(|it| request.has(it.0)) {
                return Err(message::not_served(option, reason));
            }
            let region = region.unwrap_or_default();
            updates.push(match *action {
                "Create" => Self::Create(region),
                "Delete" => Self::Delete(region),
                "Update" => return Err(message::replica_update_empty(&region)),
                _ => {
                    let reason = "a replica leaves its global table by being deleted";
                    return Err(message::not_served("Disassociate", reason));
                }
            });
        }
        Ok(updates)
    }
}
