//! Looks at several entries of a scan before it hands out the first.
//!
//! In a large map, each value lies somewhere else in memory, and the processor waits for it: for its
//! counter, and for its bytes. It waits for many places at once as long as what it does next does not
//! depend on them. So a few entries are taken from the map, one byte of every place that belongs to
//! them is read, and then they are handed out.

use std::hint::black_box;

use bytes::Bytes;
use smallvec::SmallVec;

/// How many entries are looked at together at first: a scan may want only a few.
const FIRST: usize = 8;

/// How many are looked at together later.
const MOST: usize = 16;

/// The unit in which memory comes to the processor.
const LINE_BYTES: usize = 64;

/// The lines of a value that are looked at; the processor sees by itself how a longer one goes on.
const LINES: usize = 32;

/// The entries of a map, in the same order.
pub(crate) struct ReadAhead<'a, I> {
    entries: I,
    /// What has been looked at.
    ahead: SmallVec<[(&'a Bytes, &'a Bytes); MOST]>,
    /// How much of it has been handed out.
    given: usize,
    window: usize,
}

impl<'a, I: Iterator<Item = (&'a Bytes, &'a Bytes)>> ReadAhead<'a, I> {
    /// Reads ahead in these entries.
    pub(crate) fn over(entries: I) -> Self {
        Self { entries, ahead: SmallVec::new(), given: 0, window: FIRST }
    }

    fn look_ahead(&mut self) {
        self.ahead.clear();
        self.ahead.extend(self.entries.by_ref().take(self.window));
        self.given = 0;
        self.window = (self.window * 2).min(MOST);
        for (_, value) in &self.ahead {
            // The counter, which cloning the value would wait for.
            black_box(value.is_unique());
            let lines = value.chunks(LINE_BYTES).take(LINES);
            black_box(lines.filter_map(<[u8]>::first).fold(0, |sum, byte| sum ^ byte));
        }
    }
}

impl<'a, I: Iterator<Item = (&'a Bytes, &'a Bytes)>> Iterator for ReadAhead<'a, I> {
    type Item = (&'a Bytes, &'a Bytes);

    fn next(&mut self) -> Option<Self::Item> {
        if self.given == self.ahead.len() {
            self.look_ahead();
        }
        let entry = self.ahead.get(self.given).copied();
        self.given += usize::from(entry.is_some());
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_handed_out_once_and_in_order() {
        let value = |n: usize| Bytes::from(vec![7; n * 100]);
        let all: Vec<(Bytes, Bytes)> =
            (0..100).map(|n| (Bytes::from(n.to_string()), value(n))).collect();
        for count in [0, 1, FIRST, FIRST + 1, FIRST * 3, FIRST + MOST * 2, 99, 100] {
            let entries = || all.iter().take(count).map(|(key, value)| (key, value));
            assert!(ReadAhead::over(entries()).eq(entries()), "{count} entries");
        }
    }
}
