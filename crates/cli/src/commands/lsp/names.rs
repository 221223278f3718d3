//! The names that a file declares, as far as its outline shows them.

use super::outline::{Entry, Outline, Section, Word};
use super::vocabulary::{self, ENTITY};

/// A field, with its type as it is written.
pub(super) struct FieldName {
    pub(super) name: Word,
    pub(super) kind: String,
}

impl Outline<'_> {
    /// The names declared by headers of a kind: `[table.app]`, `[entity.Task]`, `[access."tasks"]`.
    pub(super) fn declared(&self, kind: &str) -> Vec<&Word> {
        let mut names: Vec<&Word> = Vec::new();
        for section in &self.sections {
            let mut path = section.path.iter();
            if let (Some(first), Some(name)) = (path.next(), path.next())
                && first.text == kind
                && names.iter().all(|known| known.text != name.text)
            {
                names.push(name);
            }
        }
        names
    }

    /// The sections that begin with these names.
    pub(super) fn sections_of<'o>(&'o self, path: &'o [&str]) -> impl Iterator<Item = &'o Section> {
        self.sections.iter().filter(move |section| section.names().starts_with(path))
    }

    /// The fields of an entity: those it lists, and those that a key template declares with their type.
    pub(super) fn fields(&self, entity: &str) -> Vec<FieldName> {
        let mut fields: Vec<FieldName> = Vec::new();
        for section in self.sections_of(&["entity", entity, "fields"]) {
            fields.extend(section.entries.iter().map(|entry| FieldName {
                name: entry.key.clone(),
                kind: self.value(entry).to_owned(),
            }));
        }
        for section in self.sections_of(&["entity", entity]).filter(|s| s.path.len() == 2) {
            for entry in section.entries.iter().filter(|entry| is_key(entry)) {
                for field in self.template_fields(entry) {
                    let known = fields.iter().any(|known| known.name.text == field.name.text);
                    if !known && !field.kind.is_empty() {
                        fields.push(field);
                    }
                }
            }
        }
        fields
    }

    /// The fields in the braces of a value, with the types written there.
    pub(super) fn template_fields(&self, entry: &Entry) -> Vec<FieldName> {
        let value = self.value(entry);
        // The braces of `{ template = …, when = … }` are not those of a field.
        let from = usize::from(value.starts_with('{'));
        let mut fields = Vec::new();
        let mut at = from;
        while let Some(open) = value.get(at..).and_then(|rest| rest.find('{')) {
            let start = at + open + 1;
            let Some(length) = value.get(start..).and_then(|rest| rest.find('}')) else { break };
            let inside = value.get(start..start + length).unwrap_or_default();
            let (name, kind) = inside.split_once(':').unwrap_or((inside, ""));
            let start = entry.value.start + start;
            let name = Word { text: name.to_owned(), span: start..start + name.len() };
            fields.push(FieldName { name, kind: kind.to_owned() });
            at = start - entry.value.start + length;
        }
        fields
    }

    /// The key attributes of the table that an entity is in, or of all tables.
    pub(super) fn key_attributes(&self, section: &Section) -> Vec<String> {
        let table = section.entry("table").and_then(|entry| self.texts(entry).into_iter().next());
        // A name that is still being typed names no table.
        let tables = self.declared("table");
        let table = table.filter(|written| tables.iter().any(|name| name.text == written.text));
        let mut names: Vec<String> = Vec::new();
        for section in self.sections_of(&["table"]) {
            let name = section.path.get(1).map(|word| word.text.as_str());
            if table.as_ref().is_some_and(|table| Some(table.text.as_str()) != name) {
                continue;
            }
            for key in ["partition_key", "sort_key"] {
                let written = section.entry(key).map(|entry| self.texts(entry)).unwrap_or_default();
                for word in written {
                    let name = word.text.split(':').next().unwrap_or_default().to_owned();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        names
    }

    /// The entities whose fields a section speaks of.
    pub(super) fn entities_asked(&self, section: &Section) -> Vec<String> {
        let names = section.names();
        match names.as_slice() {
            ["entity", name, ..] => vec![(*name).to_owned()],
            [kind, ..] => {
                let keys: &[&str] = match *kind {
                    "access" => &["via", "find"],
                    "relationship" => &["from"],
                    _ => &["entity"],
                };
                let entry = keys.iter().find_map(|key| section.entry(key));
                let texts = entry.map(|entry| self.texts(entry)).unwrap_or_default();
                texts.into_iter().map(|word| word.text).collect()
            }
            [] => Vec::new(),
        }
    }
}

/// Whether an entry of an entity is a key attribute, and not a setting.
pub(super) fn is_key(entry: &Entry) -> bool {
    vocabulary::property(ENTITY, &entry.key.text).is_none()
}

/// What a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    Entity,
    Field,
    Table,
    Index,
    Rule,
    /// The subject of a finding: anything that has a name.
    Subject,
    /// A field's type.
    Type,
    /// A key template, which names fields in braces.
    Template,
    /// One of the words that the schema lists, or free text.
    Word,
}

/// What the value of an entry names.
pub(super) fn named_by(section: &Section, entry: &Entry) -> Names {
    let names = section.names();
    match (names.as_slice(), entry.key.text.as_str()) {
        (["entity", _, "fields"], _) => Names::Type,
        (["entity", _], "table") => Names::Table,
        (["entity", _], "identity") => Names::Field,
        (["entity", _], _) if is_key(entry) => Names::Template,
        (["access", _], "find" | "via")
        | (["write", _], "entity")
        | (["unique", _], "entity" | "by")
        | (["relationship", _], "from" | "to" | "through") => Names::Entity,
        (["access", _], "where" | "order" | "returns")
        | (["write", _], "sets" | "given")
        | (["unique", _], "fields")
        | (["relationship", _], "on") => Names::Field,
        (["access", _], "index") => Names::Index,
        (["allow"], "rule") => Names::Rule,
        (["allow"], "subject") => Names::Subject,
        _ => Names::Word,
    }
}
