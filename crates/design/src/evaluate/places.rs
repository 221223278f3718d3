//! Rows found by a hash: two numbers for each, so that a million rows take little memory and no time.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Positions of rows, by the hash of what they are looked for by. Two things may share a hash: whoever looks
/// compares.
#[derive(Clone, Debug, Default)]
pub struct Places {
    sorted: Vec<(u64, u32)>,
}

impl Places {
    /// Positions with their hashes.
    pub fn new(places: impl Iterator<Item = (u64, u32)>) -> Self {
        let mut sorted: Vec<(u64, u32)> = places.collect();
        sorted.sort_unstable();
        Self { sorted }
    }

    /// The positions that have this hash, in ascending order.
    pub fn find(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        let from = self.sorted.partition_point(|(known, _)| *known < hash);
        let rest = self.sorted.get(from..).unwrap_or_default();
        rest.iter().take_while(move |(known, _)| *known == hash).map(|(_, at)| *at as usize)
    }
}

/// The hash of something that rows are looked for by.
pub fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
