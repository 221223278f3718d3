//! A fixed-size output buffer.
//!
//! A vector checks its capacity for each piece, which is most of the work if pieces are short. Here
//! the space is reserved once, and pieces that do not fit are only counted: at the end the writer
//! learns how many bytes were missing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::number::write_decimal;

/// Texts up to this length are copied as a block.
const SHORT: usize = 32;

/// The remaining space.
pub(super) struct Buffer<'o> {
    rest: &'o mut [u8],
    missing: usize,
}

impl<'o> Buffer<'o> {
    pub(super) fn new(rest: &'o mut [u8]) -> Self {
        Self { rest, missing: 0 }
    }

    /// The remaining space, or else the number of missing bytes.
    pub(super) fn left(&self) -> Result<usize, usize> {
        if self.missing == 0 { Ok(self.rest.len()) } else { Err(self.missing) }
    }

    /// Writes a constant number of bytes: one or two moves.
    #[inline(always)]
    pub(super) fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        if let Some(target) = self.take(N).and_then(|target| target.first_chunk_mut()) {
            *target = *bytes;
        }
    }

    /// Writes an unsigned integer.
    #[inline(always)]
    pub(super) fn natural(&mut self, number: u64) {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        if let Some(target) = self.take(digits) {
            write_decimal(number, target);
        }
    }

    /// Appends bytes to the buffer.
    #[inline(always)]
    pub(super) fn slice(&mut self, bytes: &[u8]) {
        if let Some(target) = self.take(bytes.len()) {
            target.copy_from_slice(bytes);
        }
    }

    /// Writes the first `count` bytes of `text`, which must have them.
    #[inline(always)]
    pub(super) fn beginning(&mut self, text: &[u8], count: usize) {
        // Copying a fixed-size block, whose excess the next piece overwrites, is a few moves;
        // copying `count` bytes is a call.
        if count <= SHORT
            && let (Some(block), Some(target)) =
                (text.first_chunk::<SHORT>(), self.rest.first_chunk_mut())
        {
            *target = *block;
            self.take(count);
        } else {
            self.slice(text.get(..count).unwrap_or_default());
        }
    }

    /// Writes bytes as Base64.
    pub(super) fn base64(&mut self, bytes: &[u8]) {
        if let Some(target) = self.take(bytes.len().div_ceil(3) * 4) {
            // The space is exactly what padded Base64 needs, so this cannot fail.
            let written = STANDARD.encode_slice(bytes, target).unwrap_or_default();
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
        let (target, rest) = rest.split_at_mut(count);
        self.rest = rest;
        Some(target)
    }
}
