//! A bounds-checked cursor over stored bytes.

use super::buffer::Buffer;
use super::text::Text;
use super::{RawValue, Tag, VERSION};
use crate::error::Error;
use crate::number::Number;

/// Damaged bytes, and what is wrong with them.
///
/// Small, so that every step of the reader returns in registers; converted to an [`Error`] at the
/// API.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corrupt(&'static str);

/// The result of a step.
pub(super) type Read<T> = Result<T, Corrupt>;

impl From<Corrupt> for Error {
    fn from(Corrupt(what): Corrupt) -> Self {
        Self::InternalServer(format!("stored item is corrupt: {what}"))
    }
}

/// The unread text, and the unread bytes that refer to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a, T = &'a [u8]> {
    text: T,
    rest: &'a [u8],
}

/// The error for damaged bytes.
pub(super) fn corrupt(what: &'static str) -> Corrupt {
    Corrupt(what)
}

pub(super) const TOO_SHORT: Corrupt = Corrupt("it ends too early");

impl<'a> Reader<'a> {
    /// The bytes after the version, which must be a known one.
    #[inline(always)]
    pub(super) fn start(bytes: &'a [u8]) -> Read<Self> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => Ok(Self { text: &[], rest }),
            Some((&newer, _)) if newer > VERSION => {
                Err(Corrupt("it has a newer version than this program knows; upgrade it"))
            }
            Some(_) => Err(Corrupt("unknown version")),
            None => Err(TOO_SHORT),
        }
    }

    /// Reads the text section.
    #[inline(always)]
    pub(super) fn behind_text(mut self) -> Read<Self> {
        let length = self.fixed_length()?;
        self.text = self.take(length)?;
        Ok(self)
    }

    /// The text as stored.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The same position with the text in another form.
    pub(super) fn with_text<T: Text<'a>>(&self, text: T) -> Reader<'a, T> {
        Reader { text, rest: self.rest }
    }

    /// Skips a value and returns its position.
    pub(super) fn raw_value(&mut self) -> Read<RawValue<'a>> {
        let tag = self.tag()?;
        let payload = *self;
        match tag {
            Tag::S => {
                self.string()?;
            }
            Tag::B => {
                self.bytes()?;
            }
            Tag::N => {
                let header = self.byte()?;
                self.length()?;
                self.take(usize::from(header & 0x7F))?;
            }
            Tag::False | Tag::True | Tag::Null => {}
            Tag::Ss | Tag::Ns | Tag::Bs | Tag::L | Tag::M => {
                self.body()?;
            }
        }
        Ok(RawValue { tag, payload })
    }
}

impl<'a, T: Text<'a>> Reader<'a, T> {
    pub(super) fn finish(self) -> Read<()> {
        let is_done = self.rest.is_empty() && self.text.len() == 0;
        if is_done { Ok(()) } else { Err(Corrupt("bytes are left over")) }
    }

    /// The number of remaining bytes, an upper bound of the number of elements.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The length of the remaining text.
    pub(super) fn text_len(&self) -> usize {
        self.text.len()
    }

    #[inline(always)]
    pub(super) fn byte(&mut self) -> Read<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(byte)
    }

    #[inline(always)]
    pub(super) fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline(always)]
    pub(super) fn length(&mut self) -> Read<usize> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(usize::from(first));
        }
        let (length, rest) = long_length(first, self.rest)?;
        self.rest = rest;
        Ok(length)
    }

    #[inline]
    pub(super) fn bytes(&mut self) -> Read<&'a [u8]> {
        let count = self.length()?;
        self.take(count)
    }

    /// The next string of the text.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Read<T> {
        let count = self.length()?;
        self.take_text(count)
    }

    /// Writes the next string of the text as the content of a JSON string.
    #[inline(always)]
    pub(super) fn write_string(&mut self, buffer: &mut Buffer<'_>) -> Read<()> {
        let count = self.length()?;
        self.text = self.text.write_json(count, buffer)?.ok_or(TOO_SHORT)?;
        Ok(())
    }

    #[inline(always)]
    fn take_text(&mut self, count: usize) -> Read<T> {
        let (taken, rest) = self.text.split(count).ok_or(TOO_SHORT)?;
        self.text = rest;
        Ok(taken)
    }

    #[inline(always)]
    pub(super) fn number(&mut self) -> Read<Number> {
        let (number, rest) = number(self.rest)?;
        self.rest = rest;
        Ok(number)
    }

    /// Enters a container.
    pub(super) fn body(&mut self) -> Read<Self> {
        let (length, text_length) = (self.fixed_length()?, self.fixed_length()?);
        Ok(Self { text: self.take_text(text_length)?, rest: self.take(length)? })
    }

    #[inline(always)]
    pub(super) fn fixed_length(&mut self) -> Read<usize> {
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(u32::from_le_bytes(*length) as usize)
    }

    #[inline(always)]
    pub(super) fn tag(&mut self) -> Read<Tag> {
        Tag::from_byte(self.byte()?).ok_or(Corrupt("unknown type"))
    }
}

/// Decodes a length of more than one byte; returns the bytes after it.
#[cold]
fn long_length(first: u8, mut rest: &[u8]) -> Read<(usize, &[u8])> {
    let mut length = usize::from(first & 0x7F);
    for shift in [7, 14, 21, 28] {
        let (&byte, behind) = rest.split_first().ok_or(TOO_SHORT)?;
        rest = behind;
        length |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok((length, rest));
        }
    }
    Err(Corrupt("a length is too long"))
}

/// Decodes a number; returns the bytes after it.
fn number(bytes: &[u8]) -> Read<(Number, &[u8])> {
    let mut reader = Reader { text: &[][..], rest: bytes };
    let header = reader.byte()?;
    let zigzag = reader.length()? as u32;
    let exponent = (zigzag >> 1) as i32 ^ -((zigzag & 1) as i32);
    let used = reader.take(usize::from(header & 0x7F))?;
    let little_endian =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &b| sum << 8 | u64::from(b));
    let coefficient = match used.split_at_checked(8) {
        None => u128::from(little_endian(used)),
        Some((_, high)) if high.len() > 8 => return Err(Corrupt("a number is too long")),
        Some((low, high)) => u128::from(little_endian(high)) << 64 | u128::from(little_endian(low)),
    };
    Number::from_parts(header & 0x80 != 0, coefficient, exponent)
        .map(|number| (number, reader.rest))
        .map_err(|_| Corrupt("a number is out of range"))
}
