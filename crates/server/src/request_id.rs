//! Request ids as AWS writes them: 52 characters out of `0`–`9` and `A`–`V`.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use keyloom_core::hash::SplitMix64;

const LENGTH: usize = 52;
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
/// Characters that one 64-bit draw yields, at five bits each.
const PER_DRAW: usize = 12;

thread_local! {
    /// The generator. Ids identify requests in logs and must not repeat; they are not
    /// secrets, so a fast generator with a random seed per thread is enough.
    static RANDOM: Cell<SplitMix64> = Cell::new(SplitMix64::new(RandomState::new().hash_one(LENGTH)));
}

/// Generates an id.
pub(crate) fn next() -> [u8; LENGTH] {
    let mut id = [0; LENGTH];
    let mut random = RANDOM.take();
    for chunk in id.chunks_mut(PER_DRAW) {
        let mut bits = random.draw();
        for place in chunk {
            *place = ALPHABET.get((bits & 31) as usize).copied().unwrap_or(b'0');
            bits >>= 5;
        }
    }
    RANDOM.set(random);
    id
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
