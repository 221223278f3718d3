//! Messages about tables: UpdateTable, time to live, tags.

use super::Error;

/// The prefix of many messages.
const INVALID: &str = "One or more parameter values were invalid: ";

fn invalid(what: impl std::fmt::Display) -> Error {
    Error::Validation(format!("{INVALID}{what}"))
}

/// An UpdateTable with a change that AWS makes only by itself.
pub fn only_operation(what: &str) -> Error {
    invalid(format_args!("{what} must be the only operation in the request"))
}

/// A new index beside warm throughput.
pub fn index_created_with_warm() -> Error {
    invalid("Create global secondary index cannot be specified when updating WarmThroughput")
}

/// On-demand limits beside something else.
pub fn on_demand_limit_with_others() -> Error {
    invalid("OnDemandThroughput can only be combined with BillingMode in an UpdateTable request")
}

/// An index that comes or goes beside another change.
pub fn index_changed_while(what: &str) -> Error {
    invalid(format_args!("You cannot create or delete index while {what}"))
}

/// An UpdateTable that changes nothing.
pub fn nothing_to_update() -> Error {
    Error::validation(
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
         GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required",
    )
}

/// An empty element of `GlobalSecondaryIndexUpdates`.
pub fn index_update_empty() -> Error {
    invalid(
        "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
         GlobalSecondaryIndexUpdate.Delete must not be null",
    )
}

/// An element of `GlobalSecondaryIndexUpdates` with several actions.
pub fn index_update_ambiguous() -> Error {
    invalid(
        "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
    )
}

/// Two updates of one index in one request.
pub fn index_updated_twice(index: &str) -> Error {
    invalid(format_args!(
        "Only one global secondary index update per index is allowed simultaneously. Index: {index}"
    ))
}

/// A second index is created or deleted at the same time.
pub fn one_index_at_a_time() -> Error {
    Error::LimitExceeded(
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously \
         per table"
            .into(),
    )
}

/// An update of an index that the table does not have.
pub fn index_update_blocked() -> Error {
    Error::validation(
        "This operation cannot be performed with given input values. Please contact DynamoDB \
         service team for more info: Action Blocked: IndexUpdate",
    )
}

/// A change of an index that is being created.
pub fn index_being_created(table: &str, index: &str) -> Error {
    Error::ResourceInUse(format!(
        "Attempt to change a resource which is still in use: Index is being created.  Table: \
         {table} Index: {index}"
    ))
}

/// A switch to provisioned billing without the throughput of some indexes.
pub fn indexes_without_throughput(indexes: &[&str]) -> Error {
    invalid(format_args!(
        "ProvisionedThroughput must be specified for index: {}",
        indexes.join(",")
    ))
}

/// A switch to provisioned billing without throughput.
pub fn switch_without_throughput() -> Error {
    invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
}

/// Units out of range.
pub fn units_out_of_bounds(member: &str, value: i64) -> Error {
    Error::Validation(format!("Given value {value} for {member} is out of bounds"))
}

/// The throughput is unchanged. `of` is `table` or `index …`.
pub fn throughput_unchanged(of: &str, read: i64, write: i64) -> Error {
    let kind = if of == "table" { "table" } else { "index" };
    Error::Validation(format!(
        "The provisioned throughput for the {of} will not change. The requested value equals the \
         current value. Current ReadCapacityUnits provisioned for the {kind}: {read}. Requested \
         ReadCapacityUnits: {read}. Current WriteCapacityUnits provisioned for the {kind}: {write}. \
         Requested WriteCapacityUnits: {write}. Refer to the Amazon DynamoDB Developer Guide for \
         current limits and how to request higher limits."
    ))
}

/// Throughput is decreased too often in one day.
pub fn too_many_decreases(decreases_today: u32) -> Error {
    Error::LimitExceeded(format!(
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC \
         day. After the first 4 decreases, each subsequent decrease in the same UTC day can be \
         performed at most once every 3600 seconds. Number of decreases today: {decreases_today}."
    ))
}

/// A table is switched to on-demand too often.
pub fn too_many_billing_switches(limit: usize) -> Error {
    Error::LimitExceeded(format!(
        "Subscriber limit exceeded: Update to PayPerRequest mode are limited to {limit} times in 24 \
         hour(s)."
    ))
}

