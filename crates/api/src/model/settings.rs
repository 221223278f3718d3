//! The input shapes of the settings that AWS keeps beside a table.

use super::Limit::Count;
use super::Shape::{Boolean, Double, Integer, Limited, List, Struct, Text};
use super::limits::{
    ApproximateCreationDateTimePrecision, AutoScalingPolicyName, AutoScalingRoleArn, BillingMode,
    ContributorInsightsAction, ContributorInsightsMode, IndexName, ListContributorInsightsLimit,
    PolicyRevisionId, PositiveIntegerObject, PositiveLongObject, ResourceArnString, StreamArn,
    TableArn, TableClass, TableName,
};
use super::structures;

structures! {
    CreateGlobalTable(GlobalTableName, ReplicationGroup) {
        GlobalTableName: TableName, ReplicationGroup: List(&Struct(&Replica)),
    }
    DeleteResourcePolicy(ResourceArn) {
        ResourceArn: ResourceArnString, ExpectedRevisionId: PolicyRevisionId,
    }
    DescribeContributorInsights(TableName) { TableName: TableArn, IndexName: IndexName }
    DescribeGlobalTable(GlobalTableName) { GlobalTableName: TableName }
    DescribeGlobalTableSettings(GlobalTableName) { GlobalTableName: TableName }
    DescribeKinesisStreamingDestination(TableName) { TableName: TableArn }
    DescribeTableReplicaAutoScaling(TableName) { TableName: TableArn }
    DisableKinesisStreamingDestination(TableName, StreamArn) {
        TableName: TableArn, StreamArn: StreamArn,
        EnableKinesisStreamingConfiguration: Struct(&EnableKinesisStreamingConfiguration),
    }
    EnableKinesisStreamingDestination(TableName, StreamArn) {
        TableName: TableArn, StreamArn: StreamArn,
        EnableKinesisStreamingConfiguration: Struct(&EnableKinesisStreamingConfiguration),
    }
    GetResourcePolicy(ResourceArn) { ResourceArn: ResourceArnString }
    ListContributorInsights {
        TableName: TableArn, NextToken: Text, MaxResults: ListContributorInsightsLimit,
    }
    ListGlobalTables {
        ExclusiveStartGlobalTableName: TableName, Limit: PositiveIntegerObject, RegionName: Text,
    }
    PutResourcePolicy(ResourceArn, Policy) {
        ResourceArn: ResourceArnString, Policy: Text, ExpectedRevisionId: PolicyRevisionId,
        ConfirmRemoveSelfResourceAccess: Boolean,
    }
    UpdateContributorInsights(TableName, ContributorInsightsAction) {
        TableName: TableArn, IndexName: IndexName,
        ContributorInsightsAction: ContributorInsightsAction,
        ContributorInsightsMode: ContributorInsightsMode,
    }
    UpdateGlobalTable(GlobalTableName, ReplicaUpdates) {
        GlobalTableName: TableName, ReplicaUpdates: List(&Struct(&ReplicaUpdate)),
    }
    UpdateGlobalTableSettings(GlobalTableName) {
        GlobalTableName: TableName, GlobalTableBillingMode: BillingMode,
        GlobalTableProvisionedWriteCapacityUnits: PositiveLongObject,
        GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate: Struct(&AutoScalingSettingsUpdate),
        GlobalTableGlobalSecondaryIndexSettingsUpdate: Limited(&List(&Struct(&GlobalTableGlobalSecondaryIndexSettingsUpdate)), Count(1, 20)),
        ReplicaSettingsUpdate: Limited(&List(&Struct(&ReplicaSettingsUpdate)), Count(1, 50)),
    }
    UpdateKinesisStreamingDestination(TableName, StreamArn) {
        TableName: TableArn, StreamArn: StreamArn,
        UpdateKinesisStreamingConfiguration: Struct(&UpdateKinesisStreamingConfiguration),
    }
    UpdateTableReplicaAutoScaling(TableName) {
        GlobalSecondaryIndexUpdates: Limited(&List(&Struct(&GlobalSecondaryIndexAutoScalingUpdate)), Count(1, usize::MAX)),
        TableName: TableArn,
        ProvisionedWriteCapacityAutoScalingUpdate: Struct(&AutoScalingSettingsUpdate),
        ReplicaUpdates: Limited(&List(&Struct(&ReplicaAutoScalingUpdate)), Count(1, usize::MAX)),
    }
    AutoScalingPolicyUpdate(TargetTrackingScalingPolicyConfiguration) {
        PolicyName: AutoScalingPolicyName,
        TargetTrackingScalingPolicyConfiguration: Struct(&AutoScalingTargetTrackingScalingPolicyConfigurationUpdate),
    }
    AutoScalingSettingsUpdate {
        MinimumUnits: PositiveLongObject, MaximumUnits: PositiveLongObject,
        AutoScalingDisabled: Boolean, AutoScalingRoleArn: AutoScalingRoleArn,
        ScalingPolicyUpdate: Struct(&AutoScalingPolicyUpdate),
    }
    AutoScalingTargetTrackingScalingPolicyConfigurationUpdate(TargetValue) {
        DisableScaleIn: Boolean, ScaleInCooldown: Integer, ScaleOutCooldown: Integer,
        TargetValue: Double,
    }
    CreateReplicaAction(RegionName) { RegionName: Text }
    DeleteReplicaAction(RegionName) { RegionName: Text }
    EnableKinesisStreamingConfiguration {
        ApproximateCreationDateTimePrecision: ApproximateCreationDateTimePrecision,
    }
    GlobalSecondaryIndexAutoScalingUpdate {
        IndexName: IndexName,
        ProvisionedWriteCapacityAutoScalingUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    GlobalTableGlobalSecondaryIndexSettingsUpdate(IndexName) {
        IndexName: IndexName, ProvisionedWriteCapacityUnits: PositiveLongObject,
        ProvisionedWriteCapacityAutoScalingSettingsUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    Replica { RegionName: Text }
    ReplicaAutoScalingUpdate(RegionName) {
        RegionName: Text,
        ReplicaGlobalSecondaryIndexUpdates: List(&Struct(&ReplicaGlobalSecondaryIndexAutoScalingUpdate)),
        ReplicaProvisionedReadCapacityAutoScalingUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    ReplicaGlobalSecondaryIndexAutoScalingUpdate {
        IndexName: IndexName,
        ProvisionedReadCapacityAutoScalingUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    ReplicaGlobalSecondaryIndexSettingsUpdate(IndexName) {
        IndexName: IndexName, ProvisionedReadCapacityUnits: PositiveLongObject,
        ProvisionedReadCapacityAutoScalingSettingsUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    ReplicaSettingsUpdate(RegionName) {
        RegionName: Text, ReplicaProvisionedReadCapacityUnits: PositiveLongObject,
        ReplicaProvisionedReadCapacityAutoScalingSettingsUpdate: Struct(&AutoScalingSettingsUpdate),
        ReplicaGlobalSecondaryIndexSettingsUpdate: Limited(&List(&Struct(&ReplicaGlobalSecondaryIndexSettingsUpdate)), Count(1, 20)),
        ReplicaTableClass: TableClass,
    }
    ReplicaUpdate { Create: Struct(&CreateReplicaAction), Delete: Struct(&DeleteReplicaAction) }
    UpdateKinesisStreamingConfiguration {
        ApproximateCreationDateTimePrecision: ApproximateCreationDateTimePrecision,
    }
}
