//! What AWS keeps beside a table: policies, insights, destinations of changes, replicas. One file per family of
//! operations.

mod contributor_insights;
mod global_tables;
mod kinesis;
mod replica_auto_scaling;
pub(crate) mod replicas;
mod resource_policy;

pub use contributor_insights::{
    ContributorInsights, DescribeContributorInsightsInput, InsightsMode,
    ListContributorInsightsInput, ListContributorInsightsOutput, UpdateContributorInsightsInput,
};
pub use global_tables::{global_table_name, no_global_tables};
pub use kinesis::{DestinationInput, no_destinations};
pub use replica_auto_scaling::{TableAutoScaling, UpdateTableReplicaAutoScalingInput};
pub use replicas::ReplicaUpdate;
pub use resource_policy::{
    DeleteResourcePolicyInput, PutResourcePolicyInput, ResourcePolicyOutput, policy_resource,
};
