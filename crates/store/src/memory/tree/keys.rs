//! The sorted keys of a node.

use std::cmp::Ordering;

use bytes::Bytes;

use super::MAX_KEYS;
use super::heads::{Heads, WORD, common_prefix, compare};

/// Sorted keys with an index for fast search.
#[derive(Clone)]
pub(super) struct Keys {
    heads: Heads,
    keys: Vec<Bytes>,
}

impl Keys {
    /// Wraps keys in ascending order.
    pub(super) fn new(keys: Vec<Bytes>) -> Self {
        Self { heads: Heads::of(&keys), keys }
    }

    pub(super) fn as_slice(&self) -> &[Bytes] {
        &self.keys
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The index of a key, or else the index where it would be inserted.
    pub(super) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let alike = self.heads.search(self.keys.len(), key);
        // What all have in common is known to be equal; at least a word is left, which is compared fastest.
        let known = self.heads.shared_len().min(key.len().saturating_sub(WORD));
        let rest = key.get(known..).unwrap_or_default();
        let (mut start, mut end) = (alike.start, alike.end);
        // Usually there is none or one. Unlike the standard library's search, this ends at an equal one.
        while start < end {
            let middle = usize::midpoint(start, end);
            let other = self.keys.get(middle).and_then(|other| other.get(known..));
            match compare(other.unwrap_or_default(), rest) {
                Ordering::Less => start = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => end = middle,
            }
        }
        Err(start)
    }

    pub(super) fn insert(&mut self, place: usize, key: Bytes) {
        self.keys.insert(place, key);
        self.heads.insert(place, &self.keys);
    }

    pub(super) fn remove(&mut self, place: usize) -> Bytes {
        self.heads.remove(place);
        self.keys.remove(place)
    }

    /// Where to split a full node that grows at `place`: near its end if it grows there, else near
    /// the middle; within that range between the two neighbours with the shortest common prefix, so
    /// that both halves have longer ones.
    pub(super) fn split_place(&self, place: usize) -> usize {
        let (from, best) =
            if place == MAX_KEYS { (MAX_KEYS / 2, MAX_KEYS) } else { (MAX_KEYS / 4, MAX_KEYS / 2) };
        let shared = |(before, behind): (&Bytes, &Bytes)| common_prefix(before, behind).len();
        let pairs = self.keys.iter().zip(self.keys.iter().skip(1)).map(shared);
        let places = (1..MAX_KEYS).zip(pairs).skip(from - 1).take(MAX_KEYS / 2);
        let least = places.min_by_key(|&(place, shared)| (shared, place.abs_diff(best)));
        least.map_or(best, |(place, _)| place)
    }

    /// Keeps the keys before `place` and returns the others.
    pub(super) fn split_off(&mut self, place: usize) -> Self {
        let others = self.keys.split_off(place);
        self.heads.rebuild(&self.keys);
        Self::new(others)
    }

    /// Appends the keys of the right sibling.
    pub(super) fn append(&mut self, between: Option<Bytes>, other: Self) {
        self.keys.extend(between);
        self.keys.extend(other.keys);
        self.heads.rebuild(&self.keys);
    }
}
