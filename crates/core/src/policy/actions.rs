//! The names of actions. A policy that names one that does not exist would never do what it seems to do.

use crate::operation::Operation;

use super::Policy;
use super::pattern::ArnPattern;

/// Actions that are no operations of their own.
const IAM_ONLY: [&str; 15] = [
    "AssociateTableReplica",
    "ConditionCheckItem",
    "CreateTableReplica",
    "DescribeReservedCapacity",
    "DescribeReservedCapacityOfferings",
    "PartiQLDelete",
    "PartiQLInsert",
    "PartiQLSelect",
    "PartiQLUpdate",
    "PurchaseReservedCapacityOfferings",
    "ReadDataForReplication",
    "ReplicateSettings",
    "RestoreTableFromAwsBackup",
    "StartAwsBackupJob",
    "WriteDataForReplication",
];

/// Operations without a permission of their own: they need those of what they consist of.
const COMPOSED: [Operation; 5] = [
    Operation::BatchExecuteStatement,
    Operation::ExecuteStatement,
    Operation::ExecuteTransaction,
    Operation::TransactGetItems,
    Operation::TransactWriteItems,
];

/// What the policy of a table may be about; from AWS's list of operations that support policies of resources.
const OF_TABLES: [&str; 46] = [
    "AssociateTableReplica",
    "BatchGetItem",
    "BatchWriteItem",
    "ConditionCheckItem",
    "CreateBackup",
    "DeleteItem",
    "DeleteResourcePolicy",
    "DeleteTable",
    "DescribeContinuousBackups",
    "DescribeContributorInsights",
    "DescribeKinesisStreamingDestination",
    "DescribeTable",
    "DescribeTableReplicaAutoScaling",
    "DescribeTimeToLive",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime",
    "GetItem",
    "GetResourcePolicy",
    "ListTagsOfResource",
    "PartiQLDelete",
    "PartiQLInsert",
    "PartiQLSelect",
    "PartiQLUpdate",
    "PutItem",
    "PutResourcePolicy",
    "Query",
    "ReadDataForReplication",
    "ReplicateSettings",
    "RestoreTableToPointInTime",
    "Scan",
    "SearchVectors",
    "StartAwsBackupJob",
    "StartBulkPutItems",
    "TagResource",
    "TransactGetItems",
    "TransactWriteItems",
    "UntagResource",
    "UpdateContinuousBackups",
    "UpdateContributorInsights",
    "UpdateItem",
    "UpdateKinesisStreamingDestination",
    "UpdateTable",
    "UpdateTableReplicaAutoScaling",
    "UpdateTimeToLive",
    "WriteDataForReplication",
];

/// What the policy of a stream may be about.
const OF_STREAMS: [&str; 6] = [
    "DeleteResourcePolicy",
    "DescribeStream",
    "GetRecords",
    "GetResourcePolicy",
    "GetShardIterator",
    "PutResourcePolicy",
];

/// What a policy of a resource belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyResource {
    /// A table, with its indexes.
    Table,
    /// A stream.
    Stream,
}

/// The actions of DynamoDB that an identity can be given, with the name of the service.
pub fn identity_actions() -> Vec<String> {
    let own = Operation::ALL.iter().filter(|operation| !COMPOSED.contains(operation));
    own.map(|operation| operation.name())
        .chain(IAM_ONLY)
        .map(|name| format!("dynamodb:{name}"))
        .collect()
}

impl Policy {
    /// The actions that it names and that are none of `known`, all of which have the name of their service. Actions of
    /// services that `known` has nothing of are left alone.
    pub fn unknown_actions(&self, known: &[String]) -> Vec<String> {
        let service =
            |action: &str| action.split_once(':').map(|(service, _)| service.to_lowercase());
        let services: Vec<_> = known.iter().map(|action| service(action)).collect();
        let mut unknown = self.without_match(known);
        unknown.retain(|action| services.contains(&service(action)));
        unknown
    }

    /// Why it cannot be the policy of such a resource, in AWS's words. AWS accepts the ARNs of other tables, which have no
    /// effect.
    pub fn check_resource(&self, of: PolicyResource) -> Result<(), String> {
        let names: &[&str] = match of {
            PolicyResource::Table => &OF_TABLES,
            PolicyResource::Stream => &OF_STREAMS,
        };
        let known: Vec<String> = names.iter().map(|name| format!("dynamodb:{name}")).collect();
        let unknown = self.without_match(&known);
        if !unknown.is_empty() {
            let quoted: Vec<String> = unknown.iter().map(|name| format!("\"{name}\"")).collect();
            return Err(format!("The following action names are invalid: {}", quoted.join(", ")));
        }
        let mut resources = self.statements.iter().flat_map(|one| &one.resources.patterns);
        match resources.find_map(|pattern| misplaced(pattern, of)) {
            Some((id, arn)) => {
                Err(format!("The relative-id \"{id}\" is invalid for ARN \"{arn}\""))
            }
            None => Ok(()),
        }
    }

    /// The actions that match none of these.
    fn without_match(&self, known: &[String]) -> Vec<String> {
        let actions = self.statements.iter().flat_map(|one| &one.actions.patterns);
        let unknown = actions.filter(|action| !known.iter().any(|name| action.covers(name)));
        unknown.map(ToString::to_string).collect()
    }
}

/// The last part of an ARN, and the ARN, if it can name no such resource.
fn misplaced(pattern: &ArnPattern, of: PolicyResource) -> Option<(String, String)> {
    let ArnPattern::Parts(parts) = pattern else { return None };
    let id = parts.last()?.to_string();
    let is_stream = id.contains("/stream/");
    let fits = match of {
        PolicyResource::Table => !is_stream,
        PolicyResource::Stream => is_stream || id.contains('*'),
    };
    let arn: Vec<String> = parts.iter().map(ToString::to_string).collect();
    (!fits).then(|| (id, arn.join(":")))
}
