//! The replicas of global tables, as UpdateTable names them, and what of them is refused.

use keyloom_core::Result;
use keyloom_core::error::table as message;

use crate::Fields;

/// One element of `ReplicaUpdates`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaUpdate {
    /// The table is to be in this region, too.
    Create(String),
    /// The table is to be removed from this region.
    Delete(String),
}

/// The settings that a replica cannot have, with the reasons.
const REFUSED_OPTIONS: [(&str, &str); 5] = [
    ("KMSMasterKeyId", "no server of this kind has access to KMS"),
    ("TableClassOverride", "every replica has the table's class: change it with TableClass"),
    ("ProvisionedThroughputOverride", "every replica has the table's throughput: change that one"),
    ("OnDemandThroughputOverride", "every replica has the table's throughput: change that one"),
    ("GlobalSecondaryIndexes", "every replica has the table's indexes: change those"),
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
pub(crate) fn check_members(fields: &Fields<'_>) -> Result<()> {
    if let Some((member, reason)) = REFUSED_MEMBERS.iter().find(|(member, _)| fields.has(member)) {
        return Err(message::not_served(member, reason));
    }
    if fields.string("MultiRegionConsistency") == Some("STRONG") {
        let reason = "replication is asynchronous; EVENTUAL is served";
        return Err(message::not_served("MultiRegionConsistency STRONG", reason));
    }
    Ok(())
}

impl ReplicaUpdate {
    /// Decodes the member `ReplicaUpdates` of a request.
    pub fn decode_all(fields: &Fields<'_>) -> Result<Vec<Self>> {
        let updates = fields.structures("ReplicaUpdates").unwrap_or_default();
        updates.iter().map(Self::decode).collect()
    }

    fn decode(fields: &Fields<'_>) -> Result<Self> {
        let mut actions = ["Create", "Update", "Delete", "Disassociate"]
            .into_iter()
            .filter_map(|action| Some((action, fields.structure(action)?)));
        let Some((action, request)) = actions.next() else {
            return Err(message::replica_update_empty());
        };
        if actions.next().is_some() {
            return Err(message::replica_update_ambiguous());
        }
        if let Some((option, reason)) = REFUSED_OPTIONS.iter().find(|it| request.has(it.0)) {
            return Err(message::not_served(option, reason));
        }
        let region = request.owned_string("RegionName").unwrap_or_default();
        match action {
            "Create" => Ok(Self::Create(region)),
            "Delete" => Ok(Self::Delete(region)),
            "Update" => Err(message::replica_update_empty()),
            _ => {
                let reason = "a replica leaves its global table by being deleted";
                Err(message::not_served("Disassociate", reason))
            }
        }
    }
}
