//! `[entity.…]`, its key templates and its fields.

use toml::de::DeValue;

use super::quantity::{bytes, growth, share, time_span};
use super::section::{Section, Value};
use crate::draft::{EntityDraft, FieldDraft, KeyDraft};
use crate::source::Spanned;

pub(crate) fn read(mut section: Section) -> EntityDraft {
    let mut entity = EntityDraft::at(section.name());
    entity.table = section.text("table");
    entity.description = section.text("description");
    entity.count = section.number("count").map(|number| number.value);
    entity.size = bytes(&mut section, "size");
    entity.max_size = bytes(&mut section, "max_size");
    entity.growth = growth(&mut section, "growth");
    entity.size_growth = growth(&mut section, "size_growth");
    entity.lives = time_span(&mut section, "lives");
    entity.identity = section.texts("identity");
    entity.was = section.texts("was");
    if let Some(mut fields) = section.section("fields") {
        entity.fields = fields
            .rest()
            .into_iter()
            .filter_map(|(name, value)| read_field(&fields, name, value))
            .collect();
    }
    // Whatever else stands here is a key attribute; names are checked against the table later.
    let keys = section.rest();
    entity.keys =
        keys.into_iter().filter_map(|(name, value)| read_key(&section, name, value)).collect();
    section.finish();
    entity
}

fn read_key<'a>(
    section: &Section<'a>,
    attribute: Spanned<String>,
    value: Value<'a>,
) -> Option<KeyDraft> {
    if value.is_table() {
        let mut parts = section.value_section(&attribute, value)?;
        let template = parts.required_text("template");
        let when = parts.text("when");
        parts.finish();
        return Some(KeyDraft { attribute, template: template?, when });
    }
    let template = section.text_of(&attribute.value, value)?;
    Some(KeyDraft { attribute, template, when: None })
}

fn read_field<'a>(
    section: &Section<'a>,
    name: Spanned<String>,
    value: Value<'a>,
) -> Option<FieldDraft> {
    if !value.is_table() {
        let kind = section.text_of(&name.value, value)?;
        return Some(FieldDraft::at(name, kind));
    }
    let mut parts = section.value_section(&name, value)?;
    let kind = parts.required_text("type");
    let mut field = FieldDraft::at(name, kind?);
    field.values = match parts.value("values") {
        Some(values) => read_values(&parts, values),
        None => Vec::new(),
    };
    field.was = parts.text("was");
    field.max = parts.integer("max", 1..=409_600);
    field.width = parts.integer("width", 1..=40);
    field.scale = parts.integer("scale", 0..=18);
    field.plain = parts.boolean("plain").unwrap_or(false);
    field.desc = parts.boolean("desc").unwrap_or(false);
    field.optional = parts.boolean("optional").unwrap_or(false);
    field.key_only = parts.boolean("key_only").unwrap_or(false);
    field.immutable = parts.boolean("immutable").unwrap_or(false);
    field.sequential = parts.boolean("sequential").unwrap_or(false);
    field.distinct = parts.number("distinct").map(|number| number.value);
    field.top_share = parts.value("top_share").and_then(|value| share(&parts, "top_share", value));
    field.present = parts.value("present").and_then(|value| share(&parts, "present", value));
    field.shards = parts.integer("shards", 1..=100_000);
    field.shard_by = parts.texts("by");
    field.size = bytes(&mut parts, "size");
    field.since = parts.text("since");
    field.until = parts.text("until");
    field.max_items = parts.integer("max_items", 1..=1_000_000);
    field.item_size = bytes(&mut parts, "item_size");
    parts.finish();
    Some(field)
}

/// The values of an enumeration: texts, or numbers taken as they are written.
fn read_values<'a>(section: &Section<'a>, value: Value<'a>) -> Vec<Spanned<String>> {
    value
        .elements()
        .into_iter()
        .filter_map(|element| match element.toml() {
            DeValue::Integer(number) => {
                Some(Spanned::new(number.as_str().to_owned(), element.span))
            }
            _ => section.text_of("values", element),
        })
        .collect()
}
