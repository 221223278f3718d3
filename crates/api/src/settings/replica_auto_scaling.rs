//! DescribeTableReplicaAutoScaling, UpdateTableReplicaAutoScaling.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scaling::{ScalingSettings, scaling_update};
use crate::parameters::control_table;
use crate::{Fields, JsonWriter};

/// The input of UpdateTableReplicaAutoScaling.
#[derive(Debug)]
pub struct UpdateTableReplicaAutoScalingInput<'a> {
    /// The table's name or ARN.
    pub table_name: &'a str,
    /// The settings to change.
    pub targets: Vec<AutoScalingTarget>,
}

/// A setting of one replica or of one of its indexes.
#[derive(Debug)]
pub struct AutoScalingTarget {
    /// The replica's region; all replicas without one.
    pub region: Option<String>,
    /// The index; the replica itself without one.
    pub index: Option<String>,
    /// The member of the description that has the setting.
    pub member: &'static str,
    /// What changes.
    pub settings: ScalingSettings,
}

impl<'a> UpdateTableReplicaAutoScalingInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let mut targets = Vec::new();
        let mut add = |fields: &Fields<'_>, update: &str, member, region, index| {
            let settings = scaling_update(fields, update);
            targets.extend(settings.map(|settings| AutoScalingTarget {
                region,
                index,
                member,
                settings,
            }));
        };
        let update = "ProvisionedWriteCapacityAutoScalingUpdate";
        add(fields, update, "ReplicaProvisionedWriteCapacityAutoScalingSettings", None, None);
        for index in fields.structures("GlobalSecondaryIndexUpdates").unwrap_or_default() {
            let name = index.owned_string("IndexName");
            add(&index, update, "ProvisionedWriteCapacityAutoScalingSettings", None, name);
        }
        for replica in fields.structures("ReplicaUpdates").unwrap_or_default() {
            let region = replica.owned_string("RegionName");
            let update = "ReplicaProvisionedReadCapacityAutoScalingUpdate";
            let member = "ReplicaProvisionedReadCapacityAutoScalingSettings";
            add(&replica, update, member, region.clone(), None);
            let indexes = replica.structures("ReplicaGlobalSecondaryIndexUpdates");
            for index in indexes.unwrap_or_default() {
                let name = index.owned_string("IndexName");
                let update = "ProvisionedReadCapacityAutoScalingUpdate";
                let member = "ProvisionedReadCapacityAutoScalingSettings";
                add(&index, update, member, region.clone(), name);
            }
        }
        Self { table_name: control_table(fields), targets }
    }
}

/// The scaling settings of a replica and of its indexes, as its description shows them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReplicaScaling {
    /// The replica's own, by the description's members.
    pub own: ScalingSettings,
    /// Those of its indexes, by their names.
    pub indexes: BTreeMap<String, ScalingSettings>,
}

impl ReplicaScaling {
    /// Changes what the target names, member by member.
    pub fn change(&mut self, target: &AutoScalingTarget) {
        let settings = match &target.index {
            None => &mut self.own,
            Some(index) => self.indexes.entry(index.clone()).or_default(),
        };
        let place = settings.entry(target.member).or_insert(Value::Null);
        if let Value::Object(known) = place {
            known.extend(target.settings.clone());
        } else {
            *place = Value::Object(target.settings.clone());
        }
    }
}

/// What both operations answer.
#[derive(Clone, Debug)]
pub struct TableAutoScaling<'a> {
    /// The table's name.
    pub table_name: &'a str,
    /// The table's status.
    pub status: &'static str,
    /// The global indexes with their status.
    pub indexes: Vec<(&'a str, &'static str)>,
    /// The replicas' regions and settings.
    pub replicas: Vec<(String, ReplicaScaling)>,
}

impl TableAutoScaling<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("TableAutoScalingDescription", |json| {
            json.string("TableName", self.table_name);
            json.string("TableStatus", self.status);
            json.objects("Replicas", &self.replicas, |json, (region, scaling)| {
                json.string("RegionName", region);
                json.objects("GlobalSecondaryIndexes", &self.indexes, |json, (name, status)| {
                    json.string("IndexName", name);
                    json.string("IndexStatus", status);
                    json.stored_members(scaling.indexes.get(*name).into_iter().flatten());
                });
                json.stored_members(&scaling.own);
                json.string("ReplicaStatus", "ACTIVE");
            });
        });
        json.finish()
    }
}
