//! `[access.…]`.

use super::quantity::{rate, share};
use super::section::Section;
use crate::draft::AccessDraft;

pub(crate) fn read(mut section: Section) -> AccessDraft {
    let mut access = AccessDraft::at(section.name());
    access.find = section.texts("find");
    if access.find.is_empty() {
        section.missing("find");
    }
    access.via = section.text("via");
    access.condition = section.text("where");
    access.key = section.text("key");
    access.filter = section.text("filter");
    access.order = section.text("order");
    access.limit = section.integer("limit", 1..=u64::from(u32::MAX));
    access.index = section.text("index");
    access.returns = section.texts("returns");
    access.consistent = section.boolean("consistent").unwrap_or(false);
    access.rate = rate(&mut section, "rate");
    access.items = section.number("items").map(|number| number.value);
    access.all_pages = section.boolean("all_pages").unwrap_or(false);
    access.keeps = section.value("keeps").and_then(|value| share(&section, "keeps", value));
    access.max_requests = section.integer("max_requests", 1..=1_000_000);
    access.description = section.text("description");
    section.finish();
    access
}
