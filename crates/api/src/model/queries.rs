//! The input shapes of Query, Scan and SearchVectors.

use super::Shape::{Boolean, Integer, List, Map, Struct, Text, Value};
use super::structures;

structures! {
    Query {
        TableName: Text, KeyConditionExpression: Text, ExpressionAttributeValues: Map(&Value),
        ExpressionAttributeNames: Map(&Text), IndexName: Text, Limit: Integer,
        ScanIndexForward: Boolean, ExclusiveStartKey: Map(&Value), FilterExpression: Text,
        ProjectionExpression: Text, ConsistentRead: Boolean, Select: Text,
        ReturnConsumedCapacity: Text, AttributesToGet: List(&Text),
        KeyConditions: Map(&Struct(&Condition)), QueryFilter: Map(&Struct(&Condition)),
        ConditionalOperator: Text,
    }
    Scan {
        TableName: Text, IndexName: Text, Limit: Integer, ExclusiveStartKey: Map(&Value),
        TotalSegments: Integer, Segment: Integer, FilterExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ProjectionExpression: Text, ConsistentRead: Boolean, Select: Text,
        ReturnConsumedCapacity: Text, AttributesToGet: List(&Text),
        ScanFilter: Map(&Struct(&Condition)), ConditionalOperator: Text,
    }
    SearchVectors {
        TableName: Text, IndexName: Text, ReturnConsumedCapacity: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ProjectionExpression: Text, SearchVector: List(&Value), SearchConditionExpression: Text,
        TopK: Integer,
    }
    Condition { AttributeValueList: List(&Value), ComparisonOperator: Text }
}
