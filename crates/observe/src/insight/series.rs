//! The windows of one rule.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::window::{Live, Window};
use crate::sketch::{Load, Seen};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
/// How long minutes and hours are remembered.
const MINUTES_FOR_MS: u64 = 3 * HOUR_MS;
const HOURS_FOR_MS: u64 = 72 * HOUR_MS;
/// What comes so late still counts to the last minute. What seems to come later has the right time, and
/// it is the last minute that came too early.
const LATE_MS: u64 = 5 * MINUTE_MS;
/// What the past may take, for one rule.
pub(super) const BYTES: usize = 256 << 10;
pub(super) const SMALL_BYTES: usize = 64 << 10;

/// The windows of one rule.
#[derive(Debug)]
pub(super) struct Series {
    is_small: bool,
    live: Option<Live>,
    /// In the order of time, as are the hours.
    minutes: VecDeque<Window>,
    hours: VecDeque<Window>,
}

impl Series {
    pub(super) fn new(is_small: bool) -> Self {
        Self { is_small, live: None, minutes: VecDeque::new(), hours: VecDeque::new() }
    }

    /// Counts one sampled touch, which stands for events of the load `one` each.
    pub(super) fn add(&mut self, seen: &Seen<'_>, one: Load) {
        let start_ms = seen.at_ms - seen.at_ms % MINUTE_MS;
        if self.live.as_ref().is_some_and(|live| {
            live.start_ms < start_ms || start_ms.saturating_add(LATE_MS) < live.start_ms
        }) {
            self.close(start_ms);
        }
        let is_small = self.is_small;
        self.live.get_or_insert_with(|| Live::new(start_ms, is_small)).add(seen, one);
    }

    /// Every window, with the minute that is not over yet.
    pub(super) fn windows(&self) -> Vec<Cow<'_, Window>> {
        let live = self.live.as_ref().map(|live| Cow::Owned(live.window(MINUTE_MS, None)));
        let past = self.hours.iter().chain(&self.minutes);
        past.map(Cow::Borrowed).chain(live).collect()
    }

    /// Ends the minute that is counted, because another one has begun.
    fn close(&mut self, now_ms: u64) {
        let Some(live) = self.live.take() else { return };
        let minute = live.window(MINUTE_MS, self.minutes.back());
        put(&mut self.minutes, minute);
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
        put(&mut self.hours, Window { start_ms, width_ms: HOUR_MS, ..minute });
    }

    /// Takes no more than these bytes: old windows first lose the lighter of their keys; then old
    /// minutes are joined, and old hours forgotten when those are most of it.
    fn shrink(&mut self, bytes: usize) {
        loop {
            let of = |windows: &VecDeque<Window>| windows.iter().map(Window::bytes).sum::<usize>();
            let (minutes, hours) = (of(&self.minutes), of(&self.hours));
            if minutes + hours <= bytes {
                return;
            }
            let mut all = self.hours.iter_mut().chain(&mut self.minutes);
            if all.any(Window::thin) {
                continue;
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

/// Puts a window where its time is, into the one that is there if there is one.
fn put(windows: &mut VecDeque<Window>, new: Window) {
    let at = windows.partition_point(|window| window.start_ms < new.start_ms);
    match windows.get_mut(at).filter(|window| window.start_ms == new.start_ms) {
        Some(window) => window.absorb(&new),
        None => windows.insert(at, new),
    }
}
