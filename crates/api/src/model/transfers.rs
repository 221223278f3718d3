//! The input shapes of exports, imports and bulk operations.

use super::Shape::{Integer, List, Long, Map, Struct, Text, Timestamp, Value};
use super::parts::{
    AttributeDefinition, GlobalSecondaryIndex, KeySchemaElement, OnDemandThroughput,
    ProvisionedThroughput, SSESpecification, VectorIndex,
};
use super::structures;

structures! {
    CancelBulkOperation { BulkOperationArn: Text }
    DescribeBulkOperation { BulkOperationArn: Text }
    DescribeExport { ExportArn: Text }
    DescribeImport { ImportArn: Text }
    ExportTableToPointInTime {
        TableArn: Text, ExportTime: Timestamp, ClientToken: Text, S3Bucket: Text,
        S3BucketOwner: Text, S3Prefix: Text, S3SseAlgorithm: Text, S3SseKmsKeyId: Text,
        ExportFormat: Text, ExportType: Text,
        IncrementalExportSpecification: Struct(&IncrementalExportSpecification),
        FilterSpecification: Struct(&FilterSpecification),
    }
    ImportTable {
        ClientToken: Text, S3BucketSource: Struct(&S3BucketSource), InputFormat: Text,
        InputFormatOptions: Struct(&InputFormatOptions), InputCompressionType: Text,
        TableCreationParameters: Struct(&TableCreationParameters),
    }
    ListBulkOperations { MaxResults: Integer, NextToken: Text }
    ListExports { TableArn: Text, MaxResults: Integer, NextToken: Text }
    ListImports { TableArn: Text, PageSize: Integer, NextToken: Text }
    StartBulkPutItems {
        ClientToken: Text, InputS3Configuration: Struct(&InputS3Configuration),
        OutputS3Configuration: Struct(&OutputS3Configuration), TableName: Text,
        MaxWriteRequestUnits: Long, PerformanceTier: Text,
    }
    CsvOptions { Delimiter: Text, HeaderList: List(&Text) }
    FilterSpecification {
        FilterExpression: Text, ProjectionExpression: Text, KeyConditionExpression: Text,
        ExpressionAttributeNames: Map(&Text), ExpressionAttributeValues: Map(&Value),
    }
    IncrementalExportSpecification {
        ExportFromTime: Timestamp, ExportToTime: Timestamp, ExportViewType: Text,
    }
    InputFormatOptions { Csv: Struct(&CsvOptions) }
    InputS3Configuration {
        S3BucketOwner: Text, S3Bucket: Text, S3KeyPrefix: Text, InputFormat: Text,
        InputCompressionType: Text,
    }
    OutputS3Configuration {
        S3BucketOwner: Text, S3Bucket: Text, S3KeyPrefix: Text, S3SseAlgorithm: Text,
        S3SseKmsKeyId: Text, OutputType: List(&Text),
    }
    S3BucketSource { S3BucketOwner: Text, S3Bucket: Text, S3KeyPrefix: Text }
    TableCreationParameters {
        TableName: Text, AttributeDefinitions: List(&Struct(&AttributeDefinition)),
        KeySchema: List(&Struct(&KeySchemaElement)), BillingMode: Text,
        ProvisionedThroughput: Struct(&ProvisionedThroughput),
        OnDemandThroughput: Struct(&OnDemandThroughput),
        SSESpecification: Struct(&SSESpecification),
        GlobalSecondaryIndexes: List(&Struct(&GlobalSecondaryIndex)),
        VectorIndexes: List(&Struct(&VectorIndex)),
    }
}
