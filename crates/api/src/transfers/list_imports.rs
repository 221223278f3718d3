//! ListImports.

use serde_json::Value;

use super::echo;
use crate::Fields;

/// The input of ListImports.
#[derive(Clone, Copy, Debug)]
pub struct ListImportsInput<'a> {
    /// The table whose imports are wanted; those of all tables without one.
    pub table_arn: Option<&'a str>,
    /// How many to list at most.
    pub limit: usize,
    /// Where the list continues.
    pub next_token: Option<&'a str>,
}

/// One line of the listing.
#[derive(Clone, Debug)]
pub struct ImportSummary {
    /// The import's ARN.
    pub import_arn: String,
    /// What has become of it.
    pub status: &'static str,
    /// The table that it fills.
    pub table_arn: String,
    /// The request, whose members are shown again.
    pub request: Value,
    /// Where rows that failed are logged.
    pub log_group_arn: String,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended.
    pub ended_ms: Option<u64>,
}

impl<'a> ListImportsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let limit = super::page_size(fields, "PageSize");
        let (table_arn, next_token) = (fields.string("TableArn"), fields.string("NextToken"));
        Self { table_arn, limit, next_token }
    }
}

impl ImportSummary {
    /// Writes the output of ListImports.
    pub fn encode_page(summaries: &[Self], next_token: Option<&str>) -> Vec<u8> {
        super::page("ImportSummaryList", summaries, next_token, |json, import| {
            json.string("ImportArn", &import.import_arn);
            json.string("ImportStatus", import.status);
            json.string("TableArn", &import.table_arn);
            echo(json, &import.request, &["S3BucketSource", "InputFormat"]);
            json.string("CloudWatchLogGroupArn", &import.log_group_arn);
            json.seconds("StartTime", import.started_ms);
            json.optional_seconds("EndTime", import.ended_ms);
        })
    }
}
