//! Fixes: edits of the design file that resolve a finding.
//!
//! Rules propose edits ([`propose`]); the edited file is parsed and checked, and only an edit that resolves the finding
//! and causes no other is shown. So every fix that is printed as a design is valid.

mod propose;
pub(crate) mod text;

use std::collections::BTreeMap;

use crate::check::CheckReport;
use crate::cost::Prices;
use crate::diagnostic::Severity;
use crate::lint::{CLOSES, Finding};
use crate::source::Span;

/// An edit of the design file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The text to replace.
    pub span: Span,
    /// The new text.
    pub text: String,
}

impl FileEdit {
    /// The edit that turns one text into another: it replaces everything between their common beginning and end.
    fn between(old: &str, new: &str) -> Option<Self> {
        if old == new {
            return None;
        }
        let mut start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        while !(old.is_char_boundary(start) && new.is_char_boundary(start)) {
            start -= 1;
        }
        let (left, right) = (old.get(start..)?, new.get(start..)?);
        let same = left.bytes().rev().zip(right.bytes().rev()).take_while(|(a, b)| a == b);
        let mut end = same.count();
        while !(left.is_char_boundary(left.len() - end)
            && right.is_char_boundary(right.len() - end))
        {
            end -= 1;
        }
        let text = right.get(..right.len() - end)?.to_owned();
        Some(Self { span: Span::new(start, old.len() - end), text })
    }

    /// Applies the edit; nothing if the text is shorter than the edit's place.
    pub fn apply(&self, text: &str) -> Option<String> {
        let (head, tail) = (text.get(..self.span.start())?, text.get(self.span.end()..)?);
        Some(format!("{head}{}{tail}", self.text))
    }
}

/// How many patterns are planned again to try repairs, at most: a large design is not checked a hundred times.
const MOST_PLANNED: usize = 400;

/// Adds changes to the findings of a report; `check` checks a changed text.
pub(crate) fn repair(
    report: &mut CheckReport,
    prices: &Prices,
    check: &dyn Fn(&str) -> CheckReport,
) {
    let cost = report.plans.len().max(1);
    let mut left = MOST_PLANNED;
    let before = counted(&report.findings);
    let old = report.source.text().to_owned();
    for at in 0..report.findings.len() {
        let Some(finding) = report.findings.get(at) else { break };
        if left < cost {
            return;
        }
        let mut found = None;
        for new in propose::texts(report, finding, prices) {
            let Some(rest) = left.checked_sub(cost) else { return };
            left = rest;
            let after = check(&new.text);
            if is_repaired(finding, &before, &after) {
                let added = text::added(&old, &new.text);
                found = FileEdit::between(&old, &new.text).map(|change| (change, added, new.told));
                break;
            }
        }
        if let (Some((change, added, told)), Some(finding)) = (found, report.findings.get_mut(at)) {
            let advice = told.map(|told| std::mem::replace(&mut finding.fix, told.to_owned()));
            if !added.is_empty() {
                finding.fix = format!("{}:\n{added}", finding.fix);
            }
            // Bounds of a time cost nothing, where the keys that were found may be an index more.
            if let Some(advice) = advice.filter(|advice| advice.contains(CLOSES)) {
                finding.fix = format!("{}\nor {advice}", finding.fix);
            }
            finding.change = Some(change);
        }
    }
}

type Counts = BTreeMap<(&'static str, String), usize>;

/// How often each rule speaks about each subject.
fn counted(findings: &[Finding]) -> Counts {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry((finding.rule, finding.subject.clone())).or_insert(0) += 1;
    }
    counts
}

/// Whether a finding is gone and nothing has come.
fn is_repaired(finding: &Finding, before: &Counts, after: &CheckReport) -> bool {
    let sound = after
        .findings
        .iter()
        .all(|finding| finding.severity != Severity::Error || !finding.rule.starts_with('D'));
    let now = counted(&after.findings);
    let own = (finding.rule, finding.subject.clone());
    let gone = now.get(&own).copied().unwrap_or(0) < before.get(&own).copied().unwrap_or(0);
    sound && gone && now.iter().all(|(key, count)| before.get(key).is_some_and(|had| count <= had))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leads_from_one_text_to_the_other() {
        for (old, new) in
            [("abc", "abXc"), ("aéc", "aèc"), ("a\nb\n", "a\n"), ("", "x"), ("aa", "a")]
        {
            let change = FileEdit::between(old, new).unwrap();
            assert_eq!(change.apply(old).unwrap(), new, "{old:?} {new:?}");
        }
        assert_eq!(FileEdit::between("a", "a"), None);
    }
}
