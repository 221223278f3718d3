//! Quick fixes: changes that were applied and checked, the name that was probably meant, and suppressions.

use std::ops::Range;

use keyloom_design::draft::print::quoted;
use keyloom_design::lint::{Finding, rule};
use lsp_types::{
    CodeAction, CodeActionKind, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier,
    Range as Place, TextDocumentEdit, TextEdit, Uri, WorkspaceEdit,
};

use super::checker::{Checked, diagnostic};
use super::document::Document;

/// What can be done about the findings at a place.
pub(super) fn actions(uri: &Uri, checked: &Checked, place: Place) -> Vec<CodeAction> {
    let document = &checked.document;
    let (from, to) = (document.offset(place.start), document.offset(place.end));
    let findings = checked.report.findings.iter().filter(|finding| {
        let span = finding.span;
        span.is_some() && span.start() <= to && from <= span.end()
    });
    let mut actions = Vec::new();
    for finding in findings {
        actions.extend(verified(finding).map(|fix| fix.action(uri, document, finding)));
        actions.extend(meant(document, finding).map(|fix| fix.action(uri, document, finding)));
        actions.extend(allowed(document, finding).map(|fix| fix.action(uri, document, finding)));
    }
    actions
}

/// A change of the text and its name.
struct Fix {
    title: String,
    place: Range<usize>,
    text: String,
    preferred: bool,
}

impl Fix {
    fn action(self, uri: &Uri, document: &Document, finding: &Finding) -> CodeAction {
        let edit = TextEdit::new(document.place(self.place), self.text);
        let (uri, version) = (uri.clone(), Some(document.version));
        let text_document = OptionalVersionedTextDocumentIdentifier { uri, version };
        let edits = vec![TextDocumentEdit { text_document, edits: vec![OneOf::Left(edit)] }];
        CodeAction {
            title: self.title,
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![diagnostic(finding, document)]),
            is_preferred: Some(self.preferred),
            edit: Some(WorkspaceEdit {
                document_changes: Some(DocumentChanges::Edits(edits)),
                ..WorkspaceEdit::default()
            }),
            ..CodeAction::default()
        }
    }
}

/// The change that takes the finding away and brings no other.
fn verified(finding: &Finding) -> Option<Fix> {
    let change = finding.change.as_ref()?;
    let words = finding.fix.lines().next().unwrap_or_default().trim_end_matches([':', ';']);
    Some(Fix {
        title: format!("{}: {words}", finding.rule),
        place: change.span.start()..change.span.end(),
        text: change.text.clone(),
        preferred: true,
    })
}

/// The name in "did you mean": it is near, not proven to be meant.
fn meant(document: &Document, finding: &Finding) -> Option<Fix> {
    let name = finding.fix.strip_prefix("did you mean `")?.strip_suffix("`?")?;
    let mut place = finding.span.start()..finding.span.end();
    let written = document.text().get(place.clone())?;
    if written.len() > 1 && written.starts_with(['"', '\'']) && written.ends_with(['"', '\'']) {
        place = place.start + 1..place.end - 1;
    }
    let title = format!("Change to `{name}`");
    Some(Fix { title, place, text: name.to_owned(), preferred: false })
}

/// A suppression without a reason, which is an error until one is written.
fn allowed(document: &Document, finding: &Finding) -> Option<Fix> {
    // K03 is found before the design is, and I10 by a comparison.
    rule(finding.rule).filter(|rule| rule.id != "K03" && rule.id != "I10")?;
    let end = document.text().len();
    let gap = match document.text() {
        text if text.ends_with("\n\n") || text.is_empty() => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let subject = quoted(&finding.subject);
    let id = finding.rule;
    Some(Fix {
        title: format!("Allow {id} for {subject} (write the reason)"),
        place: end..end,
        text: format!("{gap}[[allow]]\nrule = \"{id}\"\nsubject = {subject}\nreason = \"\"\n"),
        preferred: false,
    })
}
