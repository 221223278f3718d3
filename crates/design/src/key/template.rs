//! A key template together with what the design says about it.

use keyloom_keys::{
    FieldFormat, FieldType, KeyRole, Language, Order, OrderBreak, Segment, SeparatorPolicy,
    Template, TemplateError, TemplateOptions, Value,
};

use crate::model::Escape;

/// Beyond so many shards, any number is taken for a shard: listing them would cost more than it tells.
const MOST_LISTED: u32 = 256;

/// A template of one key attribute.
#[derive(Clone, Debug)]
pub struct KeyTemplate {
    template: Template,
    pieces: Vec<Piece>,
    escape: Escape,
    /// The fields that are shard numbers, and how many shards each has.
    shards: Vec<(String, u32)>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text that every key has here.
    Literal(String),
    /// A field's value.
    Field(FieldPiece),
}

/// A field in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPiece {
    /// The field.
    pub name: String,
    /// How it is written here.
    pub format: FieldFormat,
}

impl Piece {
    /// The field, if it is one.
    pub fn as_field(&self) -> Option<&FieldPiece> {
        match self {
            Self::Field(field) => Some(field),
            Self::Literal(_) => None,
        }
    }
}

impl KeyTemplate {
    /// Parses a template; `formats` knows the fields that state no format.
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
        let pieces = template
            .segments()
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => Piece::Literal(text.clone()),
                Segment::Field(field) => Piece::Field(FieldPiece {
                    name: field.name().to_owned(),
                    format: field.format().clone(),
                }),
            })
            .collect();
        Ok(Self { template, pieces, escape, shards: Vec::new() })
    }

    /// The same template, with fields known to be numbers of so many shards.
    #[must_use]
    pub fn with_shards(mut self, shards: Vec<(String, u32)>) -> Self {
        self.shards = shards;
        self
    }

    /// The template itself.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The text it was made from.
    pub fn text(&self) -> &str {
        self.template.text()
    }

    /// Literals and fields from left to right.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The names of its fields from left to right.
    pub fn fields(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.field_pieces().map(|field| field.name.as_str())
    }

    /// Its fields from left to right.
    pub fn field_pieces(&self) -> impl DoubleEndedIterator<Item = &FieldPiece> {
        self.pieces.iter().filter_map(Piece::as_field)
    }

    /// What happens to a separator inside a value.
    pub fn escape(&self) -> Escape {
        self.escape
    }

    /// The key with these field values; nothing if a field has none or a value does not fit.
    pub fn build(&self, value_of: impl Fn(&str) -> Option<Value<'static>>) -> Option<String> {
        let values: Option<Vec<Value>> = self.fields().map(value_of).collect();
        let values = values?;
        if self.escape != Escape::None {
            return self.template.build_values(&values).ok();
        }
        // Nothing guards the separator: values go in as they are.
        let mut key = String::new();
        let mut values = values.iter();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => key.push_str(text),
                Piece::Field(field) => key.push_str(&field.format.encode(values.next()?).ok()?),
            }
        }
        Some(key)
    }

    /// One field as it is written inside this template.
    pub fn encode_field(&self, field: &FieldPiece, value: &Value) -> Option<String> {
        if self.escape == Escape::None {
            return field.format.encode(value).ok();
        }
        self.alone(field)?.build_values(std::slice::from_ref(value)).ok()
    }

    /// The most bytes that a field takes inside this template, escapes included; unknown for endless texts.
    pub fn field_bytes(&self, field: &FieldPiece) -> Option<usize> {
        self.alone(field)?.lengths().max
    }

    /// A template of one field of this one.
    fn alone(&self, field: &FieldPiece) -> Option<Template> {
        let options = TemplateOptions {
            separator: Some(self.template.separator().to_owned()),
            policy: self.template.policy(),
            role: self.template.role(),
        };
        let text = format!("{{{}}}", field.name);
        Template::parse_with(&text, &options, |_| Some(field.format.clone())).ok()
    }

    /// Whether keys that agree in everything before piece `from` sort by the fields `from..=last`.
    pub fn sorts_by(&self, from: usize, last: usize) -> Result<(), OrderBreak> {
        let mut text = String::new();
        // What follows a value decides whether a longer one sorts after it, so one more piece is needed.
        for piece in self.pieces.iter().skip(from).take(last + 2 - from) {
            match piece {
                Piece::Literal(literal) => {
                    text.push_str(&literal.replace('{', "{{").replace('}', "}}"));
                }
                Piece::Field(field) => text.extend(["{", field.name.as_str(), "}"]),
            }
        }
        let options = TemplateOptions {
            separator: Some(self.template.separator().to_owned()),
            policy: self.template.policy(),
            role: self.template.role(),
        };
        let formats = |name: &str| {
            self.field_pieces().find(|field| field.name == name).map(|field| field.format.clone())
        };
        let Ok(part) = Template::parse_with(&text, &options, formats) else { return Ok(()) };
        let Order::Broken(broken) = part.order() else { return Ok(()) };
        let asked = self.pieces.iter().skip(from).take(last + 1 - from);
        let concerns = asked.filter_map(Piece::as_field).any(|field| field.name == broken.field);
        if concerns { Err(broken) } else { Ok(()) }
    }

    /// All keys that the template can make.
    pub fn language(&self) -> Language {
        let mut language = Language::empty_text();
        self.add_to(&mut language, self.pieces.len());
        language
    }

    /// Appends the first pieces to a language.
    pub fn add_to(&self, language: &mut Language, pieces: usize) {
        for piece in self.pieces.iter().take(pieces) {
            match piece {
                Piece::Literal(text) => language.literal(text.as_bytes()),
                Piece::Field(field) => self.add_field(language, field),
            }
        }
    }

    /// Appends everything that a field of this template can be written as.
    pub fn add_field(&self, language: &mut Language, field: &FieldPiece) {
        match self.shards.iter().find(|(name, _)| *name == field.name) {
            Some((_, count)) if *count <= MOST_LISTED => {
                let numbers: Vec<String> = (0..*count).map(|n| n.to_string()).collect();
                language.choice(&numbers);
            }
            _ if self.escape == Escape::None => language.unguarded_field(&field.format),
            _ => language.field_of(&self.template, &field.format),
        }
    }
}

/// Whether values are free text: nothing but a policy keeps a separator out of them.
pub fn may_hold_separator(format: &FieldFormat) -> bool {
    matches!(format.kind(), FieldType::String | FieldType::Fixed) && !format.is_desc()
}
