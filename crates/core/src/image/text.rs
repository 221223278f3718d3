//! The text of an image, by what has been checked about it.
//!
//! The reader is generic over this: what was checked for the whole text is not checked again for
//! each string.

use super::buffer::Buffer;
use super::reader::{Read, corrupt};
use crate::json;

/// Text from which strings are split off in order.
pub(super) trait Text<'a>: Copy {
    /// Splits off the first `count` bytes; `None` if there are fewer.
    fn split(self, count: usize) -> Option<(Self, Self)>;

    fn len(self) -> usize;

    /// The text as a string.
    fn as_str(self) -> Read<&'a str>;

    /// Writes the first `count` bytes as the content of a JSON string, without quotes, and returns
    /// the rest; `None` if there are fewer.
    fn write_json(self, count: usize, buffer: &mut Buffer<'_>) -> Read<Option<Self>>;
}

/// Bytes that have not been checked to be UTF-8.
impl<'a> Text<'a> for &'a [u8] {
    #[inline(always)]
    fn split(self, count: usize) -> Option<(Self, Self)> {
        self.split_at_checked(count)
    }

    #[inline(always)]
    fn len(self) -> usize {
        <[u8]>::len(self)
    }

    fn as_str(self) -> Read<&'a str> {
        std::str::from_utf8(self).map_err(|_| corrupt("a string is not UTF-8"))
    }

    fn write_json(self, count: usize, buffer: &mut Buffer<'_>) -> Read<Option<Self>> {
        let Some((taken, rest)) = self.split_at_checked(count) else { return Ok(None) };
        json::escape(Text::as_str(taken)?, |piece| buffer.slice(piece));
        Ok(Some(rest))
    }
}

/// Text that is known to be UTF-8.
impl<'a> Text<'a> for &'a str {
    #[inline(always)]
    fn split(self, count: usize) -> Option<(Self, Self)> {
        self.split_at_checked(count)
    }

    #[inline(always)]
    fn len(self) -> usize {
        str::len(self)
    }

    #[inline(always)]
    fn as_str(self) -> Read<&'a str> {
        Ok(self)
    }

    fn write_json(self, count: usize, buffer: &mut Buffer<'_>) -> Read<Option<Self>> {
        let Some((taken, rest)) = self.split_at_checked(count) else { return Ok(None) };
        json::escape(taken, |piece| buffer.slice(piece));
        Ok(Some(rest))
    }
}

/// ASCII without characters that JSON escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain<'a>(&'a [u8]);

impl<'a> Plain<'a> {
    /// The text, if it is plain.
    pub(super) fn of(text: &'a [u8]) -> Option<Self> {
        json::is_plain_ascii(text).then_some(Self(text))
    }
}

impl<'a> Text<'a> for Plain<'a> {
    #[inline(always)]
    fn split(self, count: usize) -> Option<(Self, Self)> {
        self.0.split_at_checked(count).map(|(taken, rest)| (Self(taken), Self(rest)))
    }

    #[inline(always)]
    fn len(self) -> usize {
        self.0.len()
    }

    fn as_str(self) -> Read<&'a str> {
        Text::as_str(self.0)
    }

    #[inline(always)]
    fn write_json(self, count: usize, buffer: &mut Buffer<'_>) -> Read<Option<Self>> {
        let rest = self.0.get(count..).map(Self);
        if rest.is_some() {
            buffer.beginning(self.0, count);
        }
        Ok(rest)
    }
}
