//! A key template with the separator policy and shard numbers that the design declares for it.

use keyloom_keys::{
    FieldFormat, FieldType, KeyRole, Language, Order, OrderBreak, SeparatorPolicy, Template,
    TemplateError, TemplateOptions, Value,
};

use super::{FieldPiece, Piece};
use crate::model::Escape;

/// Above this number of shards, any number counts as a shard: listing them would cost more than it is worth.
const MOST_LISTED: u32 = 256;

/// A template of one key attribute.
#[derive(Clone, Debug)]
pub struct KeyTemplate {
    template: Template,
    escape: Escape,
    /// The fields that are shard numbers, and the number of shards of each.
    shards: Vec<(String, u32)>,
}

impl KeyTemplate {
    /// Parses a template; `formats` gives the formats of fields that state none.
    pub fn parse(
        text: &str,
        separator: &str,
        escape: Escape,
        role: KeyRole,
        formats: impl Fn(&str) -> Option<FieldFormat>,
    ) -> Result<Self, TemplateError> {
        let policy = match escape {
            Escape::Reject | Escape::None => SeparatorPolicy::Reject,
            Escape::Percent => SeparatorPolicy::PercentEscape,
            Escape::Ordered => SeparatorPolicy::OrderPreserving,
        };
        let options = TemplateOptions { separator: Some(separator.to_owned()), policy, role };
        let template = Template::parse_with(text, &options, formats)?;
        Ok(Self { template, escape, shards: Vec::new() })
    }

    /// Declares which fields are shard numbers, and of how many shards.
    #[must_use]
    pub fn with_shards(mut self, shards: Vec<(String, u32)>) -> Self {
        self.shards = shards;
        self
    }

    /// The template itself.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The text that it was parsed from.
    pub fn text(&self) -> &str {
        self.template.text()
    }

    /// Literals and fields from left to right.
    pub fn pieces(&self) -> &[Piece] {
        self.template.segments()
    }

    /// The names of its fields from left to right.
    pub fn fields(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.field_pieces().map(FieldPiece::name)
    }

    /// Its fields from left to right.
    pub fn field_pieces(&self) -> impl DoubleEndedIterator<Item = &FieldPiece> {
        self.pieces().iter().filter_map(Piece::as_field)
    }

    /// What is done with a separator inside a value.
    pub fn escape(&self) -> Escape {
        self.escape
    }

    /// Builds a key; `None` if a field has no value or an invalid one.
    pub fn build(&self, value_of: impl Fn(&str) -> Option<Value<'static>>) -> Option<String> {
        let values: Option<Vec<Value>> = self.fields().map(value_of).collect();
        let values = values?;
        if self.escape != Escape::None {
            return self.template.build_values(&values).ok();
        }
        // Without a policy, values are not checked for the separator.
        let mut key = String::new();
        let mut values = values.iter();
        for piece in self.pieces() {
            match piece {
                Piece::Literal(text) => key.push_str(text),
                Piece::Field(field) => key.push_str(&field.format().encode(values.next()?).ok()?),
            }
        }
        Some(key)
    }

    /// The encoding of a field's value inside this template.
    pub fn encode_field(&self, field: &FieldPiece, value: &Value) -> Option<String> {
        if self.escape == Escape::None {
            return field.format().encode(value).ok();
        }
        self.template.encode_field(field.format(), value).ok()
    }

    /// The maximum length of a field inside this template, escapes included; `None` if it is unbounded.
    pub fn field_bytes(&self, field: &FieldPiece) -> Option<usize> {
        self.template.field_lengths(field.format()).max
    }

    /// Whether keys with equal pieces before `from` sort by the fields `from..=last`.
    pub fn sorts_by(&self, from: usize, last: usize) -> Result<(), OrderBreak> {
        let mut text = String::new();
        // What follows a value decides whether a longer one sorts after it, so one more piece is needed.
        for piece in self.pieces().iter().skip(from).take(last + 2 - from) {
            match piece {
                Piece::Literal(literal) => {
                    text.push_str(&literal.replace('{', "{{").replace('}', "}}"));
                }
                Piece::Field(field) => text.extend(["{", field.name(), "}"]),
            }
        }
        let options = TemplateOptions {
            separator: Some(self.template.separator().to_owned()),
            policy: self.template.policy(),
            role: self.template.role(),
        };
        let formats = |name: &str| {
            self.field_pieces()
                .find(|field| field.name() == name)
                .map(|field| field.format().clone())
        };
        let Ok(part) = Template::parse_with(&text, &options, formats) else { return Ok(()) };
        let Order::Broken(broken) = part.order() else { return Ok(()) };
        let asked = self.pieces().iter().skip(from).take(last + 1 - from);
        let concerns = asked.filter_map(Piece::as_field).any(|field| field.name() == broken.field);
        if concerns { Err(broken) } else { Ok(()) }
    }

    /// The language of all keys of the template.
    pub fn language(&self) -> Language {
        let mut language = Language::empty_text();
        self.add_to(&mut language, self.pieces().len());
        language
    }

    /// Appends the first pieces to a language.
    pub fn add_to(&self, language: &mut Language, pieces: usize) {
        for piece in self.pieces().iter().take(pieces) {
            match piece {
                Piece::Literal(text) => language.literal(text.as_bytes()),
                Piece::Field(field) => self.add_field(language, field),
            }
        }
    }

    /// Appends all encodings of a field of this template.
    pub fn add_field(&self, language: &mut Language, field: &FieldPiece) {
        match self.shards.iter().find(|(name, _)| *name == field.name()) {
            Some((_, count)) if *count <= MOST_LISTED => {
                let numbers: Vec<String> = (0..*count).map(|n| n.to_string()).collect();
                language.choice(&numbers);
            }
            _ if self.escape == Escape::None => language.unguarded_field(field.format()),
            _ => language.field_of(&self.template, field.format()),
        }
    }
}

/// Whether values are free text, which contains no separator only if a policy ensures it.
pub fn may_hold_separator(format: &FieldFormat) -> bool {
    matches!(format.kind(), FieldType::String | FieldType::Fixed) && !format.is_desc()
}
