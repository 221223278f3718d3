//! Prefetches several entries of a scan before it returns the first.
//!
//! In a large map each value is somewhere else in memory, and reading it costs two cache misses:
//! its reference count and its bytes. The processor overlaps misses as long as the following
//! instructions do not depend on them. So a batch of entries is taken from the map, one byte of
//! every cache line that belongs to them is read, and then they are returned.

use std::hint::black_box;

use bytes::Bytes;
use smallvec::SmallVec;

/// Size of the first batch: a scan may want only a few entries.
const FIRST: usize = 8;

/// Size of later batches.
const MOST: usize = 16;

/// The size of a cache line.
const LINE_BYTES: usize = 64;

/// Cache lines prefetched per value; the hardware prefetcher handles the rest of longer values.
const LINES: usize = 32;

/// A prefetching iterator over the entries of a map, in the same order.
pub(crate) struct ReadAhead<'a, I> {
    entries: I,
    /// The current batch.
    ahead: SmallVec<[(&'a Bytes, &'a Bytes); MOST]>,
    /// How many entries of the batch have been returned.
    returned: usize,
    window: usize,
}

impl<'a, I: Iterator<Item = (&'a Bytes, &'a Bytes)>> ReadAhead<'a, I> {
    /// Prefetches these entries.
    pub(crate) fn over(entries: I) -> Self {
        Self { entries, ahead: SmallVec::new(), returned: 0, window: FIRST }
    }

    fn fill_batch(&mut self) {
        self.ahead.clear();
        self.ahead.extend(self.entries.by_ref().take(self.window));
        self.returned = 0;
        self.window = (self.window * 2).min(MOST);
        for (_, value) in &self.ahead {
            // The reference count, which cloning the value touches.
            black_box(value.is_unique());
            let lines = value.chunks(LINE_BYTES).take(LINES);
            black_box(lines.filter_map(<[u8]>::first).fold(0, |sum, byte| sum ^ byte));
        }
    }
}

impl<'a, I: Iterator<Item = (&'a Bytes, &'a Bytes)>> Iterator for ReadAhead<'a, I> {
    type Item = (&'a Bytes, &'a Bytes);

    fn next(&mut self) -> Option<Self::Item> {
        if self.returned == self.ahead.len() {
            self.fill_batch();
        }
        let entry = self.ahead.get(self.returned).copied();
        self.returned += usize::from(entry.is_some());
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_returned_once_and_in_order() {
        let value = |n: usize| Bytes::from(vec![7; n * 100]);
        let all: Vec<(Bytes, Bytes)> =
            (0..100).map(|n| (Bytes::from(n.to_string()), value(n))).collect();
        for count in [0, 1, FIRST, FIRST + 1, FIRST * 3, FIRST + MOST * 2, 99, 100] {
            let entries = || all.iter().take(count).map(|(key, value)| (key, value));
            assert!(ReadAhead::over(entries()).eq(entries()), "{count} entries");
        }
    }
}
