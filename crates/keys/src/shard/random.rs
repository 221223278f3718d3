//! The one source of randomness: which shard a write goes to. Nothing else may depend on chance.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

thread_local! {
    /// Seeded once per thread by the operating system, through the hasher's keys.
    static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish() | 1);
}

/// A number to choose a shard by: xorshift64*, good enough to spread writes and for nothing secret.
pub(crate) fn random_u64() -> u64 {
    STATE.with(|state| {
        let mut x = state.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        state.set(x);
        // The low bits are the weak ones, and a remainder uses them.
        x.wrapping_mul(0x2545_F491_4F6C_DD1D).rotate_right(32)
    })
}
