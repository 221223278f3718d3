//! Provisioned capacity that follows consumption, as Application Auto Scaling does for DynamoDB.

use crate::lanes::{Lane, Lanes};

/// The share of provisioned capacity that auto scaling aims at.
pub const TARGET: f64 = 0.7;
/// Consumption must be beyond the target for so many minutes before capacity is raised.
const MINUTES_UP: u32 = 2;
/// How long raising it takes.
const MINUTES_TO_RAISE: u32 = 2;
/// Consumption must be well below the target for so many minutes before capacity is lowered.
const MINUTES_DOWN: u32 = 15;
/// How often capacity may be lowered on a day at any time; more often only if it was not lowered for an hour.
const FREE_DECREASES: u32 = 4;
const DAY_MINUTES: u32 = 24 * 60;

/// The capacity of one table or index.
#[derive(Clone, Debug)]
pub(crate) struct Scaling {
    target: f64,
    /// Units per second, as they are now.
    pub(crate) units: Lanes<f64>,
    most: Lanes<f64>,
    above: Lanes<u32>,
    below: Lanes<u32>,
    minute: u32,
    /// How often it was lowered on this day.
    decreases: u32,
    lowered_at: Option<u32>,
}

impl Scaling {
    pub(crate) fn new(demand: Lanes<f64>, target: f64, most: Lanes<Option<f64>>) -> Self {
        let most = most.map(|most| most.unwrap_or(f64::INFINITY));
        Self {
            target,
            units: Lanes::from_fn(|lane| fitting(demand[lane] / target, most[lane])),
            most,
            above: Lanes::default(),
            below: Lanes::default(),
            minute: 0,
            decreases: 0,
            lowered_at: None,
        }
    }

    /// A minute with this consumption; whether the capacity was changed.
    pub(crate) fn pass(&mut self, consumed: Lanes<f64>) -> bool {
        let (mut changed, mut lowered) = (false, false);
        for lane in Lane::BOTH {
            let used = consumed[lane] / self.units[lane];
            self.above[lane] = if used > self.target { self.above[lane] + 1 } else { 0 };
            self.below[lane] = if used < self.target * 0.9 { self.below[lane] + 1 } else { 0 };
            let rises = self.above[lane] >= MINUTES_UP + MINUTES_TO_RAISE;
            let falls = self.below[lane] >= MINUTES_DOWN && self.may_fall();
            if rises || falls {
                let new = fitting(consumed[lane] / self.target, self.most[lane]);
                let is_other = (new - self.units[lane]).abs() > 0.5;
                lowered |= is_other && new < self.units[lane];
                changed |= is_other;
                self.units[lane] = new;
                (self.above[lane], self.below[lane]) = (0, 0);
            }
        }
        if lowered {
            (self.decreases, self.lowered_at) = (self.decreases + 1, Some(self.minute));
        }
        self.minute += 1;
        if self.minute.is_multiple_of(DAY_MINUTES) {
            self.decreases = 0;
        }
        changed
    }

    fn may_fall(&self) -> bool {
        self.decreases < FREE_DECREASES || self.lowered_at.is_none_or(|at| self.minute - at >= 60)
    }
}

/// At least one unit, and not more than the most.
fn fitting(units: f64, most: f64) -> f64 {
    units.min(most).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(units: f64) -> Lanes<f64> {
        Lanes { read: 0.7, write: units }
    }

    #[test]
    fn it_rises_after_two_minutes_and_those_that_raising_takes_up_to_its_maximum() {
        let most = Lanes { read: None, write: Some(500.0) };
        let mut scaling = Scaling::new(writes(70.0), TARGET, most);
        assert!((scaling.units.write - 100.0).abs() < 1e-9);
        let changed: Vec<bool> = (0..4).map(|_| scaling.pass(writes(100.0))).collect();
        assert_eq!(changed, [false, false, false, true]);
        assert!((scaling.units.write - 100.0 / 0.7).abs() < 1e-9);
        for _ in 0..40 {
            scaling.pass(writes(400.0));
        }
        assert!((scaling.units.write - 500.0).abs() < 1e-9, "{}", scaling.units.write);
    }

    #[test]
    fn it_falls_four_times_a_day_and_then_once_an_hour() {
        let mut scaling = Scaling::new(writes(1e9), TARGET, Lanes::default());
        let mut fell = Vec::new();
        let mut load = 1e9;
        for minute in 0..2 * DAY_MINUTES {
            load *= 0.995;
            if scaling.pass(writes(load)) {
                fell.push(minute);
            }
        }
        let on_first_day: Vec<u32> =
            fell.iter().copied().filter(|minute| *minute < DAY_MINUTES).collect();
        // AWS: 27 at most.
        assert!((20..=27).contains(&on_first_day.len()), "{}", on_first_day.len());
        for pair in on_first_day.windows(2).skip(FREE_DECREASES as usize) {
            let &[before, after] = pair else { continue };
            assert!(after - before >= 60, "{pair:?}");
        }
        assert!(fell.len() > on_first_day.len() + 20, "{}", fell.len());
    }
}
