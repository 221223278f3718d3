//! Write sharding: spreads one logical partition key over several, so that no single partition takes all the traffic.
//!
//! A shard is a suffix: `STATUS#ACTIVE` becomes `STATUS#ACTIVE#SHARD_7`. A random suffix spreads writes best, but a
//! reader has to query every shard. A suffix calculated from the item's own identifier lets a reader who knows the
//! identifier go straight to its shard.

mod random;

use std::error::Error;
use std::fmt;

pub(crate) use random::random_u64;

/// The maximum number of shards of one key. Reading all of them takes as many queries.
pub const MAX_SHARDS: u32 = 100_000;

/// The write capacity of one physical partition, in units per second.
pub const PARTITION_WRITE_UNITS: f64 = 1000.0;
/// The read capacity of one physical partition, in units per second.
pub const PARTITION_READ_UNITS: f64 = 3000.0;

const MARK: &str = "#SHARD_";

/// Why a number of shards is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardError {
    /// The number of shards is 0 or beyond [`MAX_SHARDS`].
    Count(u64),
    /// A shard number that does not exist.
    NoSuchShard {
        /// The shard number.
        shard: u32,
        /// The number of shards.
        count: u32,
    },
    /// A rate or safety factor that is negative or not a number.
    Rate(String),
}

impl fmt::Display for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShardError::Count(count) => {
                write!(
                    f,
                    "{count} is not a valid number of shards; it must be between 1 and {MAX_SHARDS}"
                )
            }
            ShardError::NoSuchShard { shard, count } => {
                write!(f, "there is no shard {shard}; shards are 0 to {}", count.saturating_sub(1))
            }
            ShardError::Rate(rate) => write!(f, "{rate} is not a valid rate; give a number from 0"),
        }
    }
}

impl Error for ShardError {}

/// A number of shards, and the keys of each.
///
/// ```
/// use keyloom_keys::Shards;
///
/// let shards = Shards::new(10)?;
/// let key = shards.calculated_key("STATUS#ACTIVE", &["user-123"]);
/// assert_eq!(key, shards.calculated_key("STATUS#ACTIVE", &["user-123"]));
/// assert_eq!(shards.keys("STATUS#ACTIVE").count(), 10);
/// assert!(shards.keys("STATUS#ACTIVE").any(|shard| shard == key));
/// # Ok::<(), keyloom_keys::ShardError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shards {
    count: u32,
}

impl Shards {
    /// Creates this many shards.
    pub fn new(count: u32) -> Result<Self, ShardError> {
        match count {
            1..=MAX_SHARDS => Ok(Shards { count }),
            _ => Err(ShardError::Count(u64::from(count))),
        }
    }

    /// The number of shards for a peak load: the load divided by the capacity of a partition, times a safety factor
    /// (usually 1.5), rounded up.
    ///
    /// ```
    /// use keyloom_keys::Shards;
    ///
    /// for (write_units, shards) in [(500.0, 1), (5_000.0, 8), (50_000.0, 75), (500_000.0, 750)] {
    ///     assert_eq!(Shards::for_rate(write_units, 0.0, 1.5)?.count(), shards);
    /// }
    /// # Ok::<(), keyloom_keys::ShardError>(())
    /// ```
    pub fn for_rate(write_units: f64, read_units: f64, safety: f64) -> Result<Self, ShardError> {
        for rate in [write_units, read_units, safety] {
            if !rate.is_finite() || rate < 0.0 {
                return Err(ShardError::Rate(rate.to_string()));
            }
        }
        let partitions =
            (write_units / PARTITION_WRITE_UNITS).max(read_units / PARTITION_READ_UNITS);
        let count = (partitions * safety).ceil().max(1.0);
        if count > f64::from(MAX_SHARDS) {
            return Err(ShardError::Count(count as u64));
        }
        Self::new(count as u32)
    }

    /// The number of shards.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The shard of an item with these parts, always the same.
    pub fn of(self, parts: &[&str]) -> u32 {
        (stable_hash(parts) % u64::from(self.count)) as u32
    }

    /// The key of one shard.
    pub fn key(self, base: &str, shard: u32) -> Result<String, ShardError> {
        if shard >= self.count {
            return Err(ShardError::NoSuchShard { shard, count: self.count });
        }
        Ok(shard_key(base, shard))
    }

