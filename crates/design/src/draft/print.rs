//! A draft as the text of a design file, with comments where there is something to say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{
    AccessDraft, Draft, EntityDraft, FieldDraft, IndexDraft, KeyDraft, ProjectionDraft, Rate,
    RelationshipDraft, TableDraft, UniqueDraft, WriteDraft,
};
use crate::model::{Billing, StreamView, TableClass};
use crate::source::Spanned;

/// Comments, by the path of what they are about: `["entity", "Task", "status"]` is a field or key of the entity.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    lines: BTreeMap<Vec<String>, Vec<String>>,
}

impl Notes {
    /// Adds a comment; an empty path is the head of the file.
    pub fn add(&mut self, path: &[&str], comment: impl Into<String>) {
        let path = path.iter().map(|&part| part.to_owned()).collect();
        let comment = comment.into();
        let lines = self.lines.entry(path).or_default();
        if !lines.contains(&comment) {
            lines.push(comment);
        }
    }

    /// Adds all comments of others.
    pub(crate) fn merge(&mut self, others: Self) {
        for (path, lines) in others.lines {
            self.lines.entry(path).or_default().extend(lines);
        }
    }

    /// The comments as lines of the file.
    fn of(&self, path: &[&str]) -> String {
        let path: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
        let mut text = String::new();
        for line in self.lines.get(&path).into_iter().flatten().flat_map(|line| line.lines()) {
            let clean: String =
                line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let _ = writeln!(text, "# {}", clean.trim_end());
        }
        text
    }
}

/// The whole draft as a design file.
pub fn print(draft: &Draft, notes: &Notes) -> String {
    let mut sections: Vec<String> = Vec::new();
    let head = notes.of(&[]);
    let mut design = Vec::new();
    let named = |name: &str, text: &Option<Spanned<String>>| {
        text.as_ref().map(|text| (name.to_owned(), quoted(&text.value)))
    };
    design.extend(named("name", &draft.name));
    design.extend(named("description", &draft.description));
    if design.is_empty() {
        sections.push(head);
    } else {
        sections.push(format!("{head}[design]\n{}", aligned(&design)));
    }
    sections.extend(draft.tables.iter().map(|table| table_text(table, notes)));
    let several = draft.tables.len() > 1;
    sections.extend(draft.entities.iter().map(|entity| entity_text(entity, several, notes)));
    sections.extend(draft.relationships.iter().map(relationship_text));
    sections.extend(draft.uniques.iter().map(unique_text));
    sections.extend(draft.accesses.iter().map(|access| access_text(access, notes)));
    sections.extend(draft.writes.iter().map(|write| write_text(write, notes)));
    for allow in &draft.allows {
        let mut lines = vec![("rule".to_owned(), quoted(&allow.rule.value))];
        lines.extend(named("subject", &allow.subject));
        lines.push(("reason".to_owned(), quoted(&allow.reason.value)));
        sections.push(format!("[[allow]]\n{}", aligned(&lines)));
    }
    sections.push(notes.of(&["end"]));
    let texts: Vec<&str> =
        sections.iter().map(|text| text.trim_end()).filter(|text| !text.is_empty()).collect();
    format!("{}\n", texts.join("\n\n"))
}

/// A text as TOML writes it, in quotes.
pub fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(written, "\\u{:04X}", u32::from(c));
            }
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

/// A key as TOML writes it, in quotes where it must be.
pub fn bare(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(plain) { name.to_owned() } else { quoted(name) }
}

/// The widest column: longer names push their own signs aside.
const WIDEST: usize = 60;

/// Lines of keys and values, the signs below each other.
pub(crate) fn aligned(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(WIDEST);
    let texts: Vec<String> =
        lines.iter().map(|(name, value)| format!("{name:width$} = {value}")).collect();
    texts.join("\n")
}

