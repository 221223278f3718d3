//! Which requests are sampled.
//!
//! A sample costs a few microseconds, and a request may take less than one. So at low rates each thread samples every
//! request. Above about 500 requests per second and thread it samples runs of consecutive requests with growing gaps,
//! so that sampling takes a constant share of its time. Runs are needed to detect sequences, such as a read before a
//! write. Gaps are random, because a fixed interval could coincide with a loop of the program. Each sampled request
//! is weighted by the width of its gap.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Requests that are sampled in a row.
pub(crate) const RUN: u32 = 8;
/// How many samples per second a thread may take.
const LOOKS_PER_SECOND: u32 = 500;
/// The most requests that one sample stands for.
const MAX_STRIDE: u32 = 4096;
/// After how many unsampled requests the clock is read to see whether the rate has dropped.
const UNSEEN: u32 = 128;
/// When a thread needs longer than this for the samples after which its rate is judged, requests have
/// become few, and all are seen again: after [`UNSEEN`] unseen ones at the latest.
const SILENCE: Duration = Duration::from_secs(1);
/// After how many samples the rate is judged.
const JUDGED_SAMPLES: u32 = 8 * RUN;

/// Which requests are sampled.
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

/// Observers that have a pace of their own on a thread; one more shares that of a newer one.
const SLOTS: usize = 16;

/// Decides for one observer which requests it samples.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    sampling: Sampling,
    /// Later ones have greater numbers. Drawn when it is first used: there are few slots, and many
    /// samplers are only made to be replaced, or stand beside one that decides.
    number: OnceLock<u64>,
}

#[derive(Clone, Copy)]
struct Pace {
    /// Whose it is.
    owner: u64,
    /// Requests left to see in this run.
    run: u32,
    /// How many requests one sample stands for.
    stride: u32,
    /// Samples since `since`.
    samples: u32,
    since: Option<Instant>,
    random: u64,
}

thread_local! {
    /// Requests to skip before the next run: all that most requests touch.
    static SKIPS: [Cell<u32>; SLOTS] = const { [const { Cell::new(0) }; SLOTS] };
    static PACES: [Cell<Pace>; SLOTS] = const { [const { Cell::new(Pace::of(0)) }; SLOTS] };
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling) -> Self {
        Self { sampling, number: OnceLock::new() }
    }

    fn number(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        *self.number.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether to sample the next request of this thread, and how many it stands for.
    pub(crate) fn next(&self) -> Option<NonZeroU32> {
        if self.sampling == Sampling::All {
            return Some(NonZeroU32::MIN);
        }
        let number = self.number();
        let slot = number as usize % SLOTS;
        SKIPS.with(|skips| {
            let skips = skips.get(slot)?;
            let skip = skips.get();
            if skip > 0 {
                let is_over = skip.is_multiple_of(UNSEEN) && begins_anew(number, slot);
                skips.set(if is_over { 0 } else { skip - 1 });
                return None;
            }
            self.sample(number, slot, skips)
        })
    }

    fn sample(&self, number: u64, slot: usize, skips: &Cell<u32>) -> Option<NonZeroU32> {
        PACES.with(|paces| {
            let cell = paces.get(slot)?;
            let mut pace = cell.get();
            if pace.owner < number {
                pace = Pace::of(number);
            }
            let weight = NonZeroU32::new(pace.stride_of_look(self.sampling));
            if pace.run == 0 {
                skips.set(pace.gap());
            }
            cell.set(pace);
            weight
        })
    }
}

/// Whether what is skipped is an older observer's, or requests have become few.
fn begins_anew(number: u64, slot: usize) -> bool {
    let pace = PACES.with(|paces| paces.get(slot).map(Cell::get));
    pace.is_some_and(|pace| pace.owner < number || pace.is_silent())
}

impl Pace {
    const fn of(owner: u64) -> Self {
        Self { owner, run: 0, stride: 1, samples: 0, since: None, random: 0 }
    }

