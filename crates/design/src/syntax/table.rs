//! `[table.…]` and `[table.….index.…]`.

use super::section::{Section, Value};
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{IndexDraft, ProjectionDraft, TableDraft};
use crate::model::{Billing, StreamView, TableClass};
use crate::suggest::did_you_mean;

pub(crate) fn read(mut section: Section) -> TableDraft {
    let mut table = TableDraft::at(section.name());
    table.partition_key = section.texts("partition_key");
    table.sort_key = section.texts("sort_key");
    if table.partition_key.is_empty() {
        section.missing("partition_key");
    }
    table.ttl = section.text("ttl");
    table.type_attribute = section.text("type_attribute");
    table.tenant = section.text("tenant");
    table.separator = section.text("separator");
    table.escape = section.text("escape");
    table.billing = choice(
        &mut section,
        "billing",
        &[("on-demand", Billing::OnDemand), ("provisioned", Billing::Provisioned)],
    )
    .unwrap_or(Billing::OnDemand);
    table.class = choice(
        &mut section,
        "class",
        &[("standard", TableClass::Standard), ("infrequent-access", TableClass::InfrequentAccess)],
    )
    .unwrap_or(TableClass::Standard);
    table.stream = choice(
        &mut section,
        "stream",
        &[
            ("keys", StreamView::KeysOnly),
            ("new", StreamView::NewImage),
            ("old", StreamView::OldImage),
            ("both", StreamView::NewAndOldImages),
        ],
    );
    table.indexes = section.named_sections("index").into_iter().map(read_index).collect();
    section.finish();
    table
}

fn read_index(mut section: Section) -> IndexDraft {
    let index = IndexDraft {
        name: section.name(),
        partition_key: section.texts("partition_key"),
        sort_key: section.texts("sort_key"),
        local: section.boolean("local").unwrap_or(false),
        projection: section
            .value("projection")
            .map(|value| read_projection(&section, value))
            .unwrap_or_default(),
    };
    if index.partition_key.is_empty() && !index.local {
        section.missing("partition_key");
    }
    section.finish();
    index
}

fn read_projection<'a>(section: &Section<'a>, value: Value<'a>) -> ProjectionDraft {
    if value.is_list() {
        return ProjectionDraft::Include(section.texts_of("projection", value));
    }
    let Some(text) = section.text_of("projection", value) else { return ProjectionDraft::All };
    match text.value.as_str() {
        "all" => ProjectionDraft::All,
        "keys" => ProjectionDraft::Keys,
        other => {
            section.error(
                Diagnostic::error(
                    Code::BadValue,
                    text.span,
                    format!("`{other}` is not a projection"),
                )
                .fix(Some("use \"all\", \"keys\" or a list of attributes".to_owned())),
            );
            ProjectionDraft::All
        }
    }
}

/// One of a few words.
fn choice<T: Copy>(
    section: &mut Section,
    key: &'static str,
    choices: &[(&'static str, T)],
) -> Option<T> {
    let text = section.text(key)?;
    let found = choices.iter().find(|(name, _)| *name == text.value).map(|&(_, value)| value);
    if found.is_none() {
        let known = choices.iter().map(|&(name, _)| name);
        let message = format!("`{}` is not a {key}", text.value);
        section.error(
            Diagnostic::error(Code::BadValue, text.span, message)
                .fix(did_you_mean(&text.value, known)),
        );
    }
    found
}
