//! Contributor Insights of a table and its indexes, as they are stored.

use std::collections::BTreeMap;

use keyloom_core::observation::Insights;
use serde::{Deserialize, Serialize};

use super::TableRecord;

const SETTING: &str = "ContributorInsights";

/// The insights of a table and its indexes, by the index's name; the table's own have an empty name.
pub(crate) type InsightSettings = BTreeMap<String, Insight>;

/// The insights of a table, or of one of its indexes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Insight {
    pub(crate) enabled: bool,
    pub(crate) mode: InsightMode,
    pub(crate) changed_ms: u64,
    /// When the rules were made. Missing in old records, whose rules were made by the last change.
    #[serde(default)]
    since_ms: Option<u64>,
}

/// Which keys are of interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum InsightMode {
    #[default]
    AccessedAndThrottledKeys,
    ThrottledKeys,
}

impl InsightMode {
    pub(crate) const ALL: [(&'static str, Self); 2] = [
        (Self::AccessedAndThrottledKeys.as_str(), Self::AccessedAndThrottledKeys),
        (Self::ThrottledKeys.as_str(), Self::ThrottledKeys),
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::AccessedAndThrottledKeys => "ACCESSED_AND_THROTTLED_KEYS",
            Self::ThrottledKeys => "THROTTLED_KEYS",
        }
    }
}

impl Insight {
    /// Enabled in this mode. The rules of one that is enabled already are kept, and so are their names.
    pub(crate) fn enable(before: Option<&Self>, mode: InsightMode, now_ms: u64) -> Self {
        let since_ms = before.filter(|insight| insight.enabled).map_or(now_ms, Self::since_ms);
        Self { enabled: true, mode, changed_ms: now_ms, since_ms: Some(since_ms) }
    }

    /// Disabled; the mode is only remembered to be shown.
    pub(crate) fn disable(before: Option<&Self>, now_ms: u64) -> Self {
        let mode = before.map_or(InsightMode::default(), |insight| insight.mode);
        Self { enabled: false, mode, changed_ms: now_ms, since_ms: None }
    }

    /// When its rules were made.
    pub(crate) fn since_ms(&self) -> u64 {
        self.since_ms.unwrap_or(self.changed_ms)
    }

    /// What observers are to count.
    pub(crate) fn wanted(&self) -> Insights {
        match self.mode {
            _ if !self.enabled => Insights::Off,
            InsightMode::AccessedAndThrottledKeys => Insights::AccessedAndThrottledKeys,
            InsightMode::ThrottledKeys => Insights::ThrottledKeys,
        }
    }
}

impl TableRecord {
    /// The insights of the table and of its indexes.
    pub(crate) fn insights(&self) -> InsightSettings {
        let kept = self.settings.get(SETTING).cloned();
        kept.and_then(|kept| serde_json::from_value(kept).ok()).unwrap_or_default()
    }

    pub(crate) fn set_insights(&mut self, insights: &InsightSettings) {
        self.settings.insert(SETTING.into(), serde_json::json!(insights));
    }

    /// Forgets the insights of indexes that are gone: another one of that name begins without.
    pub(crate) fn drop_stale_insights(&mut self) {
        if !self.settings.contains_key(SETTING) {
            return;
        }
        let mut insights = self.insights();
        insights.retain(|name, _| {
            name.is_empty() || self.indexes.iter().any(|index| index.name == *name)
        });
        self.set_insights(&insights);
    }
}
