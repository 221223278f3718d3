//! Templates: literal text and typed fields, validated when parsed.

mod build;
mod lenient;
mod plan;
mod read;
mod syntax;

use std::fmt;
use std::str::FromStr;

use crate::error::{TemplateError, ValueError};
use crate::escape::{SeparatorPolicy, TextCodec};
use crate::format::{FieldFormat, FieldType, Lengths};
use crate::value::Value;
use crate::{MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES};

pub use lenient::{Deviation, LenientParse};
use plan::Step;
pub use read::Fields;

/// The most fields a template can have. Keys are short; more than a handful of fields is a design problem.
pub(crate) const MAX_FIELDS: usize = 16;

/// The role of a key, which limits its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyRole {
    /// A partition key, up to 2048 bytes.
    #[default]
    Partition,
    /// A sort key, up to 1024 bytes.
    Sort,
}

impl KeyRole {
    /// The maximum length in bytes.
    pub const fn limit(self) -> usize {
        match self {
            KeyRole::Partition => MAX_PARTITION_KEY_BYTES,
            KeyRole::Sort => MAX_SORT_KEY_BYTES,
        }
    }
}

/// Options that are not part of the template's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateOptions {
    /// The separator between fields; if not given, it is inferred from the text, or else `#`.
    pub separator: Option<String>,
    /// What to do with text values that contain the separator.
    pub policy: SeparatorPolicy,
    /// The role of the key.
    pub role: KeyRole,
}

/// A named and typed field of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    format: FieldFormat,
}

impl Field {
    /// The field's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format of the field.
    pub fn format(&self) -> &FieldFormat {
        &self.format
    }
}

/// One piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Literal text, the same in every key.
    Literal(String),
    /// The value of a field.
    Field(Field),
}

/// A composite-key template such as `ORDER#{placed_at:datetime}#{order_id:ulid}`.
///
/// Braces in literal text are doubled. A field without a format is a string.
///
/// ```
/// use keyloom_keys::Template;
///
/// let template = Template::parse("USER#{user_id}#{seq:u32:6}")?;
/// let key = template.build(&[("user_id", "alice".into()), ("seq", 42.into())])?;
/// assert_eq!(key, "USER#alice#000042");
///
/// let error = Template::parse("{user_id}{order_id}").unwrap_err();
/// assert_eq!(error.span(), 0..19);
/// assert!(error.to_string().contains("it is ambiguous where `user_id` ends"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    segments: Vec<Segment>,
    /// How each segment is parsed; one for each of `segments`.
    steps: Vec<Step>,
    codec: TextCodec,
    role: KeyRole,
    /// The length of literals and fixed-width fields together, which every key has.
    fixed_bytes: usize,
    field_count: usize,
}

