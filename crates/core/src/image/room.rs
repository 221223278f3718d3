//! Bytes to write into that do not grow.
//!
//! A vector asks for each piece whether it must grow, which is most of the work where pieces are short.
//! Here the room is made once, and pieces that do not fit are dropped: who writes asks at the end
//! whether that has happened.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::number::write_decimal;

/// Texts up to this length are copied as a block.
const SHORT: usize = 32;

/// Room that is left.
pub(super) struct Room<'o> {
    rest: &'o mut [u8],
    is_exceeded: bool,
}

impl<'o> Room<'o> {
    pub(super) fn new(rest: &'o mut [u8]) -> Self {
        Self { rest, is_exceeded: false }
    }

    /// How much is left; none if it was not enough.
    pub(super) fn left(&self) -> Option<usize> {
        (!self.is_exceeded).then_some(self.rest.len())
    }

    /// Writes bytes whose number is a constant: a move or two.
    #[inline(always)]
    pub(super) fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        match std::mem::take(&mut self.rest).split_first_chunk_mut() {
            Some((room, rest)) => {
                *room = *bytes;
                self.rest = rest;
            }
            None => self.is_exceeded = true,
        }
    }

    /// Writes a natural number.
    #[inline(always)]
    pub(super) fn natural(&mut self, number: u64) {
        // Longer than any of them, so that there is a block to copy behind the first digit.
        let mut buffer = [0; 20 + SHORT];
        let (digits, _) = buffer.split_at_mut(20);
        let count = write_decimal(number, digits);
        self.beginning(buffer.get(20 - count..).unwrap_or_default(), count);
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
        let taken = std::mem::take(&mut self.rest).split_at_mut_checked(count);
        self.is_exceeded |= taken.is_none();
        let (room, rest) = taken?;
        self.rest = rest;
        Some(room)
    }
}
