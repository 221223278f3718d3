//! Completion: sections, keys, and what values may name.

use keyloom_design::lint::RULES;
use lsp_types::{CompletionItem, CompletionItemKind, CompletionTextEdit, Position, TextEdit};

use super::document::Document;
use super::names::{Names, is_key, named_by};
use super::outline::{Entry, Outline, Section, Spot, Word};
use super::vocabulary::{self, ENTITY, FIELD, KEY};

/// What could stand at a position.
pub(super) fn complete(document: &Document, position: Position) -> Vec<CompletionItem> {
    let offset = document.offset(position);
    let outline = Outline::of(document.text());
    let proposals = Proposals { document, outline: &outline, offset, list: Vec::new() };
    match outline.spot(offset) {
        Spot::Header(..) => proposals.sections(),
        Spot::Key(section, entry) => proposals.keys(section, entry),
        Spot::Value(section, entry) => proposals.values(section, entry),
    }
}

struct Proposals<'a> {
    document: &'a Document,
    outline: &'a Outline<'a>,
    offset: usize,
    list: Vec<CompletionItem>,
}

impl Proposals<'_> {
    /// Proposes a text in place of the word that has been begun.
    fn add(&mut self, word: &Word, label: &str, kind: CompletionItemKind, detail: &str) {
        let place = self.document.place(word.span.clone());
        self.list.push(CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            detail: (!detail.is_empty()).then(|| detail.to_owned()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(place, label.to_owned()))),
            ..CompletionItem::default()
        });
    }

    fn add_all<'n>(
        &mut self,
        word: &Word,
        names: impl IntoIterator<Item = &'n str>,
        kind: CompletionItemKind,
        detail: &str,
    ) {
        for name in names {
            self.add(word, name, kind, detail);
        }
    }

    /// Headers: the kinds of sections, and the parts of those that exist.
    fn sections(mut self) -> Vec<CompletionItem> {
        let line = self.document.position(self.offset).line;
        let start = self.document.offset(Position::new(line, 0));
        let before = self.document.text().get(start..self.offset).unwrap_or_default();
        let open = before.rfind('[').map_or(start, |at| start + at + 1);
        let text = self.document.text();
        let rest = text.get(self.offset..).unwrap_or_default();
        let typed: usize =
            rest.chars().take_while(|c| !matches!(c, ']' | '\n' | '\r')).map(char::len_utf8).sum();
        let word = Word { text: String::new(), span: open..self.offset + typed };
        let kinds = vocabulary::properties("").into_iter().flatten();
        let kinds: Vec<(String, &str)> = kinds
            .map(|(kind, property)| {
                let words = vocabulary::description(property).unwrap_or_default();
                match kind.as_str() {
                    "design" => (kind.clone(), words),
                    "allow" => ("[allow]".to_owned(), words),
                    "table" | "entity" => (format!("{kind}.NAME"), words),
                    _ => (format!("{kind}.\"NAME\""), words),
                }
            })
            .collect();
        for (label, words) in kinds {
            self.add(&word, &label, CompletionItemKind::MODULE, words);
        }
        let entities: Vec<String> = self.declared("entity");
        for name in entities {
            let label = format!("entity.{name}.fields");
            self.add(&word, &label, CompletionItemKind::STRUCT, "the fields of the entity");
        }
        let tables: Vec<String> = self.declared("table");
        for name in tables {
            let label = format!("table.{name}.index.NAME");
            self.add(&word, &label, CompletionItemKind::STRUCT, "an index of the table");
        }
        self.list
    }

    fn declared(&self, kind: &str) -> Vec<String> {
        self.outline.declared(kind).iter().map(|word| word.text.clone()).collect()
    }

    fn keys(mut self, section: &Section, at: Option<&Entry>) -> Vec<CompletionItem> {
        let Some(place) = vocabulary::place(section) else { return self.list };
        let word = self.outline.word(self.offset);
        let is_new = |key: &str| {
            section.entry(key).is_none() || at.is_some_and(|entry| entry.key.text == key)
        };
        self.properties(&word, &place, is_new);
        if place == ENTITY {
            let attributes = self.outline.key_attributes(section);
            let new = attributes.iter().map(String::as_str).filter(|name| is_new(name));
            let new: Vec<&str> = new.collect();
            self.add_all(&word, new, CompletionItemKind::FIELD, "key attribute of the table");
        }
        self.list
    }

    fn properties(&mut self, word: &Word, place: &str, wanted: impl Fn(&str) -> bool) {
        for (key, property) in vocabulary::properties(place).into_iter().flatten() {
            if wanted(key) {
                let words = vocabulary::description(property).unwrap_or_default();
                self.add(word, key, CompletionItemKind::PROPERTY, words);
            }
        }
    }

    fn values(mut self, section: &Section, entry: &Entry) -> Vec<CompletionItem> {
        let word = self.outline.word(self.offset);
        let text = self.document.text();
        let before = text.get(entry.value.start..self.offset).unwrap_or_default();
        if let Some(place) = inline_table(section, entry, before) {
            self.properties(&word, place, |_| true);
            return self.list;
        }
        match value_kind(section, entry, before) {
            Names::Entity => {
                let names = self.declared("entity");
                self.add_texts(&word, before, &names, CompletionItemKind::CLASS, "entity");
            }
            Names::Table => {
                let names = self.declared("table");
                self.add_texts(&word, before, &names, CompletionItemKind::MODULE, "table");
            }
            Names::Index => {
                let mut names = self.indexes();
                names.push("table".to_owned());
                self.add_texts(&word, before, &names, CompletionItemKind::MODULE, "index");
            }
            Names::Field => self.fields(&word, section, before),
            Names::Template => self.template(&word, section, before),
            Names::Type => {
                let names: Vec<String> =
                    vocabulary::types().into_iter().map(str::to_owned).collect();
                let word = self.type_word(before);
                self.add_texts(&word, before, &names, CompletionItemKind::TYPE_PARAMETER, "type");
            }
            Names::Rule => {
                for rule in RULES {
                    let label = in_quotes(before, rule.id);
                    self.add(&word, &label, CompletionItemKind::CONSTANT, rule.title);
                }
            }
            Names::Subject => {
                let kinds = ["entity", "access", "write", "table"];
                let names: Vec<String> =
                    kinds.iter().flat_map(|kind| self.declared(kind)).collect();
                self.add_texts(&word, before, &names, CompletionItemKind::VALUE, "");
            }
            Names::Word => self.listed(&word, section, entry, before),
        }
        self.list
    }

    fn add_texts(
        &mut self,
        word: &Word,
        before: &str,
        names: &[String],
        kind: CompletionItemKind,
        detail: &str,
    ) {
        for name in names {
            self.add(word, &in_quotes(before, name), kind, detail);
        }
    }

    fn indexes(&self) -> Vec<String> {
        let tables = self.outline.sections_of(&["table"]);
        tables.filter_map(|section| Some(section.path.get(3)?.text.clone())).collect()
    }

    fn fields(&mut self, word: &Word, section: &Section, before: &str) {
        let entities = self.outline.entities_asked(section);
        let mut seen: Vec<String> = Vec::new();
        for entity in &entities {
            for field in self.outline.fields(entity) {
                if !seen.contains(&field.name.text) {
                    let label = in_quotes(before, &field.name.text);
                    self.add(word, &label, CompletionItemKind::FIELD, &field.kind);
                    seen.push(field.name.text);
                }
            }
        }
    }

    /// Inside the braces of a template: fields, and behind a colon their types.
    fn template(&mut self, word: &Word, section: &Section, before: &str) {
        let Some((_, inside)) = before.rsplit_once('{').filter(|(_, rest)| !rest.contains('}'))
        else {
            return;
        };
        if inside.contains(':') {
            let word = self.type_word(before);
            self.add_all(&word, vocabulary::types(), CompletionItemKind::TYPE_PARAMETER, "type");
        } else {
            self.fields(word, section, before);
        }
    }

    /// The word at the cursor with what stands before a colon in it: `datetime:ms` is one type.
    fn type_word(&self, before: &str) -> Word {
        let mut word = self.outline.word(self.offset);
        let typed = before.rsplit(['"', '\'', '{', ' ']).next().unwrap_or_default();
        let named = typed.split_once(':').filter(|_| before.contains('{')).map(|(_, kind)| kind);
        let length = named.unwrap_or(typed).len();
        word.span.start = word.span.start.min(self.offset - length);
        word
    }

    fn listed(&mut self, word: &Word, section: &Section, entry: &Entry, before: &str) {
        let Some(place) = vocabulary::place(section) else { return };
        let Some(property) = vocabulary::property(&place, &entry.key.text) else { return };
        if vocabulary::is_boolean(property) {
            self.add_all(word, ["true", "false"], CompletionItemKind::KEYWORD, "");
        }
        for value in vocabulary::listed(property) {
            self.add(word, &in_quotes(before, value), CompletionItemKind::ENUM_MEMBER, "");
        }
    }
}

