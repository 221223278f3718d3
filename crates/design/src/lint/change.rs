//! I10: what a new design asks of indexes that exist already.

use super::{Context, Findings};
use super::{Finding, index_subject, rule};
use crate::model::{Design, Index};

/// One design alone changes nothing; see [`index_changes`].
pub(super) fn none_here(_context: &Context, _findings: &mut Findings) {}

/// Findings about indexes whose keys or projection differ between the deployed design and a new one.
///
/// An index cannot be changed in place: it is deleted and created, one at a time, and its patterns have
/// no index in between.
pub fn index_changes(deployed: &Design, wanted: &Design) -> Vec<Finding> {
    let Some(rule) = rule("I10") else { return Vec::new() };
    let mut findings = Vec::new();
    for table in wanted.tables() {
        let Some(old_table) = deployed.tables().iter().find(|old| old.name == table.name) else {
            continue;
        };
        for index in table.secondary() {
            let Some(old) = index.name.as_deref().and_then(|name| old_table.index(name)) else {
                continue;
            };
            let Some(change) = difference(old, index) else { continue };
            findings.push(Finding {
                rule: rule.id,
                severity: rule.severity,
                span: index.span,
                subject: index_subject(table, index),
                message: format!("the {change} of {} cannot be changed in place", index.label()),
                evidence: "keys and projection of an index are fixed when it is created; one index is created or deleted per UpdateTable".to_owned(),
                fix: format!(
                    "create the new one under another name, move the patterns over, then delete {}",
                    index.label()
                ),
                change: None,
            });
        }
    }
    findings
}

fn difference(old: &Index, new: &Index) -> Option<&'static str> {
    let names = |index: &Index| {
        let hash: Vec<String> =
            index.hash.iter().map(|a| format!("{}:{}", a.name, a.kind.as_str())).collect();
        let range: Vec<String> =
            index.range.iter().map(|a| format!("{}:{}", a.name, a.kind.as_str())).collect();
        (hash, range, index.kind)
    };
    if names(old) != names(new) {
        Some("key")
    } else if old.projection != new.projection {
        Some("projection")
    } else {
        None
    }
}
