//! From TOML text to a [`Draft`](crate::draft::Draft): values are read and typed, names are not resolved yet.
//!
//! Every mistake becomes a [`Diagnostic`] and reading goes on, so that one run shows them all.

mod access;
mod bounds;
mod entity;
mod quantity;
pub(crate) mod section;
mod table;
mod write;

use std::cell::RefCell;

use toml::de::DeTable;

pub use self::bounds::MAX_FILE_BYTES;
pub(crate) use self::section::Section;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{AllowDraft, Draft};
use crate::source::{Source, Span};

/// Reads a design file as far as it can be read, and lists what is wrong with it.
pub(crate) fn read(source: &Source) -> (Draft, Vec<Diagnostic>) {
    if let Some(problem) = bounds::check_length(source.text()) {
        return (Draft::default(), vec![problem]);
    }
    let diagnostics = RefCell::new(Vec::new());
    let (document, errors) = DeTable::parse_recoverable(source.text());
    for error in errors {
        let span = error.span().map_or(Span::NONE, |span| Span::new(span.start, span.end));
        let message = error.message().trim().to_owned();
        diagnostics.borrow_mut().push(
            Diagnostic::error(Code::Syntax, span, format!("this is not TOML: {message}")).because(
                "a design file is TOML 1.0; what follows the mistake was read as well as possible",
            ),
        );
    }
    let root = Section::root(document.get_ref(), &diagnostics);
    let draft = read_design(root);
    let mut diagnostics = diagnostics.into_inner();
    let too_much = bounds::check(&draft);
    if too_much.is_empty() {
        return (draft, diagnostics);
    }
    diagnostics.extend(too_much);
    (Draft::default(), diagnostics)
}

fn read_design(mut root: Section) -> Draft {
    let mut draft = Draft::default();
    if let Some(mut head) = root.section("design") {
        draft.name = head.text("name");
        draft.description = head.text("description");
        head.finish();
    }
    draft.tables = root.named_sections("table").into_iter().map(table::read).collect();
    draft.entities = root.named_sections("entity").into_iter().map(entity::read).collect();
    draft.accesses = root.named_sections("access").into_iter().map(access::read).collect();
    draft.writes = root.named_sections("write").into_iter().map(write::read).collect();
    draft.uniques = root.named_sections("unique").into_iter().map(write::read_unique).collect();
    draft.relationships =
        root.named_sections("relationship").into_iter().map(write::read_relationship).collect();
    draft.allows = root.list_of_sections("allow").into_iter().filter_map(read_allow).collect();
    root.finish();
    draft
}

fn read_allow(mut section: Section) -> Option<AllowDraft> {
    let span = section.span();
    let rule = section.required_text("rule");
    let subject = section.text("subject");
    let reason = section.text("reason");
    if reason.as_ref().is_none_or(|reason| reason.value.trim().is_empty()) {
        section.error(
            Diagnostic::error(Code::BadValue, span, "a suppression needs a `reason`")
                .because("the next reader must know why this finding does not matter here")
                .fix(Some("add reason = \"…\"".to_owned())),
        );
    }
    section.finish();
    Some(AllowDraft { span, rule: rule?, subject, reason: reason? })
}
