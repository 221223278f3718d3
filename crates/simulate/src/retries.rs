//! What clients do with refused requests, and how long they wait for it.

/// Into how many steps the longest possible wait is divided.
const STEPS: usize = 2048;

/// What clients do with a refused request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retries {
    /// Requests in all, the first one included.
    pub attempts: u32,
    /// The longest wait before the first retry, in milliseconds; it doubles with each, and is drawn evenly from zero on.
    pub base_ms: f64,
    /// The longest wait.
    pub cap_ms: f64,
}

impl Default for Retries {
    /// The standard mode of AWS's SDKs.
    fn default() -> Self {
        Self { attempts: 3, base_ms: 1000.0, cap_ms: 20_000.0 }
    }
}

impl Retries {
    /// How many requests come of one, if each is refused with this probability.
    pub fn requests(self, refused: f64) -> f64 {
        (0..self.attempts).map(|attempt| refused.powi(attempt as i32)).sum()
    }

    /// The shares of calls that retry once or more, twice or more, and so on, if each request is refused with this
    /// probability.
    pub fn retried(self, refused: f64) -> impl Iterator<Item = f64> {
        (1..self.attempts).map(move |retry| refused.powi(retry as i32))
    }

    /// The longest wait before each retry.
    fn waits(self) -> impl Iterator<Item = f64> {
        (1..self.attempts).map(move |retry| {
            (self.base_ms * 2f64.powi(retry as i32 - 1)).min(self.cap_ms).max(0.0)
        })
    }

    /// The time that retries add at a quantile of all calls, in milliseconds, if these shares of them retry once or more,
    /// twice or more, and so on. Each wait is drawn by itself, so the sum of several has the distribution of such sums.
    pub fn added_ms(self, retried: &[f64], quantile: f64) -> f64 {
        let share = |retries: usize| retried.get(retries).copied().unwrap_or(0.0);
        let longest: f64 = self.waits().sum();
        if 1.0 - share(0) >= quantile || longest <= 0.0 {
            return 0.0;
        }
        let step = longest / STEPS as f64;
        let mut waited = vec![1.0; STEPS + 1];
        let mut all = vec![1.0 - share(0); STEPS + 1];
        for (retry, wait) in self.waits().enumerate() {
            waited = and_another(&waited, wait / step);
            let exactly = share(retry) - share(retry + 1);
            all.iter_mut().zip(&waited).for_each(|(sum, it)| *sum += exactly * it);
        }
        let at = all.iter().position(|sum| *sum >= quantile - 1e-9).unwrap_or(STEPS);
        at as f64 * step
    }
}

/// The distribution of a wait after another one, drawn evenly from zero to so many steps: its value at a step is the mean of
/// the former over the steps before it.
fn and_another(former: &[f64], width: f64) -> Vec<f64> {
    let mut sums = Vec::with_capacity(former.len());
    let (mut sum, mut before) = (0.0, None);
    for value in former {
        sum += before.map_or(0.0, |before: f64| f64::midpoint(before, *value));
        sums.push(sum);
        before = Some(*value);
    }
    // Nothing is waited less than not at all.
    let until = |at: f64| {
        let (low, part) = (at.floor(), at.fract());
        let value = |step: f64| sums.get(step as usize).copied().unwrap_or(sum);
        if at <= 0.0 { 0.0 } else { value(low) + (value(low + 1.0) - value(low)) * part }
    };
    let width = width.max(1e-9);
    (0..former.len()).map(|at| (until(at as f64) - until(at as f64 - width)) / width).collect()
}

#[cfg(test)]
mod tests {
    use keyloom_core::hash::{SplitMix64, fraction};

    use super::*;

    const RETRIES: Retries = Retries { attempts: 3, base_ms: 100.0, cap_ms: 1000.0 };

    fn added(refused: f64, quantile: f64) -> f64 {
        let retried: Vec<f64> = RETRIES.retried(refused).collect();
        RETRIES.added_ms(&retried, quantile)
    }

    #[test]
    fn only_the_unlucky_wait() {
        assert!(added(0.0, 0.99).abs() < 1e-9);
        assert!(added(0.4, 0.5).abs() < 1e-9);
        assert!((RETRIES.requests(0.5) - 1.75).abs() < 1e-9);
        let never = Retries { attempts: 1, ..RETRIES };
        assert!(never.added_ms(&[], 0.99).abs() < 1e-9);
    }

    #[test]
    fn waits_are_those_of_clients_that_draw_them() {
        let mut random = SplitMix64::new(1);
        for refused in [0.03, 0.3, 0.9, 1.0] {
            let mut drawn: Vec<f64> = (0..200_000)
                .map(|_| {
                    let mut waited = 0.0;
                    for wait in RETRIES.waits() {
                        if fraction(random.draw()) >= refused {
                            break;
                        }
                        waited += wait * fraction(random.draw());
                    }
                    waited
                })
                .collect();
            drawn.sort_by(f64::total_cmp);
            for quantile in [0.5, 0.9, 0.99] {
                let real = drawn.get((drawn.len() as f64 * quantile) as usize).copied();
                let real = real.unwrap_or(0.0);
                let foreseen = added(refused, quantile);
                assert!((foreseen - real).abs() < 3.0, "{refused} {quantile}: {foreseen} {real}");
            }
        }
    }

    #[test]
    fn a_wait_of_no_time_is_none() {
        let hasty = Retries { attempts: 20, base_ms: 0.0, cap_ms: 0.0 };
        assert!(hasty.added_ms(&[1.0; 19], 0.99).abs() < 1e-9);
    }
}
