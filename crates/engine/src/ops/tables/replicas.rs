//! The replicas of a global table, as descriptions show them.

use keyloom_api::JsonWriter;

use crate::catalog::TableRecord;
use crate::database::Inner;
use crate::replication::{LinkState, link_state};

use super::stream_setting;

/// Writes what makes the table a global table, if anything does.
pub(crate) fn write(json: &mut JsonWriter, database: &Inner, record: &TableRecord) {
    let replicas = all(database, record);
    if replicas.is_empty() {
        return;
    }
    json.string("GlobalTableVersion", "2019.11.21");
    json.string("MultiRegionConsistency", "EVENTUAL");
    json.list("Replicas", replicas, |json, (region, state)| {
        json.nested(|json| {
            json.string("RegionName", region);
            let arn = database.table_arn_in(region, &record.name);
            json.string("ReplicaArn", &arn);
            json.string("ReplicaStatus", status(&state));
            if let Some(trouble) = &state.trouble {
                let since = stream_setting::label(trouble.since_ms);
                let text = format!("Not replicating since {since}: {}", trouble.reason);
                json.string("ReplicaStatusDescription", &text);
            }
        });
    });
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
