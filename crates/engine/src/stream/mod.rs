//! Change records, as DynamoDB Streams delivers them.
//!
//! A record is appended to the log of its shard in the same commit as the change itself. The store numbers the
//! records of a log in the order in which they become visible, so that a reader never misses a record before one it
//! has seen, and the records of one item are numbered in the order of its changes, whichever server makes them.
//! Numbers are based on the clock: each is at least the time of its change, and above the number at which its shard
//! began.

mod record;
pub(crate) mod registry;
pub(crate) mod retention;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use keyloom_api::clock::Clock;

pub(crate) use record::{Event, ItemChange, Record, decode_record, encode_record};
pub(crate) use registry::{Moment, Shard, StreamRecord, shard_of};

/// How many sequence numbers fit into one millisecond.
pub(crate) const NUMBERS_PER_MS: u64 = 1 << 20;

/// By how much the mark in the store is moved up: after a crash, numbers may be ahead of the clock by twice
/// that. A restart takes longer, so that they do not run further ahead with each of many crashes.
const MARK_STEP: u64 = 20 * NUMBERS_PER_MS;

/// Hands out numbers that rise with time: of histories, of versions, of what begins and ends.
#[derive(Debug)]
pub(crate) struct Sequencer {
    clock: Arc<dyn Clock>,
    next: Mutex<u64>,
    /// The mark that is in the store, or on its way there.
    mark: AtomicU64,
}

/// The least number that a record may have which is made at this time.
pub(crate) fn number_at(now_ms: u64) -> u64 {
    now_ms.saturating_mul(NUMBERS_PER_MS)
}

/// The mark to store with a commit of this number.
pub(crate) fn mark_above(number: u64) -> u64 {
    (number / MARK_STEP).saturating_add(2).saturating_mul(MARK_STEP)
}

impl Sequencer {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, next: Mutex::default(), mark: AtomicU64::new(0) }
    }

    /// A number above all earlier ones.
    pub(crate) fn number(&self) -> u64 {
        let mut next = self.next.lock();
        let number = self.at_least(*next);
        *next = number.saturating_add(1);
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

    fn at_least(&self, next: u64) -> u64 {
        next.max(number_at(self.clock.now_ms()))
    }

    /// The time in numbers: the clock's, unless numbers are ahead of it.
    pub(crate) fn now_ms(&self) -> u64 {
        self.at_least(*self.next.lock()) / NUMBERS_PER_MS
    }

    /// Makes sure that no number up to `last` is handed out again.
    pub(crate) fn advance_past(&self, last: u64) {
        let mut next = self.next.lock();
        *next = (*next).max(last.saturating_add(1));
    }

    /// Says that the mark may not have been stored: the next commit that needs one stores it.
    pub(crate) fn doubt_mark(&self) {
        self.mark.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyloom_api::clock::ManualClock;

    #[test]
    fn numbers_rise_even_if_the_clock_does_not() {
        let clock = Arc::new(ManualClock::at_ms(5));
        let sequencer = Sequencer::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let first = sequencer.number();
        assert_eq!(first, number_at(5));
        clock.set_ms(3);
        assert_eq!(sequencer.number(), first + 1);
        sequencer.advance_past(number_at(9));
        assert_eq!(sequencer.number(), number_at(9) + 1);
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
