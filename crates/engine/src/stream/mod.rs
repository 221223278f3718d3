//! Change records: what DynamoDB Streams delivers.
//!
//! A record is stored in the same commit as the change it tells of. Sequence numbers are handed out
//! while the item is locked, so they rise with the changes of each item; they rest on the clock, so
//! they rise across restarts. Commits may become visible in another order than that of their
//! numbers, so readers stop before the smallest number that is still in flight: nothing is skipped.

mod record;
pub(crate) mod registry;
pub(crate) mod retention;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use keyloom_api::clock::Clock;

pub(crate) use record::{Change, Event, Record, decode_record, encode_record};
pub(crate) use registry::{Moment, Shard, StreamRecord, shard_of};

/// How many sequence numbers fit into one millisecond.
pub(crate) const NUMBERS_PER_MS: u64 = 1 << 20;

/// Hands out sequence numbers and knows which are still in flight.
#[derive(Debug)]
pub(crate) struct Sequencer {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// The first number of each reservation in flight.
    in_flight: BTreeSet<u64>,
}

/// Sequence numbers of a commit in flight, until dropped.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    /// None if no number was needed.
    sequencer: Option<Arc<Sequencer>>,
    range: Range<u64>,
}

impl Sequencer {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// Reserves `count` numbers in a row.
    pub(crate) fn reserve(self: &Arc<Self>, count: usize) -> Reservation {
        if count == 0 {
            return Reservation::default();
        }
        let mut state = self.state.lock();
        let start = state.next.max(self.clock.now_ms().saturating_mul(NUMBERS_PER_MS));
        let end = start.saturating_add(count as u64);
        state.next = end;
        state.in_flight.insert(start);
        Reservation { sequencer: Some(Arc::clone(self)), range: start..end }
    }

    /// The number before which every record is visible.
    pub(crate) fn stable_before(&self) -> u64 {
        let state = self.state.lock();
        let next = state.next.max(self.clock.now_ms().saturating_mul(NUMBERS_PER_MS));
        state.in_flight.first().copied().unwrap_or(next)
    }

    /// A number between those of all earlier and all later records.
    pub(crate) fn boundary(self: &Arc<Self>) -> u64 {
        self.reserve(1).numbers().start
    }

    /// Makes sure that no number up to `last` is handed out again.
    pub(crate) fn advance_past(&self, last: u64) {
        let mut state = self.state.lock();
        state.next = state.next.max(last.saturating_add(1));
    }
}

impl Reservation {
    pub(crate) fn numbers(&self) -> Range<u64> {
        self.range.clone()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(sequencer) = &self.sequencer {
            sequencer.state.lock().in_flight.remove(&self.range.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyloom_api::clock::ManualClock;

    #[test]
    fn readers_stop_before_the_first_number_in_flight() {
        let sequencer = Arc::new(Sequencer::new(Arc::new(ManualClock::at_ms(1))));
        let first = sequencer.reserve(2);
        let second = sequencer.reserve(1);
        assert_eq!(first.numbers().end, second.numbers().start);
        drop(second);
        assert_eq!(sequencer.stable_before(), first.numbers().start);
        let end = first.numbers().end + 1;
        drop(first);
        assert_eq!(sequencer.stable_before(), end);
    }
}
