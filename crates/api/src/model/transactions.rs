//! The input shapes of transactions.

use super::Shape::{List, Map, Struct, Text, Value};
use super::structures;

structures! {
    TransactGetItems {
        TransactItems: List(&Struct(&TransactGetItem)), ReturnConsumedCapacity: Text,
    }
    TransactWriteItems {
        TransactItems: List(&Struct(&TransactWriteItem)), ReturnConsumedCapacity: Text,
        ReturnItemCollectionMetrics: Text, ClientRequestToken: Text,
    }
    ConditionCheck {
        Key: Map(&Value), TableName: Text, ConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ReturnValuesOnConditionCheckFailure: Text,
    }
    Delete {
        Key: Map(&Value), TableName: Text, ConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ReturnValuesOnConditionCheckFailure: Text,
    }
    Get {
        Key: Map(&Value), TableName: Text, ProjectionExpression: Text,
        ExpressionAttributeNames: Map(&Text),
    }
    Put {
        Item: Map(&Value), TableName: Text, ConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ReturnValuesOnConditionCheckFailure: Text,
    }
    TransactGetItem { Get: Struct(&Get) }
    TransactWriteItem {
        ConditionCheck: Struct(&ConditionCheck), Put: Struct(&Put), Delete: Struct(&Delete),
        Update: Struct(&Update),
    }
    Update {
        Key: Map(&Value), UpdateExpression: Text, TableName: Text, ConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
        ReturnValuesOnConditionCheckFailure: Text,
    }
}
