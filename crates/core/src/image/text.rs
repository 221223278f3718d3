//! The text of an image, as far as it has been checked.
//!
//! A reader is compiled once for each: what was checked for the whole text is not checked again for
//! each string of it.

use super::reader::{Read, corrupt};
use crate::json;

/// Text from which strings are taken one after the other.
pub(super) trait Text<'a>: Copy {
    /// The first `count` bytes and the rest, if there are so many.
    fn split(self, count: usize) -> Option<(Self, Self)>;

    fn is_empty(self) -> bool;

    /// The text as a string.
    fn as_str(self) -> Read<&'a str>;

    /// Appends the text as a JSON string.
    fn write_json(self, out: &mut Vec<u8>) -> Read<()>;
}

/// Nothing is known.
impl<'a> Text<'a> for &'a [u8] {
    #[inline]
    fn split(self, count: usize) -> Option<(Self, Self)> {
        self.split_at_checked(count)
    }

    #[inline]
    fn is_empty(self) -> bool {
        <[u8]>::is_empty(self)
    }

    fn as_str(self) -> Read<&'a str> {
        std::str::from_utf8(self).map_err(|_| corrupt("a string is not UTF-8"))
    }

    fn write_json(self, out: &mut Vec<u8>) -> Read<()> {
        Text::as_str(self)?.write_json(out)
    }
}

/// It is UTF-8.
impl<'a> Text<'a> for &'a str {
    #[inline]
    fn split(self, count: usize) -> Option<(Self, Self)> {
        self.split_at_checked(count)
    }

    #[inline]
    fn is_empty(self) -> bool {
        str::is_empty(self)
    }

    #[inline]
    fn as_str(self) -> Read<&'a str> {
        Ok(self)
    }

    fn write_json(self, out: &mut Vec<u8>) -> Read<()> {
        json::write_string(self, out);
        Ok(())
    }
}

/// It is ASCII, and JSON needs no escape in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain<'a>(&'a [u8]);

impl<'a> Plain<'a> {
    /// The text, if it is plain.
    pub(super) fn of(text: &'a [u8]) -> Option<Self> {
        json::is_plain_ascii(text).then_some(Self(text))
    }
}

impl<'a> Text<'a> for Plain<'a> {
    #[inline]
    fn split(self, count: usize) -> Option<(Self, Self)> {
        self.0.split_at_checked(count).map(|(taken, rest)| (Self(taken), Self(rest)))
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    fn as_str(self) -> Read<&'a str> {
        Text::as_str(self.0)
    }

    #[inline]
    fn write_json(self, out: &mut Vec<u8>) -> Read<()> {
        out.push(b'"');
        out.extend_from_slice(self.0);
        out.push(b'"');
        Ok(())
    }
}
