//! Finds the position of a key in a node with few cache misses.
//!
//! A comparison reads the other key's bytes, which are elsewhere in memory; in a large tree that is
//! a cache miss each. So a node stores the common prefix of its keys and, in one array, the four
//! bytes of each key that follow it (its *head*). Heads are compared first, all at once; only keys
//! with equal heads are read.

use std::cmp::Ordering;
use std::ops::Range;

use bytes::Bytes;
use smallvec::SmallVec;

use super::MAX_KEYS;

/// The bytes of a key after the common prefix, zero-padded, as an integer in key order. Signed,
/// because every SIMD instruction set can compare signed integers.
type Head = i32;

/// The bytes that are compared at once.
pub(super) const WORD: usize = size_of::<u64>();
type Word = [u8; WORD];

/// The common prefix of all keys, and the head of each key after it.
#[derive(Clone)]
pub(super) struct Heads {
    /// Prefixes that do not fit inline are on the heap, which costs a cache miss.
    shared: SmallVec<[u8; 64]>,
    /// Unused slots hold the maximum, so that a search need not know the count.
    heads: [Head; MAX_KEYS],
}

impl Heads {
    /// The heads of keys in ascending order.
    pub(super) fn of(keys: &[Bytes]) -> Self {
        let mut heads = Self { shared: SmallVec::new(), heads: [Head::MAX; MAX_KEYS] };
        heads.rebuild(keys);
        heads
    }

    /// The range where `key` may be: it is greater than all keys before the range and less than
    /// those after it.
    #[inline]
    pub(super) fn search(&self, count: usize, key: &[u8]) -> Range<usize> {
        let rest = match key.split_at_checked(self.shared.len()) {
            Some((shared, rest)) if compare(shared, &self.shared).is_eq() => rest,
            _ => {
                let place = if key < self.shared.as_slice() { 0 } else { count };
                return place..place;
            }
        };
        let head = head(rest);
        let less = self.count(|other| other < head);
        let equal = match self.heads.get(less..count).unwrap_or_default() {
            [_, second, ..] if *second == head => self.count(|other| other == head),
            [first, ..] => usize::from(*first == head),
            [] => 0,
        };
        less..count.min(less + equal)
    }

    /// How many heads are so. Compares all, which is faster than finding out where to stop.
    #[inline]
    fn count(&self, is_so: impl Fn(Head) -> bool) -> usize {
        self.heads.iter().map(|&other| i32::from(is_so(other))).sum::<i32>() as usize
    }

    /// How many bytes all keys have in common.
    #[inline]
    pub(super) fn shared_len(&self) -> usize {
        self.shared.len()
    }

    /// Updates the heads after a key was inserted at `place`.
    pub(super) fn insert(&mut self, place: usize, keys: &[Bytes]) {
        let inserted = keys.get(place).and_then(|key| key.strip_prefix(self.shared.as_slice()));
        let Some(rest) = inserted.filter(|_| keys.len() > 1) else { return self.rebuild(keys) };
        if place < MAX_KEYS {
            self.heads.copy_within(place..MAX_KEYS - 1, place + 1);
        }
        if let Some(free) = self.heads.get_mut(place) {
            *free = head(rest);
        }
    }

    /// Updates the heads after the key at `place` was removed.
    pub(super) fn remove(&mut self, place: usize) {
        if place < MAX_KEYS {
            self.heads.copy_within(place + 1.., place);
        }
        if let Some(last) = self.heads.last_mut() {
            *last = Head::MAX;
        }
    }

    /// Recomputes everything from these keys.
    pub(super) fn rebuild(&mut self, keys: &[Bytes]) {
        self.shared.clear();
        if let (Some(first), Some(last)) = (keys.first(), keys.last()) {
            self.shared.extend_from_slice(common_prefix(first, last));
        }
        self.heads = [Head::MAX; MAX_KEYS];
        for (slot, key) in self.heads.iter_mut().zip(keys) {
            *slot = key.get(self.shared.len()..).map_or(0, head);
        }
    }
}

/// Compares two keys. Faster than slice comparison, which is a function call, for short keys of
/// equal length, the common case.
#[inline]
pub(super) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    let (Some(left_end), Some(right_end)) = (left.last_chunk(), right.last_chunk()) else {
        return left.cmp(right);
    };
    if left.len() != right.len() {
        return left.cmp(right);
    }
    let in_order =
        |left: &Word, right: &Word| u64::from_be_bytes(*left).cmp(&u64::from_be_bytes(*right));
    for (left, right) in left.as_chunks().0.iter().zip(right.as_chunks().0) {
        if left != right {
            return in_order(left, right);
        }
    }
    // The last word overlaps the one before it, which is already known to be equal.
    in_order(left_end, right_end)
}

/// The common prefix of two keys.
pub(super) fn common_prefix<'a>(left: &'a [u8], right: &[u8]) -> &'a [u8] {
    let words = left.as_chunks::<WORD>().0.iter().zip(right.as_chunks().0);
    let words = words.take_while(|(left, right)| left == right).count();
    let bytes = left.iter().zip(right).skip(words * WORD);
    let bytes = bytes.take_while(|(left, right)| left == right).count();
    left.get(..words * WORD + bytes).unwrap_or_default()
}

fn head(rest: &[u8]) -> Head {
    let bits = match *rest {
        [] => 0,
        [a] => u32::from_be_bytes([a, 0, 0, 0]),
        [a, b] => u32::from_be_bytes([a, b, 0, 0]),
        [a, b, c] => u32::from_be_bytes([a, b, c, 0]),
        [a, b, c, d, ..] => u32::from_be_bytes([a, b, c, d]),
    };
    bits as Head ^ Head::MIN
}
