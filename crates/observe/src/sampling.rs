//! Which requests are looked at.
//!
//! Looking costs a few microseconds, and a request may take less than one. So each thread looks at every
//! request while there are few, and at runs of consecutive ones, further and further apart, when
//! there are many: what it spends on looking stays the same share of its time. Runs, because some
//! mistakes show only in what follows what. The gaps are random, because a fixed step could fall in
//! with a loop of the program. Each request that is seen stands for as many as the gap is wide.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Requests that are looked at in a row.
pub(crate) const RUN: u32 = 8;
/// Looks per second that a thread is allowed.
const LOOKS_PER_SECOND: u32 = 500;
/// The most requests that one look stands for.
const MAX_STRIDE: u32 = 4096;
/// After how many unseen requests the clock is asked whether they have become few.
const UNSEEN: u32 = 128;
/// When a thread needs longer than this for the looks after which its rate is judged, requests have
/// become few, and all are seen again: after [`UNSEEN`] unseen ones at the latest.
const SILENCE: Duration = Duration::from_secs(1);
/// After how many looks the rate is judged.
const JUDGED_LOOKS: u32 = 8 * RUN;

/// Which requests are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sampling {
    /// All of them while there are few, one in up to 4,096 when there are many.
    #[default]
    Adaptive,
    /// All of them.
    All,
    /// Runs of requests, one in so many on average.
    OneIn(NonZeroU32),
}

#[derive(Clone, Copy)]
struct Pace {
    /// Requests left to see in this run.
    run: u32,
    /// How many requests one look stands for.
    stride: u32,
    /// Looks since `since`.
    looks: u32,
    since: Option<Instant>,
    random: u64,
}

thread_local! {
    /// Requests to skip before the next run: all that most requests touch.
    static SKIP: Cell<u32> = const { Cell::new(0) };
    static PACE: Cell<Pace> = const {
        Cell::new(Pace { run: 0, stride: 1, looks: 0, since: None, random: 0 })
    };
}

impl Sampling {
    /// Whether to look at the next request of this thread, and how many it stands for.
    pub fn next(self) -> Option<NonZeroU32> {
        if self == Self::All {
            return Some(NonZeroU32::MIN);
        }
        let skip = SKIP.get();
        if skip > 0 {
            let is_over = skip.is_multiple_of(UNSEEN) && PACE.get().is_silent();
            SKIP.set(if is_over { 0 } else { skip - 1 });
            return None;
        }
        let mut pace = PACE.get();
        let weight = pace.look(self);
        PACE.set(pace);
        weight
    }
}

impl Pace {
    fn look(&mut self, sampling: Sampling) -> Option<NonZeroU32> {
        if self.run == 0 {
            self.begin_run(sampling);
        }
        let weight = NonZeroU32::new(self.stride);
        self.run -= 1;
        if self.run == 0 {
            SKIP.set(self.gap());
        }
        weight
    }

    fn is_silent(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() > SILENCE)
    }

    fn begin_run(&mut self, sampling: Sampling) {
        self.run = RUN;
        match sampling {
            Sampling::OneIn(stride) => self.stride = stride.get(),
            _ => self.adapt(),
        }
    }

    /// Widens or narrows the gaps so that looks stay near what is allowed.
    fn adapt(&mut self) {
        let now = Instant::now();
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        let elapsed = now.duration_since(since);
        // Little happened for a while: whatever comes now is seen from the start.
        if elapsed > SILENCE {
            (self.stride, self.looks, self.since) = (1, 0, Some(now));
            return;
        }
        self.looks += RUN;
        if self.looks < JUDGED_LOOKS {
            return;
        }
        let rate = f64::from(self.looks) / elapsed.as_secs_f64().max(1e-6);
        let allowed = f64::from(LOOKS_PER_SECOND);
        if rate > allowed {
            self.stride = (self.stride * 2).min(MAX_STRIDE);
        } else if rate < allowed / 3.0 {
            self.stride = (self.stride / 2).max(1);
        }
        (self.looks, self.since) = (0, Some(now));
    }

    /// Requests between two runs: on average as many as make one look in `stride`.
    fn gap(&mut self) -> u32 {
        let mean = RUN * (self.stride - 1);
        if mean == 0 {
            return 0;
        }
        // xorshift; a stream of its own for each thread.
        if self.random == 0 {
            self.random = std::ptr::from_ref(self) as u64 | 1;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 33) as u32 % (2 * mean + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_new_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| unreachable!())
    }

    #[test]
    fn weights_add_up_to_the_requests() {
        let stride = NonZeroU32::new(16).unwrap_or(NonZeroU32::MIN);
        let (looks, stands_for) = on_a_new_thread(|| {
            let seen = (0..400_000).filter_map(|_| Sampling::OneIn(stride).next());
            seen.fold((0_u32, 0_u32), |(looks, sum), weight| (looks + 1, sum + weight.get()))
        });
        assert!((380_000..420_000).contains(&stands_for), "{stands_for}");
        assert!(looks < 30_000, "{looks}");
    }

    #[test]
    fn a_loop_of_two_requests_does_not_hide_one_of_them() {
        let stride = NonZeroU32::new(4).unwrap_or(NonZeroU32::MIN);
        let even = on_a_new_thread(|| {
            let turns =
                (0..100_000_u32).filter_map(|turn| Some((turn, Sampling::OneIn(stride).next()?)));
            turns.filter(|(turn, _)| turn % 2 == 0).map(|(_, weight)| weight.get()).sum::<u32>()
        });
        assert!((40_000..60_000).contains(&even), "{even}");
    }

    #[test]
    fn few_requests_are_all_seen_and_many_are_not() {
        let (first, all) = on_a_new_thread(|| {
            let first = (0..50).filter_map(|_| Sampling::Adaptive.next()).count();
            let all = (0..3_000_000).filter_map(|_| Sampling::Adaptive.next()).count();
            (first, all)
        });
        assert_eq!(first, 50);
        assert!(all < 300_000, "{all} looks at 3,000,000 requests");
    }
}
