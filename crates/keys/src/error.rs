//! Error types. Each message names the template or field, the reason and, where possible, the fix.

use std::error::Error;
use std::fmt;
use std::ops::Range;

/// The longest excerpt of user input in a message.
const EXCERPT_BYTES: usize = 80;

/// The text, truncated if it is long.
pub(crate) fn excerpt(text: &str) -> String {
    if text.len() <= EXCERPT_BYTES {
        return text.to_owned();
    }
    let mut kept: String =
        text.char_indices().take_while(|(at, _)| *at < EXCERPT_BYTES).map(|(_, c)| c).collect();
    kept.push('…');
    kept
}

/// Why a value is invalid for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// The value has the wrong type for the field.
    WrongType {
        /// The type of the field.
        expected: &'static str,
        /// The type of the value.
        got: &'static str,
    },
    /// The text cannot be parsed as the field's type.
    Malformed {
        /// The text given.
        text: String,
        /// What was expected, with an example.
        expected: String,
    },
    /// Key parts cannot be empty.
    Empty,
    /// The value is longer than the field allows.
    TooLong {
        /// Bytes of the value.
        bytes: usize,
        /// How many bytes are allowed.
        max: usize,
    },
    /// A value of fixed length has another length.
    WrongLength {
        /// Bytes of the value.
        bytes: usize,
        /// How many bytes are required.
        expected: usize,
    },
    /// The value contains the separator, or ends with a part of it.
    ContainsSeparator {
        /// The value as text.
        value: String,
        /// The separator of the template.
        separator: String,
    },
    /// The value has a character outside the field's alphabet.
    OutsideAlphabet {
        /// The character that is not allowed.
        character: char,
        /// The characters allowed, in words.
        allowed: &'static str,
    },
    /// The value contains U+10FFFF, which is reserved as the upper bound of ranges.
    Reserved,
    /// The number or time is outside the range of the field.
    OutOfRange {
        /// The value as text.
        value: String,
        /// The smallest value allowed.
        min: String,
        /// The largest value allowed.
        max: String,
    },
    /// A time or decimal has more precision than the field stores, so building the key would lose some.
    TooFine {
        /// The value as text.
        value: String,
        /// What the field stores.
        keeps: &'static str,
    },
    /// A time has too little precision to be an instant.
    TooCoarse {
        /// The value as text.
        value: String,
        /// What the field needs.
        needs: &'static str,
    },
    /// The text is not one of the enumeration's values.
    NotAMember {
        /// The text given.
        text: String,
        /// The values allowed.
        members: Vec<String>,
    },
    /// The text is not the canonical encoding of its value: zero padding, case or escapes differ.
    NotCanonical {
        /// The text found.
        text: String,
        /// The canonical encoding.
        canonical: String,
    },
}

impl ValueError {
    pub(crate) fn malformed(text: &str, expected: impl Into<String>) -> Self {
        ValueError::Malformed { text: excerpt(text), expected: expected.into() }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::WrongType { expected, got } => write!(f, "expected {expected}, got {got}"),
            ValueError::Malformed { text, expected } => {
                write!(f, "`{text}` is not {expected}")
            }
            ValueError::Empty => f.write_str("the value is empty; omit the whole key instead"),
            ValueError::TooLong { bytes, max } => {
                write!(f, "the value has {bytes} bytes, at most {max} are allowed")
            }
            ValueError::WrongLength { bytes, expected } => {
                write!(f, "the value has {bytes} bytes, exactly {expected} are needed")
            }
            ValueError::ContainsSeparator { value, separator } => write!(
                f,
                "`{value}` contains the separator `{separator}` or ends with a part of it; choose another separator or an \
                 escaping policy"
            ),
            ValueError::OutsideAlphabet { character, allowed } => {
                write!(f, "the character {character:?} is not allowed here, only {allowed}")
            }
            ValueError::Reserved => {
                f.write_str("the character U+10FFFF is reserved as the upper bound of ranges")
            }
            ValueError::OutOfRange { value, min, max } => {
                write!(f, "{value} is outside {min} to {max}")
            }
            ValueError::TooFine { value, keeps } => {
                write!(f, "{value} has more precision than the field stores ({keeps})")
            }
            ValueError::TooCoarse { value, needs } => {
                write!(f, "{value} is a period, not an instant; give {needs}")
            }
            ValueError::NotAMember { text, members } => {
                write!(f, "`{text}` is not one of {}", members.join(", "))
            }
            ValueError::NotCanonical { text, canonical } => {
                write!(
                    f,
                    "`{text}` is not the canonical form of this value, which is `{canonical}`"
                )
            }
        }
    }
}

impl Error for ValueError {}

/// Why a field format is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    pub(crate) format: String,
    pub(crate) reason: String,
}

impl FormatError {
    pub(crate) fn new(format: impl Into<String>, reason: impl Into<String>) -> Self {
        FormatError { format: format.into(), reason: reason.into() }
    }

    /// The reason, without the format.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field format `{}`: {}", self.format, self.reason)
    }
}

impl Error for FormatError {}

/// Why a template is invalid, at which position, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    pub(crate) template: String,
    pub(crate) span: Range<usize>,
    pub(crate) reason: String,
    pub(crate) fix: String,
    pub(crate) ambiguous: bool,
}

impl TemplateError {
    /// The template's text.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// The byte range of the text with the error.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// What is wrong.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// How to fix it.
    pub fn fix(&self) -> &str {
        &self.fix
    }

    /// Whether the text is well-formed but ambiguous: different values would build the same key.
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template `{}`: {}; {}", excerpt(&self.template), self.reason, self.fix)
    }
}

impl Error for TemplateError {}

