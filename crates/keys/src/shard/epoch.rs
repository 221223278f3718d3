//! Changing the number of shards while old keys stay readable.

use std::collections::BTreeMap;

use super::{ShardError, Shards};

/// The numbers of shards that a key has had. Writes use the newest; reads know all of them.
///
/// ```
/// use keyloom_keys::{ShardEpochs, Shards};
///
/// let mut epochs = ShardEpochs::new(Shards::new(4)?);
/// let old_key = epochs.write_key("GAME#g#SCORES", &["player-9"]);
/// epochs.grow(Shards::new(8)?)?;
/// // The item may still be where it was written: look there second.
/// let candidates = epochs.read_keys("GAME#g#SCORES", &["player-9"]);
/// assert_eq!(candidates.first(), Some(&epochs.write_key("GAME#g#SCORES", &["player-9"])));
/// assert!(candidates.contains(&old_key));
/// assert_eq!(epochs.all_keys("GAME#g#SCORES").len(), 8);
/// # Ok::<(), keyloom_keys::ShardError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardEpochs {
    current: Shards,
    /// Oldest first.
    earlier: Vec<Shards>,
}

impl ShardEpochs {
    /// A key that has always had this many shards.
    pub fn new(shards: Shards) -> Self {
        ShardEpochs { current: shards, earlier: Vec::new() }
    }

    /// The number of shards that writes use.
    pub fn current(&self) -> Shards {
        self.current
    }

    /// Earlier numbers of shards that may still hold items, oldest first.
    pub fn earlier(&self) -> &[Shards] {
        &self.earlier
    }

    /// Uses more shards from now on. Doubling moves the fewest keys: about half.
    pub fn grow(&mut self, to: Shards) -> Result<(), ShardError> {
        if to <= self.current {
            return Err(ShardError::NotGrowing { from: self.current.count(), to: to.count() });
        }
        self.change(to);
        Ok(())
    }

    /// Uses another number of shards from now on.
    pub fn change(&mut self, to: Shards) {
        if to != self.current {
            self.earlier.push(self.current);
            self.current = to;
        }
    }

    /// Forgets earlier numbers, once no item is left in its old shard.
    pub fn settle(&mut self) {
        self.earlier.clear();
    }

    /// The key that an item is written to.
    pub fn write_key(&self, base: &str, parts: &[&str]) -> String {
        self.current.calculated_key(base, parts)
    }

    /// The keys that an item can be under, the likeliest first and none twice.
    pub fn read_keys(&self, base: &str, parts: &[&str]) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for shards in std::iter::once(&self.current).chain(self.earlier.iter().rev()) {
            let key = shards.calculated_key(base, parts);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The keys of all shards that can hold items, in order.
    pub fn all_keys(&self, base: &str) -> Vec<String> {
        let widest = self.earlier.iter().copied().fold(self.current, Shards::max);
        widest.keys(base).collect()
    }
}

/// Shards for hot values only: one busy tenant is spread, the others keep their plain key.
///
/// ```
/// use keyloom_keys::{SelectiveShards, ShardEpochs, Shards};
///
/// let mut tenants = SelectiveShards::default();
/// tenants.spread("TENANT#big", ShardEpochs::new(Shards::new(4)?));
/// assert_eq!(tenants.all_keys("TENANT#big").len(), 5);
/// assert_eq!(tenants.all_keys("TENANT#small"), ["TENANT#small"]);
/// # Ok::<(), keyloom_keys::ShardError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectiveShards {
    hot: BTreeMap<String, ShardEpochs>,
}

impl SelectiveShards {
    /// Spreads one key from now on. Items already under the plain key stay readable.
    pub fn spread(&mut self, base: impl Into<String>, epochs: ShardEpochs) {
        self.hot.insert(base.into(), epochs);
    }

    /// The key that an item is written to.
    pub fn write_key(&self, base: &str, parts: &[&str]) -> String {
        self.hot.get(base).map_or_else(|| base.to_owned(), |epochs| epochs.write_key(base, parts))
    }

    /// The keys that an item can be under, the likeliest first.
    pub fn read_keys(&self, base: &str, parts: &[&str]) -> Vec<String> {
        let mut keys =
            self.hot.get(base).map(|epochs| epochs.read_keys(base, parts)).unwrap_or_default();
        keys.push(base.to_owned());
        keys
    }

    /// All keys that can hold items of this one.
    pub fn all_keys(&self, base: &str) -> Vec<String> {
        let mut keys = self.hot.get(base).map(|epochs| epochs.all_keys(base)).unwrap_or_default();
        keys.push(base.to_owned());
        keys
    }
}
