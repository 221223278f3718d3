//! Properties of encoded values: widths, alphabets, examples and extremes.

use super::{Case, FieldFormat, FieldType};
use crate::byteset::ByteSet;
use crate::escape::TextCodec;
use crate::id::{Ulid, Uuid};
use crate::language::Language;
use crate::range::End;
use crate::time::Precision;
use crate::value::Value;

/// The minimum and maximum length of encoded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lengths {
    /// The minimum length in bytes.
    pub min: usize,
    /// The maximum length in bytes; `None` if it is unbounded.
    pub max: Option<usize>,
}

impl Lengths {
    /// Whether the maximum length is at most `limit`.
    pub fn fit(self, limit: usize) -> bool {
        self.max.is_some_and(|max| max <= limit)
    }

    pub(crate) fn plus(self, other: Lengths) -> Lengths {
        Lengths { min: self.min + other.min, max: self.max.zip(other.max).map(|(a, b)| a + b) }
    }
}

impl FieldFormat {
    /// Whether all encoded values have the same length.
    pub fn is_fixed_width(&self) -> bool {
        self.fixed_width().is_some()
    }

    /// The length of encoded values, if it is always the same.
    pub(crate) fn fixed_width(&self) -> Option<usize> {
        let width = self.width;
        match &self.kind {
            _ if self.plain => None,
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::EpochMs => width,
            FieldType::I64 => width.map(|digits| digits + 1),
            FieldType::Decimal { scale } => {
                width.map(|digits| digits + 1 + usize::from(*scale > 0))
            }
            FieldType::Uuid => Some(Uuid::TEXT_LEN),
            FieldType::Ulid => Some(Ulid::TEXT_LEN),
            FieldType::Bool => Some(1),
            FieldType::Fixed => width.map(|bytes| if self.desc { 2 * bytes } else { bytes }),
            FieldType::Hex => width.map(|bytes| 2 * bytes),
            FieldType::String | FieldType::Token | FieldType::Enum(_) => None,
            _ => self.precision().map(|precision| {
                let (marked, marks) = match precision {
                    Precision::Year => (4, 0),
                    Precision::Month => (7, 1),
                    Precision::Day => (10, 2),
                    Precision::Hour => (13, 3),
                    Precision::Minute => (17, 3),
                    Precision::Second => (20, 4),
                    Precision::Millisecond => (24, 4),
                };
                if self.compact { marked - marks } else { marked }
            }),
        }
    }

    /// The minimum and maximum length of encoded values, before the template's separator policy.
    pub fn lengths(&self) -> Lengths {
        self.lengths_with(&TextCodec::verbatim())
    }

    pub(crate) fn lengths_with(&self, codec: &TextCodec) -> Lengths {
        if let Some(width) = self.fixed_width() {
            return Lengths { min: width, max: Some(width) };
        }
        let written = |raw: usize| if self.desc { 2 * raw + 1 } else { raw };
        match &self.kind {
            FieldType::Enum(_) => {
                let lengths = self.choices(codec).into_iter().map(|(_, written)| written.len());
                Lengths { min: lengths.clone().min().unwrap_or_default(), max: lengths.max() }
            }
            FieldType::Hex => Lengths {
                min: if self.desc { 3 } else { 2 },
                max: self.max_bytes.map(|max| if self.desc { 2 * max + 1 } else { 2 * max }),
            },
            FieldType::String | FieldType::Token if self.desc => {
                Lengths { min: 3, max: self.max_bytes.map(written) }
            }
            FieldType::String | FieldType::Token => Lengths {
                min: 1,
                max: self.max_bytes.map(|max| max * codec.growth(self.text_alphabet())),
            },
            _ => {
                let (min, max) = self.ordinals().unwrap_or_default();
                let longest = min.to_string().len().max(max.to_string().len());
                Lengths { min: 1, max: Some(longest) }
            }
        }
    }

    /// The bytes that occur in encoded values, before the template's separator policy.
    pub fn alphabet(&self) -> ByteSet {
        self.alphabet_with(&TextCodec::verbatim())
    }

    pub(crate) fn alphabet_with(&self, codec: &TextCodec) -> ByteSet {
        self.language(codec).alphabet()
    }

    /// The bytes that an encoded value can begin with.
    pub(crate) fn first_bytes(&self, codec: &TextCodec) -> ByteSet {
        let language = self.language(codec);
        let first = language.edges(Language::START).iter();
        first.fold(ByteSet::EMPTY, |set, (bytes, _)| set.union(*bytes))
    }

    /// The language of encoded values.
    pub(crate) fn language(&self, codec: &TextCodec) -> Language {
        let mut language = Language::empty_text();
        language.field(self, codec);
        language
    }

    /// A familiar value, for examples in messages.
    pub(crate) fn example(&self) -> Value<'static> {
        match &self.kind {
            FieldType::String | FieldType::Token | FieldType::Fixed => {
                let letter = if self.case == Case::Upper { "A" } else { "a" };
                Value::from(letter.repeat(self.width.unwrap_or(1)))
            }
            FieldType::Enum(values) => Value::from(values.first().cloned().unwrap_or_default()),
            FieldType::Hex => Value::from(vec![0xab; self.width.unwrap_or(1)]),
            _ => {
                let (min, max) = self.ordinals().unwrap_or_default();
                // 2024-01-15T10:30:00Z, or 1.
                let familiar = self
                    .precision()
                    .map_or(1, |precision| precision.index_of(1_705_314_600_000).into());
                self.value_at(familiar.clamp(min, max))
            }
        }
    }

    /// A value whose encoding has a very low or very high first byte.
    pub(crate) fn extreme(&self, end: End) -> Value<'static> {
        let low = (end == End::Least) != self.desc;
        let width = self.width.unwrap_or(1);
        match &self.kind {
            FieldType::String | FieldType::Fixed if low => Value::from("\0".repeat(width)),
            FieldType::String | FieldType::Fixed => {
                // The greatest character that fits the width.
                let first = ['\u{10FFFE}', '\u{FFFD}', '\u{7FF}', '~']
                    .into_iter()
                    .find(|c| c.len_utf8() <= width);
                let first = first.unwrap_or('~');
                Value::from(format!(
                    "{first}{}",
                    "~".repeat(width.saturating_sub(first.len_utf8()))
                ))
            }
            FieldType::Token => Value::from(if low { "-" } else { "z" }),
            FieldType::Enum(values) => {
                let value = if low { values.iter().min() } else { values.iter().max() };
                Value::from(value.cloned().unwrap_or_default())
            }
            FieldType::Hex => Value::from(vec![if low { 0 } else { 0xff }; width]),
            _ => {
                let (min, max) = self.ordinals().unwrap_or_default();
                self.value_at(if low { min } else { max })
            }
        }
    }
}
