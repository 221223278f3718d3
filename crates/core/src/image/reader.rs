//! A cursor over stored bytes that cannot run past their end.

use super::{RawValue, Tag};
use crate::error::{Error, Result};
use crate::number::Number;

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// The error for bytes that no version of this code wrote.
#[cold]
pub(super) fn corrupt(what: &str) -> Error {
    Error::InternalServer(format!("stored item is corrupt: {what}"))
}

#[cold]
fn too_short() -> Error {
    corrupt("it ends too early")
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn finish(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(corrupt("bytes are left over")) }
    }

    /// How many bytes are left: nothing can have more elements than that.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(byte)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn length(&mut self) -> Result<usize> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(usize::from(first));
        }
        let mut value = usize::from(first & 0x7F);
        for shift in [7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(corrupt("a length is too long"))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let count = self.length()?;
        self.take(count)
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| corrupt("a string is not UTF-8"))
    }

    pub(super) fn number(&mut self) -> Result<Number> {
        let header = self.byte()?;
        let zigzag = self.length()? as u32;
        let exponent = (zigzag >> 1) as i32 ^ -((zigzag & 1) as i32);
        let used = self.take(usize::from(header & 0x7F))?;
        let mut bytes = [0; 16];
        bytes
            .get_mut(..used.len())
            .ok_or_else(|| corrupt("a number is too long"))?
            .copy_from_slice(used);
        let coefficient = u128::from_le_bytes(bytes);
        Number::from_parts(header & 0x80 != 0, coefficient, exponent)
            .map_err(|_| corrupt("a number is out of range"))
    }

    /// The content of a container.
    pub(super) fn body(&mut self) -> Result<Reader<'a>> {
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(Reader::new(self.take(u32::from_le_bytes(*length) as usize)?))
    }

    pub(super) fn tag(&mut self) -> Result<Tag> {
        Tag::from_byte(self.byte()?).ok_or_else(|| corrupt("unknown type"))
    }

    /// Steps over a value and keeps where it was.
    pub(super) fn raw_value(&mut self) -> Result<RawValue<'a>> {
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
