//! Parsing keys into fields.

use std::fmt;

use super::plan::{Step, Stop};
use super::{Field, MAX_FIELDS, Segment, Template};
use crate::error::{ParseError, excerpt};
use crate::value::Value;

/// The fields of a parsed key, borrowed from it. The key is already validated; values are decoded on access.
#[derive(Clone, Copy)]
pub struct Fields<'t, 'k> {
    template: &'t Template,
    key: &'k str,
    /// The byte range of each field; keys are shorter than 2^16 bytes.
    spans: [(u16, u16); MAX_FIELDS],
    len: usize,
}

impl<'t, 'k> Fields<'t, 'k> {
    /// The number of fields.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the template has no fields.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a field by name.
    pub fn get(&self, name: &str) -> Option<Value<'k>> {
        let at = self.template.fields().position(|field| field.name() == name)?;
        self.at(at)
    }

    /// The value of a field by position.
    pub fn at(&self, index: usize) -> Option<Value<'k>> {
        let field = self.template.fields().nth(index)?;
        field.format().decode_with(self.raw(index)?, self.template.codec()).ok()
    }

    /// The encoded value of a field by position.
    pub fn raw(&self, index: usize) -> Option<&'k str> {
        let &(start, end) = self.spans.get(..self.len)?.get(index)?;
        self.key.get(usize::from(start)..usize::from(end))
    }

    /// Names and values from left to right.
    pub fn iter(&self) -> impl Iterator<Item = (&'t str, Value<'k>)> + '_ {
        self.template
            .fields()
            .enumerate()
            .filter_map(|(index, field)| Some((field.name(), self.at(index)?)))
    }
}

impl fmt::Debug for Fields<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Template {
    /// Parses a key. Only keys that [`Template::build`] builds are accepted.
    ///
    /// ```
    /// use keyloom_keys::{Template, Value};
    ///
    /// let order = Template::parse("ORDER#{day:date}#{id}")?;
    /// let fields = order.parse_key("ORDER#2024-12-01#456")?;
    /// assert_eq!(fields.get("id"), Some(Value::from("456")));
    ///
    /// let error = order.parse_key("ORDER#2024-12-32#456").unwrap_err();
    /// assert_eq!((error.field(), error.at()), (Some("day"), 6));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_key<'t, 'k>(&'t self, key: &'k str) -> Result<Fields<'t, 'k>, ParseError> {
        let limit = self.role().limit();
        if key.len() > limit {
            return Err(self.misfit(
                key,
                limit,
                None,
                format!("the key has {} bytes, at most {limit} are allowed", key.len()),
            ));
        }
        let mut fields = Fields { template: self, key, spans: [(0, 0); MAX_FIELDS], len: 0 };
        let mut at = 0;
        for (segment, step) in self.segments.iter().zip(&self.steps) {
            let rest = key.get(at..).unwrap_or_default();
            match segment {
                Segment::Literal(literal) => {
                    if !rest.starts_with(literal.as_str()) {
                        return Err(self.misfit(key, at, None, format!("`{literal}` is missing")));
                    }
                    at += literal.len();
                }
                Segment::Field(field) => {
                    let text =
                        self.extent(*step, rest).and_then(|length| rest.get(..length)).ok_or_else(
                            || self.misfit(key, at, Some(field), self.why_no_extent(*step, rest)),
                        )?;
                    if let Err(error) = field.format().check(text, self.codec()) {
                        return Err(self.misfit(key, at, Some(field), error.to_string()));
                    }
                    if let Some(slot) = fields.spans.get_mut(fields.len) {
                        *slot = (at as u16, (at + text.len()) as u16);
                    }
                    fields.len += 1;
                    at += text.len();
                }
            }
        }
        if at < key.len() {
            let rest = excerpt(key.get(at..).unwrap_or_default());
            return Err(self.misfit(key, at, None, format!("`{rest}` is left over")));
        }
        Ok(fields)
    }

    /// Whether the template can build this key.
    pub fn matches(&self, key: &str) -> bool {
        self.parse_key(key).is_ok()
    }

    /// The length of the field at the start of the rest of a key.
    pub(super) fn extent(&self, step: Step, rest: &str) -> Option<usize> {
        match step {
            Step::Literal => None,
            Step::Fixed(width) => Some(width),
            Step::Varying { stop, tail } => {
                let end = match stop {
                    Stop::End => Some(rest.len()),
                    Stop::Separator => match self.separator().as_bytes() {
                        [byte] => position(rest, *byte),
                        _ => rest.find(self.separator()),
                    },
                    Stop::Byte(byte) => position(rest, byte),
                };
                end?.checked_sub(tail)
            }
        }
    }

    fn why_no_extent(&self, step: Step, rest: &str) -> String {
        match step {
            Step::Fixed(width) if rest.len() < width => {
                format!("the key ends after {} of its {width} bytes", rest.len())
            }
            Step::Fixed(width) => format!("its {width} bytes end inside a character"),
            Step::Varying { stop: Stop::Separator, .. } => {
                format!("no separator `{}` follows", self.separator())
            }
            Step::Varying { stop: Stop::Byte(byte), .. } => {
                format!("no `{}` follows", char::from(byte))
            }
            _ => "the key is too short".to_owned(),
        }
    }

    #[cold]
    pub(crate) fn misfit(
        &self,
        key: &str,
        at: usize,
        field: Option<&Field>,
        reason: String,
    ) -> ParseError {
        ParseError {
            template: excerpt(self.text()),
            key: excerpt(key),
            at,
            field: field.map(|field| field.name().to_owned()),
            reason,
        }
    }
}

fn position(text: &str, byte: u8) -> Option<usize> {
    text.bytes().position(|b| b == byte)
}