/// Why a key cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// No value was given for a field.
    Missing {
        /// The template as text.
        template: String,
        /// The field without a value.
        field: String,
    },
    /// A value was given for a field that the template does not have.
    Unknown {
        /// The template as text.
        template: String,
        /// The name given.
        field: String,
        /// The template's own fields.
        known: Vec<String>,
    },
    /// Two values were given for one field.
    Twice {
        /// The name of the field.
        field: String,
    },
    /// Positional values do not match the template's fields in number.
    Count {
        /// The template as text.
        template: String,
        /// The number of values given.
        given: usize,
        /// The number of fields.
        fields: usize,
    },
    /// A value is invalid for its field.
    Value {
        /// The name of the field.
        field: String,
        /// Why the value does not fit.
        error: ValueError,
    },
    /// The key as a whole is longer than DynamoDB allows.
    KeyTooLong {
        /// The template as text.
        template: String,
        /// Bytes of the key.
        bytes: usize,
        /// How many bytes are allowed.
        limit: usize,
    },
    /// A prefix skips a field: fields must be given from the left without a gap.
    Gap {
        /// The field that is missing.
        missing: String,
        /// The later field that was given.
        given: String,
    },
    /// A prefix would end after a field without a separator, so that longer values would match, too.
    Open {
        /// The name of the field.
        field: String,
        /// The field that follows it directly.
        next: String,
    },
    /// A prefix was requested, but every field is given.
    WholeKey {
        /// The key as text.
        key: String,
        /// The prefix of keys below this one.
        below: String,
    },
}

impl BuildError {
    pub(crate) fn value(field: &str, error: ValueError) -> Self {
        BuildError::Value { field: field.to_owned(), error }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Missing { template, field } => {
                write!(f, "template `{template}`: no value for field `{field}`")
            }
            BuildError::Unknown { template, field, known } if known.is_empty() => {
                write!(f, "template `{template}` is constant and has no field `{field}`")
            }
            BuildError::Unknown { template, field, known } => write!(
                f,
                "template `{template}` has no field `{field}`; its fields are {}",
                known.join(", ")
            ),
            BuildError::Twice { field } => write!(f, "field `{field}` is given twice"),
            BuildError::Count { template, given, fields } => {
                write!(f, "template `{template}` has {fields} fields, {given} values were given")
            }
            BuildError::Value { field, error } => write!(f, "field `{field}`: {error}"),
            BuildError::KeyTooLong { template, bytes, limit } => write!(
                f,
                "template `{template}`: the key has {bytes} bytes, at most {limit} are allowed"
            ),
            BuildError::Gap { missing, given } => write!(
                f,
                "field `{given}` is given but `{missing}` to its left is not; fields are bound from the left \
                 without a gap"
            ),
            BuildError::Open { field, next } => write!(
                f,
                "`{next}` follows `{field}` without a separator, so keys with longer values of `{field}` begin the same; \
                 put a separator between them"
            ),
            BuildError::WholeKey { key, below } => write!(
                f,
                "every field is given, so `{key}` is one whole key and not a prefix; keys below it begin with `{below}`"
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BuildError::Value { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Why a key does not match a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub(crate) template: String,
    pub(crate) key: String,
    pub(crate) at: usize,
    pub(crate) field: Option<String>,
    pub(crate) reason: String,
}

impl ParseError {
    /// The byte offset of the first mismatch.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The field that could not be parsed, if the mismatch is in a field.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// What is wrong there.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key `{}` does not match template `{}`: ", self.key, self.template)?;
        match &self.field {
            Some(field) => write!(f, "field `{field}` at byte {}: {}", self.at, self.reason),
            None => write!(f, "at byte {}: {}", self.at, self.reason),
        }
    }
}

impl Error for ParseError {}

/// Why a condition cannot be compiled to one range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RangeError {
    /// A value or a bound field is invalid.
    Build(BuildError),
    /// The condition is on a field that does not follow the bound ones directly.
    NotNext {
        /// The field of the condition.
        field: String,
        /// The field that has to be bound by equality first.
        unbound: String,
    },
    /// The condition is on a field that is bound already.
    AlreadyBound {
        /// The name of the field.
        field: String,
    },
    /// Conditions on two different fields, neither of them an equality.
    TwoFields {
        /// The first field.
        first: String,
        /// The second field.
        second: String,
    },
    /// The keys that satisfy the condition are not contiguous.
    NotContiguous {
        /// The name of the field.
        field: String,
        /// Why, with an example.
        reason: String,
        /// How to fix it.
        fix: String,
    },
    /// `begins_with` has no meaning for this field.
    NoPrefix {
        /// The name of the field.
        field: String,
        /// Why it is not possible.
        reason: String,
    },
    /// No key can satisfy the condition.
    Empty {
        /// The name of the field.
        field: String,
    },
}

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangeError::Build(error) => error.fmt(f),
            RangeError::NotNext { field, unbound } => write!(
                f,
                "a range on `{field}` needs `{unbound}` to its left bound to one value first"
            ),
            RangeError::AlreadyBound { field } => {
                write!(f, "field `{field}` is bound to one value and has a condition as well")
            }
            RangeError::TwoFields { first, second } => write!(
                f,
                "conditions on both `{first}` and `{second}`; only the last field used may have anything but `=`"
            ),
            RangeError::NotContiguous { field, reason, fix } => {
                write!(f, "field `{field}` has no contiguous range: {reason}; {fix}")
            }
            RangeError::NoPrefix { field, reason } => {
                write!(f, "field `{field}` has no partial values: {reason}")
            }
            RangeError::Empty { field } => {
                write!(f, "no key can satisfy the condition on field `{field}`")
            }
        }
    }
}

impl Error for RangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RangeError::Build(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BuildError> for RangeError {
    fn from(error: BuildError) -> Self {
        RangeError::Build(error)
    }
}
