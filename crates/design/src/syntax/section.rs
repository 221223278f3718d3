//! A typed cursor over one TOML table: each key is asked for by name, and what nobody asked for is
//! reported with the nearest known name.

use std::cell::RefCell;

use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

use super::quantity::plain_number;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::print::bare;
use crate::source::{Span, Spanned};
use crate::suggest::did_you_mean;

type Entry<'a> = (&'a str, Span, &'a TomlSpanned<DeValue<'a>>);

/// One table of the file, with the names that were asked for.
pub(crate) struct Section<'a> {
    entries: Vec<Entry<'a>>,
    asked: Vec<&'static str>,
    path: String,
    name: Spanned<String>,
    span: Span,
    diagnostics: &'a RefCell<Vec<Diagnostic>>,
}

impl<'a> Section<'a> {
    pub(crate) fn root(table: &'a DeTable<'a>, diagnostics: &'a RefCell<Vec<Diagnostic>>) -> Self {
        let name = Spanned::new(String::new(), Span::NONE);
        let entries = entries_of(table);
        let asked = Vec::new();
        let path = "the design file".to_owned();
        Self { entries, asked, path, name, span: Span::NONE, diagnostics }
    }

    fn child(&self, name: Spanned<String>, table: &'a DeTable<'a>, path: String) -> Self {
        Self {
            entries: entries_of(table),
            asked: Vec::new(),
            path,
            span: name.span,
            name,
            diagnostics: self.diagnostics,
        }
    }

    /// The name this section was written under: `Task` for `[entity.Task]`.
    pub(crate) fn name(&self) -> Spanned<String> {
        self.name.clone()
    }

    /// Where the section's name stands.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// What the section is called in messages: `[entity.Task]`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Reports a mistake in this section.
    pub(crate) fn error(&self, diagnostic: Diagnostic) {
        self.diagnostics.borrow_mut().push(diagnostic.about(self.name.value.clone()));
    }

    fn take(&mut self, key: &'static str) -> Option<(Span, &'a TomlSpanned<DeValue<'a>>)> {
        self.asked.push(key);
        let at = self.entries.iter().position(|(name, ..)| *name == key)?;
        let (_, span, value) = self.entries.remove(at);
        Some((span, value))
    }

    /// Every entry that was not asked for: the key templates of an entity, its fields.
    pub(crate) fn rest(&mut self) -> Vec<(Spanned<String>, Value<'a>)> {
        std::mem::take(&mut self.entries)
            .into_iter()
            .map(|(name, span, value)| {
                (Spanned::new(name.to_owned(), span), Value { toml: value, span: span_of(value) })
            })
            .collect()
    }

