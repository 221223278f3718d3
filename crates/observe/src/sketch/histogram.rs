//! Percentiles: a histogram whose buckets grow with the value.
//!
//! Values below 16 are kept exactly; above, every power of two has 16 buckets, so that a percentile
//! is off by at most 1/32 of itself. Nothing is lost at the top: the greatest value is kept besides.

use serde::{Deserialize, Serialize};

const SUB_BITS: u32 = 4;
const SUBS: usize = 1 << SUB_BITS;
/// Powers of two above the exact values; greater values share the last bucket.
const OCTAVES: usize = 36;
const BUCKETS: usize = SUBS + OCTAVES * SUBS;

/// How often values of each magnitude occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub struct Histogram {
    /// Empty until the first value.
    counts: Vec<u64>,
    total: u64,
    sum: u64,
    max: u64,
}

/// What a report keeps: the buckets that are not empty.
#[derive(Serialize, Deserialize)]
struct Sparse {
    sum: u64,
    max: u64,
    buckets: Vec<(u16, u64)>,
}

impl Histogram {
    /// Counts a value as often as `weight` says.
    pub fn add(&mut self, value: u64, weight: u64) {
        if self.counts.is_empty() {
            self.counts = vec![0; BUCKETS];
        }
        if let Some(count) = self.counts.get_mut(bucket(value)) {
            *count += weight;
        }
        self.total += weight;
        self.sum = self.sum.saturating_add(value.saturating_mul(weight));
        self.max = self.max.max(value);
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The greatest value.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The average; zero if there are no values.
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 }
    }

    /// The value that a share of all values does not exceed; `quantile(0.5)` is the median.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = ((share.clamp(0.0, 1.0) * self.total as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= wanted {
                return middle(bucket).min(self.max);
            }
        }
        self.max
    }

    /// How many values are at most `bound`, to the width of a bucket.
    pub fn at_most(&self, bound: u64) -> u64 {
        self.counts.iter().take(bucket(bound) + 1).sum()
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
        } else {
            for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
                *mine += theirs;
            }
        }
        self.total += other.total;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

fn bucket(value: u64) -> usize {
    if value < SUBS as u64 {
        return value as usize;
    }
    let octave = value.ilog2() - SUB_BITS;
    let sub = (value >> octave) as usize & (SUBS - 1);
    (SUBS + octave as usize * SUBS + sub).min(BUCKETS - 1)
}

/// The value in the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    if bucket < SUBS {
        return bucket as u64;
    }
    let octave = (bucket - SUBS) / SUBS;
    let low = ((SUBS + bucket % SUBS) as u64) << octave;
    low + (1 << octave) / 2
}

impl From<Sparse> for Histogram {
    fn from(sparse: Sparse) -> Self {
        let mut counts = vec![0; if sparse.buckets.is_empty() { 0 } else { BUCKETS }];
        let mut total = 0;
        for (bucket, count) in sparse.buckets {
            if let Some(slot) = counts.get_mut(usize::from(bucket)) {
                *slot += count;
                total += count;
            }
        }
        Self { counts, total, sum: sparse.sum, max: sparse.max }
    }
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        let filled = histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let buckets = filled.map(|(bucket, count)| (bucket as u16, *count)).collect();
        Self { sum: histogram.sum, max: histogram.max, buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thirty_second() {
        let mut histogram = Histogram::default();
        for value in 1..=100_000 {
            histogram.add(value, 1);
        }
        for share in [0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let exact = share * 100_000.0;
            let found = histogram.quantile(share) as f64;
            assert!((found - exact).abs() <= exact / 32.0 + 1.0, "{share}: {found} for {exact}");
        }
        assert_eq!(histogram.max(), 100_000);
        assert!((histogram.mean() - 50_000.5).abs() < 1e-6);
    }

    #[test]
    fn small_values_are_exact_and_great_ones_are_kept() {
        let mut histogram = Histogram::default();
        histogram.add(3, 10);
        histogram.add(u64::MAX, 1);
        assert_eq!(histogram.quantile(0.5), 3);
        assert_eq!(histogram.max(), u64::MAX);
        assert_eq!(histogram.at_most(3), 10);
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }

    #[test]
    fn merging_and_storing_change_nothing() {
        let (mut a, mut b, mut both) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..5000_u64 {
            let part = if value % 3 == 0 { &mut a } else { &mut b };
            part.add(value * value, value % 4);
            both.add(value * value, value % 4);
        }
        a.merge(&b);
        assert_eq!(a, both);
        let text = serde_json::to_string(&a).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Histogram>(&text).ok(), Some(both));
    }
}
