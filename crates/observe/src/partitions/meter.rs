//! A rate meter with a sliding window of ten seconds.

const WINDOW_MS: u64 = 10_000;

/// Units counted in the current and the previous window.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    window: u64,
    current: f64,
    previous: f64,
    /// The highest rate of a finished window, per second.
    peak: f64,
}

impl Meter {
    pub(super) fn add(&mut self, units: f64, now_ms: u64) {
        self.turn(now_ms);
        self.current += units;
    }

    /// Subtracts units that were added for a request that was then refused.
    pub(super) fn take_back(&mut self, units: f64, now_ms: u64) {
        self.turn(now_ms);
        self.current = (self.current - units).max(0.0);
    }

    fn turn(&mut self, now_ms: u64) {
        let window = now_ms / WINDOW_MS;
        if window <= self.window {
            return;
        }
        self.peak = self.peak.max(self.current / (WINDOW_MS as f64 / 1000.0));
        self.previous = if window == self.window + 1 { self.current } else { 0.0 };
        self.current = 0.0;
        self.window = window;
    }

    /// Units per second; the previous window is weighted by how much of it lies within the last ten seconds.
    pub(super) fn rate(&self, now_ms: u64) -> f64 {
        let mut now = self.clone();
        now.turn(now_ms);
        let passed = (now_ms % WINDOW_MS) as f64 / WINDOW_MS as f64;
        (now.previous * (1.0 - passed) + now.current) / (WINDOW_MS as f64 / 1000.0)
    }

    /// The highest rate so far, per second.
    pub(super) fn peak(&self, now_ms: u64) -> f64 {
        self.peak.max(self.rate(now_ms))
    }

    /// The rate that one child inherits when its partition splits.
    pub(super) fn scaled(&self, share: f64) -> Self {
        Self {
            window: self.window,
            current: self.current * share,
            previous: self.previous * share,
            peak: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_shown_as_it_is_and_fades_when_it_ends() {
        let mut meter = Meter::default();
        for second in 0..40 {
            meter.add(250.0, second * 1000);
        }
        assert!((meter.rate(39_999) - 250.0).abs() < 1.0);
        assert!((meter.rate(45_000) - 125.0).abs() < 1.0);
        assert!(meter.rate(60_000).abs() < f64::EPSILON);
        assert!((meter.peak(60_000) - 250.0).abs() < 1.0);
    }
}
