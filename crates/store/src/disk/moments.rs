//! Which moments readers look at, so that the engine keeps what they may still read.
//!
//! A moment is a sequence number: a reader at moment `m` sees the writes numbered below `m`.
//! Readers pin the newest published moment. The pins are spread over shards, so that readers on
//! different cores seldom meet.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

const SHARDS: usize = 16;

/// The newest moment and all pinned ones.
pub(crate) struct Moments {
    newest: AtomicU64,
    pinned: [Mutex<BTreeMap<u64, usize>>; SHARDS],
}

/// A pinned moment. Give it back with [`Moments::unpin`].
#[derive(Debug)]
pub(crate) struct Pin {
    /// The moment.
    pub(crate) moment: u64,
    shard: usize,
}

impl Moments {
    /// Starts at `newest`.
    pub(crate) fn starting_at(newest: u64) -> Self {
        Self { newest: AtomicU64::new(newest), pinned: Default::default() }
    }

    /// Lets new readers see everything numbered below `moment`.
    pub(crate) fn publish(&self, moment: u64) {
        self.newest.fetch_max(moment, Ordering::AcqRel);
    }

    /// The newest moment.
    pub(crate) fn newest(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Pins the newest moment.
    pub(crate) fn pin(&self) -> Pin {
        let shard = this_threads_shard();
        let mut pinned = self.shard(shard).lock();
        // Read under the shard's lock: `oldest` either finds this pin, or has read a newest
        // moment that is not above it.
        let moment = self.newest.load(Ordering::Acquire);
        *pinned.entry(moment).or_default() += 1;
        Pin { moment, shard }
    }

    /// Lets go of a moment.
    pub(crate) fn unpin(&self, pin: &Pin) {
        let mut pinned = self.shard(pin.shard).lock();
        if let Some(readers) = pinned.get_mut(&pin.moment) {
            *readers -= 1;
            if *readers == 0 {
                pinned.remove(&pin.moment);
            }
        }
    }

    /// A moment before which no reader looks, now or later.
    pub(crate) fn oldest(&self) -> u64 {
        let newest = self.newest.load(Ordering::Acquire);
        let pinned = self.pinned.iter().filter_map(|shard| shard.lock().keys().next().copied());
        pinned.fold(newest, u64::min)
    }

    fn shard(&self, shard: usize) -> &Mutex<BTreeMap<u64, usize>> {
        let [first, ..] = &self.pinned;
        self.pinned.get(shard).unwrap_or(first)
    }
}

fn this_threads_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    SHARD.with(|shard| *shard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_moment_is_the_oldest_pin_or_else_the_newest_moment() {
        let moments = Moments::starting_at(5);
        assert_eq!(moments.oldest(), 5);
        let first = moments.pin();
        moments.publish(9);
        let (second, third) = (moments.pin(), moments.pin());
        assert_eq!((first.moment, second.moment), (5, 9));
        assert_eq!(moments.oldest(), 5);
        moments.unpin(&first);
        moments.publish(12);
        assert_eq!(moments.oldest(), 9);
        moments.unpin(&second);
        assert_eq!(moments.oldest(), 9);
        moments.unpin(&third);
        assert_eq!(moments.oldest(), 12);
    }

    #[test]
    fn an_older_publication_does_not_turn_time_back() {
        let moments = Moments::starting_at(5);
        moments.publish(3);
        assert_eq!(moments.oldest(), 5);
    }
}
