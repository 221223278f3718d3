//! DescribeTableReplicaAutoScaling, UpdateTableReplicaAutoScaling.

use keyloom_core::Result;
use keyloom_core::error::table as message;

use crate::parameters::control_table;
use crate::{Fields, JsonWriter};

/// The input of UpdateTableReplicaAutoScaling. Nothing scales by itself, so no setting is accepted.
#[derive(Debug)]
pub struct UpdateTableReplicaAutoScalingInput<'a> {
    /// The table's name or ARN.
    pub table_name: &'a str,
}

impl<'a> UpdateTableReplicaAutoScalingInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let settings = [
            "ProvisionedWriteCapacityAutoScalingUpdate",
            "GlobalSecondaryIndexUpdates",
            "ReplicaUpdates",
        ];
        if let Some(member) = settings.iter().find(|member| fields.has(member)) {
            let reason = "throughput is not scaled automatically; set it with UpdateTable, or use PAY_PER_REQUEST";
            return Err(message::not_served(member, reason));
        }
        Ok(Self { table_name: control_table(fields) })
    }
}

/// What both operations answer.
#[derive(Clone, Debug)]
pub struct TableAutoScaling<'a> {
    /// The table's name.
    pub table_name: &'a str,
    /// The table's status.
    pub status: &'static str,
    /// The replicas' regions and status.
    pub replicas: Vec<(&'a str, &'static str)>,
}

impl TableAutoScaling<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("TableAutoScalingDescription", |json| {
            json.string("TableName", self.table_name);
            json.string("TableStatus", self.status);
            json.objects("Replicas", &self.replicas, |json, (region, status)| {
                json.string("RegionName", region);
                json.string("ReplicaStatus", status);
            });
        });
        json.finish()
    }
}
