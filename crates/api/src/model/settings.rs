//! The input shapes of the settings that AWS keeps beside a table.

use super::Shape::{Boolean, Double, Integer, List, Long, Struct, Text};
use super::structures;

structures! {
    CreateGlobalTable { GlobalTableName: Text, ReplicationGroup: List(&Struct(&Replica)) }
    DeleteResourcePolicy { ResourceArn: Text, ExpectedRevisionId: Text }
    DescribeContributorInsights { TableName: Text, IndexName: Text }
    DescribeGlobalTable { GlobalTableName: Text }
    DescribeGlobalTableSettings { GlobalTableName: Text }
    DescribeKinesisStreamingDestination { TableName: Text }
    DescribeTableReplicaAutoScaling { TableName: Text }
    DisableKinesisStreamingDestination {
        TableName: Text, StreamArn: Text,
        EnableKinesisStreamingConfiguration: Struct(&EnableKinesisStreamingConfiguration),
    }
    EnableKinesisStreamingDestination {
        TableName: Text, StreamArn: Text,
        EnableKinesisStreamingConfiguration: Struct(&EnableKinesisStreamingConfiguration),
    }
    GetResourcePolicy { ResourceArn: Text }
    ListContributorInsights { TableName: Text, NextToken: Text, MaxResults: Integer }
    ListGlobalTables { ExclusiveStartGlobalTableName: Text, Limit: Integer, RegionName: Text }
    PutResourcePolicy {
        ResourceArn: Text, Policy: Text, ExpectedRevisionId: Text,
        ConfirmRemoveSelfResourceAccess: Boolean,
    }
    UpdateContributorInsights {
        TableName: Text, IndexName: Text, ContributorInsightsAction: Text,
        ContributorInsightsMode: Text,
    }
    UpdateGlobalTable { GlobalTableName: Text, ReplicaUpdates: List(&Struct(&ReplicaUpdate)) }
    UpdateGlobalTableSettings {
        GlobalTableName: Text, GlobalTableBillingMode: Text,
        GlobalTableProvisionedWriteCapacityUnits: Long,
        GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate: Struct(&AutoScalingSettingsUpdate),
        GlobalTableGlobalSecondaryIndexSettingsUpdate: List(&Struct(&GlobalTableGlobalSecondaryIndexSettingsUpdate)),
        ReplicaSettingsUpdate: List(&Struct(&ReplicaSettingsUpdate)),
    }
    UpdateKinesisStreamingDestination {
        TableName: Text, StreamArn: Text,
        UpdateKinesisStreamingConfiguration: Struct(&UpdateKinesisStreamingConfiguration),
    }
    UpdateTableReplicaAutoScaling {
        GlobalSecondaryIndexUpdates: List(&Struct(&GlobalSecondaryIndexAutoScalingUpdate)),
        TableName: Text,
        ProvisionedWriteCapacityAutoScalingUpdate: Struct(&AutoScalingSettingsUpdate),
        ReplicaUpdates: List(&Struct(&ReplicaAutoScalingUpdate)),
    }
    AutoScalingPolicyUpdate {
        PolicyName: Text,
        TargetTrackingScalingPolicyConfiguration: Struct(&AutoScalingTargetTrackingScalingPolicyConfigurationUpdate),
    }
    AutoScalingSettingsUpdate {
        MinimumUnits: Long, MaximumUnits: Long, AutoScalingDisabled: Boolean,
        AutoScalingRoleArn: Text, ScalingPolicyUpdate: Struct(&AutoScalingPolicyUpdate),
    }
    AutoScalingTargetTrackingScalingPolicyConfigurationUpdate {
        DisableScaleIn: Boolean, ScaleInCooldown: Integer, ScaleOutCooldown: Integer,
        TargetValue: Double,
    }
    CreateReplicaAction { RegionName: Text }
    DeleteReplicaAction { RegionName: Text }
    EnableKinesisStreamingConfiguration { ApproximateCreationDateTimePrecision: Text }
    GlobalSecondaryIndexAutoScalingUpdate {
        IndexName: Text,
        ProvisionedWriteCapacityAutoScalingUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    GlobalTableGlobalSecondaryIndexSettingsUpdate {
        IndexName: Text, ProvisionedWriteCapacityUnits: Long,
        ProvisionedWriteCapacityAutoScalingSettingsUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    Replica { RegionName: Text }
    ReplicaAutoScalingUpdate {
        RegionName: Text,
        ReplicaGlobalSecondaryIndexUpdates: List(&Struct(&ReplicaGlobalSecondaryIndexAutoScalingUpdate)),
        ReplicaProvisionedReadCapacityAutoScalingUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    ReplicaGlobalSecondaryIndexAutoScalingUpdate {
        IndexName: Text,
        ProvisionedReadCapacityAutoScalingUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    ReplicaGlobalSecondaryIndexSettingsUpdate {
        IndexName: Text, ProvisionedReadCapacityUnits: Long,
        ProvisionedReadCapacityAutoScalingSettingsUpdate: Struct(&AutoScalingSettingsUpdate),
    }
    ReplicaSettingsUpdate {
        RegionName: Text, ReplicaProvisionedReadCapacityUnits: Long,
        ReplicaProvisionedReadCapacityAutoScalingSettingsUpdate: Struct(&AutoScalingSettingsUpdate),
        ReplicaGlobalSecondaryIndexSettingsUpdate: List(&Struct(&ReplicaGlobalSecondaryIndexSettingsUpdate)),
        ReplicaTableClass: Text,
    }
    ReplicaUpdate { Create: Struct(&CreateReplicaAction), Delete: Struct(&DeleteReplicaAction) }
    UpdateKinesisStreamingConfiguration { ApproximateCreationDateTimePrecision: Text }
}