/// As [`aligned`], with comments above their lines.
fn commented(lines: &[(String, String, String)]) -> String {
    let width = lines.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).min(WIDEST);
    let line = |(name, value, comment): &(String, String, String)| {
        format!("{comment}{name:width$} = {value}")
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn list(names: &[Spanned<String>]) -> String {
    match names {
        [only] => quoted(&only.value),
        many => {
            let texts: Vec<String> = many.iter().map(|name| quoted(&name.value)).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

fn size(bytes: f64) -> String {
    quoted(&format!("{bytes:.0} B"))
}

fn share(share: f64) -> String {
    quoted(&format!("{}%", (share * 1e4).round() / 100.0))
}

fn number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        let digits = format!("{number:.0}");
        let mut grouped = String::new();
        for (at, digit) in digits.chars().enumerate() {
            let left = digits.len() - at;
            if at > 0 && left.is_multiple_of(3) && digits.len() > 4 {
                grouped.push('_');
            }
            grouped.push(digit);
        }
        return grouped;
    }
    number.to_string()
}

pub(crate) fn table_text(table: &TableDraft, notes: &Notes) -> String {
    let mut lines = vec![("partition_key".to_owned(), list(&table.partition_key))];
    if !table.sort_key.is_empty() {
        lines.push(("sort_key".to_owned(), list(&table.sort_key)));
    }
    let mut setting = |name: &str, value: Option<&str>| {
        lines.extend(value.map(|value| (name.to_owned(), quoted(value))));
    };
    let text = |value: &'_ Option<Spanned<String>>| value.as_ref().map(|text| text.value.clone());
    for (name, value) in [
        ("separator", text(&table.separator)),
        ("escape", text(&table.escape)),
        ("ttl", text(&table.ttl)),
        ("type_attribute", text(&table.type_attribute)),
        ("tenant", text(&table.tenant)),
    ] {
        setting(name, value.as_deref());
    }
    setting("billing", (table.billing == Billing::Provisioned).then_some("provisioned"));
    let rare = table.class == TableClass::InfrequentAccess;
    setting("class", rare.then_some("infrequent-access"));
    setting(
        "stream",
        table.stream.map(|stream| match stream {
            StreamView::KeysOnly => "keys",
            StreamView::NewImage => "new",
            StreamView::OldImage => "old",
            StreamView::NewAndOldImages => "both",
        }),
    );
    let name = bare(&table.name.value);
    let comment = notes.of(&["table", &table.name.value]);
    let mut text = format!("{comment}[table.{name}]\n{}\n", aligned(&lines));
    for index in &table.indexes {
        let comment = notes.of(&["table", &table.name.value, &index.name.value]);
        let _ = write!(text, "\n{comment}{}", index_text(&table.name.value, index));
    }
    text
}

/// The section of an index.
pub(crate) fn index_text(table: &str, index: &IndexDraft) -> String {
    let mut lines = Vec::new();
    if !index.partition_key.is_empty() {
        lines.push(("partition_key".to_owned(), list(&index.partition_key)));
    }
    if !index.sort_key.is_empty() {
        lines.push(("sort_key".to_owned(), list(&index.sort_key)));
    }
    match &index.projection {
        ProjectionDraft::All => {}
        ProjectionDraft::Keys => lines.push(("projection".to_owned(), quoted("keys"))),
        ProjectionDraft::Include(names) => {
            let names: Vec<String> = names.iter().map(|name| quoted(&name.value)).collect();
            lines.push(("projection".to_owned(), format!("[{}]", names.join(", "))));
        }
    }
    if index.local {
        lines.push(("local".to_owned(), "true".to_owned()));
    }
    let (table, name) = (bare(table), bare(&index.name.value));
    format!("[table.{table}.index.{name}]\n{}\n", aligned(&lines))
}

/// The line of a key.
pub(crate) fn key_line(key: &KeyDraft) -> String {
    format!("{} = {}", bare(&key.attribute.value), key_text(key))
}

/// The template of a key, with its condition.
pub(crate) fn key_text(key: &KeyDraft) -> String {
    let template = quoted(&key.template.value);
    match &key.when {
        Some(when) => format!("{{ template = {template}, when = {} }}", quoted(&when.value)),
        None => template,
    }
}

fn entity_text(entity: &EntityDraft, names_table: bool, notes: &Notes) -> String {
    let name = entity.name.value.as_str();
    let mut lines: Vec<(String, String, String)> = Vec::new();
    let mut setting = |key: &str, value: Option<String>| {
        lines.extend(value.map(|value| (key.to_owned(), value, String::new())));
    };
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| quoted(&text.value));
    let listed = |names: &[Spanned<String>]| (!names.is_empty()).then(|| list(names));
    setting("table", text(&entity.table).filter(|_| names_table));
    setting("description", text(&entity.description));
    for key in &entity.keys {
        let comment = notes.of(&["entity", name, &key.attribute.value]);
        lines.push((bare(&key.attribute.value), key_text(key), comment));
    }
    let mut setting = |key: &str, value: Option<String>| {
        lines.extend(value.map(|value| (key.to_owned(), value, String::new())));
    };
    setting("identity", listed(&entity.identity));
    setting("was", listed(&entity.was));
    setting("count", entity.count.map(number));
    setting("size", entity.size.map(size));
    setting("max_size", entity.max_size.map(size));
    let growth = |growth: f64| quoted(&format!("{}%/month", (growth * 1e4).round() / 100.0));
    setting("growth", entity.growth.map(growth));
    let mut written = notes.of(&["entity", name]);
    if !lines.is_empty() || entity.fields.is_empty() {
        let _ = writeln!(written, "[entity.{}]\n{}", bare(name), commented(&lines));
    }
    if !entity.fields.is_empty() {
        let fields: Vec<(String, String, String)> = entity
            .fields
            .iter()
            .map(|field| {
                let comment = notes.of(&["entity", name, &field.name.value]);
                let is_key = entity.keys.iter().any(|key| key.attribute == field.name);
                let comment = if is_key { String::new() } else { comment };
                (bare(&field.name.value), field_text(field), comment)
            })
            .collect();
        let between = if lines.is_empty() { "" } else { "\n" };
        let _ =
            writeln!(written, "{between}[entity.{}.fields]\n{}", bare(name), commented(&fields));
    }
    written.push_str(&notes.of(&["entity", name, "", "end"]));
    written
}

/// A field's type, or the table of its settings.
pub(crate) fn field_text(field: &FieldDraft) -> String {
    let mut parts = vec![("type", quoted(&field.kind.value))];
    let mut add = |name: &'static str, value: Option<String>| {
        parts.extend(value.map(|value| (name, value)));
    };
    let whole = |number: Option<u64>| number.map(|number| number.to_string());
    let flag = |flag: bool| flag.then(|| "true".to_owned());
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| quoted(&text.value));
    let values: Vec<String> = field.values.iter().map(|value| quoted(&value.value)).collect();
    add("values", (!values.is_empty()).then(|| format!("[{}]", values.join(", "))));
    add("max", whole(field.max));
    add("width", whole(field.width));
    add("scale", whole(field.scale));
    add("plain", flag(field.plain));
    add("desc", flag(field.desc));
    add("shards", whole(field.shards));
    add("by", (!field.shard_by.is_empty()).then(|| list(&field.shard_by)));
    add("optional", flag(field.optional && field.present.is_none()));
    add("present", field.present.map(share));
    add("was", text(&field.was));
    add("key_only", flag(field.key_only));
    add("immutable", flag(field.immutable));
    add("sequential", flag(field.sequential));
    add("distinct", field.distinct.map(number));
    add("top_share", field.top_share.map(share));
    add("size", field.size.map(size));
    add("since", text(&field.since));
    add("until", text(&field.until));
    add("max_items", whole(field.max_items));
    add("item_size", field.item_size.map(size));
    match parts.as_slice() {
        [(_, only)] => only.clone(),
        many => {
            let texts: Vec<String> =
                many.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("{{ {} }}", texts.join(", "))
        }
    }
}

