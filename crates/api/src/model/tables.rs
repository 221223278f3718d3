//! The input shapes of the operations on tables.

use super::Limit::Count;
use super::Shape::{Boolean, Limited, List, Long, Struct, Text};
use super::limits::{
    BillingMode, DisassociationMode, GlobalTableSettingsReplicationMode, IndexName,
    ListTablesInputLimit, MultiRegionConsistency, PositiveLongObject, ResourceArnString,
    StreamViewType, TableArn, TableClass, TableName, TagKeyString, TagValueString,
    TimeToLiveAttributeName, VectorDistanceFunction,
};
use super::parts::{
    AttributeDefinition, GlobalSecondaryIndex, KeySchemaElement, LocalSecondaryIndex,
    OnDemandThroughput, Projection, ProvisionedThroughput, SSESpecification, SearchSchemaElement,
    VectorAttributeDefinition, VectorIndex, WarmThroughput,
};
use super::structures;

structures! {
    CreateTable(AttributeDefinitions, TableName, KeySchema) {
        AttributeDefinitions: List(&Struct(&AttributeDefinition)), TableName: TableName,
        KeySchema: Limited(&List(&Struct(&KeySchemaElement)), Count(1, 2)),
        LocalSecondaryIndexes: List(&Struct(&LocalSecondaryIndex)),
        GlobalSecondaryIndexes: List(&Struct(&GlobalSecondaryIndex)), BillingMode: BillingMode,
        ProvisionedThroughput: Struct(&ProvisionedThroughput),
        StreamSpecification: Struct(&StreamSpecification),
        SSESpecification: Struct(&SSESpecification), Tags: List(&Struct(&Tag)),
        TableClass: TableClass, DeletionProtectionEnabled: Boolean,
        WarmThroughput: Struct(&WarmThroughput), ResourcePolicy: Text,
        OnDemandThroughput: Struct(&OnDemandThroughput), GlobalTableSourceArn: TableArn,
        GlobalTableSettingsReplicationMode: GlobalTableSettingsReplicationMode,
        VectorIndexes: List(&Struct(&VectorIndex)),
    }
    DeleteTable(TableName) { TableName: TableArn }
    DescribeEndpoints {}
    DescribeLimits {}
    DescribeTable(TableName) { TableName: TableArn }
    DescribeTimeToLive(TableName) { TableName: TableArn }
    ListTables { ExclusiveStartTableName: TableName, Limit: ListTablesInputLimit }
    ListTagsOfResource(ResourceArn) { ResourceArn: ResourceArnString, NextToken: Text }
    TagResource(ResourceArn, Tags) { ResourceArn: ResourceArnString, Tags: List(&Struct(&Tag)) }
    UntagResource(ResourceArn, TagKeys) {
        ResourceArn: ResourceArnString, TagKeys: List(&TagKeyString),
    }
    UpdateTable(TableName) {
        AttributeDefinitions: List(&Struct(&AttributeDefinition)), TableName: TableArn,
        BillingMode: BillingMode, ProvisionedThroughput: Struct(&ProvisionedThroughput),
        GlobalSecondaryIndexUpdates: List(&Struct(&GlobalSecondaryIndexUpdate)),
        StreamSpecification: Struct(&StreamSpecification),
        SSESpecification: Struct(&SSESpecification),
        ReplicaUpdates: Limited(&List(&Struct(&ReplicationGroupUpdate)), Count(1, usize::MAX)),
        TableClass: TableClass, DeletionProtectionEnabled: Boolean,
        MultiRegionConsistency: MultiRegionConsistency,
        GlobalTableWitnessUpdates: Limited(&List(&Struct(&GlobalTableWitnessGroupUpdate)), Count(1, 1)),
        OnDemandThroughput: Struct(&OnDemandThroughput), WarmThroughput: Struct(&WarmThroughput),
        GlobalTableSettingsReplicationMode: GlobalTableSettingsReplicationMode,
        DisassociationProtectionEnabled: Boolean,
        VectorIndexUpdates: List(&Struct(&VectorIndexUpdate)),
    }
    UpdateTimeToLive(TableName, TimeToLiveSpecification) {
        TableName: TableArn, TimeToLiveSpecification: Struct(&TimeToLiveSpecification),
    }
    CreateGlobalSecondaryIndexAction(IndexName, KeySchema, Projection) {
        IndexName: IndexName,
        KeySchema: Limited(&List(&Struct(&KeySchemaElement)), Count(1, usize::MAX)),
        Projection: Struct(&Projection), ProvisionedThroughput: Struct(&ProvisionedThroughput),
        OnDemandThroughput: Struct(&OnDemandThroughput), WarmThroughput: Struct(&WarmThroughput),
    }
    CreateGlobalTableWitnessGroupMemberAction(RegionName) { RegionName: Text }
    CreateReplicationGroupMemberAction(RegionName) {
        RegionName: Text, KMSMasterKeyId: Text,
        ProvisionedThroughputOverride: Struct(&ProvisionedThroughputOverride),
        OnDemandThroughputOverride: Struct(&OnDemandThroughputOverride),
        GlobalSecondaryIndexes: Limited(&List(&Struct(&ReplicaGlobalSecondaryIndex)), Count(1, usize::MAX)),
        TableClassOverride: TableClass,
    }
    CreateVectorIndexAction(
        IndexName, VectorAttribute, Projection, Dimensions, DistanceFunction
    ) {
        IndexName: IndexName, VectorAttribute: Struct(&VectorAttributeDefinition),
        SearchSchema: Limited(&List(&Struct(&SearchSchemaElement)), Count(1, usize::MAX)),
        Projection: Struct(&Projection), Dimensions: PositiveLongObject,
        DistanceFunction: VectorDistanceFunction,
    }
    DeleteGlobalSecondaryIndexAction(IndexName) { IndexName: IndexName }
    DeleteGlobalTableWitnessGroupMemberAction(RegionName) { RegionName: Text }
    DeleteReplicationGroupMemberAction(RegionName) { RegionName: Text }
    DeleteVectorIndexAction(IndexName) { IndexName: IndexName }
    DisassociateReplicationGroupMemberAction(RegionName, DisassociationMode) {
        RegionName: Text, DisassociationMode: DisassociationMode,
    }
    GlobalSecondaryIndexUpdate {
        Update: Struct(&UpdateGlobalSecondaryIndexAction),
        Create: Struct(&CreateGlobalSecondaryIndexAction),
        Delete: Struct(&DeleteGlobalSecondaryIndexAction),
    }
    GlobalTableWitnessGroupUpdate {
        Create: Struct(&CreateGlobalTableWitnessGroupMemberAction),
        Delete: Struct(&DeleteGlobalTableWitnessGroupMemberAction),
    }
    OnDemandThroughputOverride { MaxReadRequestUnits: Long }
    ProvisionedThroughputOverride { ReadCapacityUnits: PositiveLongObject }
    ReplicaGlobalSecondaryIndex(IndexName) {
        IndexName: IndexName, ProvisionedThroughputOverride: Struct(&ProvisionedThroughputOverride),
        OnDemandThroughputOverride: Struct(&OnDemandThroughputOverride),
    }
    ReplicationGroupUpdate {
        Create: Struct(&CreateReplicationGroupMemberAction),
        Update: Struct(&UpdateReplicationGroupMemberAction),
        Delete: Struct(&DeleteReplicationGroupMemberAction),
        Disassociate: Struct(&DisassociateReplicationGroupMemberAction),
    }
    StreamSpecification(StreamEnabled) { StreamEnabled: Boolean, StreamViewType: StreamViewType }
    Tag(Key, Value) { Key: TagKeyString, Value: TagValueString }
    TimeToLiveSpecification(Enabled, AttributeName) {
        Enabled: Boolean, AttributeName: TimeToLiveAttributeName,
    }
    UpdateGlobalSecondaryIndexAction(IndexName) {
        IndexName: IndexName, ProvisionedThroughput: Struct(&ProvisionedThroughput),
        OnDemandThroughput: Struct(&OnDemandThroughput), WarmThroughput: Struct(&WarmThroughput),
    }
    UpdateReplicationGroupMemberAction(RegionName) {
        RegionName: Text, KMSMasterKeyId: Text,
        ProvisionedThroughputOverride: Struct(&ProvisionedThroughputOverride),
        OnDemandThroughputOverride: Struct(&OnDemandThroughputOverride),
        GlobalSecondaryIndexes: Limited(&List(&Struct(&ReplicaGlobalSecondaryIndex)), Count(1, usize::MAX)),
        TableClassOverride: TableClass,
    }
    VectorIndexUpdate {
        Create: Struct(&CreateVectorIndexAction), Delete: Struct(&DeleteVectorIndexAction),
    }
}
