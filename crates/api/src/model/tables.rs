//! The input shapes of the operations on tables.

use super::Shape::{Boolean, Integer, List, Long, Struct, Text};
use super::parts::{
    AttributeDefinition, GlobalSecondaryIndex, KeySchemaElement, LocalSecondaryIndex,
    OnDemandThroughput, Projection, ProvisionedThroughput, SSESpecification, SearchSchemaElement,
    VectorAttributeDefinition, VectorIndex, WarmThroughput,
};
use super::structures;

structures! {
    CreateTable {
        AttributeDefinitions: List(&Struct(&AttributeDefinition)), TableName: Text,
        KeySchema: List(&Struct(&KeySchemaElement)),
        LocalSecondaryIndexes: List(&Struct(&LocalSecondaryIndex)),
        GlobalSecondaryIndexes: List(&Struct(&GlobalSecondaryIndex)), BillingMode: Text,
        ProvisionedThroughput: Struct(&ProvisionedThroughput),
        StreamSpecification: Struct(&StreamSpecification),
        SSESpecification: Struct(&SSESpecification), Tags: List(&Struct(&Tag)), TableClass: Text,
        DeletionProtectionEnabled: Boolean, WarmThroughput: Struct(&WarmThroughput),
        ResourcePolicy: Text, OnDemandThroughput: Struct(&OnDemandThroughput),
        GlobalTableSourceArn: Text, GlobalTableSettingsReplicationMode: Text,
        VectorIndexes: List(&Struct(&VectorIndex)),
    }
    DeleteTable { TableName: Text }
    DescribeEndpoints {}
    DescribeLimits {}
    DescribeTable { TableName: Text }
    DescribeTimeToLive { TableName: Text }
    ListTables { ExclusiveStartTableName: Text, Limit: Integer }
    ListTagsOfResource { ResourceArn: Text, NextToken: Text }
    TagResource { ResourceArn: Text, Tags: List(&Struct(&Tag)) }
    UntagResource { ResourceArn: Text, TagKeys: List(&Text) }
    UpdateTable {
        AttributeDefinitions: List(&Struct(&AttributeDefinition)), TableName: Text,
        BillingMode: Text, ProvisionedThroughput: Struct(&ProvisionedThroughput),
        GlobalSecondaryIndexUpdates: List(&Struct(&GlobalSecondaryIndexUpdate)),
        StreamSpecification: Struct(&StreamSpecification),
        SSESpecification: Struct(&SSESpecification),
        ReplicaUpdates: List(&Struct(&ReplicationGroupUpdate)), TableClass: Text,
        DeletionProtectionEnabled: Boolean, MultiRegionConsistency: Text,
        GlobalTableWitnessUpdates: List(&Struct(&GlobalTableWitnessGroupUpdate)),
        OnDemandThroughput: Struct(&OnDemandThroughput), WarmThroughput: Struct(&WarmThroughput),
        GlobalTableSettingsReplicationMode: Text, DisassociationProtectionEnabled: Boolean,
        VectorIndexUpdates: List(&Struct(&VectorIndexUpdate)),
    }
    UpdateTimeToLive { TableName: Text, TimeToLiveSpecification: Struct(&TimeToLiveSpecification) }
    CreateGlobalSecondaryIndexAction {
        IndexName: Text, KeySchema: List(&Struct(&KeySchemaElement)),
        Projection: Struct(&Projection), ProvisionedThroughput: Struct(&ProvisionedThroughput),
        OnDemandThroughput: Struct(&OnDemandThroughput), WarmThroughput: Struct(&WarmThroughput),
    }
    CreateGlobalTableWitnessGroupMemberAction { RegionName: Text }
    CreateReplicationGroupMemberAction {
        RegionName: Text, KMSMasterKeyId: Text,
        ProvisionedThroughputOverride: Struct(&ProvisionedThroughputOverride),
        OnDemandThroughputOverride: Struct(&OnDemandThroughputOverride),
        GlobalSecondaryIndexes: List(&Struct(&ReplicaGlobalSecondaryIndex)),
        TableClassOverride: Text,
    }
    CreateVectorIndexAction {
        IndexName: Text, VectorAttribute: Struct(&VectorAttributeDefinition),
        SearchSchema: List(&Struct(&SearchSchemaElement)), Projection: Struct(&Projection),
        Dimensions: Long, DistanceFunction: Text,
    }
    DeleteGlobalSecondaryIndexAction { IndexName: Text }
    DeleteGlobalTableWitnessGroupMemberAction { RegionName: Text }
    DeleteReplicationGroupMemberAction { RegionName: Text }
    DeleteVectorIndexAction { IndexName: Text }
    DisassociateReplicationGroupMemberAction { RegionName: Text, DisassociationMode: Text }
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
    ProvisionedThroughputOverride { ReadCapacityUnits: Long }
    ReplicaGlobalSecondaryIndex {
        IndexName: Text, ProvisionedThroughputOverride: Struct(&ProvisionedThroughputOverride),
        OnDemandThroughputOverride: Struct(&OnDemandThroughputOverride),
    }
    ReplicationGroupUpdate {
        Create: Struct(&CreateReplicationGroupMemberAction),
        Update: Struct(&UpdateReplicationGroupMemberAction),
        Delete: Struct(&DeleteReplicationGroupMemberAction),
        Disassociate: Struct(&DisassociateReplicationGroupMemberAction),
    }
    StreamSpecification { StreamEnabled: Boolean, StreamViewType: Text }
    Tag { Key: Text, Value: Text }
    TimeToLiveSpecification { Enabled: Boolean, AttributeName: Text }
    UpdateGlobalSecondaryIndexAction {
        IndexName: Text, ProvisionedThroughput: Struct(&ProvisionedThroughput),
        OnDemandThroughput: Struct(&OnDemandThroughput), WarmThroughput: Struct(&WarmThroughput),
    }
    UpdateReplicationGroupMemberAction {
        RegionName: Text, KMSMasterKeyId: Text,
        ProvisionedThroughputOverride: Struct(&ProvisionedThroughputOverride),
        OnDemandThroughputOverride: Struct(&OnDemandThroughputOverride),
        GlobalSecondaryIndexes: List(&Struct(&ReplicaGlobalSecondaryIndex)),
        TableClassOverride: Text,
    }
    VectorIndexUpdate {
        Create: Struct(&CreateVectorIndexAction), Delete: Struct(&DeleteVectorIndexAction),
    }
}