fn rate_text(rate: Rate) -> String {
    let per_second = |rate: f64| quoted(&format!("{rate}/s"));
    if (rate.average - rate.peak).abs() < f64::EPSILON {
        per_second(rate.average)
    } else {
        format!("{{ average = {}, peak = {} }}", per_second(rate.average), per_second(rate.peak))
    }
}

fn access_text(access: &AccessDraft, notes: &Notes) -> String {
    let name = access.name.value.as_str();
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| quoted(&text.value));
    let mut lines = vec![("find".to_owned(), list(&access.find))];
    let mut add = |key: &str, value: Option<String>| {
        lines.extend(value.map(|value| (key.to_owned(), value)));
    };
    let flag = |flag: bool| flag.then(|| "true".to_owned());
    add("via", text(&access.via));
    add("where", text(&access.condition));
    add("key", text(&access.key));
    add("filter", text(&access.filter));
    add("order", text(&access.order));
    add("limit", access.limit.map(|limit| limit.to_string()));
    add("index", text(&access.index));
    add("returns", (!access.returns.is_empty()).then(|| list(&access.returns)));
    add("consistent", flag(access.consistent));
    add("rate", access.rate.map(rate_text));
    add("items", access.items.map(number));
    add("all_pages", flag(access.all_pages));
    add("keeps", access.keeps.map(share));
    add("max_requests", access.max_requests.map(|most| most.to_string()));
    add("description", text(&access.description));
    format!("{}[access.{}]\n{}", notes.of(&["access", name]), quoted(name), aligned(&lines))
}

