//! Writing a design file, remembering which Rust token every value came from.

use std::fmt::Write as _;
use std::ops::Range;

use keyloom_design::draft::print::{bare, quoted};
use proc_macro2::Span;

use crate::arg::{Text, Value};

/// A design file under construction.
#[derive(Default)]
pub(crate) struct Toml {
    text: String,
    places: Vec<(Range<usize>, Span)>,
}

impl Toml {
    /// Starts a section such as `[entity.Task]`.
    pub(crate) fn section(&mut self, path: &[&str], span: Span) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let start = self.text.len();
        let path: Vec<String> = path.iter().map(|part| bare(part)).collect();
        let _ = writeln!(self.text, "[{}]", path.join("."));
        self.places.push((start..self.text.len(), span));
    }

    /// Starts an element of a list of sections such as `[[allow]]`.
    pub(crate) fn element(&mut self, name: &str) {
        let _ = writeln!(self.text, "\n[[{name}]]");
    }

    /// `name = value`
    pub(crate) fn pair(&mut self, name: &Text, value: &Value) {
        let start = self.text.len();
        self.text.push_str(&bare(&name.value));
        self.places.push((start..self.text.len(), name.span));
        self.text.push_str(" = ");
        self.value(value);
        self.text.push('\n');
    }

    /// `name = "text"`
    pub(crate) fn text(&mut self, name: &str, value: &Text) {
        self.pair(&Text::new(name, value.span), &Value::Text(value.clone()));
    }

    /// `name = ["a", "b"]`
    pub(crate) fn texts(&mut self, name: &str, values: &[Text], span: Span) {
        let values = values.iter().cloned().map(Value::Text).collect();
        self.pair(&Text::new(name, span), &Value::List(values));
    }

    /// `name = { a = 1, b = "x" }`
    pub(crate) fn table(&mut self, name: &Text, members: &[(Text, Value)]) {
        let start = self.text.len();
        self.text.push_str(&bare(&name.value));
        self.places.push((start..self.text.len(), name.span));
        self.text.push_str(" = ");
        self.members(members);
        self.text.push('\n');
        self.places.push((start..self.text.len(), name.span));
    }

    fn members(&mut self, members: &[(Text, Value)]) {
        self.text.push_str("{ ");
        for (at, (member, value)) in members.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.text.push_str(&bare(&member.value));
            self.text.push_str(" = ");
            self.value(value);
        }
        self.text.push_str(" }");
    }

    fn value(&mut self, value: &Value) {
        let start = self.text.len();
        match value {
            Value::Text(text) => self.text.push_str(&quoted(&text.value)),
            Value::Number(number) => self.text.push_str(&number.value),
            Value::Bool(flag, _) => self.text.push_str(if *flag { "true" } else { "false" }),
            Value::List(values) => {
                self.text.push('[');
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        self.text.push_str(", ");
                    }
                    self.value(value);
                }
                self.text.push(']');
            }
            Value::Table(members) => self.members(members),
        }
        self.places.push((start..self.text.len(), value.span()));
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The Rust token that a place of the file came from.
    pub(crate) fn span_at(&self, offset: usize) -> Option<Span> {
        let around = self.places.iter().filter(|(range, _)| range.contains(&offset));
        around.min_by_key(|(range, _)| range.len()).map(|(_, span)| *span)
    }
}
