//! Time series in ring buffers of seconds, minutes and hours.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::sketch::Load;

/// One second, minute or hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// Milliseconds since 1970 at which it begins.
    pub start_ms: u64,
    /// How many requests there were.
    pub requests: u64,
    /// Read units that were consumed.
    pub reads: f64,
    /// Write units that were consumed.
    pub writes: f64,
    /// Requests that were refused for lack of throughput.
    pub throttled: u64,
}

/// The last slots of one width; what is older is forgotten.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    width_ms: u64,
    limit: usize,
    slots: VecDeque<Slot>,
}

impl Ring {
    pub(crate) fn new(width_ms: u64, limit: usize) -> Self {
        Self { width_ms, limit, slots: VecDeque::new() }
    }

    /// Counts requests at a moment. Requests that come late count to the last slot.
    pub(crate) fn add(&mut self, at_ms: u64, requests: u64, load: Load, throttled: u64) {
        let start_ms = at_ms - at_ms % self.width_ms;
        if self.slots.back().is_none_or(|last| last.start_ms < start_ms) {
            if self.slots.len() == self.limit {
                self.slots.pop_front();
            }
            self.slots.push_back(Slot { start_ms, ..Slot::default() });
        }
        if let Some(slot) = self.slots.back_mut() {
            slot.requests += requests;
            slot.reads += load.read_halves as f64 / 2.0;
            slot.writes += load.write_halves as f64 / 2.0;
            slot.throttled += throttled;
        }
    }

    pub(crate) fn last(&self) -> Option<&Slot> {
        self.slots.back()
    }

    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.slots.iter().copied().collect()
    }
}

/// Adds up two series, slot by slot.
pub(crate) fn merged(a: &[Slot], b: &[Slot], limit: usize) -> Vec<Slot> {
    let mut all: Vec<Slot> = a.iter().chain(b).copied().collect();
    all.sort_by_key(|slot| slot.start_ms);
    let mut out: Vec<Slot> = Vec::with_capacity(all.len());
    for slot in all {
        match out.last_mut().filter(|last| last.start_ms == slot.start_ms) {
            Some(last) => {
                last.requests += slot.requests;
                last.reads += slot.reads;
                last.writes += slot.writes;
                last.throttled += slot.throttled;
            }
            None => out.push(slot),
        }
    }
    let old = out.len().saturating_sub(limit);
    out.split_off(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Load = Load { read_halves: 2, write_halves: 4 };

    #[test]
    fn a_ring_forgets_the_oldest() {
        let mut ring = Ring::new(1000, 3);
        for second in 0..5 {
            ring.add(second * 1000 + 10, 1, ONE, 0);
            ring.add(second * 1000 + 900, 1, ONE, 1);
        }
        ring.add(3999, 1, ONE, 0);
        let slots = ring.slots();
        assert_eq!(slots.iter().map(|slot| slot.start_ms).collect::<Vec<_>>(), [2000, 3000, 4000]);
        let last = slots.last().copied().unwrap_or_default();
        assert_eq!((last.requests, last.throttled), (3, 1), "the late one counts here");
        assert!((last.reads - 3.0).abs() < 1e-9 && (last.writes - 6.0).abs() < 1e-9);
    }

    #[test]
    fn series_are_added_slot_by_slot() {
        let slot = |start_ms, requests| Slot { start_ms, requests, ..Slot::default() };
        let sum = merged(&[slot(0, 1), slot(2, 1)], &[slot(2, 5), slot(3, 1)], 2);
        assert_eq!(sum, [slot(2, 6), slot(3, 1)]);
    }
}
