//! DescribeLimits and DescribeEndpoints.

use keyloom_api::Fields;
use keyloom_api::tables::{encode_endpoint, encode_limits};
use keyloom_core::Result;

use crate::database::Inner;

#[expect(clippy::unnecessary_wraps, reason = "every operation has this form")]
pub(crate) fn limits(_: &Inner, _: Fields<'_>) -> Result<Vec<u8>> {
    Ok(encode_limits())
}

#[expect(clippy::unnecessary_wraps, reason = "every operation has this form")]
pub(crate) fn endpoints(database: &Inner, _: Fields<'_>) -> Result<Vec<u8>> {
    Ok(encode_endpoint(&database.endpoint.read()))
}
