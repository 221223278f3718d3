//! The input shapes of the operations on one item.

use super::Shape::{Boolean, List, Map, Struct, Text, Value};
use super::structures;

structures! {
    DeleteItem {
        TableName: Text, Key: Map(&Value), Expected: Map(&Struct(&ExpectedAttributeValue)),
        ConditionalOperator: Text, ReturnValues: Text, ReturnConsumedCapacity: Text,
        ReturnItemCollectionMetrics: Text, ConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ReturnValuesOnConditionCheckFailure: Text,
    }
    GetItem {
        TableName: Text, Key: Map(&Value), AttributesToGet: List(&Text), ConsistentRead: Boolean,
        ReturnConsumedCapacity: Text, ProjectionExpression: Text,
        ExpressionAttributeNames: Map(&Text),
    }
    PutItem {
        TableName: Text, Item: Map(&Value), Expected: Map(&Struct(&ExpectedAttributeValue)),
        ReturnValues: Text, ReturnConsumedCapacity: Text, ReturnItemCollectionMetrics: Text,
        ConditionalOperator: Text, ConditionExpression: Text, ExpressionAttributeNames: Map(&Text),
        ExpressionAttributeValues: Map(&Value), ReturnValuesOnConditionCheckFailure: Text,
    }
    UpdateItem {
        TableName: Text, Key: Map(&Value), AttributeUpdates: Map(&Struct(&AttributeValueUpdate)),
        Expected: Map(&Struct(&ExpectedAttributeValue)), ConditionalOperator: Text,
        ReturnValues: Text, ReturnConsumedCapacity: Text, ReturnItemCollectionMetrics: Text,
        UpdateExpression: Text, ConditionExpression: Text, ExpressionAttributeNames: Map(&Text),
        ExpressionAttributeValues: Map(&Value), ReturnValuesOnConditionCheckFailure: Text,
    }
    AttributeValueUpdate { Value: Value, Action: Text }
    ExpectedAttributeValue {
        Value: Value, Exists: Boolean, ComparisonOperator: Text, AttributeValueList: List(&Value),
    }
}
