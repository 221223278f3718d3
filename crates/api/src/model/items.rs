//! The input shapes of the operations on one item.

use super::Shape::{Boolean, List, Map, Struct, Text, Value};
use super::structures;

// The members that most requests have stand first: a member is found by comparing names one after the other.
structures! {
    DeleteItem {
        TableName: Text, Key: Map(&Value), ConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ReturnValues: Text, ReturnConsumedCapacity: Text, ReturnItemCollectionMetrics: Text,
        ReturnValuesOnConditionCheckFailure: Text,
        Expected: Map(&Struct(&ExpectedAttributeValue)), ConditionalOperator: Text,
    }
    GetItem {
        TableName: Text, Key: Map(&Value), ConsistentRead: Boolean, ProjectionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ReturnConsumedCapacity: Text,
        AttributesToGet: List(&Text),
    }
    PutItem {
        TableName: Text, Item: Map(&Value), ConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ReturnValues: Text, ReturnConsumedCapacity: Text, ReturnItemCollectionMetrics: Text,
        ReturnValuesOnConditionCheckFailure: Text,
        Expected: Map(&Struct(&ExpectedAttributeValue)), ConditionalOperator: Text,
    }
    UpdateItem {
        TableName: Text, Key: Map(&Value), UpdateExpression: Text, ConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ReturnValues: Text, ReturnConsumedCapacity: Text, ReturnItemCollectionMetrics: Text,
        ReturnValuesOnConditionCheckFailure: Text,
        AttributeUpdates: Map(&Struct(&AttributeValueUpdate)),
        Expected: Map(&Struct(&ExpectedAttributeValue)), ConditionalOperator: Text,
    }
    AttributeValueUpdate { Value: Value, Action: Text }
    ExpectedAttributeValue {
        Value: Value, Exists: Boolean, ComparisonOperator: Text, AttributeValueList: List(&Value),
    }
}
