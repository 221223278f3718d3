//! The input shapes of exports, imports and bulk operations.

use super::Limit::Count;
use super::Shape::{Limited, List, Map, Struct, Text, Timestamp, Value};
use super::limits::{
    AttributeName, BillingMode, BulkOperationArn, BulkOperationInputFormat,
    BulkOperationMaxWriteRequestUnits, BulkOperationNextToken, BulkOperationPerformanceTier,
    ClientToken, CsvDelimiter, CsvHeader, ExportArn, ExportFormat, ExportType, ExportViewType,
    ImportArn, ImportNextToken, InputCompressionType, InputFormat, ListBulkOperationsMaxLimit,
    ListExportsMaxLimit, ListImportsMaxLimit, OutputTypeEnum, S3Bucket, S3BucketOwner, S3Prefix,
    S3SseAlgorithm, S3SseKmsKeyId, TableArn, TableName,
};
use super::parts::{
    AttributeDefinition, GlobalSecondaryIndex, KeySchemaElement, OnDemandThroughput,
    ProvisionedThroughput, SSESpecification, VectorIndex,
};
use super::structures;

structures! {
    CancelBulkOperation(BulkOperationArn) { BulkOperationArn: BulkOperationArn }
    DescribeBulkOperation(BulkOperationArn) { BulkOperationArn: BulkOperationArn }
    DescribeExport(ExportArn) { ExportArn: ExportArn }
    DescribeImport(ImportArn) { ImportArn: ImportArn }
    ExportTableToPointInTime(TableArn, S3Bucket) {
        TableArn: TableArn, ExportTime: Timestamp, ClientToken: ClientToken, S3Bucket: S3Bucket,
        S3BucketOwner: S3BucketOwner, S3Prefix: S3Prefix, S3SseAlgorithm: S3SseAlgorithm,
        S3SseKmsKeyId: S3SseKmsKeyId, ExportFormat: ExportFormat, ExportType: ExportType,
        IncrementalExportSpecification: Struct(&IncrementalExportSpecification),
        FilterSpecification: Struct(&FilterSpecification),
    }
    ImportTable(S3BucketSource, InputFormat, TableCreationParameters) {
        ClientToken: ClientToken, S3BucketSource: Struct(&S3BucketSource), InputFormat: InputFormat,
        InputFormatOptions: Struct(&InputFormatOptions), InputCompressionType: InputCompressionType,
        TableCreationParameters: Struct(&TableCreationParameters),
    }
    ListBulkOperations { MaxResults: ListBulkOperationsMaxLimit, NextToken: BulkOperationNextToken }
    ListExports { TableArn: TableArn, MaxResults: ListExportsMaxLimit, NextToken: Text }
    ListImports { TableArn: TableArn, PageSize: ListImportsMaxLimit, NextToken: ImportNextToken }
    StartBulkPutItems(InputS3Configuration, OutputS3Configuration, TableName) {
        ClientToken: ClientToken, InputS3Configuration: Struct(&InputS3Configuration),
        OutputS3Configuration: Struct(&OutputS3Configuration), TableName: TableArn,
        MaxWriteRequestUnits: BulkOperationMaxWriteRequestUnits,
        PerformanceTier: BulkOperationPerformanceTier,
    }
    CsvOptions { Delimiter: CsvDelimiter, HeaderList: Limited(&List(&CsvHeader), Count(1, 255)) }
    FilterSpecification {
        FilterExpression: Text, ProjectionExpression: Text, KeyConditionExpression: Text,
        ExpressionAttributeNames: Map(&AttributeName), ExpressionAttributeValues: Map(&Value),
    }
    IncrementalExportSpecification {
        ExportFromTime: Timestamp, ExportToTime: Timestamp, ExportViewType: ExportViewType,
    }
    InputFormatOptions { Csv: Struct(&CsvOptions) }
    InputS3Configuration(S3Bucket, InputFormat) {
        S3BucketOwner: S3BucketOwner, S3Bucket: S3Bucket, S3KeyPrefix: S3Prefix,
        InputFormat: BulkOperationInputFormat, InputCompressionType: InputCompressionType,
    }
    OutputS3Configuration(OutputType) {
        S3BucketOwner: S3BucketOwner, S3Bucket: S3Bucket, S3KeyPrefix: S3Prefix,
        S3SseAlgorithm: S3SseAlgorithm, S3SseKmsKeyId: S3SseKmsKeyId,
        OutputType: List(&OutputTypeEnum),
    }
    S3BucketSource(S3Bucket) {
        S3BucketOwner: S3BucketOwner, S3Bucket: S3Bucket, S3KeyPrefix: S3Prefix,
    }
    TableCreationParameters(TableName, AttributeDefinitions, KeySchema) {
        TableName: TableName, AttributeDefinitions: List(&Struct(&AttributeDefinition)),
        KeySchema: Limited(&List(&Struct(&KeySchemaElement)), Count(1, 2)),
        BillingMode: BillingMode, ProvisionedThroughput: Struct(&ProvisionedThroughput),
        OnDemandThroughput: Struct(&OnDemandThroughput),
        SSESpecification: Struct(&SSESpecification),
        GlobalSecondaryIndexes: List(&Struct(&GlobalSecondaryIndex)),
        VectorIndexes: List(&Struct(&VectorIndex)),
    }
}
