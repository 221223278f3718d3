//! Decoding of field values. Only the canonical form is accepted, so that encoding a decoded value gives the same key.

use std::borrow::Cow;

use super::digits::{self, complement};
use super::{FieldFormat, FieldType};
use crate::decimal::Decimal;
use crate::error::{ValueError, excerpt};
use crate::escape::TextCodec;
use crate::id::{Ulid, Uuid, hex_value};
use crate::time::{Civil, Precision, Timestamp};
use crate::value::Value;

/// The longest value of descending text or hex: each byte takes two hex digits of the key.
const MAX_RAW: usize = crate::MAX_PARTITION_KEY_BYTES / 2;

impl FieldFormat {
    /// Decodes a value that [`FieldFormat::encode`] produced.
    pub fn decode<'k>(&self, text: &'k str) -> Result<Value<'k>, ValueError> {
        self.decode_with(text, &TextCodec::verbatim())
    }

    pub(crate) fn decode_with<'k>(
        &self,
        text: &'k str,
        codec: &TextCodec,
    ) -> Result<Value<'k>, ValueError> {
        if text.is_empty() {
            return Err(ValueError::Empty);
        }
        match &self.kind {
            FieldType::String | FieldType::Token | FieldType::Fixed | FieldType::Enum(_) => {
                self.decode_text(text, codec).map(Value::Text)
            }
            FieldType::Hex => {
                let mut buffer = [0; MAX_RAW];
                let bytes = self.decode_bytes(text, &mut buffer)?;
                Ok(Value::Bytes(Cow::Owned(bytes.to_vec())))
            }
            _ => self.decode_scalar(text).ok_or_else(|| self.unreadable(text)),
        }
    }

    /// Validates an encoded value; allocates only for escaped text.
    pub(crate) fn check(&self, text: &str, codec: &TextCodec) -> Result<(), ValueError> {
        match &self.kind {
            FieldType::Hex => self.decode_bytes(text, &mut [0; MAX_RAW]).map(|_| ()),
            _ if self.is_text() && self.desc => {
                let mut buffer = [0; MAX_RAW];
                self.complemented_text(text, &mut buffer).map(|_| ())
            }
            _ => self.decode_with(text, codec).map(|_| ()),
        }
    }

    fn unreadable(&self, text: &str) -> ValueError {
        // A valid value in another spelling deserves a better message.
        let value = Value::parse_for(self, text).ok();
        match value.and_then(|value| self.encode(&value).ok()) {
            Some(canonical) if canonical != text && !self.desc => {
                ValueError::NotCanonical { text: excerpt(text), canonical }
            }
            _ => ValueError::malformed(text, format!("{} written as `{self}`", self.expected())),
        }
    }

    fn decode_text<'k>(
        &self,
        text: &'k str,
        codec: &TextCodec,
    ) -> Result<Cow<'k, str>, ValueError> {
        let raw = if self.desc {
            let mut buffer = [0; MAX_RAW];
            Cow::Owned(self.complemented_text(text, &mut buffer)?.to_owned())
        } else if self.kind == FieldType::Fixed {
            Cow::Borrowed(text)
        } else {
            codec.decode(text)?
        };
        self.check_canonical_text(&raw)?;
        Ok(raw)
    }

    fn check_canonical_text(&self, raw: &str) -> Result<(), ValueError> {
        self.check_text(raw)?;
        let folded = self.fold(raw);
        if folded != raw {
            return Err(ValueError::NotCanonical {
                text: excerpt(raw),
                canonical: excerpt(&folded),
            });
        }
        Ok(())
    }

    fn complemented_text<'b>(
        &self,
        text: &str,
        buffer: &'b mut [u8; MAX_RAW],
    ) -> Result<&'b str, ValueError> {
        let bytes = complemented_bytes(text, self.kind != FieldType::Fixed, buffer)?;
        let raw = std::str::from_utf8(bytes).map_err(|_| self.unreadable(text))?;
        self.check_canonical_text(raw)?;
        Ok(raw)
    }

    fn decode_bytes<'b>(
        &self,
        text: &str,
        buffer: &'b mut [u8; MAX_RAW],
    ) -> Result<&'b [u8], ValueError> {
        let bytes = if self.desc {
            complemented_bytes(text, self.width.is_none(), buffer)?
        } else {
            hex_into(text, false, buffer).ok_or_else(|| {
                ValueError::malformed(text, "an even number of lower-case hex digits")
            })?
        };
        match (bytes.len(), self.width, self.max_bytes) {
            (0, ..) => Err(ValueError::Empty),
            (bytes, Some(expected), _) if bytes != expected => {
                Err(ValueError::WrongLength { bytes, expected })
            }
            (bytes, _, Some(max)) if bytes > max => Err(ValueError::TooLong { bytes, max }),
            _ => Ok(bytes),
        }
    }

    fn decode_scalar(&self, text: &str) -> Option<Value<'static>> {
        let bytes = text.as_bytes();
        match &self.kind {
            FieldType::Uuid => {
                let Uuid(bits) = Uuid::decode(bytes, true)?;
                Some(Value::Uuid(Uuid(if self.desc { !bits } else { bits })))
            }
            FieldType::Ulid => {
                let Ulid(bits) = Ulid::decode(bytes, true)?;
                Some(Value::Ulid(Ulid(if self.desc { !bits } else { bits })))
            }
            FieldType::Bool => match bytes {
                [b'1'] => Some(Value::Bool(!self.desc)),
                [b'0'] => Some(Value::Bool(self.desc)),
                _ => None,
            },
            FieldType::Decimal { scale } => {
                Decimal::new(self.decode_decimal(bytes, *scale)?, *scale).map(Value::Decimal)
            }
            FieldType::EpochMs => {
                let ms = i64::try_from(self.decode_number(text)?).ok()?;
                Some(Value::Time(Timestamp::from_millis(ms)))
            }
            _ if self.precision().is_some() => self.decode_time(bytes).map(Value::Time),
            _ => self.decode_number(text).map(Value::Int),
        }
    }

    fn decode_number(&self, text: &str) -> Option<i128> {
        let bytes = text.as_bytes();
        let width = self.width?;
        let number = if self.plain {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let padded = digits.len() > 1 && digits.starts_with('0');
            let number: i128 = if padded || text == "-0" || text.starts_with('+') {
                return None;
            } else {
                text.parse().ok()?
            };
            number
        } else if self.kind == FieldType::I64 {
            let (sign, digits) = bytes.split_first()?;
            if digits.len() != width {
                return None;
            }
            signed(*sign, i128::try_from(digits::read(digits, *sign == b'-')?).ok()?, self.desc)?
        } else {
            if bytes.len() != width {
                return None;
            }
            i128::try_from(digits::read(bytes, self.desc)?).ok()?
        };
        let (min, max) = self.ordinals()?;
        (min..=max).contains(&number).then_some(number)
    }

    fn decode_decimal(&self, bytes: &[u8], scale: u8) -> Option<i128> {
        let width = self.width?;
        let scale = usize::from(scale);
        let (sign, body) = bytes.split_first()?;
        let complemented = *sign == b'-';
        let (whole, fraction) = body.split_at_checked(width - scale)?;
        let whole = i128::try_from(digits::read(whole, complemented)?).ok()?;
        let magnitude = match fraction.split_first() {
            None if scale == 0 => whole,
            Some((b'.', fraction)) if scale > 0 && fraction.len() == scale => {
                let fraction = i128::try_from(digits::read(fraction, complemented)?).ok()?;
                whole * 10_i128.pow(scale as u32) + fraction
            }
            _ => return None,
        };
        signed(*sign, magnitude, self.desc)
    }

    fn decode_time(&self, bytes: &[u8]) -> Option<Timestamp> {
        let precision = self.precision()?;
        let mut rest = bytes;
        let mut civil = Civil { month: 1, day: 1, ..Civil::default() };
        civil.year = i64::from(self.clock_digits(&mut rest, 4)?);
        let clock_mark = if precision == Precision::Hour { b'-' } else { b'T' };
        let parts = [
            (Precision::Month, b'-', &mut civil.month),
            (Precision::Day, b'-', &mut civil.day),
            (Precision::Hour, clock_mark, &mut civil.hour),
            (Precision::Minute, b':', &mut civil.minute),
            (Precision::Second, b':', &mut civil.second),
        ];
        for (_, mark, slot) in parts.into_iter().take_while(|(part, ..)| *part <= precision) {
            if !self.compact || mark == b'T' {
                take_byte(&mut rest, mark)?;
            }
            *slot = self.clock_digits(&mut rest, 2)?;
        }
        if precision == Precision::Millisecond {
            take_byte(&mut rest, b'.')?;
            civil.millisecond = self.clock_digits(&mut rest, 3)?;
        }
        if precision >= Precision::Second {
            take_byte(&mut rest, b'Z')?;
        }
        rest.is_empty().then_some(Timestamp::aligned(civil.to_ms()?, precision))
    }

    fn clock_digits(&self, rest: &mut &[u8], count: usize) -> Option<u32> {
        let (digits, tail) = rest.split_at_checked(count)?;
        *rest = tail;
        let mut number = 0;
        for &byte in digits {
            let byte = if self.desc { complement(byte) } else { byte };
            if !byte.is_ascii_digit() {
                return None;
            }
            number = number * 10 + u32::from(byte - b'0');
        }
        Some(number)
    }
}

