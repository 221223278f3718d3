//! What one rule has found, window by window.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::window::{Live, Window};
use crate::sketch::{Load, Seen};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
/// How long minutes and hours are remembered.
const MINUTES_FOR_MS: u64 = 3 * HOUR_MS;
const HOURS_FOR_MS: u64 = 72 * HOUR_MS;
/// What the past may take, for one rule.
const BYTES: usize = 256 << 10;
const SMALL_BYTES: usize = 32 << 10;

/// The windows of one rule.
#[derive(Debug)]
pub(super) struct Series {
    is_small: bool,
    live: Option<Live>,
    minutes: VecDeque<Window>,
    hours: VecDeque<Window>,
}

impl Series {
    pub(super) fn new(is_small: bool) -> Self {
        Self { is_small, live: None, minutes: VecDeque::new(), hours: VecDeque::new() }
    }

    /// Counts one look, at events of which each has the load `one`. What comes late counts to the last
    /// minute.
    pub(super) fn add(&mut self, seen: &Seen<'_>, one: Load) {
        let start_ms = seen.at_ms - seen.at_ms % MINUTE_MS;
        if self.live.as_ref().is_some_and(|live| live.start_ms < start_ms) {
            self.close();
        }
        let is_small = self.is_small;
        self.live.get_or_insert_with(|| Live::new(start_ms, is_small)).add(seen, one);
    }

    /// Every window, the oldest first, with the minute that is not over yet.
    pub(super) fn windows(&self) -> Vec<Cow<'_, Window>> {
        let live = self.live.as_ref().map(|live| Cow::Owned(live.window(MINUTE_MS, None)));
        let past = self.hours.iter().chain(&self.minutes);
        past.map(Cow::Borrowed).chain(live).collect()
    }

    fn close(&mut self) {
        let Some(live) = self.live.take() else { return };
        let now_ms = live.start_ms;
        self.minutes.push_back(live.window(MINUTE_MS, self.minutes.back()));
        while self.minutes.front().is_some_and(|old| old.start_ms + MINUTES_FOR_MS <= now_ms) {
            self.age();
        }
        while self.hours.front().is_some_and(|old| old.start_ms + HOURS_FOR_MS <= now_ms) {
            self.hours.pop_front();
        }
        self.shrink(if self.is_small { SMALL_BYTES } else { BYTES });
    }

    /// Makes the oldest minute a part of its hour.
    fn age(&mut self) {
        let Some(minute) = self.minutes.pop_front() else { return };
        let start_ms = minute.start_ms - minute.start_ms % HOUR_MS;
        match self.hours.back_mut().filter(|hour| hour.start_ms == start_ms) {
            Some(hour) => hour.absorb(&minute),
            None => self.hours.push_back(Window { start_ms, width_ms: HOUR_MS, ..minute }),
        }
    }

    /// Takes no more than these bytes: joins old minutes first, and forgets old hours when those are most
    /// of it.
    fn shrink(&mut self, bytes: usize) {
        loop {
            let of = |windows: &VecDeque<Window>| windows.iter().map(Window::bytes).sum::<usize>();
            let (minutes, hours) = (of(&self.minutes), of(&self.hours));
            if minutes + hours <= bytes {
                return;
            }
            if 2 * hours > bytes || self.minutes.is_empty() {
                self.hours.pop_front();
            } else {
                self.age();
            }
        }
    }

    /// What the past takes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.minutes.iter().chain(&self.hours).map(Window::bytes).sum()
    }
}
