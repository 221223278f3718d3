//! ListExports.

use crate::Fields;

/// The input of ListExports.
#[derive(Clone, Copy, Debug)]
pub struct ListExportsInput<'a> {
    /// The table whose exports are wanted; those of all tables without one.
    pub table_arn: Option<&'a str>,
    /// How many to list at most.
    pub limit: usize,
    /// Where the list continues.
    pub next_token: Option<&'a str>,
}

/// One line of the listing.
#[derive(Clone, Debug)]
pub struct ExportSummary {
    /// The export's ARN.
    pub export_arn: String,
    /// What has become of it.
    pub status: &'static str,
    /// Whether it has changes only.
    pub is_incremental: bool,
}

impl<'a> ListExportsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let limit = super::page_size(fields, "MaxResults");
        let (table_arn, next_token) = (fields.string("TableArn"), fields.string("NextToken"));
        Self { table_arn, limit, next_token }
    }
}

impl ExportSummary {
    /// Writes the output of ListExports.
    pub fn encode_page(summaries: &[Self], next_token: Option<&str>) -> Vec<u8> {
        super::page("ExportSummaries", summaries, next_token, |json, export| {
            json.string("ExportArn", &export.export_arn);
            json.string("ExportStatus", export.status);
            let kind = if export.is_incremental { "INCREMENTAL_EXPORT" } else { "FULL_EXPORT" };
            json.string("ExportType", kind);
        })
    }
}
