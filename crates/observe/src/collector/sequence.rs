//! Sequences of requests: reads followed by a write of the same item, and runs of requests that could have been one
//! batch.

use std::cell::Cell;

use keyloom_core::Operation;

/// A write this long after a read of the same item may depend on it.
const READ_BEFORE_WRITE_MS: u64 = 5000;
const SLOTS: usize = 1024;

/// The most recently read items. Each has one slot, which a later read overwrites.
#[derive(Debug)]
pub(super) struct RecentReads {
    slots: Box<[(u64, u64)]>,
}

impl Default for RecentReads {
    fn default() -> Self {
        Self { slots: vec![(0, 0); SLOTS].into_boxed_slice() }
    }
}

impl RecentReads {
    pub(super) fn read(&mut self, item: u64, at_ms: u64) {
        if let Some(slot) = self.slots.get_mut(item as usize % SLOTS) {
            *slot = (item, at_ms);
        }
    }

    /// Whether a write of this item follows a read of it. The read counts once.
    pub(super) fn written(&mut self, item: u64, at_ms: u64) -> bool {
        let Some(slot) = self.slots.get_mut(item as usize % SLOTS) else { return false };
        let follows = slot.0 == item && at_ms.saturating_sub(slot.1) <= READ_BEFORE_WRITE_MS;
        if follows {
            *slot = (0, 0);
        }
        follows
    }
}

/// How many back-to-back requests count as a missed batch.
const ROW: u32 = 5;
/// The longest pause between two requests of a run.
const PAUSE_MS: u64 = 50;

/// A run of back-to-back requests of one kind on this thread.
#[derive(Clone, Copy, Default)]
struct Row {
    kind: u64,
    count: u32,
    last_ms: u64,
}

thread_local! {
    static ROW_NOW: Cell<Row> = const { Cell::new(Row { kind: 0, count: 0, last_ms: 0 }) };
}

/// How many more requests count as batchable: the whole run when it reaches [`ROW`], then each further request. The
/// flag is set when a run reaches that length.
pub(super) fn batchable(operation: Operation, place: u64, at_ms: u64) -> (u64, bool) {
    let class = match operation {
        Operation::GetItem => 1,
        Operation::PutItem | Operation::DeleteItem => 2,
        // Any other operation ends a run.
        _ => 0,
    };
    ROW_NOW.with(|cell| {
        let mut row = cell.get();
        let kind = if class == 0 { 0 } else { place ^ class };
        let goes_on =
            kind != 0 && row.kind == kind && at_ms.saturating_sub(row.last_ms) <= PAUSE_MS;
        row = Row { kind, count: if goes_on { row.count + 1 } else { 1 }, last_ms: at_ms };
        cell.set(row);
        match row.count {
            _ if kind == 0 => (0, false),
            ROW => (u64::from(ROW), true),
            more if more > ROW => (1, false),
            _ => (0, false),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_soon_after_a_read_of_the_item_follows_it() {
        let mut reads = RecentReads::default();
        reads.read(7, 1000);
        assert!(!reads.written(8, 1001));
        assert!(reads.written(7, 6000));
        assert!(!reads.written(7, 6001), "once");
        reads.read(7, 1000);
        assert!(!reads.written(7, 6001), "too late");
    }

    #[test]
    fn five_in_a_row_could_be_a_batch_unless_something_comes_between() {
        let get = |place, at| batchable(Operation::GetItem, place, at).0;
        assert_eq!((0..7).map(|turn| get(64, turn)).collect::<Vec<_>>(), [0, 0, 0, 0, 5, 1, 1]);
        batchable(Operation::Query, 64, 8);
        assert_eq!((9..13).map(|turn| get(64, turn)).sum::<u64>(), 0);
        assert_eq!(get(64, 500), 0, "a pause ends the row");
        assert_eq!((0..9).map(|turn| get(64 * (turn % 2), 500 + turn)).sum::<u64>(), 0);
    }
}
