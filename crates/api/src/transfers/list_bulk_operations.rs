//! ListBulkOperations.

use crate::Fields;

/// The input of ListBulkOperations.
#[derive(Clone, Copy, Debug)]
pub struct ListBulkOperationsInput<'a> {
    /// How many to list at most.
    pub limit: usize,
    /// Where the list continues.
    pub next_token: Option<&'a str>,
}

/// One line of the listing.
#[derive(Clone, Debug)]
pub struct BulkOperationSummary {
    /// The bulk operation's ARN.
    pub bulk_operation_arn: String,
    /// What has become of it.
    pub status: &'static str,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended.
    pub ended_ms: Option<u64>,
}

impl<'a> ListBulkOperationsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let limit = super::page_size(fields, "MaxResults");
        Self { limit, next_token: fields.string("NextToken") }
    }
}

impl BulkOperationSummary {
    /// Writes the output of ListBulkOperations.
    pub fn encode_page(summaries: &[Self], next_token: Option<&str>) -> Vec<u8> {
        super::page("BulkOperationsSummaryList", summaries, next_token, |json, operation| {
            json.string("BulkOperationArn", &operation.bulk_operation_arn);
            json.string("BulkOperationStatus", operation.status);
            json.seconds("StartTime", operation.started_ms);
            json.optional_seconds("EndTime", operation.ended_ms);
        })
    }
}
