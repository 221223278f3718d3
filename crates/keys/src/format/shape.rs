//! What written values look like: widths, alphabets, the bytes possible in each place.

use super::{Case, FieldFormat, FieldType};
use crate::byteset::ByteSet;
use crate::escape::TextCodec;
use crate::id::{Ulid, Uuid, is_hyphen};
use crate::range::End;
use crate::time::Precision;
use crate::value::Value;

/// The texts that a field can be written as, described from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One set of bytes for each place.
    Places(Vec<ByteSet>),
    /// One or more bytes of a set.
    Run(ByteSet),
    /// One of these texts.
    Choices(Vec<String>),
}

/// The smallest and the largest number of bytes; `None` where there is no largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lengths {
    /// The fewest bytes.
    pub min: usize,
    /// The most bytes; `None` when nothing limits them.
    pub max: Option<usize>,
}

impl Lengths {
    /// Whether nothing longer than `limit` is possible.
    pub fn fit(self, limit: usize) -> bool {
        self.max.is_some_and(|max| max <= limit)
    }

    pub(crate) fn plus(self, other: Lengths) -> Lengths {
        Lengths { min: self.min + other.min, max: self.max.zip(other.max).map(|(a, b)| a + b) }
    }
}

impl FieldFormat {
    /// Whether all values are written with the same number of bytes.
    pub fn is_fixed_width(&self) -> bool {
        self.fixed_width().is_some()
    }

    /// The number of bytes written, when it is always the same.
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
            _ => self.precision().map(|precision| match precision {
                Precision::Year => 4,
                Precision::Month => 7,
                Precision::Day => 10,
                Precision::Hour => 13,
                Precision::Minute => 17,
                Precision::Second => 20,
                Precision::Millisecond => 24,
            }),
        }
    }

    /// The fewest and most bytes that a value is written with, before the template's separator policy.
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

    /// The bytes that written values consist of, before the template's separator policy.
    pub fn alphabet(&self) -> ByteSet {
        self.alphabet_with(&TextCodec::verbatim())
    }

    pub(crate) fn alphabet_with(&self, codec: &TextCodec) -> ByteSet {
        match self.shape(codec) {
            Shape::Places(places) => places.into_iter().fold(ByteSet::EMPTY, ByteSet::union),
            Shape::Run(set) => set,
            Shape::Choices(choices) => choices
                .iter()
                .fold(ByteSet::EMPTY, |set, choice| set.union(ByteSet::of(choice.as_bytes()))),
        }
    }

    /// The bytes that a written value can begin with.
    pub(crate) fn first_bytes(&self, codec: &TextCodec) -> ByteSet {
        match self.shape(codec) {
            Shape::Places(places) => places.first().copied().unwrap_or_default(),
            Shape::Run(set) => set,
            Shape::Choices(choices) => choices
                .iter()
                .filter_map(|choice| choice.bytes().next())
                .fold(ByteSet::EMPTY, ByteSet::with),
        }
    }

    pub(crate) fn shape(&self, codec: &TextCodec) -> Shape {
        let digit = ByteSet::range(b'0', b'9');
        let hex = digit.union(ByteSet::range(b'a', b'f'));
        let repeat = |set: ByteSet, count: usize| Shape::Places(vec![set; count]);
        let width = self.width.unwrap_or_default();
        match &self.kind {
            FieldType::Enum(_) => Shape::Choices(
                self.choices(codec).into_iter().map(|(_, written)| written).collect(),
            ),
            FieldType::Fixed if self.desc => repeat(hex, 2 * width),
            FieldType::Fixed => repeat(self.text_alphabet(), width),
            FieldType::Hex if self.width.is_some() => repeat(hex, 2 * width),
            FieldType::String | FieldType::Token | FieldType::Hex if self.desc => {
                Shape::Run(hex.with(b'~'))
            }
            FieldType::Hex => Shape::Run(hex),
            FieldType::String | FieldType::Token => Shape::Run(codec.written(self.text_alphabet())),
            FieldType::Uuid => Shape::Places(
                (0..Uuid::TEXT_LEN)
                    .map(|at| if is_hyphen(at) { ByteSet::of(b"-") } else { hex })
                    .collect(),
            ),
            FieldType::Ulid => {
                let crockford = ByteSet::of(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ");
                let mut places = vec![crockford; Ulid::TEXT_LEN];
                if let Some(first) = places.first_mut() {
                    *first = ByteSet::range(b'0', b'7');
                }
                Shape::Places(places)
            }
            FieldType::Bool => Shape::Places(vec![ByteSet::of(b"01")]),
            FieldType::I64 if self.plain => Shape::Run(digit.with(b'-')),
            _ if self.plain => Shape::Run(digit),
            FieldType::I64 => self.places("s", width, ""),
            FieldType::Decimal { scale } => {
                let whole = width - usize::from(*scale);
                let fraction = "0".repeat(usize::from(*scale));
                self.places("s", whole, &if *scale > 0 { format!(".{fraction}") } else { fraction })
            }
            FieldType::Year => self.places("0000", 0, ""),
            FieldType::Month => self.places("0000-10", 0, ""),
            FieldType::Date => self.places("0000-10-30", 0, ""),
            FieldType::Hour => self.places("0000-10-30-20", 0, ""),
            FieldType::DateTime => self.places("0000-10-30T20:50:50Z", 0, ""),
            FieldType::DateTimeMs => self.places("0000-10-30T20:50:50.000Z", 0, ""),
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::EpochMs => repeat(digit, width),
        }
    }

    /// A value for examples that people recognise.
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

    /// A value that is written with a very low or very high first byte.
    pub(crate) fn extreme(&self, end: End) -> Value<'static> {
        let low = (end == End::Least) != self.desc;
        let width = self.width.unwrap_or(1);
        match &self.kind {
            FieldType::String | FieldType::Fixed if low => Value::from("\0".repeat(width)),
            FieldType::String | FieldType::Fixed => {
                // The greatest character that fits.
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

    /// Places after a pattern: `0` is any digit, another digit the largest possible there, `s` a sign.
    fn places(&self, head: &str, digits: usize, tail: &str) -> Shape {
        let pattern = head.bytes().chain(std::iter::repeat_n(b'0', digits)).chain(tail.bytes());
        let place = |mark: u8| match mark {
            b's' => ByteSet::of(b"-0"),
            b'0' => ByteSet::range(b'0', b'9'),
            b'1'..=b'9' if self.desc => ByteSet::range(b'9' - (mark - b'0'), b'9'),
            b'1'..=b'9' => ByteSet::range(b'0', mark),
            other => ByteSet::EMPTY.with(other),
        };
        Shape::Places(pattern.map(place).collect())
    }
}
