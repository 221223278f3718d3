//! Messages about throttled requests.
//!
//! They are those of AWS's API reference of `TransactionCanceledException` and of the exceptions
//! that SDKs print.

use super::{Error, Throttled};
use crate::observation::{ThrottleLimit, ThrottleReason};

/// An on-demand table or index has not scaled to its traffic yet, or has a hot key.
const ON_DEMAND: &str = "Throughput exceeds the current capacity of your table or index. DynamoDB \
    is automatically scaling your table or index so please try again shortly. If exceptions \
    persist, check if you have a hot key: \
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html";
/// A global index of an on-demand table is throttled.
const ON_DEMAND_INDEX: &str = "Throughput exceeds the current capacity for one or more global \
    secondary indexes. DynamoDB is automatically scaling your index so please try again shortly.";
/// Above the provisioned throughput of the table.
const PROVISIONED: &str = "The level of configured provisioned throughput for the table was \
    exceeded. Consider increasing your provisioning level with the UpdateTable API.";
/// Above the provisioned throughput of an index.
const PROVISIONED_INDEX: &str = "The level of configured provisioned throughput for one or more \
    global secondary indexes of the table was exceeded. Consider increasing your provisioning \
    level for the under-provisioned global secondary indexes with the UpdateTable API";
/// Above the configured maximum of an on-demand table or index.
const MAX_ON_DEMAND: &str =
    "Throughput exceeds the maximum OnDemandThroughput configured on table or index";
/// Above the account's quota.
const ACCOUNT: &str = "Throughput exceeds the current throughput quota for your account. Please \
    contact AWS Support at https://aws.amazon.com/support to request a quota increase.";

/// The error of a request that the table or index with this ARN throttles for this reason.
pub fn refused(reason: ThrottleReason, on_demand: bool, resource: String) -> Error {
    let message = match (reason.limit, on_demand, reason.is_index) {
        (ThrottleLimit::Account, ..) => ACCOUNT,
        (ThrottleLimit::MaxOnDemand, ..) => MAX_ON_DEMAND,
        (_, true, true) => ON_DEMAND_INDEX,
        (_, true, false) => ON_DEMAND,
        (_, false, true) => PROVISIONED_INDEX,
        (_, false, false) => PROVISIONED,
    };
    let throttled =
        Throttled { message: message.to_owned(), reasons: vec![(reason.name(), resource)] };
    match reason.limit {
        ThrottleLimit::Account => Error::RequestLimitExceeded(throttled),
        _ if on_demand => Error::Throttling(throttled),
        _ => Error::ProvisionedThroughputExceeded(throttled),
    }
}
