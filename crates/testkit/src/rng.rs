//! Random numbers that a seed replays.

use std::hash::{BuildHasher, Hasher, RandomState};

use keyloom_core::hash::SplitMix64;

/// A seeded generator for tests.
#[derive(Clone, Debug)]
pub struct Rng(SplitMix64);

impl Rng {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37_79b9_7f4a_7c15))
    }

    /// The next random number.
    pub fn next_u64(&mut self) -> u64 {
        self.0.draw()
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the choices, of which there must be some.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let position = self.below(choices.len());
        choices.get(position).unwrap_or_else(|| unreachable!("{position} is below the length"))
    }

    /// A generator for a part of the run, independent of how much this one is used later.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self::new(self.next_u64())
    }
}

/// The seeds of a test: the one that `KEYLOOM_SEED` names, or the first `count`.
pub fn seeds(count: u64) -> Vec<u64> {
    match replayed_seed() {
        Some(seed) => vec![seed],
        None => (1..=count).collect(),
    }
}

/// The seeds of a long run: the one that `KEYLOOM_SEED` names, or `count` new ones.
pub fn fresh_seeds(count: u64) -> Vec<u64> {
    if let Some(seed) = replayed_seed() {
        return vec![seed];
    }
    // The standard library's hasher keys are the one source of chance it offers.
    let start = RandomState::new().build_hasher().finish() >> 16;
    (start..start + count).collect()
}

fn replayed_seed() -> Option<u64> {
    let text = std::env::var("KEYLOOM_SEED").ok()?;
    match text.parse() {
        Ok(seed) => Some(seed),
        Err(error) => panic!("KEYLOOM_SEED is {text:?}: {error}"),
    }
}

/// Says which seed failed, when a test that holds this panics.
#[derive(Debug)]
pub struct SeedReport(pub u64);

impl Drop for SeedReport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay this run with KEYLOOM_SEED={}", self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_again() {
        let numbers = |seed| {
            let mut rng = Rng::new(seed);
            (0..100).map(|_| rng.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }

    #[test]
    fn every_choice_is_taken_at_some_time() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[rng.below(10)] = true;
        }
        assert_eq!(seen, [true; 10]);
    }
}