    /// How many requests a sample of the next one stands for.
    fn stride_of_look(&mut self, sampling: Sampling) -> u32 {
        if self.run == 0 {
            self.begin_run(sampling);
        }
        self.run -= 1;
        self.stride
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

    /// Widens or narrows the gaps so that samples stay near what is allowed.
    fn adapt(&mut self) {
        let now = Instant::now();
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        let elapsed = now.duration_since(since);
        // Little happened for a while: whatever comes now is seen from the start.
        if elapsed > SILENCE {
            (self.stride, self.samples, self.since) = (1, 0, Some(now));
            return;
        }
        self.samples += RUN;
        if self.samples < JUDGED_SAMPLES {
            return;
        }
        let rate = f64::from(self.samples) / elapsed.as_secs_f64().max(1e-6);
        let allowed = f64::from(LOOKS_PER_SECOND);
        if rate > allowed {
            self.stride = (self.stride * 2).min(MAX_STRIDE);
        } else if rate < allowed / 3.0 {
            self.stride = (self.stride / 2).max(1);
        }
        (self.samples, self.since) = (0, Some(now));
    }

    /// Requests between two runs: on average as many as make one sample in `stride`.
    fn gap(&mut self) -> u32 {
        let mean = RUN * (self.stride - 1);
        if mean == 0 {
            return 0;
        }
        // xorshift, with its own sequence for each thread and observer.
        if self.random == 0 {
            self.random = (std::ptr::from_ref(self) as u64 ^ self.owner << 40) | 1;
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
        let sampler = Sampler::new(Sampling::OneIn(stride));
        let (samples, stands_for) = on_a_new_thread(|| {
            let seen = (0..400_000).filter_map(|_| sampler.next());
            seen.fold((0_u32, 0_u32), |(samples, sum), weight| (samples + 1, sum + weight.get()))
        });
        assert!((380_000..420_000).contains(&stands_for), "{stands_for}");
        assert!(samples < 30_000, "{samples}");
    }

    #[test]
    fn a_loop_of_two_requests_does_not_hide_one_of_them() {
        let stride = NonZeroU32::new(4).unwrap_or(NonZeroU32::MIN);
        let sampler = Sampler::new(Sampling::OneIn(stride));
        let even = on_a_new_thread(|| {
            let turns = (0..100_000_u32).filter_map(|turn| Some((turn, sampler.next()?)));
            turns.filter(|(turn, _)| turn % 2 == 0).map(|(_, weight)| weight.get()).sum::<u32>()
        });
        assert!((40_000..60_000).contains(&even), "{even}");
    }

    #[test]
    fn few_requests_are_all_seen_and_many_are_not() {
        let sampler = Sampler::default();
        let (first, all) = on_a_new_thread(|| {
            let first = (0..50).filter_map(|_| sampler.next()).count();
            let all = (0..3_000_000).filter_map(|_| sampler.next()).count();
            (first, all)
        });
        assert_eq!(first, 50);
        assert!(all < 300_000, "{all} samples of 3,000,000 requests");
    }

    fn numbered(sampling: Sampling, number: u64) -> Sampler {
        Sampler { sampling, number: OnceLock::from(number) }
    }

    #[test]
    fn only_a_sampler_that_is_used_takes_a_slot() {
        let (idle, all) = (Sampler::default(), Sampler::new(Sampling::All));
        assert!(all.next().is_some());
        assert!(idle.number.get().is_none() && all.number.get().is_none());
        assert!(idle.next().is_some());
        assert!(idle.number.get().is_some());
    }

    #[test]
    fn what_one_observer_skips_another_on_the_same_thread_does_not() {
        let stride = NonZeroU32::new(1000).unwrap_or(NonZeroU32::MIN);
        let busy = numbered(Sampling::OneIn(stride), 3);
        let quiet = numbered(Sampling::Adaptive, 4);
        let (samples, weights) = on_a_new_thread(|| {
            let mut samples = 0;
            let mut weights = 0_u64;
            for turn in 0..2_000_000 {
                weights += busy.next().map_or(0, |weight| u64::from(weight.get()));
                if turn % 40_000 == 0 {
                    samples += usize::from(quiet.next().is_some());
                }
            }
            (samples, weights)
        });
        assert_eq!(samples, 50, "all of the few requests of the quiet one");
        assert!((1_500_000..2_500_000).contains(&weights), "{weights}");
    }

    #[test]
    fn an_observer_that_takes_over_a_slot_begins_anew() {
        let stride = NonZeroU32::new(4000).unwrap_or(NonZeroU32::MIN);
        let old = numbered(Sampling::OneIn(stride), 3);
        let new = numbered(Sampling::Adaptive, 3 + SLOTS as u64);
        let unseen = on_a_new_thread(|| {
            let _ = (0..8).filter_map(|_| old.next()).count();
            (0..10 * UNSEEN).take_while(|_| new.next().is_none()).count()
        });
        assert!(unseen <= UNSEEN as usize, "{unseen} requests of the new one are not seen");
    }
}