/// An on-demand limit on a table that is, or becomes, provisioned.
pub fn on_demand_limit_needs_on_demand(member: &str) -> Error {
    invalid(format_args!(
        "{member} for OnDemandThroughput cannot be specified when the table BillingMode is \
         PROVISIONED"
    ))
}

/// An on-demand limit below one.
pub fn on_demand_limit_out_of_range(member: &str) -> Error {
    invalid(format_args!(
        "Requested {member} for OnDemandThroughput for table is outside of valid range"
    ))
}

/// Warm throughput below what the table has.
pub fn warm_throughput_lowered(member: &str) -> Error {
    invalid(format_args!(
        "Requested {member} for WarmThroughput for table is lower than current WarmThroughput, \
         decreasing WarmThroughput is not supported"
    ))
}

/// The stream is already enabled.
pub fn stream_already_enabled(table: &str) -> Error {
    Error::Validation(format!("Table already has an enabled stream: TableName: {table}"))
}

/// There is no stream, or it is already disabled.
pub fn no_stream_to_disable(table: &str) -> Error {
    Error::Validation(format!("Table has no stream to disable: TableName: {table}"))
}

/// A stream and throughput are changed in one request.
pub fn stream_with_throughput() -> Error {
    invalid("You cannot modify stream status while updating table IOPS")
}

/// An option that cannot be honoured, and why.
pub fn not_served(option: &str, reason: &str) -> Error {
    Error::Validation(format!("{option} is not supported: {reason}"))
}

/// A replica in a region that no server is known of.
pub fn replica_region_unknown(region: &str) -> Error {
    Error::Validation(format!(
        "No server is known for the region {region}: start this server with --replica {region}=URL"
    ))
}

/// A replica in the table's own region.
pub fn replica_in_own_region() -> Error {
    Error::validation(
        "Cannot add or delete the local region through ReplicaUpdates. \
         Use CreateTable, DeleteTable, or UpdateTable as required.",
    )
}

/// An element of `ReplicaUpdates` with several actions.
pub fn replica_update_ambiguous() -> Error {
    Error::validation(
        "Update table operation with more than one type of replica actions not allowed.",
    )
}

/// An element of `ReplicaUpdates` that changes nothing.
pub fn replica_update_empty() -> Error {
    Error::validation("There are no actions specified in the Replica Update Action of the request.")
}

/// Several replicas that come or go at once.
pub fn one_replica_at_a_time() -> Error {
    Error::validation(
        "Update table operation with more than one create or delete replica actions not allowed",
    )
}

/// A global table whose stream does not show what has to be sent.
pub fn replica_stream_view(table: &str) -> Error {
    invalid(format_args!(
        "Table {table} must have its stream with view type NEW_AND_OLD_IMAGES, or none, to become a global table"
    ))
}

/// The stream of a global table is switched off.
pub fn replica_stream_needed() -> Error {
    invalid("Disabling Stream is not allowed for a Global Table replica.")
}

/// A replica that exists already. The wording is AWS's.
pub fn replica_exists(table: &str) -> Error {
    Error::Validation(format!(
        "Failed to create a the new replica of table with name: \u{2018}{table}\u{2019} because one or more \
         replicas already existed as tables."
    ))
}

/// A replica that does not exist.
pub fn replica_missing(region: &str) -> Error {
    Error::Validation(format!(
        "Update global table operation failed because one or more replicas were not part of the global table. \
         Please retry the request without these replicas: [{region}]."
    ))
}

/// A tag request without a resource.
pub fn resource_arn_missing() -> Error {
    Error::validation("Invalid TableArn")
}

/// A resource that is not a table's ARN.
pub fn resource_arn_invalid(arn: &str) -> Error {
    Error::Validation(format!("Invalid TableArn: Invalid ResourceArn provided as input {arn}"))
}

/// A resource that is not an ARN; `what` says what it lacks.
pub fn arn_malformed(what: &str, arn: &str) -> Error {
    invalid(format_args!("{what}: {arn}"))
}

/// The ARN of something of another service.
pub fn arn_of_other_service(arn: &str) -> Error {
    invalid(format_args!("Provided Arn is not a DynamoDB resource arn: {arn}"))
}

