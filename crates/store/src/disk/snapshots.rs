//! Tracks the snapshots in use, so that the engine keeps the versions that they can still read.
//!
//! A snapshot is a sequence number: a reader at `s` sees the writes numbered below `s`. Readers pin
//! the newest published sequence number. The pins are sharded, so that readers on different cores
//! seldom contend.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

const SHARDS: usize = 16;

/// The newest published sequence number and all pinned ones.
pub(crate) struct Snapshots {
    newest: AtomicU64,
    pinned: [Mutex<BTreeMap<u64, usize>>; SHARDS],
}

/// A pinned snapshot. Release it with [`Snapshots::unpin`].
#[derive(Debug)]
pub(crate) struct Pin {
    /// Writes below this sequence number are visible.
    pub(crate) seqno: u64,
    shard: usize,
}

impl Snapshots {
    /// Starts at `newest`.
    pub(crate) fn starting_at(newest: u64) -> Self {
        Self { newest: AtomicU64::new(newest), pinned: Default::default() }
    }

    /// Makes all writes numbered below `seqno` visible to new readers.
    pub(crate) fn publish(&self, seqno: u64) {
        self.newest.fetch_max(seqno, Ordering::AcqRel);
    }

    /// The newest published sequence number.
    pub(crate) fn newest(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Pins the newest snapshot.
    pub(crate) fn pin(&self) -> Pin {
        let shard = this_threads_shard();
        let mut pinned = self.shard(shard).lock();
        // Read under the shard's lock: `oldest` either finds this pin, or has read a newest
        // sequence number that is not above it.
        let seqno = self.newest.load(Ordering::Acquire);
        *pinned.entry(seqno).or_default() += 1;
        Pin { seqno, shard }
    }

    /// Releases a pinned snapshot.
    pub(crate) fn unpin(&self, pin: &Pin) {
        let mut pinned = self.shard(pin.shard).lock();
        if let Some(readers) = pinned.get_mut(&pin.seqno) {
            *readers -= 1;
            if *readers == 0 {
                pinned.remove(&pin.seqno);
            }
        }
    }

    /// A sequence number at or below that of every current and future reader.
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
    fn the_oldest_snapshot_is_the_oldest_pin_or_else_the_newest() {
        let snapshots = Snapshots::starting_at(5);
        assert_eq!(snapshots.oldest(), 5);
        let first = snapshots.pin();
        snapshots.publish(9);
        let (second, third) = (snapshots.pin(), snapshots.pin());
        assert_eq!((first.seqno, second.seqno), (5, 9));
        assert_eq!(snapshots.oldest(), 5);
        snapshots.unpin(&first);
        snapshots.publish(12);
        assert_eq!(snapshots.oldest(), 9);
        snapshots.unpin(&second);
        assert_eq!(snapshots.oldest(), 9);
        snapshots.unpin(&third);
        assert_eq!(snapshots.oldest(), 12);
    }

    #[test]
    fn publishing_an_older_number_changes_nothing() {
        let snapshots = Snapshots::starting_at(5);
        snapshots.publish(3);
        assert_eq!(snapshots.oldest(), 5);
    }
}
