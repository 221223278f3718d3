//! DescribeTimeToLive.

use keyloom_api::parameters::described_table;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;

use crate::database::Inner;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = database.catalog.described_table(described_table(&fields)?)?;
    let ttl = table.record.ttl.as_ref().filter(|ttl| ttl.enabled);
    let mut json = JsonWriter::object();
    json.structure("TimeToLiveDescription", |json| {
        json.string("TimeToLiveStatus", if ttl.is_some() { "ENABLED" } else { "DISABLED" });
        json.optional_string("AttributeName", ttl.map(|ttl| ttl.attribute.as_str()));
    });
    Ok(json.finish())
}
