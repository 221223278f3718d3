//! Keys that met a conflict lately: their writers take turns by locking the row, since trying again
//! and again starves whoever is farther from the database.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use parking_lot::Mutex;

/// How long a key counts as contended after its last conflict.
const COOLING: Duration = Duration::from_secs(5);

/// How many keys are remembered at most.
const REMEMBERED: usize = 10_000;

/// The contended keys, by hash: a collision costs a little speed.
#[derive(Default)]
pub(super) struct Contention {
    hasher: RandomState,
    hot: Mutex<HashMap<u64, Instant, RandomState>>,
}

impl Contention {
    /// Notes a conflict about these keys.
    pub(super) fn note<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        let now = Instant::now();
        let mut hot = self.hot.lock();
        if hot.len() >= REMEMBERED {
            hot.retain(|_, until| *until > now);
        }
        for key in keys.take(REMEMBERED.saturating_sub(hot.len())) {
            hot.insert(self.hasher.hash_one(key), now + COOLING);
        }
    }

    /// The hash of the first contended key; none if no key is.
    pub(super) fn of(&self, keys: &[&[u8]]) -> Option<u64> {
        let hot = self.hot.lock();
        if hot.is_empty() {
            return None;
        }
        let now = Instant::now();
        let hashes = keys.iter().map(|key| self.hasher.hash_one(*key));
        hashes.into_iter().find(|hash| hot.get(hash).is_some_and(|until| *until > now))
    }
}
