//! Scaling of on-demand tables with their traffic.
//!
//! A table sustains twice its previous peak immediately. A peak counts once it is half an hour old: traffic that more
//! than doubles within that time may be throttled.

use std::collections::VecDeque;

use super::partition::{Lane, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};

const MINUTE_MS: u64 = 60_000;
/// After how many minutes a peak is a previous one.
const SETTLING_MINUTES: u64 = 30;
/// What a table takes of its previous peak.
const GROWTH: f64 = 2.0;

/// The peaks of a table or index.
#[derive(Debug, Default)]
pub(super) struct Growth {
    read: Peak,
    write: Peak,
}

impl Growth {
    pub(super) fn add(&mut self, lane: Lane, units: f64, now_ms: u64) {
        match lane {
            Lane::Read => self.read.add(units, now_ms),
            Lane::Write => self.write.add(units, now_ms),
        }
    }

    /// Undoes what was added a moment ago.
    pub(super) fn take_back(&mut self, lane: Lane, units: f64) {
        let peak = match lane {
            Lane::Read => &mut self.read,
            Lane::Write => &mut self.write,
        };
        peak.units = (peak.units - units).max(0.0);
    }

    /// How many partitions can take twice the previous peak.
    pub(super) fn partitions(&self) -> usize {
        let reads = GROWTH * self.read.settled / PARTITION_READ_UNITS;
        let writes = GROWTH * self.write.settled / PARTITION_WRITE_UNITS;
        reads.max(writes).ceil() as usize
    }
}

/// The busiest minute of reads or writes.
#[derive(Debug, Default)]
struct Peak {
    minute: u64,
    units: f64,
    /// Minutes that are not old enough, with their rates.
    recent: VecDeque<(u64, f64)>,
    /// The highest rate that is old enough, in units per second.
    settled: f64,
}

impl Peak {
    fn add(&mut self, units: f64, now_ms: u64) {
        let minute = now_ms / MINUTE_MS;
        if minute > self.minute {
            self.turn(minute);
        }
        self.units += units;
    }

    fn turn(&mut self, minute: u64) {
        self.recent.push_back((self.minute, self.units / 60.0));
        (self.minute, self.units) = (minute, 0.0);
        while let Some((old, rate)) = self.recent.front().copied()
            && old + SETTLING_MINUTES < minute
        {
            self.settled = self.settled.max(rate);
            self.recent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_counts_after_half_an_hour_and_is_never_forgotten() {
        let mut growth = Growth::default();
        let minute = |growth: &mut Growth, minute: u64, rate: f64| {
            for second in 0..60 {
                growth.add(Lane::Write, rate, minute * MINUTE_MS + second * 1000);
            }
        };
        minute(&mut growth, 1, 7_000.0);
        (2..=31).for_each(|at| minute(&mut growth, at, 100.0));
        assert_eq!(growth.partitions(), 0);
        minute(&mut growth, 32, 100.0);
        assert_eq!(growth.partitions(), 14);
        (33..200).for_each(|at| minute(&mut growth, at, 100.0));
        assert_eq!(growth.partitions(), 14);
    }

    #[test]
    fn what_was_taken_back_is_no_peak() {
        let mut growth = Growth::default();
        for second in 0..60 {
            growth.add(Lane::Write, 7_000.0, MINUTE_MS + second * 1000);
            growth.take_back(Lane::Write, 6_900.0);
        }
        growth.add(Lane::Write, 1.0, 40 * MINUTE_MS);
        assert_eq!(growth.partitions(), 1);
    }
}
