//! The format of a field in a key: its type, width, sort direction and limits.

mod decode;
mod digits;
mod encode;
mod ordinal;
mod shape;
mod text;

use std::sync::Arc;

use crate::error::FormatError;
use crate::time::Precision;

pub use shape::Lengths;

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldType {
    /// Any text.
    String,
    /// ASCII letters, digits, `-`, `.` and `_`: identifiers whose order is easy to prove.
    Token,
    /// Text of an exact number of bytes.
    Fixed,
    /// A number from 0 to 255.
    U8,
    /// A number from 0 to 65535.
    U16,
    /// A number from 0 to 4294967295.
    U32,
    /// A number from 0 to 18446744073709551615.
    U64,
    /// A signed 64-bit integer.
    I64,
    /// A fixed-point decimal number.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// A calendar year; times are truncated to it.
    Year,
    /// A calendar month; times are truncated to it.
    Month,
    /// A calendar day; times are truncated to it.
    Date,
    /// An hour of a day; times are truncated to it.
    Hour,
    /// An instant with a precision of seconds.
    DateTime,
    /// An instant with a precision of milliseconds.
    DateTimeMs,
    /// An instant as milliseconds since 1970.
    EpochMs,
    /// A UUID.
    Uuid,
    /// A ULID.
    Ulid,
    /// A boolean.
    Bool,
    /// One of a list of texts, which sort as texts.
    Enum(Arc<[String]>),
    /// Binary data.
    Hex,
}

impl FieldType {
    /// Whether an attribute that holds the field alone is a number: whole numbers, decimals and milliseconds.
    pub const fn is_number(&self) -> bool {
        matches!(
            self,
            Self::U8
                | Self::U16
                | Self::U32
                | Self::U64
                | Self::I64
                | Self::Decimal { .. }
                | Self::EpochMs
        )
    }
}

/// How the case of text is normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Case {
    /// The case is kept.
    #[default]
    AsIs,
    /// ASCII letters become lower case, which merges values that differ only by case.
    Lower,
    /// ASCII letters become upper case, which merges values that differ only by case.
    Upper,
}

/// The format of a field in a key.
///
/// | type | encoded as | width in bytes |
/// |---|---|---|
/// | `string`, `string:64` | unchanged, at most 64 bytes | varies |
/// | `token` | letters, digits, `-`, `.`, `_` | varies |
/// | `fixed:27` | text of exactly 27 bytes | fixed |
/// | `u8` `u16` `u32` `u64`, `u32:6` | zero-padded | 3, 5, 10, 20, or as given |
/// | `i64`, `i64:6` | `0` and padded digits; negative numbers `-` and the nine's complement | 20, or one more than given |
/// | `decimal:10.2` | as `i64`, ten digits of which two follow a point | 12 |
/// | `year` `month` `date` `hour` | `2024`, `2024-01`, `2024-01-15`, `2024-01-15-10` | fixed |
/// | `datetime`, `datetime:ms` | `2024-01-15T10:30:00Z`, `2024-01-15T10:30:00.250Z` | 20, 24 |
/// | `month:compact` `date:compact` `hour:compact` | `202401`, `20240115`, `2024011510` | 6, 8, 10 |
/// | `datetime:compact`, `datetime:ms:compact` | `20240115T103000Z`, `20240115T103000.250Z` | 16, 20 |
/// | `epoch_ms` | milliseconds since 1970, zero-padded | 15, or as given |
/// | `uuid`, `ulid` | canonical text | 36, 26 |
/// | `bool` | `0` or `1` | 1 |
/// | `enum:a\|b\|c` | one of the values | varies |
/// | `hex`, `hex:16` | bytes as lower-case hex, of any number or exactly 16 | varies, or 32 |
///
/// `:desc` reverses the byte order of any of them: digits become their nine's complement, identifiers their bitwise
/// complement, text its complemented bytes in hex, terminated by `~`. `:plain` leaves a whole number unpadded, which breaks
/// its order. `:lower` and `:upper` convert the ASCII letters of text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldFormat {
    kind: FieldType,
    /// The number of digits of a number, or of bytes of fixed text or fixed hex.
    width: Option<usize>,
    max_bytes: Option<usize>,
    plain: bool,
    desc: bool,
    case: Case,
    compact: bool,
}

