//! The input shapes of Query, Scan and SearchVectors.

use super::Shape::{Boolean, Integer, List, Map, Struct, Text, Value};
use super::structures;

structures! {
    Query {
        TableName: Text, IndexName: Text, Select: Text, AttributesToGet: List(&Text),
        Limit: Integer, ConsistentRead: Boolean, KeyConditions: Map(&Struct(&Condition)),
        QueryFilter: Map(&Struct(&Condition)), ConditionalOperator: Text, ScanIndexForward: Boolean,
        ExclusiveStartKey: Map(&Value), ReturnConsumedCapacity: Text, ProjectionExpression: Text,
        FilterExpression: Text, KeyConditionExpression: Text, ExpressionAttributeNames: Map(&Text),
        ExpressionAttributeValues: Map(&Value),
    }
    Scan {
        TableName: Text, IndexName: Text, AttributesToGet: List(&Text), Limit: Integer,
        Select: Text, ScanFilter: Map(&Struct(&Condition)), ConditionalOperator: Text,
        ExclusiveStartKey: Map(&Value), ReturnConsumedCapacity: Text, TotalSegments: Integer,
        Segment: Integer, ProjectionExpression: Text, FilterExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ConsistentRead: Boolean,
    }
    SearchVectors {
        TableName: Text, IndexName: Text, ReturnConsumedCapacity: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ProjectionExpression: Text, SearchVector: List(&Value), SearchConditionExpression: Text,
        TopK: Integer,
    }
    Condition { AttributeValueList: List(&Value), ComparisonOperator: Text }
}
