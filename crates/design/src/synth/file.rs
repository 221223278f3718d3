//! The design file with other keys: what the author wrote stays as it is, line by line.

use crate::check::check_text;
use crate::cost::Prices;
use crate::draft::{
    Draft, EntityDraft, FieldDraft, IndexDraft, KeyDraft, ProjectionDraft, TableDraft,
};
use crate::model::{Billing, StreamView, TableClass};
use crate::source::{Source, Span, Spanned};

use super::open::Open;

/// The file with the tables, keys and fields of a draft.
pub(super) fn write(source: &Source, open: &Open, draft: &Draft) -> String {
    let gone = removed_lines(source);
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in source.text().lines().enumerate() {
        if line.trim_start().starts_with('[') || sections.is_empty() {
            sections.push(Section { header: header(line), lines: Vec::new() });
        }
        if let Some(last) = sections.last_mut().filter(|_| !gone.contains(&number)) {
            last.lines.push(line.to_owned());
        }
    }
    sections.retain(|section| !matches!(section.header.first().map(String::as_str), Some("table")));
    for (entity, declared) in draft.entities.iter().zip(&open.declared) {
        add_entity(&mut sections, entity, declared, open, draft.tables.len() > 1);
    }
    let tables: Vec<String> = draft.tables.iter().map(table_text).collect();
    let at = sections
        .iter()
        .position(|section| section.header.first().is_some_and(|first| first == "design"))
        .map_or_else(
            || usize::from(sections.first().is_some_and(|it| it.header.is_empty())),
            |at| at + 1,
        );
    let new = Section { header: vec!["table".to_owned()], lines: vec![tables.join("\n")] };
    sections.insert(at.min(sections.len()), new);
    let texts: Vec<String> = sections
        .iter()
        .map(|section| section.lines.join("\n").trim_end().to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    format!("{}\n", texts.join("\n\n"))
}

struct Section {
    /// The names of its header; none for what stands before the first.
    header: Vec<String>,
    lines: Vec<String>,
}

/// `[entity.Task.fields]` as its names.
fn header(line: &str) -> Vec<String> {
    let text = line.trim();
    let Some(inner) = text.strip_prefix('[') else { return Vec::new() };
    let (mut names, mut name, mut quote) = (Vec::new(), String::new(), None);
    for c in inner.trim_start_matches('[').chars() {
        match (quote, c) {
            (None, ']') => break,
            (None, '.') => names.push(std::mem::take(&mut name)),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, c) if c.is_whitespace() => {}
            (_, c) => name.push(c),
        }
    }
    names.push(name);
    names
}

/// The lines with keys, tables of entities and hand-written requests.
fn removed_lines(source: &Source) -> Vec<usize> {
    let (written, _) = crate::syntax::read(source);
    let mut gone = Vec::new();
    let mut remove = |from: Span, to: Span| {
        let line = |span: Span| source.position(span).map(|position| position.line - 1);
        let last = line(Span::new(to.end().saturating_sub(1), to.end()));
        if let (Some(first), Some(last)) = (line(from), last) {
            gone.extend(first..=last);
        }
    };
    for entity in &written.entities {
        for key in &entity.keys {
            let last = key.when.as_ref().map_or(key.template.span, |when| when.span);
            let end = key.template.span.end().max(last.end());
            remove(key.attribute.span, Span::new(key.template.span.start(), end));
        }
        if let Some(table) = &entity.table {
            remove(table.span, table.span);
        }
    }
    for access in &written.accesses {
        for text in [&access.key, &access.filter, &access.index].into_iter().flatten() {
            remove(text.span, text.span);
        }
    }
    gone
}

