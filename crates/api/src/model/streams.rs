//! The input shapes of DynamoDB Streams.

use super::Shape::{Integer, Struct, Text, Timestamp};
use super::structures;

structures! {
    DescribeStream {
        StreamArn: Text, Limit: Integer, ExclusiveStartShardId: Text,
        ShardFilter: Struct(&ShardFilter),
    }
    GetRecords { ShardIterator: Text, Limit: Integer }
    GetShardIterator {
        StreamArn: Text, ShardId: Text, ShardIteratorType: Text, SequenceNumber: Text,
        Timestamp: Timestamp,
    }
    ListStreams { TableName: Text, Limit: Integer, ExclusiveStartStreamArn: Text }
    ShardFilter { Type: Text, ShardId: Text }
}
