//! DescribeLimits.

use keyloom_api::{Fields, JsonWriter};
use keyloom_core::{Result, limits};

use crate::database::Inner;

#[expect(clippy::unnecessary_wraps, reason = "every operation has this form")]
pub(crate) fn call(_: &Inner, _: Fields<'_>) -> Result<Vec<u8>> {
    let mut json = JsonWriter::object();
    json.integer("AccountMaxReadCapacityUnits", limits::MAX_ACCOUNT_UNITS);
    json.integer("AccountMaxWriteCapacityUnits", limits::MAX_ACCOUNT_UNITS);
    json.integer("TableMaxReadCapacityUnits", limits::MAX_TABLE_UNITS);
    json.integer("TableMaxWriteCapacityUnits", limits::MAX_TABLE_UNITS);
    Ok(json.finish())
}
