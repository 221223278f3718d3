//! The input shapes of batches.

use super::Shape::{Boolean, List, Map, Struct, Text, Value};
use super::structures;

structures! {
    BatchGetItem { RequestItems: Map(&Struct(&KeysAndAttributes)), ReturnConsumedCapacity: Text }
    BatchWriteItem {
        RequestItems: Map(&List(&Struct(&WriteRequest))), ReturnConsumedCapacity: Text,
        ReturnItemCollectionMetrics: Text,
    }
    DeleteRequest { Key: Map(&Value) }
    KeysAndAttributes {
        Keys: List(&Map(&Value)), AttributesToGet: List(&Text), ConsistentRead: Boolean,
        ProjectionExpression: Text, ExpressionAttributeNames: Map(&Text),
    }
    PutRequest { Item: Map(&Value) }
    WriteRequest { PutRequest: Struct(&PutRequest), DeleteRequest: Struct(&DeleteRequest) }
}
