//! Hashes and seeded random numbers that are the same on every machine and in every release.
//!
//! The key library has its own hash for shard numbers, because those are stored and it has no dependency on this crate.

/// The 64-bit FNV-1a hash.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The 128-bit FNV-1a hash.
pub fn fnv1a_128(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// The place of an encoded partition key in the hash space: FNV-1a, then a finalizer that spreads the high bits, by
/// which partitions and segments divide the space.
pub fn partition_hash(partition: &[u8]) -> u64 {
    let hash = fnv1a(partition);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// A seeded random number generator (SplitMix64): small and fast, not for secrets.
#[derive(Clone, Debug, Default)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The generator of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The number at a position of a seed's sequence, counted from 1, without drawing the ones before it.
    pub const fn nth(seed: u64, position: u64) -> u64 {
        let bits = seed.wrapping_add(Self::STEP.wrapping_mul(position));
        let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// The next number of the sequence.
    pub const fn draw(&mut self) -> u64 {
        let drawn = Self::nth(self.0, 1);
        self.0 = self.0.wrapping_add(Self::STEP);
        drawn
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// One of a list, unless that is empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}

/// A random number as a fraction from 0 up to, but not including, 1.
pub fn fraction(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published test vectors: recorded runs and partitions rely on these numbers.
    #[test]
    fn the_numbers_are_those_of_the_published_algorithms() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv1a_128(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
        let mut random = SplitMix64::new(1_234_567);
        let drawn = [random.draw(), random.draw(), random.draw()];
        assert_eq!(
            drawn,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        assert_eq!([1, 2, 3].map(|position| SplitMix64::nth(1_234_567, position)), drawn);
    }

    #[test]
    fn fractions_lie_between_0_and_1() {
        assert!(fraction(0) == 0.0 && fraction(u64::MAX) < 1.0 && fraction(u64::MAX) > 0.999);
    }
}
