//! Structures that inputs of several kinds share.

use super::Limit::Count;
use super::Shape::{Boolean, Limited, List, Long, Struct, Text};
use super::limits::{
    AttributeName, IndexName, KeySchemaAttributeName, KeyType, NonKeyAttributeName,
    PositiveLongObject, ProjectionType, SSEType, ScalarAttributeType, SearchSchemaElementType,
    VectorAttributeName, VectorDistanceFunction,
};
use super::structures;

structures! {
    AttributeDefinition(AttributeName, AttributeType) {
        AttributeName: KeySchemaAttributeName, AttributeType: ScalarAttributeType,
    }
    GlobalSecondaryIndex(IndexName, KeySchema, Projection) {
        IndexName: IndexName,
        KeySchema: Limited(&List(&Struct(&KeySchemaElement)), Count(1, usize::MAX)),
        Projection: Struct(&Projection), ProvisionedThroughput: Struct(&ProvisionedThroughput),
        OnDemandThroughput: Struct(&OnDemandThroughput), WarmThroughput: Struct(&WarmThroughput),
    }
    KeySchemaElement(AttributeName, KeyType) {
        AttributeName: KeySchemaAttributeName, KeyType: KeyType,
    }
    LocalSecondaryIndex(IndexName, KeySchema, Projection) {
        IndexName: IndexName, KeySchema: Limited(&List(&Struct(&KeySchemaElement)), Count(1, 2)),
        Projection: Struct(&Projection),
    }
    OnDemandThroughput { MaxReadRequestUnits: Long, MaxWriteRequestUnits: Long }
    Projection {
        ProjectionType: ProjectionType,
        NonKeyAttributes: Limited(&List(&NonKeyAttributeName), Count(1, 20)),
    }
    ProvisionedThroughput(ReadCapacityUnits, WriteCapacityUnits) {
        ReadCapacityUnits: PositiveLongObject, WriteCapacityUnits: PositiveLongObject,
    }
    SSESpecification { Enabled: Boolean, SSEType: SSEType, KMSMasterKeyId: Text }
    SearchSchemaElement(AttributeName, SearchSchemaElementType) {
        AttributeName: AttributeName, SearchSchemaElementType: SearchSchemaElementType,
    }
    VectorAttributeDefinition(AttributeName) { AttributeName: VectorAttributeName }
    VectorIndex(IndexName, VectorAttribute, Projection, Dimensions, DistanceFunction) {
        IndexName: IndexName, VectorAttribute: Struct(&VectorAttributeDefinition),
        SearchSchema: Limited(&List(&Struct(&SearchSchemaElement)), Count(1, usize::MAX)),
        Projection: Struct(&Projection), Dimensions: PositiveLongObject,
        DistanceFunction: VectorDistanceFunction,
    }
    WarmThroughput { ReadUnitsPerSecond: Long, WriteUnitsPerSecond: Long }
}
