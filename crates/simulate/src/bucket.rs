//! Capacity that flows in at a steady rate and may be saved up.

/// The seconds of a minute.
const SECONDS: f64 = 60.0;

/// A token bucket under a load that is constant for a minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) rate: f64,
    pub(crate) size: f64,
    pub(crate) level: f64,
}

impl Bucket {
    /// A full one.
    pub(crate) fn new(rate: f64, burst_seconds: f64) -> Self {
        let size = rate * burst_seconds.max(1.0);
        Self { rate, size, level: size }
    }

    /// What it admits of a demand, as a share, and the level after a minute.
    pub(crate) fn admits(self, demand: f64) -> (f64, f64) {
        if demand <= self.rate {
            return (1.0, (self.level + (self.rate - demand) * SECONDS).min(self.size));
        }
        let lasts = (self.level.max(0.0) / (demand - self.rate)).min(SECONDS);
        let admitted = demand * lasts + self.rate * (SECONDS - lasts);
        let level = if lasts < SECONDS { 0.0 } else { self.level - (demand - self.rate) * SECONDS };
        (admitted / (demand * SECONDS), level)
    }

    pub(crate) fn set_rate(&mut self, rate: f64, burst_seconds: f64) {
        (self.rate, self.size) = (rate, rate * burst_seconds.max(1.0));
        self.level = self.level.min(self.size);
    }
}