    pub(crate) fn value(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.take(key).map(|(_, value)| Value { toml: value, span: span_of(value) })
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Option<Spanned<String>> {
        let value = self.value(key)?;
        self.text_of(key, value)
    }

    pub(crate) fn text_of(&self, key: &str, value: Value) -> Option<Spanned<String>> {
        match value.toml.get_ref() {
            DeValue::String(text) => Some(Spanned::new(text.to_string(), value.span)),
            other => {
                self.wrong_type(key, value.span, "a text in quotes", other);
                None
            }
        }
    }

    pub(crate) fn required_text(&mut self, key: &'static str) -> Option<Spanned<String>> {
        let present = self.entries.iter().any(|(name, ..)| *name == key);
        let text = self.text(key);
        if !present {
            self.missing(key);
        }
        text
    }

    pub(crate) fn missing(&self, key: &str) {
        let message = format!("`{key}` is missing in {}", self.path);
        self.error(Diagnostic::error(Code::BadValue, self.span, message));
    }

    /// One text or a list of texts.
    pub(crate) fn texts(&mut self, key: &'static str) -> Vec<Spanned<String>> {
        match self.value(key) {
            Some(value) => self.texts_of(key, value),
            None => Vec::new(),
        }
    }

    pub(crate) fn texts_of(&self, key: &str, value: Value<'a>) -> Vec<Spanned<String>> {
        match value.toml.get_ref() {
            DeValue::Array(list) => list
                .iter()
                .filter_map(|toml| self.text_of(key, Value { toml, span: span_of(toml) }))
                .collect(),
            _ => self.text_of(key, value).into_iter().collect(),
        }
    }

    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        match value.toml.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            other => {
                self.wrong_type(key, value.span, "true or false", other);
                None
            }
        }
    }

    /// A number that is zero or more.
    pub(crate) fn number(&mut self, key: &'static str) -> Option<Spanned<f64>> {
        let value = self.value(key)?;
        self.number_of(key, value)
    }

    pub(crate) fn number_of(&self, key: &str, value: Value) -> Option<Spanned<f64>> {
        let number = match value.toml.get_ref() {
            DeValue::Integer(integer) => {
                u64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::String(text) => {
                let number = plain_number(text);
                if number.is_none() {
                    let message =
                        format!("`{key}` must be a number such as 2000 or \"2k\", not `{text}`");
                    self.error(Diagnostic::error(Code::BadValue, value.span, message));
                    return None;
                }
                number
            }
            other => {
                self.wrong_type(key, value.span, "a number", other);
                return None;
            }
        };
        let number = number.filter(|n: &f64| n.is_finite() && *n >= 0.0);
        if number.is_none() {
            let message = format!("`{key}` must be a number of zero or more");
            self.error(Diagnostic::error(Code::BadValue, value.span, message));
        }
        number.map(|number| Spanned::new(number, value.span))
    }

    /// A whole number in a range.
    pub(crate) fn integer(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Option<u64> {
        let value = self.value(key)?;
        if value.is_text() {
            self.wrong_type(key, value.span, "a whole number", value.toml());
            return None;
        }
        let number = self.number_of(key, value)?;
        let whole = number.value.fract() == 0.0;
        if whole && range.contains(&(number.value as u64)) {
            return Some(number.value as u64);
        }
        let (low, high) = (range.start(), range.end());
        let message = format!("`{key}` must be a whole number from {low} to {high}");
        self.error(Diagnostic::error(Code::BadValue, number.span, message));
        None
    }

    /// The section under one key: `[entity.Task.fields]`, or an inline table.
    pub(crate) fn section(&mut self, key: &'static str) -> Option<Section<'a>> {
        let (span, value) = self.take(key)?;
        let path = if self.name.value.is_empty() {
            format!("[{key}]")
        } else {
            format!("`{key}` of `{}`", self.name.value)
        };
        self.section_of(Spanned::new(key.to_owned(), span), value, path)
    }

    /// A value that must be a table.
    pub(crate) fn value_section(
        &self,
        name: &Spanned<String>,
        value: Value<'a>,
    ) -> Option<Section<'a>> {
        self.section_of(name.clone(), value.toml, format!("`{}`", name.value))
    }

    fn section_of(
        &self,
        name: Spanned<String>,
        value: &'a TomlSpanned<DeValue<'a>>,
        path: String,
    ) -> Option<Section<'a>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(self.child(name, table, path));
        }
        self.wrong_type(&name.value, span_of(value), "a section", value.get_ref());
        None
    }

    /// The sections below one key: all `[entity.…]`, in the order of the file.
    pub(crate) fn named_sections(&mut self, key: &'static str) -> Vec<Section<'a>> {
        let Some(mut parent) = self.section(key) else { return Vec::new() };
        let owner = self.name.value.clone();
        let children = parent.rest();
        children
            .into_iter()
            .filter_map(|(name, value)| {
                let quoted = bare(&name.value);
                let path = if owner.is_empty() {
                    format!("[{key}.{quoted}]")
                } else {
                    format!("`{key}.{quoted}` of `{owner}`")
                };
                parent.section_of(name, value.toml, path)
            })
            .collect()
    }

    /// The elements of `[[key]]`.
    pub(crate) fn list_of_sections(&mut self, key: &'static str) -> Vec<Section<'a>> {
        let Some((span, value)) = self.take(key) else { return Vec::new() };
        let DeValue::Array(list) = value.get_ref() else {
            let expected = format!("a list of sections, written [[{key}]]");
            self.wrong_type(key, span, &expected, value.get_ref());
            return Vec::new();
        };
        list.iter()
            .filter_map(|element| {
                let name = Spanned::new(key.to_owned(), span_of(element));
                self.section_of(name, element, format!("[[{key}]]"))
            })
            .collect()
    }

    /// Reports every key that was not read.
    pub(crate) fn finish(self) {
        for (name, span, _) in &self.entries {
            let message = format!("`{name}` means nothing in {}", self.path);
            let mut asked = self.asked.clone();
            asked.sort_unstable();
            self.error(
                Diagnostic::error(Code::UnknownKey, *span, message)
                    .fix(did_you_mean(name, asked.iter().copied())),
            );
        }
    }

    pub(crate) fn wrong_type(&self, key: &str, span: Span, expected: &str, found: &DeValue) {
        let found = kind(found);
        let message = format!("`{key}` must be {expected}, this is {found}");
        self.error(Diagnostic::error(Code::BadValue, span, message));
    }
}

/// One value of the file.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    toml: &'a TomlSpanned<DeValue<'a>>,
    pub(crate) span: Span,
}

impl<'a> Value<'a> {
    pub(crate) fn is_text(self) -> bool {
        self.toml.get_ref().is_str()
    }

    pub(crate) fn is_list(self) -> bool {
        self.toml.get_ref().as_array().is_some()
    }

    pub(crate) fn is_table(self) -> bool {
        self.toml.get_ref().as_table().is_some()
    }

    pub(crate) fn toml(self) -> &'a DeValue<'a> {
        self.toml.get_ref()
    }

    /// The elements of a list, or the value itself.
    pub(crate) fn elements(self) -> Vec<Value<'a>> {
        match self.toml.get_ref() {
            DeValue::Array(list) => {
                list.iter().map(|toml| Value { toml, span: span_of(toml) }).collect()
            }
            _ => vec![self],
        }
    }
}

fn entries_of<'a>(table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(name, value)| {
            let span = name.span();
            (name.get_ref().as_ref(), Span::new(span.start, span.end), value)
        })
        .collect();
    entries.sort_by_key(|(_, span, _)| *span);
    entries
}

fn span_of(value: &TomlSpanned<DeValue>) -> Span {
    let span = value.span();
    Span::new(span.start, span.end)
}

fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}
