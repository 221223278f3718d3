//! Sharded keys, under their usual names.

use super::PatternError;
use crate::shard::{Shards, random_u64, split_shard};

/// A key with a random shard.
///
/// ```
/// use keyloom_keys::patterns::{distributed_key, get_shard_number};
///
/// let key = distributed_key("STATUS#ACTIVE", 10)?;
/// assert!(key.starts_with("STATUS#ACTIVE#SHARD_"));
/// assert!(get_shard_number(&key).is_some_and(|shard| shard < 10));
/// # Ok::<(), keyloom_keys::patterns::PatternError>(())
/// ```
pub fn distributed_key(base: &str, shards: u32) -> Result<String, PatternError> {
    distributed_key_with(base, shards, random_u64())
}

/// A key with a shard chosen by the caller's random number.
pub fn distributed_key_with(base: &str, shards: u32, random: u64) -> Result<String, PatternError> {
    Ok(Shards::new(shards)?.random_key(base, random))
}

/// The shard of a key; `None` for a key without one.
///
/// ```
/// use keyloom_keys::patterns::get_shard_number;
///
/// assert_eq!(get_shard_number("STATUS#ACTIVE#SHARD_7"), Some(7));
/// assert_eq!(get_shard_number("STATUS#ACTIVE"), None);
/// ```
pub fn get_shard_number(key: &str) -> Option<u32> {
    split_shard(key).map(|(_, shard)| shard)
}
