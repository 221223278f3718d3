//! Encoding of field values.

use std::borrow::Cow;
use std::fmt::Write;

use super::digits::Scratch;
use super::{FieldFormat, FieldType};
use crate::byteset::ByteSet;
use crate::error::{ValueError, excerpt};
use crate::escape::{SENTINEL, TextCodec};
use crate::id::{Ulid, Uuid, hex_digit};
use crate::time::{Civil, MAX_MS, MIN_MS, Precision, Timestamp};
use crate::value::Value;

impl FieldFormat {
    /// Encodes a value outside any template, so that there is no separator to escape.
    pub fn encode(&self, value: &Value<'_>) -> Result<String, ValueError> {
        let mut out = String::new();
        self.encode_into(value, &TextCodec::verbatim(), &mut out)?;
        Ok(out)
    }

    /// Appends the encoded value.
    pub(crate) fn encode_into(
        &self,
        value: &Value<'_>,
        codec: &TextCodec,
        out: &mut String,
    ) -> Result<(), ValueError> {
        match (&self.kind, value) {
            (_, Value::Text(text)) if self.is_text() => self.encode_text(text, codec, out),
            (_, Value::Text(text)) => self.encode_into(&Value::parse_for(self, text)?, codec, out),
            (FieldType::Hex, Value::Bytes(bytes)) => self.encode_bytes(bytes, out),
            (FieldType::Uuid, Value::Uuid(id)) => {
                let id = if self.desc { Uuid(!id.0) } else { *id };
                push_ascii(out, &id.encode());
                Ok(())
            }
            (FieldType::Ulid, Value::Ulid(id)) => {
                let id = if self.desc { Ulid(!id.0) } else { *id };
                push_ascii(out, &id.encode());
                Ok(())
            }
            (FieldType::Bool, Value::Bool(flag)) => {
                out.push(if *flag != self.desc { '1' } else { '0' });
                Ok(())
            }
            (FieldType::EpochMs, Value::Time(time)) => {
                self.needs(*time, Precision::Second)?;
                self.encode_number(i128::from(time.millis()), out)
            }
            (_, Value::Time(time)) if self.precision().is_some() => self.encode_time(*time, out),
            (FieldType::Decimal { scale }, Value::Decimal(number)) => {
                let (unscaled, exact) = number.floor_at(*scale);
                if !exact {
                    let keeps = "fewer digits after the point";
                    return Err(ValueError::TooFine { value: number.to_string(), keeps });
                }
                self.encode_decimal(unscaled, *scale, out)
            }
            (FieldType::Decimal { scale }, Value::Int(number)) => self.encode_decimal(
                number.saturating_mul(10_i128.pow(u32::from(*scale))),
                *scale,
                out,
            ),
            (
                FieldType::U8
                | FieldType::U16
                | FieldType::U32
                | FieldType::U64
                | FieldType::I64
                | FieldType::EpochMs,
                Value::Int(number),
            ) => self.encode_number(*number, out),
            _ => Err(self.wrong_type(value)),
        }
    }

    pub(crate) fn wrong_type(&self, value: &Value<'_>) -> ValueError {
        ValueError::WrongType { expected: self.expected(), got: value.kind_name() }
    }

