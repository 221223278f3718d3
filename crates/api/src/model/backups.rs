//! The input shapes of backups and restores.

use super::Shape::{Boolean, Integer, List, Struct, Text, Timestamp};
use super::parts::{
    GlobalSecondaryIndex, LocalSecondaryIndex, OnDemandThroughput, ProvisionedThroughput,
    SSESpecification, VectorIndex,
};
use super::structures;

structures! {
    CreateBackup { TableName: Text, BackupName: Text }
    DeleteBackup { BackupArn: Text }
    DescribeBackup { BackupArn: Text }
    DescribeContinuousBackups { TableName: Text }
    ListBackups {
        TableName: Text, Limit: Integer, TimeRangeLowerBound: Timestamp,
        TimeRangeUpperBound: Timestamp, ExclusiveStartBackupArn: Text, BackupType: Text,
    }
    RestoreTableFromBackup {
        TargetTableName: Text, BackupArn: Text, BillingModeOverride: Text,
        GlobalSecondaryIndexOverride: List(&Struct(&GlobalSecondaryIndex)),
        LocalSecondaryIndexOverride: List(&Struct(&LocalSecondaryIndex)),
        ProvisionedThroughputOverride: Struct(&ProvisionedThroughput),
        OnDemandThroughputOverride: Struct(&OnDemandThroughput),
        SSESpecificationOverride: Struct(&SSESpecification),
        VectorIndexOverride: List(&Struct(&VectorIndex)),
    }
    RestoreTableToPointInTime {
        SourceTableArn: Text, SourceTableName: Text, TargetTableName: Text,
        UseLatestRestorableTime: Boolean, RestoreDateTime: Timestamp, BillingModeOverride: Text,
        GlobalSecondaryIndexOverride: List(&Struct(&GlobalSecondaryIndex)),
        LocalSecondaryIndexOverride: List(&Struct(&LocalSecondaryIndex)),
        ProvisionedThroughputOverride: Struct(&ProvisionedThroughput),
        OnDemandThroughputOverride: Struct(&OnDemandThroughput),
        SSESpecificationOverride: Struct(&SSESpecification),
        VectorIndexOverride: List(&Struct(&VectorIndex)),
    }
    UpdateContinuousBackups {
        TableName: Text,
        PointInTimeRecoverySpecification: Struct(&PointInTimeRecoverySpecification),
    }
    PointInTimeRecoverySpecification {
        PointInTimeRecoveryEnabled: Boolean, RecoveryPeriodInDays: Integer,
    }
}
