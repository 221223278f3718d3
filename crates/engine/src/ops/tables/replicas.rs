//! The replicas of a global table in a `TableDescription`.

use serde_json::{Value, json};

use crate::catalog::TableRecord;
use crate::database::Inner;
use crate::replication::{LinkState, link_state};

use super::stream_setting;

/// The global-table settings of a table, if it is one.
pub(crate) fn described(database: &Inner, record: &TableRecord) -> Vec<(&'static str, Value)> {
    let replicas: Vec<Value> = all(database, record)
        .into_iter()
        .map(|(region, state)| {
            let mut replica = json!({
                "RegionName": region,
                "ReplicaArn": database.table_arn_in(region, &record.name),
                "ReplicaStatus": status(&state),
            });
            if let (Some(trouble), Some(replica)) = (&state.trouble, replica.as_object_mut()) {
                let since = stream_setting::label(trouble.since_ms);
                let text = format!("Not replicating since {since}: {}", trouble.reason);
                replica.insert("ReplicaStatusDescription".into(), text.into());
            }
            replica
        })
        .collect();
    if replicas.is_empty() {
        return Vec::new();
    }
    vec![
        ("GlobalTableVersion", "2019.11.21".into()),
        ("MultiRegionConsistency", "EVENTUAL".into()),
        ("Replicas", replicas.into()),
    ]
}

/// The other regions of a table and how the links to them are.
pub(crate) fn all<'a>(database: &Inner, record: &'a TableRecord) -> Vec<(&'a str, LinkState)> {
    let Some(replication) = &record.replication else { return Vec::new() };
    let own = database.options.region.as_str();
    let others = replication.members.keys().map(String::as_str).filter(|region| *region != own);
    let states = others.filter_map(|region| Some((region, link_state(database, record, region)?)));
    states.collect()
}

/// The status on the wire.
pub(crate) fn status(state: &LinkState) -> &'static str {
    let was_refused = state.trouble.as_ref().is_some_and(|trouble| trouble.is_refusal);
    match (state.is_present, state.is_complete) {
        (false, _) => "DELETING",
        (true, true) => "ACTIVE",
        (true, false) if was_refused => "CREATION_FAILED",
        (true, false) => "CREATING",
    }
}
