//! The proof of what was found: the file is checked, and every item of the sample is read back with it.

use std::sync::Arc;

use super::{Exception, Inferred, Observed, free};
use crate::check::{CheckReport, check_quickly};
use crate::cost::Prices;
use crate::diagnostic::{Diagnostic, Severity};
use crate::draft::print::{Notes, print};
use crate::draft::{AllowDraft, Draft};
use crate::evaluate::{entity_of, item_label, stranger, typed};
use crate::model::Design;
use crate::plan::Verdict;
use crate::source::Span;

/// How many exceptions are listed.
const LISTED: usize = 20;

/// Writes the file, changes what does not hold, and reads the sample back.
pub(super) fn settle(
    mut draft: Draft,
    mut notes: Notes,
    tables: &[Observed],
    mut unused_requests: Vec<String>,
) -> Inferred {
    let mut report = None;
    for _ in 0..draft.entities.len() + draft.accesses.len() + draft.writes.len() + 3 {
        let text = print(&draft, &notes);
        let (design, problems) = Design::read("inferred.toml", &text);
        let wrong: Vec<&Diagnostic> =
            problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
        if !wrong.is_empty() {
            if mend(&mut draft, &mut notes, &wrong, &mut unused_requests) {
                continue;
            }
            break;
        }
        let checked = check_quickly(design, &Prices::default());
        if drop_patterns(&mut draft, &checked, &mut unused_requests) {
            continue;
        }
        let is_new = allow_errors(&mut draft, &checked);
        report = Some(checked);
        if !is_new {
            break;
        }
    }
    let (exceptions, exception_count, verified) = match report.and_then(|report| report.design) {
        Some(design) => read_back(&design, tables),
        None => (Vec::new(), 0, 0),
    };
    if exception_count > 0 {
        notes.add(
            &[],
            format!("{exception_count} items of the sample are not read back by this design:"),
        );
        for exception in &exceptions {
            notes.add(&[], format!("  {}: {}", exception.key, exception.reason));
        }
    }
    if !unused_requests.is_empty() {
        notes.add(&["end"], "Recorded requests that no pattern was made of:");
        for request in unused_requests.iter().take(LISTED) {
            notes.add(&["end"], format!("  {request}"));
        }
    }
    Inferred { text: print(&draft, &notes), exceptions, exception_count, verified, unused_requests }
}

/// Takes keys as they are where a template cannot be stated; whether anything was changed.
pub(crate) fn mend(
    draft: &mut Draft,
    notes: &mut Notes,
    wrong: &[&Diagnostic],
    unused: &mut Vec<String>,
) -> bool {
    let mut changed = false;
    for problem in wrong {
        let subject = problem.subject.as_str();
        let before = (draft.accesses.len(), draft.writes.len());
        draft.accesses.retain(|access| access.name.value != subject);
        draft.writes.retain(|write| write.name.value != subject);
        if before != (draft.accesses.len(), draft.writes.len()) {
            unused.push(format!("{subject}: {}", problem.message));
            changed = true;
            continue;
        }
        let Some(entity) = draft.entities.iter_mut().find(|entity| entity.name.value == subject)
        else {
            continue;
        };
        if entity.keys.is_empty() {
            continue;
        }
        notes
            .add(&["entity", subject], format!("Keys are taken as they are: {}.", problem.message));
        for key in std::mem::take(&mut entity.keys) {
            let name = key.attribute.value;
            if !entity.fields.iter().any(|field| field.name.value == name) {
                entity.fields.push(crate::draft::FieldDraft::new(&name, "string"));
            }
        }
        entity.fields.retain(|field| !field.key_only && field.shards.is_none());
        changed = true;
    }
    changed
}

/// Takes out patterns that this design cannot answer as they were recorded; whether there were any.
fn drop_patterns(draft: &mut Draft, report: &CheckReport, unused: &mut Vec<String>) -> bool {
    let refused: Vec<&str> = report
        .plans
        .iter()
        .filter(|plan| plan.verdict == Verdict::Refused)
        .map(|plan| plan.name.as_str())
        .collect();
    let before = draft.accesses.len();
    draft.accesses.retain(|access| !refused.contains(&access.name.value.as_str()));
    unused.extend(refused.iter().map(|name| format!("{name}: no key of the design serves it")));
    draft.accesses.len() != before
}

/// Accepts errors in what is stored: it is so, and `check` says what it means. Whether there were new ones.
fn allow_errors(draft: &mut Draft, report: &CheckReport) -> bool {
    let mut is_new = false;
    for finding in report.findings.iter().filter(|finding| finding.severity == Severity::Error) {
        let known = |allow: &AllowDraft| {
            allow.rule.value == finding.rule
                && allow.subject.as_ref().is_some_and(|subject| subject.value == finding.subject)
        };
        if draft.allows.iter().any(known) {
            continue;
        }
        is_new = true;
        draft.allows.push(AllowDraft {
            span: Span::NONE,
            rule: free(finding.rule),
            subject: (!finding.subject.is_empty()).then(|| free(&finding.subject)),
            reason: free(&format!("found so in the data: {}", finding.message)),
        });
    }
    is_new
}

/// Reads every item of the sample with the design.
fn read_back(design: &Design, tables: &[Observed]) -> (Vec<Exception>, u64, u64) {
    let (mut exceptions, mut count, mut verified) = (Vec::new(), 0, 0);
    for observed in tables {
        let name = observed.table.name.value.as_str();
        let Some(table) = design.tables().iter().find(|table| table.name == name) else { continue };
        for kept in &observed.sample.items {
            let outcome = match entity_of(design, name, &kept.item) {
                None => Err(stranger(table, &kept.item)),
                Some(entity) => {
                    let made = typed(&Arc::clone(entity), kept.item.clone());
                    made.and_then(|made| {
                        let otherwise =
                            || format!("read as {}, it would be written otherwise", entity.name);
                        if made == kept.item { Ok(()) } else { Err(otherwise()) }
                    })
                }
            };
            match outcome {
                Ok(()) => verified += 1,
                Err(reason) => {
                    count += 1;
                    if exceptions.len() < LISTED {
                        let key = item_label(table, &kept.item);
                        exceptions.push(Exception { table: name.to_owned(), key, reason });
                    }
                }
            }
        }
    }
    (exceptions, count, verified)
}
