//! Bytes to write into that do not grow.
//!
//! A vector asks for each piece whether it must grow, which is most of the work where pieces are short.
//! Here the room is made once, and pieces that do not fit are only counted: who writes asks at the end
//! how much was missing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::number::write_decimal;

/// Texts up to this length are copied as a block.
const SHORT: usize = 32;

/// Room that is left.
pub(super) struct Room<'o> {
    rest: &'o mut [u8],
    missing: usize,
}

impl<'o> Room<'o> {
    pub(super) fn new(rest: &'o mut [u8]) -> Self {
        Self { rest, missing: 0 }
    }

    /// How much is left, or else how much was missing.
    pub(super) fn left(&self) -> Result<usize, usize> {
        if self.missing == 0 { Ok(self.rest.len()) } else { Err(self.missing) }
    }

    /// Writes bytes whose number is a constant: a move or two.
    #[inline(always)]
    pub(super) fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        if let Some(room) = self.take(N).and_then(|room| room.first_chunk_mut()) {
            *room = *bytes;
        }
    }

    /// Writes a natural number.
    #[inline(always)]
    pub(super) fn natural(&mut self, number: u64) {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        if let Some(room) = self.take(digits) {
            write_decimal(number, room);
        }
    }

    /// Writes bytes.
    #[inline(always)]
    pub(super) fn slice(&mut self, bytes: &[u8]) {
        if let Some(room) = self.take(bytes.len()) {
            room.copy_from_slice(bytes);
        }
    }

    /// Writes the beginning of `text`, which must be so long.
    #[inline(always)]
    pub(super) fn beginning(&mut self, text: &[u8], count: usize) {
        // Copying a block, of which the next piece overwrites what was too much, is a few moves;
        // copying so many bytes is a call.
        if count <= SHORT
            && let (Some(block), Some(room)) =
                (text.first_chunk::<SHORT>(), self.rest.first_chunk_mut())
        {
            *room = *block;
            self.take(count);
        } else {
            self.slice(text.get(..count).unwrap_or_default());
        }
    }

    /// Writes bytes as Base64.
    pub(super) fn base64(&mut self, bytes: &[u8]) {
        if let Some(room) = self.take(bytes.len().div_ceil(3) * 4) {
            // The room is exactly what padded Base64 needs, so this cannot fail.
            let written = STANDARD.encode_slice(bytes, room).unwrap_or_default();
            debug_assert_eq!(written, bytes.len().div_ceil(3) * 4);
        }
    }

    #[inline(always)]
    fn take(&mut self, count: usize) -> Option<&'o mut [u8]> {
        let rest = std::mem::take(&mut self.rest);
        if rest.len() < count {
            self.missing += count - rest.len();
            return None;
        }
        let (room, rest) = rest.split_at_mut(count);
        self.rest = rest;
        Some(room)
    }
}
