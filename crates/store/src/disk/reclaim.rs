//! Reclaims disk space taken by deleted and overwritten data.
//!
//! Leveled compaction does so while there are writes: new data pushes older data down and meets the
//! versions it hides. When writes stop, the last tombstones stay in the memtable and the upper
//! levels, and everything they hide stays below them forever. So when the store is idle and enough
//! of it is garbage, the memtable is flushed and all levels are compacted into the last one.
//!
//! That rewrites the tables that hold garbage, so it must be worth it: a fifth of the store, and
//! more than half a memtable.

use std::time::{Duration, Instant};

use crate::StoreError;
use crate::disk::tree::Tree;

/// How often a store checks for garbage.
pub(crate) const EVERY: Duration = Duration::from_secs(2);

/// Garbage is reclaimed when it is at least one in this many bytes of the tables.
const SHARE: u64 = 5;

/// Initial back-off after an estimate below the threshold or a compaction that freed little.
const SHORTEST_WAIT: Duration = Duration::from_secs(4);
/// Maximum back-off, so that a store made entirely of garbage is reclaimed within a minute.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A store of up to this many memtables (512 MiB by default) is rewritten by one compaction, which
/// takes some seconds and cannot be interrupted. Larger ones are compacted in steps.
const SMALL: u64 = 16;

/// If that leaves garbage, a store of up to this many memtables (4 GiB by default) is rewritten by
/// one compaction after all. In larger stores such garbage stays until later writes compact it.
const LARGE: u64 = 128;

/// Reclaims the garbage of one store.
pub(crate) struct Reclaimer {
    /// Less garbage than this is not worth a compaction.
    least_bytes: u64,
    small_bytes: u64,
    large_bytes: u64,
    /// A store that writes fewer bytes than this between two checks is idle.
    quiet_bytes: u64,
    written_bytes: u64,
    newest_snapshot: u64,
    /// The upper bound of garbage at the last estimate that was below the threshold, lowered when
    /// the bound falls. It keeps an idle store from being sampled over and over.
    too_little: u64,
    wait: Duration,
    not_before: Instant,
}

impl Reclaimer {
    /// A reclaimer for a store with memtables of this size.
    pub(crate) fn new(memtable_bytes: u64, tree: &Tree) -> Self {
        Self {
            least_bytes: memtable_bytes / 2,
            small_bytes: memtable_bytes * SMALL,
            large_bytes: memtable_bytes * LARGE,
            quiet_bytes: memtable_bytes / 8,
            written_bytes: tree.written_bytes(),
            newest_snapshot: 0,
            too_little: 0,
            wait: SHORTEST_WAIT,
            not_before: Instant::now(),
        }
    }

    /// Checks the store, and compacts it if it is idle and has enough garbage. `is_urgent`
    /// interrupts this for other work, such as closing the store; `enter` is for
    /// [`Tree::flush_all`].
    pub(crate) fn run(
        &mut self,
        tree: &Tree,
        is_urgent: impl Fn() -> bool,
        enter: impl FnOnce(u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let written_bytes = tree.written_bytes();
        let is_quiet = written_bytes - self.written_bytes < self.quiet_bytes;
        self.written_bytes = written_bytes;
        // A snapshot older than the last check keeps most of the garbage readable.
        let is_held = tree.oldest_snapshot() < self.newest_snapshot;
        self.newest_snapshot = tree.newest_snapshot();
        tree.remove_unread()?;
        if is_quiet && !is_held && Instant::now() >= self.not_before {
            self.reclaim(tree, is_urgent, enter)?;
        }
        Ok(())
    }

    fn reclaim(
        &mut self,
        tree: &Tree,
        is_urgent: impl Fn() -> bool,
        enter: impl FnOnce(u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let before = tree.levels().bytes();
        let enough = self.least_bytes.max(before / SHARE);
        if before <= self.large_bytes && tree.garbage_in_last_level() >= enough {
            let is_done = tree.rewrite()?;
            self.back_off(is_done);
            return Ok(());
        }
        let most = tree.most_garbage();
        self.too_little = self.too_little.min(most);
        if most < enough || most < self.too_little + enough / 4 {
            return Ok(());
        }
        let has_space = tree.flush_all(enter)?;
        let garbage = tree.sampled_garbage()?;
        if !has_space || garbage < enough {
            self.too_little = if has_space { tree.most_garbage() } else { 0 };
            self.back_off(false);
            return Ok(());
        }
        if before > self.small_bytes {
            while tree.push_down()? {
                if is_urgent() {
                    return Ok(());
                }
            }
        }
        if before <= self.small_bytes
            || (before <= self.large_bytes && tree.sampled_garbage()? >= enough)
        {
            tree.rewrite()?;
        }
        self.back_off(before.saturating_sub(tree.levels().bytes()) >= garbage / 4);
        Ok(())
    }

    /// Backs off exponentially after a check without benefit.
    fn back_off(&mut self, was_worth_it: bool) {
        self.wait = if was_worth_it { SHORTEST_WAIT } else { (self.wait * 2).min(LONGEST_WAIT) };
        self.not_before = Instant::now() + self.wait;
    }
}
