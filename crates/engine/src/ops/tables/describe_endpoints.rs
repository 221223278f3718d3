//! DescribeEndpoints.

use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;

use crate::database::Inner;

/// How long a client may keep the answer.
const CACHE_MINUTES: i64 = 1440;

#[expect(clippy::unnecessary_wraps, reason = "every operation has this form")]
pub(crate) fn call(database: &Inner, _: Fields<'_>) -> Result<Vec<u8>> {
    let mut json = JsonWriter::object();
    json.list("Endpoints", [&*database.endpoint.read()], |json, address| {
        json.nested(|json| {
            json.string("Address", address);
            json.integer("CachePeriodInMinutes", CACHE_MINUTES);
        });
    });
    Ok(json.finish())
}
