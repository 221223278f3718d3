//! Replicas in other regions, as UpdateTable names them: remembered and shown.
//!
//! This database is one region. A replica's settings are kept so that tools which manage global
//! tables work; no data goes anywhere.

use keyloom_api::Fields;
use keyloom_core::Result;
use keyloom_core::error::table as message;
use serde_json::{Map, Value, json};

use crate::catalog::TableRecord;

/// The name under which a table's replicas are remembered.
pub(crate) const REPLICAS: &str = "Replicas";

/// What UpdateTable says of replicas.
#[derive(Debug)]
pub(super) struct ReplicaInput {
    replicas: Vec<ReplicaUpdate>,
    /// Settings of global tables that are stored and shown, by their names.
    global_settings: Vec<(&'static str, Value)>,
}

impl ReplicaInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Self {
        let names = ["MultiRegionConsistency", "GlobalTableSettingsReplicationMode"];
        let setting = |name: &'static str| Some((name, fields.kept(name)?));
        let updates = fields.structures("ReplicaUpdates").unwrap_or_default();
        Self {
            replicas: updates.iter().filter_map(ReplicaUpdate::decode).collect(),
            global_settings: names.into_iter().filter_map(setting).collect(),
        }
    }
}

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
    /// Decodes an element; none if it says nothing.
    fn decode(fields: &Fields<'_>) -> Option<Self> {
        if let Some(create) = fields.structure("Create") {
            return Some(Self::Create(Replica::decode(&create)));
        }
        if let Some(update) = fields.structure("Update") {
            return Some(Self::Update(Replica::decode(&update)));
        }
        Some(Self::Delete(Replica::decode(&fields.structure("Delete")?).region))
    }
}

impl Replica {
    fn decode(fields: &Fields<'_>) -> Self {
        let throughput = fields.structure("ProvisionedThroughputOverride");
        Self {
            region: fields.owned_string("RegionName").unwrap_or_default(),
            key: fields.owned_string("KMSMasterKeyId"),
            table_class: fields.owned_string("TableClassOverride"),
            read_units: throughput.and_then(|units| units.integer("ReadCapacityUnits")),
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
pub(super) fn apply(input: &ReplicaInput, record: &mut TableRecord) -> Result<()> {
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
