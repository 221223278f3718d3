//! Structures that inputs of several kinds share.

use super::Shape::{Boolean, List, Long, Struct, Text};
use super::structures;

structures! {
    AttributeDefinition { AttributeName: Text, AttributeType: Text }
    GlobalSecondaryIndex {
        IndexName: Text, KeySchema: List(&Struct(&KeySchemaElement)),
        Projection: Struct(&Projection), ProvisionedThroughput: Struct(&ProvisionedThroughput),
        OnDemandThroughput: Struct(&OnDemandThroughput), WarmThroughput: Struct(&WarmThroughput),
    }
    KeySchemaElement { AttributeName: Text, KeyType: Text }
    LocalSecondaryIndex {
        IndexName: Text, KeySchema: List(&Struct(&KeySchemaElement)),
        Projection: Struct(&Projection),
    }
    OnDemandThroughput { MaxReadRequestUnits: Long, MaxWriteRequestUnits: Long }
    Projection { ProjectionType: Text, NonKeyAttributes: List(&Text) }
    ProvisionedThroughput { ReadCapacityUnits: Long, WriteCapacityUnits: Long }
    SSESpecification { Enabled: Boolean, SSEType: Text, KMSMasterKeyId: Text }
    SearchSchemaElement { AttributeName: Text, SearchSchemaElementType: Text }
    VectorAttributeDefinition { AttributeName: Text }
    VectorIndex {
        IndexName: Text, VectorAttribute: Struct(&VectorAttributeDefinition),
        SearchSchema: List(&Struct(&SearchSchemaElement)), Projection: Struct(&Projection),
        Dimensions: Long, DistanceFunction: Text,
    }
    WarmThroughput { ReadUnitsPerSecond: Long, WriteUnitsPerSecond: Long }
}
