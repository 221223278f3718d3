//! Where a key lies among the keys of a node, found without looking at most of them.
//!
//! Comparing with a key means going to its bytes, which lie somewhere else in memory, and in a large
//! tree the processor waits for each. So a node keeps what its keys have in common, and of each the
//! few bytes that follow, side by side: those are compared first, and all at once. Only keys whose
//! few bytes are the same have to be looked at.

use std::cmp::Ordering;
use std::ops::Range;

use bytes::Bytes;
use smallvec::SmallVec;

use super::MAX_KEYS;

/// What a key has behind the common beginning, filled with zeros: in the order of the keys. Signed,
/// because that is what all processors can compare in blocks.
type Head = i32;

/// The beginning that all keys share, and the heads of what follows it.
#[derive(Clone)]
pub(super) struct Heads {
    /// Longer ones than fit lie elsewhere, which costs a way.
    shared: SmallVec<[u8; 64]>,
    /// Unused ones are the greatest, so that nothing has to ask how many there are.
    heads: [Head; MAX_KEYS],
}

impl Heads {
    /// The heads of keys in order.
    pub(super) fn of(keys: &[Bytes]) -> Self {
        let mut heads = Self { shared: SmallVec::new(), heads: [Head::MAX; MAX_KEYS] };
        heads.rebuild(keys);
        heads
    }

    /// Where `key` may be: it is greater than all keys before the range and less than those behind.
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
        let (mut less, mut greater) = (0_i32, 0_i32);
        for &other in &self.heads {
            less += i32::from(other < head);
            greater += i32::from(other > head);
        }
        let not_greater = MAX_KEYS - greater as usize;
        less as usize..not_greater.min(count)
    }

    /// Takes note of a key that was inserted at `place`.
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

    /// Takes note that the key at `place` was removed.
    pub(super) fn remove(&mut self, place: usize) {
        if place < MAX_KEYS {
            self.heads.copy_within(place + 1.., place);
        }
        if let Some(last) = self.heads.last_mut() {
            *last = Head::MAX;
        }
    }

    /// Begins anew with these keys.
    pub(super) fn rebuild(&mut self, keys: &[Bytes]) {
        self.shared.clear();
        if let (Some(first), Some(last)) = (keys.first(), keys.last()) {
            self.shared.extend_from_slice(shared_beginning(first, last));
        }
        self.heads = [Head::MAX; MAX_KEYS];
        for (slot, key) in self.heads.iter_mut().zip(keys) {
            *slot = key.get(self.shared.len()..).map_or(0, head);
        }
    }
}

/// The order of two keys. For short ones of the same length, which most are, quicker than the call
/// that slices make of it.
#[inline]
pub(super) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    let (Some(left_end), Some(right_end)) = (left.last_chunk(), right.last_chunk()) else {
        return left.cmp(right);
    };
    if left.len() != right.len() {
        return left.cmp(right);
    }
    let words = left.as_chunks().0.iter().zip(right.as_chunks().0);
    // The last word begins within the one before, of which it is known then that both are the same.
    for (left, right) in words.chain([(left_end, right_end)]) {
        let (left, right) = (u64::from_be_bytes(*left), u64::from_be_bytes(*right));
        if left != right {
            return left.cmp(&right);
        }
    }
    Ordering::Equal
}

/// What two keys begin with.
pub(super) fn shared_beginning<'a>(left: &'a [u8], right: &[u8]) -> &'a [u8] {
    let count = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    left.get(..count).unwrap_or_default()
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