    /// The key of the shard of an item with these parts.
    pub fn calculated_key(self, base: &str, parts: &[&str]) -> String {
        shard_key(base, self.of(parts))
    }

    /// The key of a shard chosen by a random number.
    pub fn random_key(self, base: &str, random: u64) -> String {
        shard_key(base, (random % u64::from(self.count)) as u32)
    }

    /// The keys of all shards, in order.
    pub fn keys(self, base: &str) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        let base = base.to_owned();
        (0..self.count).map(move |shard| shard_key(&base, shard))
    }
}

fn shard_key(base: &str, shard: u32) -> String {
    format!("{base}{MARK}{shard}")
}

/// Splits a sharded key into base and shard number; `None` if it has no shard.
///
/// ```
/// assert_eq!(keyloom_keys::split_shard("STATUS#ACTIVE#SHARD_7"), Some(("STATUS#ACTIVE", 7)));
/// assert_eq!(keyloom_keys::split_shard("STATUS#ACTIVE"), None);
/// ```
pub fn split_shard(key: &str) -> Option<(&str, u32)> {
    let (base, digits) = key.rsplit_once(MARK)?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((base, digits.parse().ok().filter(|_| canonical && plain)?))
}

/// The hash of calculated shards. Shard numbers are stored data, so it never changes: 64-bit FNV-1a
/// over the UTF-8 bytes of each part, each part followed by one byte 0xFF (which UTF-8 never contains, so that `["ab"]`
/// and `["a", "b"]` differ), then MurmurHash3's 64-bit finalizer. The shard is the remainder by the number of shards, so
/// doubling the number moves each key either nowhere or from shard `s` to `s + n`.
pub fn stable_hash(parts: &[&str]) -> u64 {
    let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
    for part in parts {
        for byte in part.bytes().chain([0xFF]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changing any of these loses stored items.
    #[test]
    fn the_hash_is_frozen() {
        for (parts, hash) in [
            (&[][..], 0xEFD0_1F60_BA99_2926),
            (&[""], 0x1BBD_5C81_3C69_A8D7),
            (&["a"], 0x3AEC_69D2_86FB_D39B),
            (&["user-123"], 0xC99F_9205_D102_019A),
            (&["ab"], 0xAC5B_C11D_A938_A7EC),
            (&["a", "b"], 0xD1CC_4716_1832_0C9C),
            (&["é"], 0x9270_ACDE_3C70_8644),
        ] {
            assert_eq!(stable_hash(parts), hash, "{parts:?} {:#X}", stable_hash(parts));
        }
    }

    #[test]
    fn calculated_shards_are_spread_evenly() {
        let shards = Shards::new(10).unwrap();
        let mut counts = [0_u32; 10];
        for user in 0..10_000 {
            counts[shards.of(&[&format!("user-{user}")]) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn doubling_moves_a_key_nowhere_or_by_the_old_count() {
        let (old, new) = (Shards::new(8).unwrap(), Shards::new(16).unwrap());
        for user in 0..1000 {
            let id = user.to_string();
            let (from, to) = (old.of(&[&id]), new.of(&[&id]));
            assert!(to == from || to == from + 8);
        }
    }

    #[test]
    fn only_numbered_suffixes_are_shards() {
        for key in [
            "",
            "A#SHARD_",
            "A#SHARD_x",
            "A#SHARD_07",
            "A#SHARD_+7",
            "A#SHARD_4294967296",
            "A#SHARD#7",
        ] {
            assert_eq!(split_shard(key), None, "{key}");
        }
        assert_eq!(split_shard("A#SHARD_1#SHARD_0"), Some(("A#SHARD_1", 0)));
    }

    #[test]
    fn impossible_counts_and_rates_are_refused() {
        assert!(Shards::new(0).is_err() && Shards::new(MAX_SHARDS + 1).is_err());
        assert!(Shards::for_rate(f64::NAN, 0.0, 1.5).is_err());
        assert!(Shards::for_rate(-1.0, 0.0, 1.5).is_err());
        assert!(Shards::for_rate(1e12, 0.0, 1.5).is_err());
        assert_eq!(Shards::for_rate(0.0, 9000.0, 2.0).unwrap().count(), 6);
        assert!(Shards::new(3).unwrap().key("A", 3).is_err());
    }
}
