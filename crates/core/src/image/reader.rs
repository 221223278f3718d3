//! A cursor over stored bytes that cannot run past their end.

use super::{RawValue, Tag};
use crate::error::Error;
use crate::number::Number;

/// Bytes that no version of this code wrote, and what is wrong with them.
///
/// Small, so that every step of the reader returns in registers; it becomes an [`Error`] at the
/// surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corrupt(&'static str);

/// The result of a step.
pub(super) type Read<T> = Result<T, Corrupt>;

impl From<Corrupt> for Error {
    fn from(Corrupt(what): Corrupt) -> Self {
        Self::InternalServer(format!("stored item is corrupt: {what}"))
    }
}

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// The error that says `what` is wrong.
pub(super) fn corrupt(what: &'static str) -> Corrupt {
    Corrupt(what)
}

const TOO_SHORT: Corrupt = Corrupt("it ends too early");

/// Stored bytes as the text that they must be.
pub(super) fn text_of(bytes: &[u8]) -> Read<&str> {
    std::str::from_utf8(bytes).map_err(|_| Corrupt("a string is not UTF-8"))
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn finish(self) -> Read<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(Corrupt("bytes are left over")) }
    }

    /// How many bytes are left: nothing can have more elements than that.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn byte(&mut self) -> Read<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(byte)
    }

    fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn length(&mut self) -> Read<usize> {
        let first = self.byte()?;
        if first < 0x80 { Ok(usize::from(first)) } else { self.long_length(first) }
    }

    fn long_length(&mut self, first: u8) -> Read<usize> {
        let mut value = usize::from(first & 0x7F);
        for shift in [7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Corrupt("a length is too long"))
    }

    #[inline]
    pub(super) fn bytes(&mut self) -> Read<&'a [u8]> {
        let count = self.length()?;
        self.take(count)
    }

    pub(super) fn text(&mut self) -> Read<&'a str> {
        text_of(self.bytes()?)
    }

    pub(super) fn number(&mut self) -> Read<Number> {
        let header = self.byte()?;
        let zigzag = self.length()? as u32;
        let exponent = (zigzag >> 1) as i32 ^ -((zigzag & 1) as i32);
        let used = self.take(usize::from(header & 0x7F))?;
        let mut bytes = [0; 16];
        bytes.get_mut(..used.len()).ok_or(Corrupt("a number is too long"))?.copy_from_slice(used);
        let coefficient = u128::from_le_bytes(bytes);
        Number::from_parts(header & 0x80 != 0, coefficient, exponent)
            .map_err(|_| Corrupt("a number is out of range"))
    }

    /// The content of a container.
    pub(super) fn body(&mut self) -> Read<Reader<'a>> {
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(Reader::new(self.take(u32::from_le_bytes(*length) as usize)?))
    }

    pub(super) fn tag(&mut self) -> Read<Tag> {
        Tag::from_byte(self.byte()?).ok_or(Corrupt("unknown type"))
    }

    /// Steps over a value and keeps where it was.
    pub(super) fn raw_value(&mut self) -> Read<RawValue<'a>> {
        let tag = self.tag()?;
        let start = *self;
        match tag {
            Tag::S | Tag::B => {
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
        let used = start.rest.len() - self.rest.len();
        let payload = Reader::new(start.rest.get(..used).unwrap_or_default());
        Ok(RawValue { tag, payload })
    }
}