fn take_byte(rest: &mut &[u8], expected: u8) -> Option<()> {
    let (&byte, tail) = rest.split_first()?;
    *rest = tail;
    (byte == expected).then_some(())
}

/// Decodes complemented hex, terminated by `~` where values vary in length.
fn complemented_bytes<'b>(
    text: &str,
    closed: bool,
    buffer: &'b mut [u8; MAX_RAW],
) -> Result<&'b [u8], ValueError> {
    let digits = if closed { text.strip_suffix('~') } else { Some(text) };
    let bytes = digits.and_then(|digits| hex_into(digits, true, buffer));
    bytes.ok_or_else(|| {
        let end = if closed { " closed by `~`" } else { "" };
        ValueError::malformed(text, format!("a descending value: complemented hex{end}"))
    })
}

/// Combines sign and magnitude; a negative zero is not canonical.
fn signed(sign: u8, magnitude: i128, negated: bool) -> Option<i128> {
    match (sign, magnitude, negated) {
        (b'-', 0, _) => None,
        (b'-', _, false) | (b'0', _, true) => Some(-magnitude),
        (b'-', _, true) | (b'0', _, false) => Some(magnitude),
        _ => None,
    }
}

/// Decodes lower-case hex into the buffer.
fn hex_into<'b>(text: &str, complemented: bool, buffer: &'b mut [u8; MAX_RAW]) -> Option<&'b [u8]> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || digits.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    let raw = buffer.get_mut(..digits.len() / 2)?;
    for (slot, pair) in raw.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        let byte = hex_value(*high)? << 4 | hex_value(*low)?;
        *slot = if complemented { !byte } else { byte };
    }
    Some(raw)
}