/// The parts of a format, as a design file states them.
///
/// ```
/// use keyloom_keys::FormatSpec;
///
/// let format = FormatSpec { width: Some(6), ..FormatSpec::new("u32") }.build()?;
/// assert_eq!(format.to_string(), "u32:6");
/// let status = FormatSpec { values: Some(vec!["Todo".into(), "Done".into()]), ..FormatSpec::new("string") };
/// assert_eq!(status.build()?.to_string(), "enum:Todo|Done");
/// # Ok::<(), keyloom_keys::FormatError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatSpec {
    /// A format text such as `u32` or `datetime:ms`; the other parts add to it.
    pub type_name: String,
    /// The number of digits of a number, or of bytes of fixed text or hex.
    pub width: Option<usize>,
    /// Do not pad a whole number with zeros.
    pub plain: bool,
    /// The maximum length of a text or hex value in bytes.
    pub max_bytes: Option<usize>,
    /// The values of an enumeration.
    pub values: Option<Vec<String>>,
    /// Sort in descending order.
    pub desc: bool,
    /// How the case of text is normalised.
    pub case: Case,
}

impl FormatSpec {
    /// A format with this type and default options.
    pub fn new(type_name: impl Into<String>) -> Self {
        FormatSpec { type_name: type_name.into(), ..FormatSpec::default() }
    }

    /// Builds the format; fails if the parts do not fit each other.
    pub fn build(self) -> Result<FieldFormat, FormatError> {
        let mut format = FieldFormat::parse(&self.type_name)?;
        if let Some(values) = self.values {
            if !matches!(format.kind, FieldType::String | FieldType::Enum(_)) {
                return Err(FormatError::new(
                    self.type_name,
                    "only text can have a list of values",
                ));
            }
            format.kind = FieldType::Enum(values.into());
        }
        format.width = self.width.or(format.width);
        format.max_bytes = self.max_bytes.or(format.max_bytes);
        format.plain |= self.plain;
        format.desc |= self.desc;
        if self.case != Case::AsIs {
            format.case = self.case;
        }
        format.checked()
    }
}

impl FieldFormat {
    /// A format with default options; `Decimal` and `Fixed` have required ones and are made with [`FieldFormat::parse`].
    pub fn new(kind: FieldType) -> Result<Self, FormatError> {
        Self::bare(kind).checked()
    }

    pub(crate) const fn bare(kind: FieldType) -> Self {
        FieldFormat {
            kind,
            width: None,
            max_bytes: None,
            plain: false,
            desc: false,
            case: Case::AsIs,
            compact: false,
        }
    }

    /// Any text: what a placeholder without a format means.
    pub const fn string() -> Self {
        Self::bare(FieldType::String)
    }

    /// The same format in descending order.
    pub fn descending(mut self) -> Result<Self, FormatError> {
        self.desc = true;
        self.checked()
    }

    /// The type of the field.
    pub fn kind(&self) -> &FieldType {
        &self.kind
    }

    /// The number of digits of a number, or of bytes of fixed text or fixed hex; `None` for other types.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// The maximum length of a text or hex value in bytes.
    pub fn max_bytes(&self) -> Option<usize> {
        self.max_bytes
    }

    /// Whether a number is not padded, so that it does not sort by its value.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether values sort in descending order.
    pub fn is_desc(&self) -> bool {
        self.desc
    }

    /// How the case of text is normalised.
    pub fn case(&self) -> Case {
        self.case
    }

    /// The same format with the marks that a compact one leaves out.
    #[must_use]
    pub fn marked(mut self) -> Self {
        self.compact = false;
        self
    }

    /// Whether a time is written without `-` and `:`.
    pub fn is_compact(&self) -> bool {
        self.compact
    }

    /// Whether the field holds text, which the separator policy applies to unless it is fixed or descending.
    pub fn is_text(&self) -> bool {
        matches!(
            self.kind,
            FieldType::String | FieldType::Token | FieldType::Fixed | FieldType::Enum(_)
        )
    }

    /// Whether the separator could occur in encoded values, so that the separator policy applies.
    pub(crate) fn is_guarded(&self) -> bool {
        self.is_text() && !self.desc && self.kind != FieldType::Fixed
    }

    /// The precision of a time field.
    pub fn precision(&self) -> Option<Precision> {
        match self.kind {
            FieldType::Year => Some(Precision::Year),
            FieldType::Month => Some(Precision::Month),
            FieldType::Date => Some(Precision::Day),
            FieldType::Hour => Some(Precision::Hour),
            FieldType::DateTime => Some(Precision::Second),
            FieldType::DateTimeMs | FieldType::EpochMs => Some(Precision::Millisecond),
            _ => None,
        }
    }

