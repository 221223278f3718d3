//! The stored Contributor Insights settings of a table and its indexes.

use std::collections::BTreeMap;

use keyloom_api::settings::InsightsMode;
use keyloom_core::observation::InsightRules;
use serde::{Deserialize, Serialize};

use super::TableRecord;

const SETTING: &str = "ContributorInsights";

/// The insights of a table and its indexes, by the index's name; the table's own have an empty name.
pub(crate) type InsightSettings = BTreeMap<String, Insight>;

/// The insights of a table, or of one of its indexes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Insight {
    pub(crate) enabled: bool,
    pub(crate) mode: InsightsMode,
    pub(crate) changed_ms: u64,
    /// When the rules were made, or the last ones if it is disabled. Missing in old records, whose rules
    /// were made by the last change.
    #[serde(default)]
    since_ms: Option<u64>,
    /// When those of accessed keys were made, if that was later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accessed_since_ms: Option<u64>,
}

impl Insight {
    /// Enabled in this mode. Rules that there are already are kept, and so are their names. New ones are
    /// younger than all before them: a name is not used again.
    pub(crate) fn enable(before: Option<&Self>, mode: InsightsMode, now_ms: u64) -> Self {
        let new_ms = before.map_or(now_ms, |before| now_ms.max(before.last_since_ms() + 1));
        let kept = before.filter(|before| before.enabled);
        let since_ms = kept.map_or(new_ms, |before| before.since_ms(false));
        let accessed_since_ms = match (kept, mode) {
            // What there was is remembered, so that the next ones are younger.
            (Some(before), InsightsMode::ThrottledKeys) => before.accessed_since_ms,
            (Some(before), _) if before.mode == mode => before.accessed_since_ms,
            (Some(_), InsightsMode::AccessedAndThrottledKeys) => Some(new_ms),
            (None, _) => None,
        };
        let since_ms = Some(since_ms);
        Self { enabled: true, mode, changed_ms: now_ms, since_ms, accessed_since_ms }
    }

    /// Disabled; the mode is only remembered to be shown.
    pub(crate) fn disable(before: Option<&Self>, now_ms: u64) -> Self {
        let mode = before.map_or(InsightsMode::default(), |insight| insight.mode);
        let since_ms = before.map(Self::last_since_ms);
        Self { enabled: false, mode, changed_ms: now_ms, since_ms, accessed_since_ms: None }
    }

    /// When its rules of throttled keys, or those of accessed keys, were made.
    fn since_ms(&self, of_accessed: bool) -> u64 {
        let since_ms = self.since_ms.unwrap_or(self.changed_ms);
        if of_accessed { self.accessed_since_ms.unwrap_or(since_ms) } else { since_ms }
    }

    /// When the youngest of its rules was made.
    fn last_since_ms(&self) -> u64 {
        self.since_ms(false).max(self.since_ms(true))
    }

    /// The rules that there are; none if it is disabled.
    pub(crate) fn rules(&self) -> Option<InsightRules> {
        let has_accessed = self.mode == InsightsMode::AccessedAndThrottledKeys;
        self.enabled.then(|| InsightRules {
            throttled_since_ms: self.since_ms(false),
            accessed_since_ms: has_accessed.then(|| self.since_ms(true)),
        })
    }
}

impl TableRecord {
    /// The insights of the table and of its global indexes. A local index is a part of its table.
    pub(crate) fn insights(&self) -> InsightSettings {
        let kept = self.settings.get(SETTING).cloned();
        let kept = kept.and_then(|kept| serde_json::from_value(kept).ok());
        let mut insights: InsightSettings = kept.unwrap_or_default();
        insights.retain(|name, _| name.is_empty() || self.has_insights(name));
        insights
    }

    /// Whether there is a global index of this name, which has its own insights.
    pub(crate) fn has_insights(&self, index: &str) -> bool {
        self.indexes.iter().any(|known| known.global && known.name == index)
    }

    pub(crate) fn set_insights(&mut self, insights: &InsightSettings) {
        self.settings.insert(SETTING.into(), serde_json::json!(insights));
    }

    /// Removes the insights of dropped indexes, so that a new index of that name starts without them.
    pub(crate) fn drop_stale_insights(&mut self) {
        if self.settings.contains_key(SETTING) {
            self.set_insights(&self.insights());
        }
    }
}
