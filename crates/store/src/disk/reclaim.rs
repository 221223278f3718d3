//! Gives the disk back that deleted and overwritten data take.
//!
//! Compaction by levels does so while there are writes: what is written pushes older data down, and
//! meets what it hides on the way. When the writes stop, the last tombstones stay where they are, in
//! the memtable and the upper levels, and everything that they hide stays below, for ever. So when
//! the store is quiet and a good part of it is garbage, the memtable is flushed and all levels are
//! compacted into the last.
//!
//! That rewrites the tables that the garbage lies in, so it must be worth it: a fifth of the store,
//! and more than half a memtable.

use std::time::{Duration, Instant};

use crate::StoreError;
use crate::disk::tree::Tree;

/// How often a store looks after its garbage.
pub(crate) const EVERY: Duration = Duration::from_secs(2);

/// Garbage is cleared away when it is one in so many bytes of the tables.
const SHARE: u64 = 5;

/// After an estimate that was too small or a clearance that brought little, this long goes by.
const SHORTEST_WAIT: Duration = Duration::from_secs(4);
/// Whatever the estimates say, garbage of a whole store must not stay longer than a minute.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A store of up to so many memtables (512 MiB by default) is rewritten in one piece, which takes some
/// seconds and cannot be interrupted. Larger ones are compacted in pieces.
const SMALL: u64 = 16;

/// Where that leaves garbage, a store of up to so many (4 GiB by default) is rewritten in one piece after
/// all. Beyond it, such garbage stays until something is written over it.
const LARGE: u64 = 128;

/// Watches one store.
pub(crate) struct Reclaimer {
    /// Garbage below this is not worth the work.
    least_bytes: u64,
    small_bytes: u64,
    large_bytes: u64,
    /// A store that writes less than this between two looks is quiet.
    quiet_bytes: u64,
    written_bytes: u64,
    newest_moment: u64,
    /// What there may have been of garbage, at most, when there was too little of it; less if it has
    /// become less since. An idle store is not searched over and over.
    too_little: u64,
    wait: Duration,
    not_before: Instant,
}

impl Reclaimer {
    /// For a store with memtables of this size.
    pub(crate) fn new(memtable_bytes: u64, tree: &Tree) -> Self {
        Self {
            least_bytes: memtable_bytes / 2,
            small_bytes: memtable_bytes * SMALL,
            large_bytes: memtable_bytes * LARGE,
            quiet_bytes: memtable_bytes / 8,
            written_bytes: tree.written_bytes(),
            newest_moment: 0,
            too_little: 0,
            wait: SHORTEST_WAIT,
            not_before: Instant::now(),
        }
    }

    /// Looks at the store, and clears garbage away if it is time to. `is_urgent` says that somebody
    /// waits for something else, be it that the store is closed; `enter` is for [`Tree::flush_all`].
    pub(crate) fn look(
        &mut self,
        tree: &Tree,
        is_urgent: impl Fn() -> bool,
        enter: impl FnOnce(u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let written_bytes = tree.written_bytes();
        let is_quiet = written_bytes - self.written_bytes < self.quiet_bytes;
        self.written_bytes = written_bytes;
        // A reader from before the last look keeps much of the garbage in use.
        let is_held = tree.oldest_moment() < self.newest_moment;
        self.newest_moment = tree.newest_moment();
        tree.remove_unread()?;
        if is_quiet && !is_held && Instant::now() >= self.not_before {
            self.clear_away(tree, is_urgent, enter)?;
        }
        Ok(())
    }

    fn clear_away(
        &mut self,
        tree: &Tree,
        is_urgent: impl Fn() -> bool,
        enter: impl FnOnce(u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let before = tree.levels().bytes();
        let enough = self.least_bytes.max(before / SHARE);
        if before <= self.large_bytes && tree.garbage_in_last_level() >= enough {
            let is_done = tree.rewrite()?;
            self.judge(is_done);
            return Ok(());
        }
        let most = tree.most_garbage();
        self.too_little = self.too_little.min(most);
        if most < enough || most < self.too_little + enough / 4 {
            return Ok(());
        }
        let has_room = tree.flush_all(enter)?;
        let garbage = tree.sampled_garbage()?;
        if !has_room || garbage < enough {
            self.too_little = if has_room { tree.most_garbage() } else { 0 };
            self.judge(false);
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
        self.judge(before.saturating_sub(tree.levels().bytes()) >= garbage / 4);
        Ok(())
    }

    /// After a look that was in vain, the next one can wait, longer each time.
    fn judge(&mut self, was_worth_it: bool) {
        self.wait = if was_worth_it { SHORTEST_WAIT } else { (self.wait * 2).min(LONGEST_WAIT) };
        self.not_before = Instant::now() + self.wait;
    }
}