    /// Whether this is a time bucket: a period to which times are truncated.
    pub fn is_bucket(&self) -> bool {
        self.precision().is_some_and(|precision| precision <= Precision::Hour)
    }

    /// Fills in default widths and rejects meaningless combinations.
    fn checked(mut self) -> Result<Self, FormatError> {
        let named = self.to_string();
        let refuse = |reason: String| Err(FormatError::new(named.clone(), reason));
        let full_width = match self.kind {
            FieldType::U8 => Some(3),
            FieldType::U16 => Some(5),
            FieldType::U32 => Some(10),
            FieldType::U64 => Some(20),
            FieldType::I64 => Some(19),
            FieldType::EpochMs => Some(15),
            FieldType::Decimal { .. } => Some(crate::decimal::MAX_DIGITS as usize),
            _ => None,
        };
        let whole = full_width.is_some() && !matches!(self.kind, FieldType::Decimal { .. });
        match (full_width, self.width) {
            (Some(full), Some(width)) if width == 0 || width > full => {
                return refuse(format!("the width has to be between 1 and {full} digits"));
            }
            (Some(full), None) if whole => self.width = Some(full),
            (None, Some(0)) => return refuse("the width cannot be 0".to_owned()),
            (None, Some(width)) if width > crate::MAX_PARTITION_KEY_BYTES => {
                return refuse(format!("no key is {width} bytes long"));
            }
            (None, Some(_)) if !matches!(self.kind, FieldType::Fixed | FieldType::Hex) => {
                return refuse("this type has no width".to_owned());
            }
            (None, None) if self.kind == FieldType::Fixed => {
                return refuse("state the number of bytes, as in `fixed:27`".to_owned());
            }
            _ => {}
        }
        if let FieldType::Decimal { scale } = self.kind
            && self.width.is_none_or(|digits| usize::from(scale) >= digits)
        {
            return refuse(
                "state digits in all and after the point, as in `decimal:10.2`".to_owned(),
            );
        }
        if self.plain && !whole {
            return refuse("only whole numbers can be plain".to_owned());
        }
        if self.plain && self.desc {
            return refuse(
                "an unpadded number does not sort by its value; remove `plain`".to_owned(),
            );
        }
        let variable_bytes = matches!(self.kind, FieldType::String | FieldType::Token)
            || (self.kind == FieldType::Hex && self.width.is_none());
        if self.max_bytes == Some(0) || (self.max_bytes.is_some() && !variable_bytes) {
            return refuse(
                "a maximum number of bytes is for text or hex of varying length, from 1".to_owned(),
            );
        }
        if self.case != Case::AsIs && !self.is_text() {
            return refuse("only text has a case".to_owned());
        }
        let marked = self.precision().is_some_and(|precision| precision > Precision::Year)
            && self.kind != FieldType::EpochMs;
        if self.compact && !marked {
            return refuse("only months, dates, hours and times can be compact".to_owned());
        }
        if let Err(reason) = self.check_values() {
            return refuse(reason);
        }
        Ok(self)
    }

    fn check_values(&self) -> Result<(), String> {
        let FieldType::Enum(values) = &self.kind else { return Ok(()) };
        if values.is_empty() || values.iter().any(String::is_empty) {
            return Err(
                "an enumeration needs values, none of them empty, as in `enum:a|b`".to_owned()
            );
        }
        for (at, value) in values.iter().enumerate() {
            if values.iter().take(at).any(|earlier| earlier == value) {
                return Err(format!("the value `{value}` is listed twice"));
            }
            if self.fold(value) != *value {
                return Err(format!("the value `{value}` is not in the case asked for"));
            }
        }
        Ok(())
    }

    /// Normalises the case of a text.
    #[inline]
    pub(crate) fn fold<'v>(&self, text: &'v str) -> std::borrow::Cow<'v, str> {
        match self.case {
            Case::AsIs => text.into(),
            Case::Lower if text.bytes().any(|b| b.is_ascii_uppercase()) => {
                text.to_ascii_lowercase().into()
            }
            Case::Upper if text.bytes().any(|b| b.is_ascii_lowercase()) => {
                text.to_ascii_uppercase().into()
            }
            _ => text.into(),
        }
    }
}
