//! Garbage statistics of the tree, and the operations that reclaim it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lsm_tree::AbstractTree;
use lsm_tree::compaction::{CompactionStrategy, Leveled, PullDown};

use super::Tree;
use crate::disk::garbage::Levels;
use crate::error::is_full;
use crate::{KeyRange, StoreError};

impl Tree {
    /// Removes the tables whose keys are all in a range. Older values that they hid become visible,
    /// so this is for ranges that are no longer read. Existing snapshots keep their tables.
    pub(crate) fn drop_tables(&self, range: &KeyRange) -> Result<(), StoreError> {
        let version = self.inner.current_version();
        let is_inside = version.iter_tables().any(|table| {
            let keys = &table.metadata.key_range;
            range.contains(keys.min()) && range.contains(keys.max())
        });
        // The engine would write a new list of tables even if nothing changes.
        if is_inside {
            let drop_range = || self.inner.drop_range::<&[u8], _>(range.as_bounds());
            self.replace_tables("drop tables", drop_range)?;
        }
        Ok(())
    }

    /// Bytes of keys and values written since the tree was opened.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// The sequence number that new snapshots use.
    pub(crate) fn newest_snapshot(&self) -> u64 {
        self.snapshots.newest()
    }

    /// A sequence number at or below that of every snapshot.
    pub(crate) fn oldest_snapshot(&self) -> u64 {
        self.snapshots.oldest()
    }

    /// Removes tables that no snapshot needs any more.
    pub(crate) fn remove_unread(&self) -> Result<(), StoreError> {
        if self.inner.version_free_list_len() > 0 { self.catch_up() } else { Ok(()) }
    }

    /// The current tables.
    pub(crate) fn levels(&self) -> Levels {
        let version = self.inner.current_version();
        let mut levels = Levels::default();
        for (number, level) in version.iter_levels().enumerate() {
            let tables = level.iter().flat_map(|run| run.iter()).cloned();
            if number + 1 < version.level_count() {
                levels.upper.extend(tables);
            } else {
                levels.last.extend(tables);
            }
        }
        levels
    }

    /// Upper bound of the garbage caused by the memtables and the upper levels.
    pub(crate) fn most_garbage(&self) -> u64 {
        self.levels().most_garbage(self.deletions.load(Ordering::Relaxed))
    }

    /// Upper bound of the garbage in the last level.
    pub(crate) fn garbage_in_last_level(&self) -> u64 {
        let kept_for_readers = self.compacted_while_held.load(Ordering::Relaxed);
        self.levels().most_garbage_in_last_level() + kept_for_readers
    }

    /// Estimate of the garbage caused by the upper levels.
    pub(crate) fn sampled_garbage(&self) -> Result<u64, StoreError> {
        let sampled = self.levels().sampled_garbage();
        sampled.map_err(|error| self.failed("sample the tables for garbage", &error))
    }

    /// Flushes all memtables to tables; false if the disk is full. The log keeps its segment:
    /// before the flush, `enter` records the sequence number up to which the tables may hold its
    /// transactions.
    pub(crate) fn flush_all(
        &self,
        enter: impl FnOnce(u64) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        // A group must not be split between two memtables: its first half would be taken for the
        // whole. And nothing may be sealed before it is recorded: the flush thread flushes all
        // sealed memtables, and the tables would hold transactions that the manifest does not know
        // to be there.
        let between_groups = self.order();
        enter(self.newest_number.load(Ordering::Acquire))?;
        if self.unflushed() == 0 {
            self.rotate();
        }
        drop(between_groups);
        let _changing = self.table_set.change();
        let lock = self.inner.get_flush_lock();
        let flushed = self.inner.flush(&lock, self.forgettable()).map(drop);
        drop(lock);
        let has_space = unless_full(flushed).map_err(|error| self.failed("flush", &error))?;
        self.note_table_set();
        self.catch_up()?;
        Ok(has_space)
    }

    /// Runs one compaction step towards the last level; false if there is none left, or the disk is
    /// full. Tables at either end of a level whose keys lie outside the range of the last level may
    /// stay: the engine finds no table of the last level to merge them with.
    pub(crate) fn push_down(&self) -> Result<bool, StoreError> {
        let version = self.inner.current_version();
        let last = version.level_count() - 1;
        let mut filled = (1..last).filter(|n| version.level(*n).is_some_and(|l| !l.is_empty()));
        let strategy: Arc<dyn CompactionStrategy> = if version.l0().is_empty() {
            // With a threshold of zero, any level but the last is too large.
            let leveled = Leveled::default().with_table_target_size(self.table_bytes);
            Arc::new(leveled.with_l0_threshold(0).with_level_ratio_policy(vec![0.0]))
        } else {
            let next = filled.next().unwrap_or(last - 1);
            Arc::new(PullDown(0, u8::try_from(next).unwrap_or_default()))
        };
        drop(version);
        self.replace_tables("compact tables", || {
            unless_full(self.inner.compact(strategy, self.forgettable())).map(drop)
        })
    }

    /// Compacts all tables into the last level; false if the disk is full.
    pub(crate) fn rewrite(&self) -> Result<bool, StoreError> {
        let is_done = self.replace_tables("compact tables", || {
            unless_full(self.inner.major_compact(self.table_bytes, self.forgettable())).map(drop)
        })?;
        if is_done {
            self.compacted_while_held.store(0, Ordering::Relaxed);
        }
        Ok(is_done)
    }
}

/// Reclaiming garbage needs space at first. A full disk must not poison the store.
fn unless_full(outcome: lsm_tree::Result<()>) -> lsm_tree::Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(lsm_tree::Error::Io(error)) if is_full(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