/// A text as it has to be written here: in quotes, unless the cursor is inside of them.
fn in_quotes(before: &str, name: &str) -> String {
    if is_inside_text(before) { name.to_owned() } else { format!("\"{name}\"") }
}

/// Whether a quote is open.
fn is_inside_text(before: &str) -> bool {
    let mut quote = None;
    for c in before.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            _ => {}
        }
    }
    quote.is_some()
}

/// The settings that may stand in a table in braces, where a key of it is due.
fn inline_table(section: &Section, entry: &Entry, before: &str) -> Option<&'static str> {
    if !before.starts_with('{') || is_inside_text(before) {
        return None;
    }
    let last = before.rsplit(['{', ',']).next().unwrap_or_default();
    let names = section.names();
    match names.as_slice() {
        _ if last.contains('=') => None,
        ["entity", _, "fields"] => Some(FIELD),
        ["entity", _] if is_key(entry) => Some(KEY),
        _ => None,
    }
}

/// What a value names at the cursor: in a table in braces, that depends on the key before it.
fn value_kind(section: &Section, entry: &Entry, before: &str) -> Names {
    let kind = named_by(section, entry);
    if !before.starts_with('{') {
        return kind;
    }
    let key = before.rsplit_once('=').map(|(head, _)| head).unwrap_or_default();
    let key = key.trim_end().rsplit([' ', ',', '{']).next().unwrap_or_default();
    match (kind, key) {
        (Names::Type, "type") => Names::Type,
        (Names::Type, "by") | (Names::Template, "when") => Names::Field,
        (Names::Type, _) => Names::Word,
        _ => kind,
    }
}
