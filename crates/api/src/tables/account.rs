//! DescribeLimits and DescribeEndpoints, which concern no table of their own.

use keyloom_core::limits;

use crate::JsonWriter;

/// How long a client may cache an endpoint.
const CACHE_MINUTES: i64 = 1440;

/// The reply of DescribeLimits.
pub fn encode_limits() -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.integer("AccountMaxReadCapacityUnits", limits::MAX_ACCOUNT_UNITS);
    json.integer("AccountMaxWriteCapacityUnits", limits::MAX_ACCOUNT_UNITS);
    json.integer("TableMaxReadCapacityUnits", limits::MAX_TABLE_UNITS);
    json.integer("TableMaxWriteCapacityUnits", limits::MAX_TABLE_UNITS);
    json.finish()
}

/// The reply of DescribeEndpoints.
pub fn encode_endpoint(address: &str) -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.objects("Endpoints", [address], |json, address| {
        json.string("Address", address);
        json.integer("CachePeriodInMinutes", CACHE_MINUTES);
    });
    json.finish()
}