fn write_text(write: &WriteDraft, notes: &Notes) -> String {
    let name = write.name.value.as_str();
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| quoted(&text.value));
    let listed = |names: &[Spanned<String>]| (!names.is_empty()).then(|| list(names));
    let pairs = |pairs: &[(Spanned<String>, Spanned<String>)]| {
        let texts: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{} = {}", bare(&name.value), quoted(&value.value)))
            .collect();
        (!texts.is_empty()).then(|| format!("{{ {} }}", texts.join(", ")))
    };
    let mut lines = vec![("entity".to_owned(), list(&write.entities))];
    let mut add = |key: &str, value: Option<String>| {
        lines.extend(value.map(|value| (key.to_owned(), value)));
    };
    add("kind", Some(quoted(&write.kind.value)));
    add("sets", listed(&write.sets));
    add("given", listed(&write.given));
    add("appends", listed(&write.appends));
    add("items", write.items.map(|items| items.to_string()));
    add("kinds", pairs(&write.kinds));
    add("expression", text(&write.expression));
    add("names", pairs(&write.names));
    add("reads_first", write.reads_first.then(|| "true".to_owned()));
    add("rate", write.rate.map(rate_text));
    add("description", text(&write.description));
    format!("{}[write.{}]\n{}", notes.of(&["write", name]), quoted(name), aligned(&lines))
}

fn unique_text(unique: &UniqueDraft) -> String {
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| quoted(&text.value));
    let mut lines = Vec::new();
    lines.extend(text(&unique.entity).map(|entity| ("entity".to_owned(), entity)));
    lines.push(("fields".to_owned(), list(&unique.fields)));
    lines.extend(text(&unique.by).map(|by| ("by".to_owned(), by)));
    format!("[unique.{}]\n{}", quoted(&unique.name.value), aligned(&lines))
}

fn relationship_text(relationship: &RelationshipDraft) -> String {
    let settings = [
        ("from", &relationship.from),
        ("to", &relationship.to),
        ("kind", &relationship.kind),
        ("through", &relationship.through),
        ("direction", &relationship.direction),
    ];
    let text = |(name, text): (&str, &Option<Spanned<String>>)| {
        text.as_ref().map(|text| (name.to_owned(), quoted(&text.value)))
    };
    let mut lines: Vec<(String, String)> = settings.into_iter().filter_map(text).collect();
    if !relationship.on.is_empty() {
        lines.push(("on".to_owned(), list(&relationship.on)));
    }
    format!("[relationship.{}]\n{}", quoted(&relationship.name.value), aligned(&lines))
}
