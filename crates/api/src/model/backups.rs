//! The input shapes of backups and restores.

use super::Shape::{Boolean, List, Struct, Timestamp};
use super::limits::{
    BackupArn, BackupName, BackupTypeFilter, BackupsInputLimit, BillingMode, RecoveryPeriodInDays,
    TableArn, TableName,
};
use super::parts::{
    GlobalSecondaryIndex, LocalSecondaryIndex, OnDemandThroughput, ProvisionedThroughput,
    SSESpecification, VectorIndex,
};
use super::structures;

structures! {
    CreateBackup(TableName, BackupName) { TableName: TableArn, BackupName: BackupName }
    DeleteBackup(BackupArn) { BackupArn: BackupArn }
    DescribeBackup(BackupArn) { BackupArn: BackupArn }
    DescribeContinuousBackups(TableName) { TableName: TableArn }
    ListBackups {
        TableName: TableArn, Limit: BackupsInputLimit, TimeRangeLowerBound: Timestamp,
        TimeRangeUpperBound: Timestamp, ExclusiveStartBackupArn: BackupArn,
        BackupType: BackupTypeFilter,
    }
    RestoreTableFromBackup(TargetTableName, BackupArn) {
        TargetTableName: TableName, BackupArn: BackupArn, BillingModeOverride: BillingMode,
        GlobalSecondaryIndexOverride: List(&Struct(&GlobalSecondaryIndex)),
        LocalSecondaryIndexOverride: List(&Struct(&LocalSecondaryIndex)),
        ProvisionedThroughputOverride: Struct(&ProvisionedThroughput),
        OnDemandThroughputOverride: Struct(&OnDemandThroughput),
        SSESpecificationOverride: Struct(&SSESpecification),
        VectorIndexOverride: List(&Struct(&VectorIndex)),
    }
    RestoreTableToPointInTime(TargetTableName) {
        SourceTableArn: TableArn, SourceTableName: TableName, TargetTableName: TableName,
        UseLatestRestorableTime: Boolean, RestoreDateTime: Timestamp,
        BillingModeOverride: BillingMode,
        GlobalSecondaryIndexOverride: List(&Struct(&GlobalSecondaryIndex)),
        LocalSecondaryIndexOverride: List(&Struct(&LocalSecondaryIndex)),
        ProvisionedThroughputOverride: Struct(&ProvisionedThroughput),
        OnDemandThroughputOverride: Struct(&OnDemandThroughput),
        SSESpecificationOverride: Struct(&SSESpecification),
        VectorIndexOverride: List(&Struct(&VectorIndex)),
    }
    UpdateContinuousBackups(TableName, PointInTimeRecoverySpecification) {
        TableName: TableArn,
        PointInTimeRecoverySpecification: Struct(&PointInTimeRecoverySpecification),
    }
    PointInTimeRecoverySpecification(PointInTimeRecoveryEnabled) {
        PointInTimeRecoveryEnabled: Boolean, RecoveryPeriodInDays: RecoveryPeriodInDays,
    }
}
