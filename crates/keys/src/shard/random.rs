//! The only source of randomness in this crate: the choice of a random shard.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

thread_local! {
    /// Seeded once per thread by the operating system, through the keys of the standard hasher.
    static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish() | 1);
}

/// A random number by xorshift64*: good enough to spread writes, not for secrets.
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
