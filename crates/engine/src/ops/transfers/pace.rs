//! `MaxWriteRequestUnits`: the rate limit of a bulk operation.

use std::time::{Duration, Instant};

/// A limit of units per second.
pub(super) struct Pace {
    units_per_second: Option<u64>,
    began: Instant,
    units: u64,
}

impl Pace {
    pub(super) fn new(units_per_second: Option<u64>) -> Self {
        Self { units_per_second, began: Instant::now(), units: 0 }
    }

    /// How long to wait after a write of so many units.
    pub(super) fn pause(&mut self, units: u64) -> Duration {
        self.units += units;
        self.units_per_second.map_or(Duration::ZERO, |limit| {
            let due = Duration::from_secs_f64(self.units as f64 / limit as f64);
            due.saturating_sub(self.began.elapsed())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_wait_for_their_second() {
        assert_eq!(Pace::new(None).pause(1 << 40), Duration::ZERO);
        let mut pace = Pace::new(Some(1024));
        let pause = pace.pause(2048);
        assert!(
            pause > Duration::from_millis(1900) && pause <= Duration::from_secs(2),
            "{pause:?}"
        );
    }
}
