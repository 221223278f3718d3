//! Distinct counts: HyperLogLog with 4,096 registers, with a standard error of 1.6 %.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

const BITS: u32 = 12;
const REGISTERS: usize = 1 << BITS;
/// The registers of a coarse sketch are those of so many others joined.
const JOINED_BITS: u32 = 4;

/// How many different things were seen, in 4 KB; a coarse one takes 256 bytes and is off by 6.5 %.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Distinct {
    /// Empty until the first.
    registers: Vec<u8>,
}

impl Distinct {
    /// Counts a value by its hash.
    pub fn add(&mut self, hash: u64) {
        if self.registers.is_empty() {
            self.registers = vec![0; REGISTERS];
        }
        let rank = (hash << BITS | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        if let Some(register) = self.registers.get_mut((hash >> (64 - BITS)) as usize) {
            *register = (*register).max(rank);
        }
    }

    /// How many there were.
    pub fn estimate(&self) -> f64 {
        if self.registers.is_empty() {
            return 0.0;
        }
        let count = self.registers.len() as f64;
        let sum: f64 = self.registers.iter().map(|rank| (-f64::from(*rank)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty: usize = self.registers.iter().map(|rank| usize::from(*rank == 0)).sum();
        if raw <= 2.5 * count && empty > 0 { count * (count / empty as f64).ln() } else { raw }
    }

    /// The same in a sixteenth of the memory. It can be merged with coarse ones only.
    pub(crate) fn coarse(&self) -> Self {
        let joined = self.registers.chunks(1 << JOINED_BITS).map(|chunk| {
            // The bits by which the joined registers were told apart count to the ranks now.
            let rank = |(place, rank): (usize, &u8)| match (place, *rank) {
                (_, 0) => 0,
                (0, rank) => rank + JOINED_BITS as u8,
                (place, _) => (JOINED_BITS - place.ilog2()) as u8,
            };
            chunk.iter().enumerate().map(rank).max().unwrap_or(0)
        });
        Self { registers: joined.collect() }
    }

    /// What it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.registers.capacity()
    }

    /// Adds what another one saw.
    pub fn merge(&mut self, other: &Self) {
        if self.registers.is_empty() {
            self.registers.clone_from(&other.registers);
            return;
        }
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *mine = (*mine).max(*theirs);
        }
    }
}

impl From<String> for Distinct {
    /// Text that is not a sketch becomes an empty one.
    fn from(text: String) -> Self {
        let registers = STANDARD.decode(text).unwrap_or_default();
        if registers.len() == REGISTERS { Self { registers } } else { Self::default() }
    }
}

impl From<Distinct> for String {
    fn from(distinct: Distinct) -> Self {
        STANDARD.encode(distinct.registers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::hash_of;

    fn of(range: std::ops::Range<u64>) -> Distinct {
        let mut distinct = Distinct::default();
        for value in range {
            distinct.add(hash_of(&value.to_le_bytes()));
        }
        distinct
    }

    #[test]
    fn counts_are_within_five_per_cent_at_every_size() {
        for size in [1, 10, 100, 1000, 10_000, 100_000, 500_000] {
            let found = of(0..size).estimate();
            let off = (found - size as f64).abs() / size as f64;
            assert!(off < 0.05, "{size}: {found}");
        }
        assert!(Distinct::default().estimate() < 0.5);
    }

    #[test]
    fn coarse_sketches_are_what_fewer_registers_would_have_counted() {
        for size in [1, 10, 100, 1000, 100_000] {
            let (fine, coarse) = (of(0..size), of(0..size).coarse());
            assert_eq!(coarse.registers.len(), 256);
            let off = (coarse.estimate() - size as f64).abs() / size as f64;
            assert!(off < 0.2, "{size}: {} {}", fine.estimate(), coarse.estimate());
        }
        let mut merged = of(0..3000).coarse();
        merged.merge(&of(2000..5000).coarse());
        assert_eq!(merged, of(0..5000).coarse());
        assert_eq!(Distinct::default().coarse(), Distinct::default());
    }

    #[test]
    fn merged_sketches_count_common_things_once() {
        let mut a = of(0..20_000);
        a.merge(&of(10_000..30_000));
        assert_eq!(a, of(0..30_000));
        let text = serde_json::to_string(&a).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Distinct>(&text).ok(), Some(a));
    }
}
