//! Bounds of ranges over text, where a value has no direct predecessor or successor.
//!
//! The first text above a value `x` is `x` with the least continuation. Below `x = yc`, where `c` is the last character, come
//! `y` and all texts that begin with `y` and a smaller character, so the upper bound is `y`, the character before `c`, and a
//! mark that sorts above every continuation. Values of fixed width have no continuations.

use super::edge::End;
use super::{Operator, Term};
use crate::byteset::ByteSet;
use crate::error::{BuildError, ValueError};
use crate::escape::{SENTINEL, TextCodec};
use crate::format::FieldType;
use crate::template::{Field, Template};
use crate::value::Value;

/// One bound of a range, or that the range is empty.
pub(super) enum Ends {
    Lower(String),
    Upper(String),
    Empty,
}

/// A text field and its position in a template.
pub(super) struct TextField<'t> {
    pub(super) template: &'t Template,
    pub(super) field: &'t Field,
    pub(super) segment: usize,
}

impl TextField<'_> {
    /// The bounds that a comparison sets, including the rest of the key.
    pub(super) fn ends(
        &self,
        operator: Operator,
        value: &Value<'_>,
    ) -> Result<Vec<Ends>, BuildError> {
        let mut written = String::new();
        self.template.write(self.field, value, &mut written)?;
        let operator = if self.field.format().is_desc() { operator.flipped() } else { operator };
        let rest = |end| self.template.edge(self.segment + 1, end);
        Ok(match operator {
            Operator::Eq => vec![
                Ends::Lower(written.clone() + &rest(End::Least)),
                Ends::Upper(written + &rest(End::Greatest)),
            ],
            Operator::Ge => vec![Ends::Lower(written + &rest(End::Least))],
            Operator::Le => vec![Ends::Upper(written + &rest(End::Greatest))],
            Operator::Gt => {
                written.push(self.continuation());
                vec![Ends::Lower(written)]
            }
            Operator::Lt => vec![match self.below(&written, value) {
                Some(Below::Value(text)) => Ends::Upper(text + &rest(End::Greatest)),
                Some(Below::Mark(text)) => Ends::Upper(text),
                None => Ends::Empty,
            }],
        })
    }

    /// The least text above all keys with a value.
    fn continuation(&self) -> char {
        let format = self.field.format();
        let open = !format.is_fixed_width() && !format.is_desc();
        match format.kind() {
            FieldType::Hex if open => '0',
            _ if open => {
                char::from(self.template.codec().least_continuation(format.text_alphabet()))
            }
            _ => SENTINEL,
        }
    }

    fn below(&self, written: &str, value: &Value<'_>) -> Option<Below> {
        let format = self.field.format();
        let fixed = format.is_fixed_width();
        if let Some(open) = written.strip_suffix('~').filter(|_| format.is_desc() && !fixed) {
            return Some(Below::Mark(format!("{open}g")));
        }
        if *format.kind() == FieldType::Hex || format.is_desc() {
            return below_hex(written, fixed);
        }
        let folded = format.fold(value.as_str()?);
        let alphabet = format.text_alphabet();
        let verbatim = TextCodec::verbatim();
        let codec = if format.is_guarded() { self.template.codec() } else { &verbatim };
        let mut head = folded.chars();
        loop {
            let last = head.next_back()?;
            let mut text = String::new();
            codec.write_unchecked(head.as_str(), &mut text);
            if let Some(before) = previous(alphabet, last) {
                codec.write_unchecked(before.encode_utf8(&mut [0; 4]), &mut text);
                text.push(SENTINEL);
                return Some(Below::Mark(text));
            }
            if !fixed {
                return (!text.is_empty()).then_some(Below::Value(text));
            }
        }
    }
}

impl Template {
    /// The least character that makes a key greater than all keys with a value of the field at this segment, when it
    /// follows the value: the lower end of a range that excludes the value.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let name = Template::parse("USER#{name:token}")?;
    /// assert_eq!(name.continuation(1), Some('-'));
    /// assert_eq!(name.continuation(0), None);
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn continuation(&self, segment: usize) -> Option<char> {
        let field = self.segments().get(segment)?.as_field()?;
        Some(TextField { template: self, field, segment }.continuation())
    }
}

/// The upper bound for values below a value.
enum Below {
    /// A value; keys with it are included.
    Value(String),
    /// A text above all included keys.
    Mark(String),
}

fn below_hex(written: &str, fixed: bool) -> Option<Below> {
    let mut head = written.to_owned();
    loop {
        // Two digits are one byte.
        let low = head.pop()?;
        let high = head.pop()?;
        let byte = high.to_digit(16)? << 4 | low.to_digit(16)?;
        if let Some(before) = byte.checked_sub(1) {
            return Some(Below::Mark(format!("{head}{before:02x}{SENTINEL}")));
        }
        if !fixed {
            return (!head.is_empty()).then_some(Below::Value(head));
        }
    }
}

/// The character before this one in values over an alphabet. It must be in the alphabet: another one might be
/// escaped and sort elsewhere.
fn previous(alphabet: ByteSet, c: char) -> Option<char> {
    let code = u32::from(c);
    if code > 0x80 {
        return Some(char::from_u32(code - 1).unwrap_or('\u{D7FF}'));
    }
    alphabet.iter().take_while(|byte| u32::from(*byte) < code).last().map(char::from)
}

/// The encoded prefix of a value, for `begins_with`.
pub(super) fn written_beginning(
    template: &Template,
    field: &Field,
    text: &str,
) -> Result<String, BeginningError> {
    let format = field.format();
    let value_error = |error| Err(BeginningError::Value(error));
    if text.is_empty() {
        return value_error(ValueError::Empty);
    }
    if format.is_desc() {
        return Err(BeginningError::NoBeginnings(
            "it is written complemented, in descending order",
        ));
    }
    match format.kind() {
        FieldType::String | FieldType::Token | FieldType::Enum(_) => {
            let folded = format.fold(text);
            let foreign = |c: &char| {
                let mut bytes = [0; 4];
                let written = c.encode_utf8(&mut bytes).as_bytes();
                written.iter().any(|byte| !format.text_alphabet().contains(*byte)) || *c == SENTINEL
            };
            if let Some(character) = folded.chars().find(foreign) {
                let allowed = "the characters that the field's values have";
                return value_error(ValueError::OutsideAlphabet { character, allowed });
            }
            let mut out = String::new();
            template.codec().write_beginning(&folded, &mut out).map_err(BeginningError::Value)?;
            Ok(out)
        }
        FieldType::Fixed | FieldType::Hex => Ok(text.to_owned()),
        FieldType::Uuid => Ok(text.to_ascii_lowercase()),
        FieldType::Ulid => Ok(text.to_ascii_uppercase()),
        FieldType::EpochMs => {
            Err(BeginningError::NoBeginnings("it is a padded number; use a range"))
        }
        _ if format.precision().is_some() => Ok(text.to_owned()),
        _ => Err(BeginningError::NoBeginnings("it is a padded number; use a range")),
    }
}

pub(super) enum BeginningError {
    Value(ValueError),
    NoBeginnings(&'static str),
}

/// The value, if the terms are a single equality.
pub(super) fn sole_equality<'c, 'a>(terms: &'c [Term<'a>]) -> Option<&'c Value<'a>> {
    match terms {
        [Term::Compare(Operator::Eq, value)] => Some(value),
        _ => None,
    }
}