fn add_entity(
    sections: &mut Vec<Section>,
    entity: &EntityDraft,
    declared: &[FieldDraft],
    open: &Open,
    names_table: bool,
) {
    let name = entity.name.value.as_str();
    let is = |section: &Section, path: &[&str]| {
        section.header.iter().map(String::as_str).eq(path.iter().copied())
    };
    let mut lines: Vec<(String, String)> = Vec::new();
    if let Some(table) = entity.table.as_ref().filter(|_| names_table) {
        lines.push(("table".to_owned(), quoted(&table.value)));
    }
    lines.extend(entity.keys.iter().map(|key| (bare(&key.attribute.value), key_value(key))));
    let block = aligned(&lines);
    let fields = sections.iter().position(|section| is(section, &["entity", name, "fields"]));
    match sections.iter().position(|section| is(section, &["entity", name])) {
        Some(at) => {
            if let Some(section) = sections.get_mut(at) {
                let after = usize::from(!section.lines.is_empty());
                section.lines.insert(after, block);
            }
        }
        None => sections.insert(
            fields.unwrap_or(sections.len()),
            Section {
                header: vec!["entity".to_owned(), name.to_owned()],
                lines: vec![format!("[entity.{}]", bare(name)), block],
            },
        ),
    }
    let known = open.draft.entities.iter().find(|it| it.name.value == name);
    let before = known.map_or(0, |known| known.fields.len());
    let new: Vec<(String, String)> = declared
        .iter()
        .chain(entity.fields.iter().skip(before))
        .map(|field| (bare(&field.name.value), field_text(field)))
        .collect();
    if new.is_empty() {
        return;
    }
    let own = |section: &Section| is(section, &["entity", name, "fields"]);
    if let Some(section) = sections.iter_mut().find(|section| own(section)) {
        while section.lines.last().is_some_and(|line| line.trim().is_empty()) {
            section.lines.pop();
        }
        section.lines.push(aligned(&new));
    } else {
        let at = sections.iter().position(|section| is(section, &["entity", name]));
        let lines = vec![format!("[entity.{}.fields]", bare(name)), aligned(&new)];
        let header = ["entity", name, "fields"].map(str::to_owned).to_vec();
        sections.insert(at.map_or(sections.len(), |at| at + 1), Section { header, lines });
    }
}

/// What stands after the sign of a key.
fn key_value(key: &KeyDraft) -> String {
    let template = quoted(&key.template.value);
    match &key.when {
        Some(when) => format!("{{ template = {template}, when = {} }}", quoted(&when.value)),
        None => template,
    }
}

/// The line of a key.
pub(super) fn key_line(key: &KeyDraft) -> String {
    format!("{} = {}", bare(&key.attribute.value), key_value(key))
}

fn field_text(field: &FieldDraft) -> String {
    let kind = quoted(&field.kind.value);
    match field.shards {
        Some(shards) => {
            format!("{{ type = {kind}, shards = {shards}, by = {} }}", list(&field.shard_by))
        }
        None => kind,
    }
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

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A key of TOML, quoted where it must be.
fn bare(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(plain) { name.to_owned() } else { quoted(name) }
}

/// Lines of keys and values, the signs below each other.
fn aligned(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let texts: Vec<String> =
        lines.iter().map(|(name, value)| format!("{name:width$} = {value}")).collect();
    texts.join("\n")
}

fn table_text(table: &TableDraft) -> String {
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
    let mut text = format!("[table.{name}]\n{}\n", aligned(&lines));
    for index in &table.indexes {
        text.push_str(&index_text(&table.name.value, index));
    }
    text
}

/// The section of an index, after an empty line.
pub(super) fn index_text(table: &str, index: &IndexDraft) -> String {
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
    format!("\n[table.{table}.index.{name}]\n{}\n", aligned(&lines))
}

/// The text without suppressions of findings that the new keys do not have.
pub(super) fn without_idle_allows(file_name: &str, mut text: String, prices: &Prices) -> String {
    for _ in 0..100 {
        let report = check_text(file_name, &text, prices);
        let idle = report.findings.iter().find(|finding| finding.rule == "D07");
        let without = idle.and_then(|finding| finding.change.as_ref()?.apply(&text));
        match without {
            Some(without) => text = without,
            None => break,
        }
    }
    text
}