    /// The type of the field in words, for error messages.
    pub(crate) fn expected(&self) -> &'static str {
        match self.kind {
            FieldType::String | FieldType::Token | FieldType::Fixed => "text",
            FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 | FieldType::I64 => {
                "a whole number"
            }
            FieldType::Decimal { .. } => "a decimal number",
            FieldType::Year => "a year",
            FieldType::Month => "a month such as 2024-01",
            FieldType::Date => "a date such as 2024-01-15",
            FieldType::Hour => "an hour such as 2024-01-15T10",
            FieldType::DateTime => "a UTC time such as 2024-01-15T10:30:00Z",
            FieldType::DateTimeMs => "a UTC time such as 2024-01-15T10:30:00.250Z",
            FieldType::EpochMs => "a time in milliseconds since 1970",
            FieldType::Uuid => "a UUID",
            FieldType::Ulid => "a ULID",
            FieldType::Bool => "true or false",
            FieldType::Enum(_) => "one of the listed values",
            FieldType::Hex => "bytes",
        }
    }

    #[inline]
    fn encode_text(
        &self,
        text: &str,
        codec: &TextCodec,
        out: &mut String,
    ) -> Result<(), ValueError> {
        let folded = self.fold(text);
        self.check_text(&folded)?;
        if self.desc {
            push_complemented(out, folded.as_bytes(), self.kind != FieldType::Fixed);
            return Ok(());
        }
        if self.kind == FieldType::Fixed {
            out.push_str(&folded);
            return Ok(());
        }
        codec.encode(&folded, out)
    }

    /// Validates a text value, except for the separator.
    #[inline]
    pub(crate) fn check_text(&self, text: &str) -> Result<(), ValueError> {
        if text.is_empty() {
            return Err(ValueError::Empty);
        }
        match &self.kind {
            FieldType::Enum(values) if !values.iter().any(|value| value == text) => {
                return Err(ValueError::NotAMember {
                    text: excerpt(text),
                    members: values.to_vec(),
                });
            }
            FieldType::Token => {
                if let Some(character) = text.chars().find(|c| !is_token(*c)) {
                    let allowed = "letters, digits, `-`, `.` and `_`";
                    return Err(ValueError::OutsideAlphabet { character, allowed });
                }
            }
            FieldType::Fixed => self.check_length(text.len())?,
            _ => {}
        }
        if let Some(max) = self.max_bytes.filter(|max| text.len() > *max) {
            return Err(ValueError::TooLong { bytes: text.len(), max });
        }
        if !text.is_ascii() && text.contains(SENTINEL) {
            return Err(ValueError::Reserved);
        }
        Ok(())
    }

    fn check_length(&self, bytes: usize) -> Result<(), ValueError> {
        match self.width {
            Some(expected) if bytes != expected => Err(ValueError::WrongLength { bytes, expected }),
            _ => Ok(()),
        }
    }

    fn encode_bytes(&self, bytes: &[u8], out: &mut String) -> Result<(), ValueError> {
        if bytes.is_empty() {
            return Err(ValueError::Empty);
        }
        self.check_length(bytes.len())?;
        if let Some(max) = self.max_bytes.filter(|max| bytes.len() > *max) {
            return Err(ValueError::TooLong { bytes: bytes.len(), max });
        }
        if self.desc {
            push_complemented(out, bytes, self.width.is_none());
        } else {
            for byte in bytes {
                push_hex(out, *byte);
            }
        }
        Ok(())
    }

    fn out_of_range(&self, value: &Value<'_>) -> ValueError {
        let (min, max) = self.ordinals().unwrap_or_default();
        ValueError::OutOfRange {
            value: value.to_string(),
            min: self.value_at(min).to_string(),
            max: self.value_at(max).to_string(),
        }
    }

    fn encode_number(&self, number: i128, out: &mut String) -> Result<(), ValueError> {
        let (min, max) = self.ordinals().unwrap_or_default();
        if number < min || number > max {
            return Err(match self.precision() {
                // A time outside the range may be outside the calendar too, so it is shown as a number.
                Some(_) => ValueError::OutOfRange {
                    value: number.to_string(),
                    min: min.to_string(),
                    max: max.to_string(),
                },
                None => self.out_of_range(&Value::Int(number)),
            });
        }
        if self.plain {
            let _ = write!(out, "{number}");
            return Ok(());
        }
        let mut scratch = Scratch::new();
        let width = self.width.unwrap_or_default();
        if self.kind == FieldType::I64 {
            // A descending signed number is encoded as its negative.
            let number = if self.desc { -number } else { number };
            scratch.push(if number < 0 { b'-' } else { b'0' });
            let magnitude = number.unsigned_abs() as u64;
            scratch.digits(if number < 0 { nines(width) - magnitude } else { magnitude }, width);
        } else {
            scratch.digits(number as u64, width);
            if self.desc {
                scratch.complement();
            }
        }
        out.push_str(scratch.as_str());
        Ok(())
    }

    fn encode_decimal(
        &self,
        unscaled: i128,
        scale: u8,
        out: &mut String,
    ) -> Result<(), ValueError> {
        let (min, max) = self.ordinals().unwrap_or_default();
        if unscaled < min || unscaled > max {
            return Err(self.out_of_range(&self.value_at(unscaled)));
        }
        let unscaled = if self.desc { -unscaled } else { unscaled };
        let width = self.width.unwrap_or_default();
        let magnitude = unscaled.unsigned_abs();
        let digits = if unscaled < 0 { max.unsigned_abs() - magnitude } else { magnitude };
        let factor = 10_u128.pow(u32::from(scale));
        let mut scratch = Scratch::new();
        scratch.push(if unscaled < 0 { b'-' } else { b'0' });
        scratch.wide_digits(digits / factor, width - usize::from(scale));
        if scale > 0 {
            scratch.push(b'.');
            scratch.wide_digits(digits % factor, usize::from(scale));
        }
        out.push_str(scratch.as_str());
        Ok(())
    }

    /// Rejects a time of coarser precision than the field needs.
    fn needs(&self, time: Timestamp, precision: Precision) -> Result<(), ValueError> {
        if time.precision() < precision {
            return Err(ValueError::TooCoarse { value: time.to_string(), needs: self.expected() });
        }
        Ok(())
    }

    fn encode_time(&self, time: Timestamp, out: &mut String) -> Result<(), ValueError> {
        let precision = self.precision().unwrap_or(Precision::Millisecond);
        self.needs(time, precision.min(Precision::Second))?;
        if time.millis() < MIN_MS || time.millis() > MAX_MS {
            return Err(ValueError::OutOfRange {
                value: format!("{} ms since 1970", time.millis()),
                min: self.value_at(i128::from(precision.index_of(MIN_MS))).to_string(),
                max: self.value_at(i128::from(precision.index_of(MAX_MS))).to_string(),
            });
        }
        let civil = Civil::from_ms(time.millis());
        if precision == Precision::Second && civil.millisecond != 0 {
            let keeps = "whole seconds; `datetime:ms` keeps milliseconds";
            return Err(ValueError::TooFine { value: time.to_string(), keeps });
        }
        let mut scratch = Scratch::new();
        scratch.digits(civil.year as u64, 4);
        let clock_mark = if precision == Precision::Hour { b'-' } else { b'T' };
        let parts = [
            (Precision::Month, b'-', civil.month),
            (Precision::Day, b'-', civil.day),
            (Precision::Hour, clock_mark, civil.hour),
            (Precision::Minute, b':', civil.minute),
            (Precision::Second, b':', civil.second),
        ];
        for (_, mark, number) in parts.into_iter().take_while(|(part, ..)| *part <= precision) {
            if !self.compact || mark == b'T' {
                scratch.push(mark);
            }
            scratch.digits(u64::from(number), 2);
        }
        if precision == Precision::Millisecond {
            scratch.push(b'.');
            scratch.digits(u64::from(civil.millisecond), 3);
        }
        if precision >= Precision::Second {
            scratch.push(b'Z');
        }
        if self.desc {
            scratch.complement();
        }
        out.push_str(scratch.as_str());
        Ok(())
    }

    /// The bytes that can occur in unescaped text of this format.
    pub(crate) fn text_alphabet(&self) -> ByteSet {
        let upper = ByteSet::range(b'A', b'Z');
        let lower = ByteSet::range(b'a', b'z');
        let all = match &self.kind {
            FieldType::Token => {
                upper.union(lower).union(ByteSet::range(b'0', b'9')).union(ByteSet::of(b"-._"))
            }
            FieldType::Enum(values) => values
                .iter()
                .fold(ByteSet::EMPTY, |set, value| set.union(ByteSet::of(value.as_bytes()))),
            FieldType::Fixed if self.width == Some(1) => ByteSet::range(0, 127),
            // UTF-8 never uses these bytes.
            _ => ByteSet::ALL.without(ByteSet::range(0xF5, 0xFF).union(ByteSet::of(&[0xC0, 0xC1]))),
        };
        match self.case {
            super::Case::AsIs => all,
            super::Case::Lower => all.without(upper),
            super::Case::Upper => all.without(lower),
        }
    }
}

