//! Replicas in other regions, as UpdateTable names them: remembered and shown.
//!
//! This database is one region. A replica's settings are kept so that tools which manage global
//! tables work; no data goes anywhere.

use keyloom_api::{Constraints, Fields};
use keyloom_core::Result;
use keyloom_core::error::table as message;
use serde_json::{Map, Value, json};

use crate::catalog::TableRecord;

use super::input::UpdateTableInput;

/// The name under which a table's replicas are remembered.
pub(crate) const REPLICAS: &str = "Replicas";

/// One element of `ReplicaUpdates`.
#[derive(Clone, Debug)]
pub(super) enum ReplicaUpdate {
    Create(Replica),
    Update(Replica),
    Delete(String),
}

/// A replica as a request describes it.
#[derive(Clone, Debug)]
pub(super) struct Replica {
    region: String,
    key: Option<String>,
    table_class: Option<String>,
    read_units: Option<i64>,
}

impl ReplicaUpdate {
    pub(super) fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Vec<Self> {
        let Some(list) = fields.structures("ReplicaUpdates") else { return Vec::new() };
        constraints.count(list.len(), "[]", "replicaUpdates", 1, usize::MAX);
        let mut updates = Vec::with_capacity(list.len());
        for (position, element) in list.iter().enumerate() {
            let path = format!("replicaUpdates.{}.member", position + 1);
            if let Some(create) = element.structure("Create") {
                updates.push(Self::Create(Replica::decode(&create, constraints, &path)));
            } else if let Some(update) = element.structure("Update") {
                updates.push(Self::Update(Replica::decode(&update, constraints, &path)));
            } else if let Some(delete) = element.structure("Delete") {
                updates.push(Self::Delete(Replica::decode(&delete, constraints, &path).region));
            }
        }
        updates
    }
}

impl Replica {
    fn decode(fields: &Fields<'_>, constraints: &mut Constraints, path: &str) -> Self {
        let region = fields.owned_string("RegionName");
        constraints.required(region.is_some(), &format!("{path}.regionName"));
        let throughput = fields.structure("ProvisionedThroughputOverride");
        Self {
            region: region.unwrap_or_default(),
            key: fields.owned_string("KMSMasterKeyId"),
            table_class: fields.owned_string("TableClassOverride"),
            read_units: match throughput {
                Some(throughput) => throughput.integer("ReadCapacityUnits"),
                None => None,
            },
        }
    }

    /// The replica's description: what the request says over what is known of it.
    fn described(&self, mut known: Map<String, Value>) -> Value {
        known.insert("RegionName".into(), json!(self.region));
        known.insert("ReplicaStatus".into(), json!("ACTIVE"));
        if let Some(key) = &self.key {
            known.insert("KMSMasterKeyId".into(), json!(key));
        }
        if let Some(class) = &self.table_class {
            known.insert("ReplicaTableClassSummary".into(), json!({ "TableClass": class }));
        }
        if let Some(units) = self.read_units {
            let throughput = json!({ "ReadCapacityUnits": units });
            known.insert("ProvisionedThroughputOverride".into(), throughput);
        }
        Value::Object(known)
    }
}

/// Applies the updates of replicas and the settings that go with them.
pub(super) fn apply(input: &UpdateTableInput, record: &mut TableRecord) -> Result<()> {
    for (name, value) in &input.global_settings {
        record.settings.insert((*name).into(), value.clone());
    }
    if input.replicas.is_empty() {
        return Ok(());
    }
    let mut replicas = match record.settings.remove(REPLICAS) {
        Some(Value::Array(replicas)) => replicas,
        _ => Vec::new(),
    };
    for update in &input.replicas {
        let region = match update {
            ReplicaUpdate::Create(replica) | ReplicaUpdate::Update(replica) => &replica.region,
            ReplicaUpdate::Delete(region) => region,
        };
        let is_same = |known: &Value| known.get("RegionName") == Some(&json!(region));
        let known = replicas.iter().position(is_same);
        match (update, known) {
            (ReplicaUpdate::Create(_), Some(_)) => return Err(message::replica_exists(region)),
            (ReplicaUpdate::Create(replica), None) => replicas.push(replica.described(Map::new())),
            (ReplicaUpdate::Update(replica), Some(position)) => {
                if let Value::Object(known) = replicas.remove(position) {
                    replicas.insert(position, replica.described(known));
                }
            }
            (ReplicaUpdate::Delete(_), Some(position)) => drop(replicas.remove(position)),
            (ReplicaUpdate::Update(_) | ReplicaUpdate::Delete(_), None) => {
                return Err(message::replica_missing(region));
            }
        }
    }
    if !replicas.is_empty() {
        record.settings.insert(REPLICAS.into(), Value::Array(replicas));
    }
    Ok(())
}
