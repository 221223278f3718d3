//! What AWS keeps beside a table: policies, insights, replicas' scaling. One file per family of operations.

mod contributor_insights;
mod replica_auto_scaling;
mod resource_policy;
mod scaling;

pub use contributor_insights::{
    ContributorInsights, DescribeContributorInsightsInput, InsightsMode,
    ListContributorInsightsInput, ListContributorInsightsOutput, UpdateContributorInsightsInput,
};
pub use replica_auto_scaling::{
    AutoScalingTarget, ReplicaScaling, TableAutoScaling, UpdateTableReplicaAutoScalingInput,
};
pub use resource_policy::{
    DeleteResourcePolicyInput, PutResourcePolicyInput, ResourcePolicyOutput, policy_resource,
};
pub use scaling::{ScalingSettings, scaling_update};