/// Whether a character belongs to [`FieldType::Token`].
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')
}

/// The largest number of this many digits; 19 of them still fit.
fn nines(width: usize) -> u64 {
    10_u64.pow(width.min(19) as u32) - 1
}

fn push_ascii(out: &mut String, bytes: &[u8]) {
    out.push_str(std::str::from_utf8(bytes).unwrap_or_default());
}

fn push_hex(out: &mut String, byte: u8) {
    out.push(char::from(hex_digit(byte >> 4)));
    out.push(char::from(hex_digit(byte & 15)));
}

/// Appends complemented bytes in hex. The terminating `~` sorts above every digit, so that a value sorts after all
/// longer values that begin with it.
fn push_complemented(out: &mut String, bytes: &[u8], closed: bool) {
    for byte in bytes {
        push_hex(out, !byte);
    }
    if closed {
        out.push('~');
    }
}

impl FieldFormat {
    /// The values of an enumeration and their encodings, in the order of the values.
    pub(crate) fn choices(&self, codec: &TextCodec) -> Vec<(Cow<'_, str>, String)> {
        let FieldType::Enum(values) = &self.kind else { return Vec::new() };
        let mut choices: Vec<_> = values
            .iter()
            .filter_map(|value| {
                let mut out = String::new();
                self.encode_text(value, codec, &mut out).ok()?;
                Some((Cow::Borrowed(value.as_str()), out))
            })
            .collect();
        choices.sort();
        choices
    }
}
