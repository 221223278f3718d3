//! Change records: what DynamoDB Streams delivers.
//!
//! A record is stored in the same commit as the change it tells of. Sequence numbers are handed out
//! while the item is locked, so they rise with the changes of each item; they rest on the clock, so
//! they rise across restarts. Commits may become visible in another order than that of their
//! numbers, so readers stop before the smallest number that is still in flight: nothing is skipped.

mod record;
pub(crate) mod registry;
pub(crate) mod retention;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use keyloom_api::clock::Clock;

pub(crate) use record::{Change, Event, Record, decode_record, encode_record};
pub(crate) use registry::{Moment, Shard, StreamRecord, shard_of};

/// How many sequence numbers fit into one millisecond.
pub(crate) const NUMBERS_PER_MS: u64 = 1 << 20;

/// By how much the mark in the store is moved up: after a crash, numbers may be ahead of the clock by twice
/// that. A restart takes longer, so that they do not run further ahead with each of many crashes.
const MARK_STEP: u64 = 20 * NUMBERS_PER_MS;

/// Hands out sequence numbers and knows which are still in flight.
#[derive(Debug)]
pub(crate) struct Sequencer {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// The mark that is in the store, or on its way there.
    mark: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// The first number of each reservation in flight, the smallest first.
    in_flight: VecDeque<u64>,
}

/// Sequence numbers of a commit in flight, until dropped.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    /// None if no number was needed.
    sequencer: Option<Arc<Sequencer>>,
    range: Range<u64>,
}

/// The mark to store with a commit of this number.
pub(crate) fn mark_above(number: u64) -> u64 {
    (number / MARK_STEP).saturating_add(2).saturating_mul(MARK_STEP)
}

impl Sequencer {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default(), mark: AtomicU64::new(0) }
    }

    /// Reserves `count` numbers in a row.
    pub(crate) fn reserve(self: &Arc<Self>, count: usize) -> Reservation {
        if count == 0 {
            return Reservation::default();
        }
        let mut state = self.state.lock();
        let start = self.next(&state);
        let end = start.saturating_add(count as u64);
        state.next = end;
        state.in_flight.push_back(start);
        Reservation { sequencer: Some(Arc::clone(self)), range: start..end }
    }

    /// A number for a commit of which no stream tells. Nobody can ask whether it is in flight.
    pub(crate) fn number(&self) -> u64 {
        let mut state = self.state.lock();
        let number = self.next(&state);
        state.next = number.saturating_add(1);
        number
    }

    /// The mark to store with a commit of this number, if the one in the store is not far enough above it.
    /// It is moved up early: commits may become durable in another order than that of their numbers.
    pub(crate) fn new_mark(&self, number: u64) -> Option<u64> {
        if number.saturating_add(MARK_STEP) < self.mark.load(Ordering::Relaxed) {
            return None;
        }
        let mark = mark_above(number);
        self.mark.store(mark, Ordering::Relaxed);
        Some(mark)
    }

    /// The number that would be handed out next.
    fn next(&self, state: &State) -> u64 {
        state.next.max(self.clock.now_ms().saturating_mul(NUMBERS_PER_MS))
    }

    /// The time in numbers: the clock's, unless numbers are ahead of it.
    pub(crate) fn now_ms(&self) -> u64 {
        self.next(&self.state.lock()) / NUMBERS_PER_MS
    }

    /// The number before which every record is visible.
    pub(crate) fn stable_before(&self) -> u64 {
        let state = self.state.lock();
        state.in_flight.front().copied().unwrap_or_else(|| self.next(&state))
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

    /// Says that the mark may not have been stored: the next commit that needs one stores it.
    pub(crate) fn doubt_mark(&self) {
        self.mark.store(0, Ordering::Relaxed);
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
            let mut state = sequencer.state.lock();
            if let Ok(place) = state.in_flight.binary_search(&self.range.start) {
                state.in_flight.remove(place);
            }
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

    #[test]
    fn the_mark_stays_ahead_of_all_numbers() {
        let clock = Arc::new(ManualClock::at_ms(10_000));
        let sequencer = Arc::new(Sequencer::new(Arc::clone(&clock) as Arc<dyn Clock>));
        assert!(sequencer.new_mark(sequencer.number()).is_some());
        for (advance_ms, is_new) in [(16, false), (4, true), (19, false), (1, true)] {
            clock.advance(std::time::Duration::from_millis(advance_ms));
            let number = sequencer.number();
            let mark = sequencer.new_mark(number);
            assert_eq!(mark.is_some(), is_new, "{advance_ms}");
            let ahead = mark.map(|mark| mark - number);
            assert!(ahead.is_none_or(|ahead| (MARK_STEP..=2 * MARK_STEP).contains(&ahead)));
        }
        sequencer.doubt_mark();
        assert!(sequencer.new_mark(sequencer.number()).is_some());
    }
}