/// The ARN of something that has no tags, such as an index.
pub fn arn_of_other_resource(arn: &str) -> Error {
    invalid(format_args!(
        "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}"
    ))
}

/// The table of TagResource does not exist. The misspelling is AWS's.
pub fn tagged_resource_not_found(arn: &str) -> Error {
    Error::ResourceNotFound(format!("Requested resource not found: ResourcArn: {arn} not found"))
}

/// What the ARN names does not exist or belongs to another account.
pub fn not_authorized(account: &str, operation: &str, arn: &str) -> Error {
    Error::AccessDenied(format!(
        "User: arn:aws:iam::{account}:root is not authorized to perform: dynamodb:{operation} on \
         resource: {arn}"
    ))
}

/// TagResource without tags. The spelling is AWS's.
pub fn no_tags() -> Error {
    Error::validation("Atleast one Tag needs to be provided as Input.")
}

/// UntagResource without keys. The spelling is AWS's.
pub fn no_tag_keys() -> Error {
    Error::validation("Atleast one Tag Key needs to be provided as Input.")
}

/// More tags than a table may have.
pub fn too_many_tags() -> Error {
    Error::validation("Number of Tags exceed the current limit for the provided ResourceArn")
}

/// A tag key that is reserved for AWS.
pub fn reserved_tag(key: &str) -> Error {
    Error::Validation(format!("Tag Key cannot be prefixed with aws:, Key: {key}"))
}

/// Two tags with the same key.
pub fn duplicate_tag(key: &str) -> Error {
    Error::Validation(format!(
        "Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
    ))
}

/// A tag key with a character that tags cannot have.
pub fn tag_key_invalid(key: &str) -> Error {
    Error::Validation(format!("The Tag Key provided is invalid, Key: {key}"))
}

/// A tag value with a character that tags cannot have.
pub fn tag_value_invalid(value: &str) -> Error {
    Error::Validation(format!("The Tag Value provided is invalid, Value: {value}"))
}

/// A token that no earlier page returned.
pub fn next_token_invalid() -> Error {
    Error::validation("Invalid NextToken")
}

/// Time to live is already enabled.
pub fn ttl_already_enabled() -> Error {
    Error::validation("TimeToLive is already enabled")
}

/// Time to live is already disabled.
pub fn ttl_already_disabled() -> Error {
    Error::validation("TimeToLive is already disabled")
}

/// Time to live is enabled for another attribute.
pub fn ttl_other_attribute(attribute: &str) -> Error {
    Error::Validation(format!(
        "TimeToLive is active on a different AttributeName: current AttributeName is {attribute}"
    ))
}

/// Time to live is changed again too soon.
pub fn ttl_changed_too_often() -> Error {
    Error::validation("Time to live has been modified multiple times within a fixed interval")
}

/// `SSESpecification` disables encryption with a key and names one.
pub fn encryption_disabled_with(member: &str) -> Error {
    invalid(format_args!("{member} can not be specified if Enabled is false"))
}

/// A type of encryption that the model has and AWS refuses.
pub fn encryption_type_unsupported(kind: &str) -> Error {
    invalid(format_args!("SSEType {kind} is not supported"))
}

/// A key without the type that uses it.
pub fn encryption_key_without_type() -> Error {
    invalid("SSEType KMS is required if KMSMasterKeyId is specified")
}

/// Encryption with a key of the account is disabled where it is not enabled.
pub fn encrypted_by_default() -> Error {
    invalid("Table is already encrypted by default")
}

/// The key is the one that the table has.
pub fn encrypted_with_same_key() -> Error {
    invalid(
        "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to \
         change Master Key",
    )
}

/// Time to live of a table that is being created.
pub fn ttl_while_creating(name: &str) -> Error {
    Error::ResourceInUse(format!(
        "Attempt to change a resource which is still in use: Table {name} is being created"
    ))
}

/// DescribeTimeToLive of a table that is not there yet.
pub fn ttl_not_described(status: &str) -> Error {
    Error::Validation(format!(
        "Cannot describe time to live while table is in {status} state: Current table state is {status}"
    ))
}

/// Contributor Insights of a table that is being created.
pub fn insights_while_creating() -> Error {
    Error::validation(
        "Table or Index is not in a valid state to update Key Access Insights: TableStatus must be ACTIVE to \
         enable ContributorInsights.",
    )
}
