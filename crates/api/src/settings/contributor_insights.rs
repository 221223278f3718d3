//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights.

use serde::{Deserialize, Serialize};

use crate::parameters::control_table;
use crate::{Fields, JsonWriter};

/// The longest page of ListContributorInsights.
const MAX_PAGE: usize = 100;

/// Which keys are of interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InsightsMode {
    /// The most accessed and the most throttled keys.
    #[default]
    AccessedAndThrottledKeys,
    /// The most throttled keys.
    ThrottledKeys,
}

impl InsightsMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::AccessedAndThrottledKeys => "ACCESSED_AND_THROTTLED_KEYS",
            Self::ThrottledKeys => "THROTTLED_KEYS",
        }
    }
}

/// The input of UpdateContributorInsights.
#[derive(Clone, Copy, Debug)]
pub struct UpdateContributorInsightsInput<'a> {
    /// The table's name or ARN.
    pub table_name: &'a str,
    /// The global index; none for the table itself.
    pub index_name: Option<&'a str>,
    /// The mode to enable; none to disable. Without a mode, ENABLE goes back to the default.
    pub enable: Option<InsightsMode>,
}

impl<'a> UpdateContributorInsightsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let mode = match fields.string("ContributorInsightsMode") {
            Some("THROTTLED_KEYS") => InsightsMode::ThrottledKeys,
            _ => InsightsMode::AccessedAndThrottledKeys,
        };
        let enables = fields.string("ContributorInsightsAction") == Some("ENABLE");
        Self {
            table_name: control_table(fields),
            index_name: fields.string("IndexName"),
            enable: enables.then_some(mode),
        }
    }
}

/// The input of DescribeContributorInsights.
#[derive(Clone, Copy, Debug)]
pub struct DescribeContributorInsightsInput<'a> {
    /// The table's name or ARN.
    pub table_name: &'a str,
    /// The global index; none for the table itself.
    pub index_name: Option<&'a str>,
}

impl<'a> DescribeContributorInsightsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        Self { table_name: control_table(fields), index_name: fields.string("IndexName") }
    }
}

/// The insights of a table or index: what UpdateContributorInsights and DescribeContributorInsights answer, and
/// an entry of a list.
#[derive(Clone, Debug, Default)]
pub struct ContributorInsights<'a> {
    /// The table, as the request names it.
    pub table_name: &'a str,
    /// The global index; none for the table itself.
    pub index_name: Option<&'a str>,
    /// The names of the rules, while it is enabled and its description is wanted.
    pub rules: Option<Vec<String>>,
    /// `ENABLED`, `DISABLED`, or on the way there.
    pub status: &'static str,
    /// When it was last changed, if its description is wanted.
    pub changed_ms: Option<u64>,
    /// The mode, if it was ever enabled.
    pub mode: Option<InsightsMode>,
}

impl ContributorInsights<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        self.write_members(&mut json);
        json.finish()
    }

    fn write_members(&self, json: &mut JsonWriter) {
        json.string("TableName", self.table_name);
        json.optional_string("IndexName", self.index_name);
        if let Some(rules) = &self.rules {
            json.strings("ContributorInsightsRuleList", rules);
        }
        json.string("ContributorInsightsStatus", self.status);
        json.optional_seconds("LastUpdateDateTime", self.changed_ms);
        json.optional_string("ContributorInsightsMode", self.mode.map(InsightsMode::as_str));
    }
}

/// The input of ListContributorInsights.
#[derive(Clone, Copy, Debug)]
pub struct ListContributorInsightsInput<'a> {
    /// The table's name or ARN; all tables without one.
    pub table_name: Option<&'a str>,
    /// How many entries to list at most.
    pub max_results: usize,
    /// Where the list continues.
    pub next_token: Option<&'a str>,
}

impl<'a> ListContributorInsightsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        Self {
            table_name: fields.string("TableName"),
            max_results: fields.count("MaxResults").unwrap_or(MAX_PAGE),
            next_token: fields.string("NextToken"),
        }
    }
}

/// The output of ListContributorInsights.
#[derive(Clone, Debug, Default)]
pub struct ListContributorInsightsOutput<'a> {
    /// The entries of this page.
    pub summaries: Vec<ContributorInsights<'a>>,
    /// Where the next page begins, if there is one.
    pub next_token: Option<String>,
}

impl ListContributorInsightsOutput<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.objects("ContributorInsightsSummaries", &self.summaries, |json, summary| {
            summary.write_members(json);
        });
        json.optional_string("NextToken", self.next_token.as_deref());
        json.finish()
    }
}
