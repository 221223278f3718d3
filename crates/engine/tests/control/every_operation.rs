//! Every operation of the API model has an answer of its own.

use serde_json::json;

use crate::{Fixture, call};

/// The operations of AWS's API model but those of the data plane.
const OPERATIONS: &[&str] = &[
    "CancelBulkOperation",
    "CreateBackup",
    "CreateGlobalTable",
    "CreateTable",
    "DeleteBackup",
    "DeleteResourcePolicy",
    "DeleteTable",
    "DescribeBackup",
    "DescribeBulkOperation",
    "DescribeContinuousBackups",
    "DescribeContributorInsights",
    "DescribeEndpoints",
    "DescribeExport",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "DescribeImport",
    "DescribeKinesisStreamingDestination",
    "DescribeLimits",
    "DescribeStream",
    "DescribeTable",
    "DescribeTableReplicaAutoScaling",
    "DescribeTimeToLive",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime",
    "GetRecords",
    "GetResourcePolicy",
    "GetShardIterator",
    "ImportTable",
    "ListBackups",
    "ListBulkOperations",
    "ListContributorInsights",
    "ListExports",
    "ListGlobalTables",
    "ListImports",
    "ListStreams",
    "ListTables",
    "ListTagsOfResource",
    "PutResourcePolicy",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "StartBulkPutItems",
    "TagResource",
    "UntagResource",
    "UpdateContinuousBackups",
    "UpdateContributorInsights",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateKinesisStreamingDestination",
    "UpdateTable",
    "UpdateTableReplicaAutoScaling",
    "UpdateTimeToLive",
];

#[test]
fn an_empty_request_is_answered_or_refused_by_the_operation_itself() {
    let f = Fixture::new();
    for operation in OPERATIONS {
        let (status, reply) = call(&f.db, operation, &json!({}));
        let code = reply["__type"].as_str().unwrap_or_default();
        assert!(
            status == 200 || code.ends_with("#ValidationException"),
            "{operation}: {status} {reply}"
        );
    }
}

#[test]
fn a_field_of_the_wrong_type_is_refused_before_anything_else() {
    let f = Fixture::new();
    for operation in OPERATIONS {
        for body in [json!({"TableName": 1}), json!({"ResourceArn": []}), json!({"Limit": "x"})] {
            let (status, reply) = call(&f.db, operation, &body);
            assert!(status == 200 || status == 400, "{operation} {body}: {status} {reply}");
        }
    }
}
