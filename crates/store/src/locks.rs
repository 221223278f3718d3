//! Short key locks that make read-decide-write atomic.
//!
//! Keys are hashed onto a fixed number of lock stripes. Two keys may share a stripe, which costs
//! some contention but no memory per key. A transaction names all its keys at once and takes the
//! stripes in ascending order, so transactions cannot deadlock.
//!
//! All of them hold the gate, too, which an exclusive change closes.

use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;

/// Enough that unrelated keys seldom collide; a stripe is one byte.
const STRIPES: usize = 4096;

/// The lock stripes of one store, and the gate in front of them.
pub(crate) struct KeyLocks {
    gate: RwLock<()>,
    stripes: Box<[Mutex<()>]>,
    hasher: RandomState,
}

/// The stripes that a transaction holds; dropping it releases them.
#[derive(Default)]
#[expect(dead_code, reason = "held for their drop")]
pub(crate) struct HeldLocks<'a> {
    stripes: SmallVec<[MutexGuard<'a, ()>; 4]>,
    gate: Option<RwLockReadGuard<'a, ()>>,
}

impl KeyLocks {
    /// New, unlocked stripes.
    pub(crate) fn new() -> Self {
        Self {
            gate: RwLock::new(()),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            hasher: RandomState::default(),
        }
    }

    /// Locks all these keys, waiting as long as necessary.
    pub(crate) fn lock(&self, keys: &[&[u8]]) -> HeldLocks<'_> {
        let gate = Some(self.gate.read());
        HeldLocks { stripes: self.stripes_of(keys).map(Mutex::lock).collect(), gate }
    }

    /// Closes the gate: waits until no transaction is open, and lets none begin.
    pub(crate) fn lock_everything(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write()
    }

    /// Locks all these keys, or none if one of them is not free within `timeout`.
    pub(crate) fn lock_within(&self, keys: &[&[u8]], timeout: Duration) -> Option<HeldLocks<'_>> {
        // The clock is read only if a lock is contended.
        let mut end = None;
        let gate = self.gate.try_read().or_else(|| {
            self.gate.try_read_until(*end.get_or_insert_with(|| Instant::now() + timeout))
        });
        let gate = Some(gate?);
        let mut stripes = SmallVec::new();
        for stripe in self.stripes_of(keys) {
            let lock = stripe.try_lock().or_else(|| {
                stripe.try_lock_until(*end.get_or_insert_with(|| Instant::now() + timeout))
            });
            stripes.push(lock?);
        }
        Some(HeldLocks { stripes, gate })
    }

    /// The stripes of these keys in locking order.
    fn stripes_of(&self, keys: &[&[u8]]) -> impl Iterator<Item = &Mutex<()>> {
        let mut wanted: SmallVec<[usize; 4]> =
            keys.iter().map(|key| self.hasher.hash_one(key) as usize % STRIPES).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.into_iter().filter_map(|i| self.stripes.get(i))
    }
}
