//! Request ids as AWS writes them: 52 characters out of `0`–`9` and `A`–`V`.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

const LENGTH: usize = 52;
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
/// Characters that one 64-bit draw yields, at five bits each.
const PER_DRAW: usize = 12;

thread_local! {
    /// The generator's state. Ids identify requests in logs and must not repeat; they are not
    /// secrets, so a fast generator with a random seed per thread is enough.
    static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(LENGTH));
}

/// Generates an id.
pub(crate) fn next() -> [u8; LENGTH] {
    let mut id = [0; LENGTH];
    STATE.with(|state| {
        for chunk in id.chunks_mut(PER_DRAW) {
            let mut bits = draw(state);
            for place in chunk {
                *place = ALPHABET.get((bits & 31) as usize).copied().unwrap_or(b'0');
                bits >>= 5;
            }
        }
    });
    id
}

/// SplitMix64: a counter and a mixing function, so a thread's draws do not repeat.
fn draw(state: &Cell<u64>) -> u64 {
    let counter = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    state.set(counter);
    let mixed = (counter ^ (counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_upper_case_alphanumeric_and_do_not_repeat() {
        let here = (0..1000).map(|_| next());
        let there = std::thread::spawn(|| (0..1000).map(|_| next()).collect::<Vec<_>>());
        let ids: HashSet<_> = here.chain(there.join().unwrap()).collect();
        assert_eq!(ids.len(), 2000);
        let plain = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        assert!(ids.iter().all(|id| id.iter().all(plain)));
    }
}