impl Template {
    /// Parses a template whose text states every format.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Self::parse_with(text, &TemplateOptions::default(), |_| None)
    }

    /// Parses a template with options; `formats` gives the formats of fields that state none.
    ///
    /// ```
    /// use keyloom_keys::{FieldFormat, Template, TemplateOptions};
    ///
    /// let options = TemplateOptions { separator: Some("::".into()), ..TemplateOptions::default() };
    /// let ulid = FieldFormat::parse("ulid")?;
    /// let item = Template::parse_with("inventory::{kind}::{id}", &options, |name| {
    ///     (name == "id").then(|| ulid.clone())
    /// })?;
    /// assert_eq!(item.field("id").map(|field| field.format()), Some(&ulid));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_with(
        text: &str,
        options: &TemplateOptions,
        formats: impl Fn(&str) -> Option<FieldFormat>,
    ) -> Result<Self, TemplateError> {
        let pieces = syntax::read(text, formats)?;
        let whole = 0..text.len();
        let refuse = |span, reason: String, fix: &str| TemplateError {
            template: text.to_owned(),
            span,
            reason,
            fix: fix.to_owned(),
            ambiguous: false,
        };
        let separator =
            options.separator.clone().unwrap_or_else(|| syntax::infer_separator(&pieces));
        let codec = TextCodec::new(&separator, options.policy).map_err(|reason| {
            refuse(
                whole.clone(),
                format!("separator `{separator}`: {reason}"),
                "choose another separator or policy",
            )
        })?;
        for piece in &pieces {
            if let Segment::Field(field) = &piece.segment
                && let Some(value) = value_with_separator(field, &codec)
            {
                return Err(refuse(
                    piece.span.clone(),
                    format!(
                        "the value `{value}` of field `{}` contains the separator `{separator}`",
                        field.name
                    ),
                    "choose another separator or an escaping policy",
                ));
            }
        }
        let steps =
            plan::compile(&pieces, &codec).map_err(|plan::Ambiguity { span, reason, fix }| {
                TemplateError { ambiguous: true, ..refuse(span, reason, &fix) }
            })?;
        let segments: Vec<Segment> = pieces.into_iter().map(|piece| piece.segment).collect();
        let fixed_bytes = segments.iter().map(Segment::fixed_len).sum();
        let field_count = segments.iter().filter_map(Segment::as_field).count();
        let template = Template {
            text: text.to_owned(),
            segments,
            steps,
            codec,
            role: options.role,
            fixed_bytes,
            field_count,
        };
        let (min, limit) = (template.lengths().min, options.role.limit());
        if min > limit {
            let reason = format!("its shortest key has {min} bytes, at most {limit} are allowed");
            return Err(refuse(whole, reason, "drop fields or shorten the text"));
        }
        Ok(template)
    }

    /// The text that the template was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Literals and fields from left to right.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The fields from left to right.
    pub fn fields(&self) -> impl DoubleEndedIterator<Item = &Field> {
        self.segments.iter().filter_map(Segment::as_field)
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().find(|field| field.name == name)
    }

    /// Whether the template has no fields and so only one key.
    pub fn is_constant(&self) -> bool {
        self.fields().next().is_none()
    }

    /// The separator between fields.
    pub fn separator(&self) -> &str {
        self.codec.separator()
    }

    /// What is done with text values that contain the separator.
    pub fn policy(&self) -> SeparatorPolicy {
        self.codec.policy()
    }

    /// The role of the key.
    pub fn role(&self) -> KeyRole {
        self.role
    }

    /// The literal text before the first field, with which all keys of this template begin.
    pub fn literal_prefix(&self) -> &str {
        match self.segments.first() {
            Some(Segment::Literal(text)) => text,
            _ => "",
        }
    }

    /// The minimum and maximum length of a key.
    ///
    /// ```
    /// use keyloom_keys::{MAX_SORT_KEY_BYTES, Template};
    ///
    /// let lengths = Template::parse("ORDER#{placed_at:datetime}#{order_id:ulid}")?.lengths();
    /// assert_eq!((lengths.min, lengths.max), (53, Some(53)));
    /// assert!(!Template::parse("USER#{email}")?.lengths().fit(MAX_SORT_KEY_BYTES));
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn lengths(&self) -> Lengths {
        let fixed = Lengths { min: self.fixed_bytes, max: Some(self.fixed_bytes) };
        let varying = self.fields().filter(|field| !field.format.is_fixed_width());
        varying.fold(fixed, |sum, field| sum.plus(field.format.lengths_with(&self.codec)))
    }

    /// Encodes a value as a field of this format inside the template: its separator policy applies.
    pub fn encode_field(
        &self,
        format: &FieldFormat,
        value: &Value<'_>,
    ) -> Result<String, ValueError> {
        let mut encoded = String::new();
        format.encode_into(value, &self.codec, &mut encoded)?;
        Ok(encoded)
    }

    /// The minimum and maximum length of a field of this format inside the template, escapes included.
    pub fn field_lengths(&self, format: &FieldFormat) -> Lengths {
        format.lengths_with(&self.codec)
    }

    /// The same template with a namespace in front, so that tests can share a table: `test-7#USER#{id}`.
    pub fn with_namespace(&self, namespace: &str) -> Result<Template, TemplateError> {
        let options = TemplateOptions {
            separator: Some(self.separator().to_owned()),
            policy: self.policy(),
            role: self.role,
        };
        let literal = namespace.replace('{', "{{").replace('}', "}}");
        let text = format!("{literal}{}{}", self.separator(), self.text);
        Template::parse_with(&text, &options, |name| {
            self.field(name).map(|field| field.format.clone())
        })
    }

    pub(crate) fn codec(&self) -> &TextCodec {
        &self.codec
    }
}

/// A value of an enumeration that contains the separator although the policy rejects that.
fn value_with_separator<'f>(field: &'f Field, codec: &TextCodec) -> Option<&'f str> {
    let FieldType::Enum(values) = field.format.kind() else { return None };
    if codec.policy() != SeparatorPolicy::Reject || field.format.is_desc() {
        return None;
    }
    values.iter().map(String::as_str).find(|value| codec.collides(value))
}

impl Segment {
    /// The field, if this is one.
    pub fn as_field(&self) -> Option<&Field> {
        match self {
            Segment::Field(field) => Some(field),
            Segment::Literal(_) => None,
        }
    }

    /// The text, if this is literal.
    pub fn as_literal(&self) -> Option<&str> {
        match self {
            Segment::Literal(text) => Some(text),
            Segment::Field(_) => None,
        }
    }

    /// The length of the segment if it is fixed, else 0.
    fn fixed_len(&self) -> usize {
        match self {
            Segment::Literal(text) => text.len(),
            Segment::Field(field) => field.format.fixed_width().unwrap_or_default(),
        }
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        Template::parse(text)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Templates are equal if they build the same keys from the same fields.
impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.segments == other.segments && self.codec == other.codec && self.role == other.role
    }
}

impl Eq for Template {}
