//! Texts between two bounds, as part of a [`Language`].
//!
//! As long as a text equals a bound so far, the next byte decides; once it has left both bounds, it is free.

use super::{Language, State};
use crate::byteset::ByteSet;

/// How long the texts of an interval are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Of any length, with any bytes.
    Any,
    /// As long as the bounds, which are equally long; digits where the bounds have digits, the same bytes elsewhere.
    OfBounds,
}

/// Appends the texts from `low` to `high`, both included, in byte order.
pub(super) fn append(language: &mut Language, low: &[u8], high: &[u8], width: Width) {
    let from = std::mem::take(&mut language.ends);
    if low > high {
        return;
    }
    let mut interval = Interval { low, high, width, free: Vec::new(), ends: Vec::new() };
    interval.grow(language, &from, 0, Tight { low: true, high: true });
    language.ends = interval.ends;
}

struct Interval<'a> {
    low: &'a [u8],
    high: &'a [u8],
    width: Width,
    /// The state of a text that has left both bounds: one in all, or one for each length.
    free: Vec<State>,
    ends: Vec<State>,
}

/// Which bounds a text equals so far.
#[derive(Clone, Copy)]
struct Tight {
    low: bool,
    high: bool,
}

impl Interval<'_> {
    fn grow(&mut self, language: &mut Language, from: &[State], depth: usize, tight: Tight) {
        // A proper prefix of `low` is still below it; a prefix of `high` is not above it.
        let may_end = match self.width {
            Width::Any => !tight.low || depth == self.low.len(),
            Width::OfBounds => depth == self.low.len(),
        };
        if may_end {
            self.ends.extend_from_slice(from);
        }
        let low = self.low.get(depth).copied().filter(|_| tight.low);
        let high = match (tight.high, self.high.get(depth)) {
            (false, _) => None,
            (true, Some(&byte)) => Some(byte),
            (true, None) => return,
        };
        if self.width == Width::OfBounds && may_end {
            return;
        }
        let above = low.map_or(0, |byte| u16::from(byte) + 1);
        let below = high.map_or(256, u16::from);
        if above < below {
            let inside = ByteSet::range(above as u8, (below - 1) as u8);
            let bytes = inside.intersection(self.allowed(depth));
            if !bytes.is_empty() {
                let free = self.free_after(language, depth + 1);
                language.edge_from_each(from, bytes, free);
            }
        }
        match (low, high) {
            (Some(a), Some(b)) if a == b => self.follow(language, from, a, depth, tight),
            _ => {
                if let Some(byte) = low {
                    let tight = Tight { low: true, high: false };
                    self.follow(language, from, byte, depth, tight);
                }
                if let Some(byte) = high {
                    let tight = Tight { low: false, high: true };
                    self.follow(language, from, byte, depth, tight);
                }
            }
        }
    }

    fn follow(
        &mut self,
        language: &mut Language,
        from: &[State],
        byte: u8,
        depth: usize,
        tight: Tight,
    ) {
        let next = language.state();
        language.edge_from_each(from, ByteSet::EMPTY.with(byte), next);
        self.grow(language, &[next], depth + 1, tight);
    }

    /// The bytes that a text inside the bounds can have at a place.
    fn allowed(&self, depth: usize) -> ByteSet {
        match (self.width, self.low.get(depth)) {
            (Width::OfBounds, Some(b'0'..=b'9')) => ByteSet::range(b'0', b'9'),
            (Width::OfBounds, Some(&byte)) => ByteSet::EMPTY.with(byte),
            _ => ByteSet::ALL,
        }
    }

    /// The state after `depth` bytes of a text that has left both bounds.
    fn free_after(&mut self, language: &mut Language, depth: usize) -> State {
        if self.free.is_empty() {
            let first = language.state();
            self.free.push(first);
            match self.width {
                Width::Any => language.edge(first, ByteSet::ALL, first),
                Width::OfBounds => {
                    for depth in 0..self.low.len() {
                        let (from, next) = (language.states.len() - 1, language.state());
                        language.edge(from, self.allowed(depth), next);
                        self.free.push(next);
                    }
                }
            }
            self.ends.extend(self.free.last());
        }
        self.free.get(depth).or(self.free.last()).copied().unwrap_or(Language::START)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn intervals_have_exactly_the_texts_between(
            low in "[a-c]{0,4}", high in "[a-c]{0,4}", text in "[a-c]{0,5}",
        ) {
            let mut language = Language::empty_text();
            language.between(low.as_bytes(), high.as_bytes());
            prop_assert_eq!(language.contains(text.as_bytes()), low <= text && text <= high);
        }

        #[test]
        fn intervals_of_one_width_have_exactly_the_numbers_between(
            low in 0_u32..10_000, high in 0_u32..10_000, number in 0_u32..10_000,
        ) {
            let written = |number: u32| format!("{:02}.{:02}", number / 100, number % 100);
            let (low, high, text) = (written(low), written(high), written(number));
            let mut language = Language::empty_text();
            append(&mut language, low.as_bytes(), high.as_bytes(), Width::OfBounds);
            prop_assert_eq!(language.contains(text.as_bytes()), low <= text && text <= high);
            prop_assert!(!language.contains(&text.as_bytes()[..4]));
            let longer = format!("{text}0");
            prop_assert!(!language.contains(longer.as_bytes()));
        }
    }
}
