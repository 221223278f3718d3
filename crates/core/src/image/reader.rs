//! A cursor over stored bytes that cannot run past their end.

use super::text::Text;
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

/// What is left to read: the text, and what refers to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a, T = &'a [u8]> {
    text: T,
    rest: &'a [u8],
}

/// The error that says `what` is wrong.
pub(super) fn corrupt(what: &'static str) -> Corrupt {
    Corrupt(what)
}

const TOO_SHORT: Corrupt = Corrupt("it ends too early");

impl<'a> Reader<'a> {
    /// What is behind the text that comes next, with that text.
    pub(super) fn behind_text(mut self) -> Read<Self> {
        let length = self.fixed_length()?;
        self.text = self.take(length)?;
        Ok(self)
    }

    /// The text as it is stored.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The same with the text in another form.
    pub(super) fn with_text<T: Text<'a>>(&self, text: T) -> Reader<'a, T> {
        Reader { text, rest: self.rest }
    }

    /// Steps over a value and keeps where it was.
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
    pub(super) fn new(bytes: &'a [u8], text: T) -> Self {
        Self { text, rest: bytes }
    }

    pub(super) fn finish(self) -> Read<()> {
        let is_done = self.rest.is_empty() && self.text.is_empty();
        if is_done { Ok(()) } else { Err(Corrupt("bytes are left over")) }
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

    /// The next string of the text.
    #[inline]
    pub(super) fn string(&mut self) -> Read<T> {
        let count = self.length()?;
        self.take_text(count)
    }

    #[inline]
    fn take_text(&mut self, count: usize) -> Read<T> {
        let (taken, rest) = self.text.split(count).ok_or(TOO_SHORT)?;
        self.text = rest;
        Ok(taken)
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
    pub(super) fn body(&mut self) -> Read<Self> {
        let (length, text_length) = (self.fixed_length()?, self.fixed_length()?);
        Ok(Self { text: self.take_text(text_length)?, rest: self.take(length)? })
    }

    fn fixed_length(&mut self) -> Read<usize> {
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(u32::from_le_bytes(*length) as usize)
    }

    pub(super) fn tag(&mut self) -> Read<Tag> {
        Tag::from_byte(self.byte()?).ok_or(Corrupt("unknown type"))
    }
}
