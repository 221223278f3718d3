//! Calculated shards.

use keyloom_keys::{Shards, Value};

/// The shard of these field values, by the key library's frozen hash.
pub fn shard_of(values: &[Value], shards: u32) -> u32 {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    let parts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Shards::new(shards).map_or(0, |shards| shards.of(&parts))
}
