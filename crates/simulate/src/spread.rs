//! How load is shared among the values of a partition key.

use keyloom_core::hash::{fraction, partition_hash};

/// Why a hot item collection stays on one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSplit {
    /// It is one item, or all its load goes to one.
    OneItem,
    /// The table has a local index.
    LocalIndex,
    /// Its sort key only grows: every new item goes to the end.
    MovingSortKey,
}

impl NoSplit {
    /// Why, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OneItem => "all its load goes to one item",
            Self::LocalIndex => "the table has a local index",
            Self::MovingSortKey => "its sort key only grows, so all new items go to the end",
        }
    }
}

/// Key values that get load of their own; more of them are even enough to be one mass.
const MAX_HOT: usize = 256;

/// The values of one partition key template in one table or index, and how load is shared among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The template, as people see it.
    pub label: String,
    /// The shares of the busiest values, in falling order.
    pub hot: Vec<f64>,
    /// How many other values there are; they share the rest evenly. Infinite where nothing is known.
    pub others: f64,
    /// What those others share.
    pub rest: f64,
    /// Whether the design says how many values there are.
    pub is_known: bool,
    /// Why a collection under one value cannot be split, if it cannot.
    pub no_split: Option<NoSplit>,
}

impl Spread {
    /// So many values, of which the busiest has this share. The others are even, or follow Zipf's law.
    pub fn new(label: String, values: Option<f64>, top: Option<f64>, zipf: Option<f64>) -> Self {
        let Some(values) = values.map(|values| values.max(1.0)) else {
            let hot: Vec<f64> = top.into_iter().collect();
            let (rest, is_known) = (1.0 - top.unwrap_or(0.0), top.is_some());
            return Self { label, hot, others: f64::INFINITY, rest, is_known, no_split: None };
        };
        let listed = (values as usize).clamp(1, MAX_HOT);
        let mut hot = match (top, zipf) {
            (Some(top), _) if top > 1.0 / values => shares_below(top, values, listed),
            (_, Some(exponent)) => zipf_shares(exponent, values, listed),
            _ => vec![1.0 / values; listed],
        };
        // Many even values are a mass; single ones would only slow things down.
        let is_even = hot.first().is_some_and(|top| *top <= 1.0 / values + 1e-12);
        if is_even && values > MAX_HOT as f64 {
            hot.clear();
        }
        let others = values - hot.len() as f64;
        let rest = if others <= 0.0 { 0.0 } else { (1.0 - hot.iter().sum::<f64>()).max(0.0) };
        Self { label, hot, others, rest, is_known: true, no_split: None }
    }

    /// Where a listed value lies among all hashes, from 0 to 1.
    pub fn position(&self, value: usize, seed: u64) -> f64 {
        fraction(partition_hash(&self.key(value, seed)))
    }

    /// The bytes that stand for a listed value.
    pub fn key(&self, value: usize, seed: u64) -> Vec<u8> {
        format!("{seed}/{}/{value}", self.label).into_bytes()
    }

    /// The name of a listed value.
    pub fn name(&self, value: usize) -> String {
        match value {
            _ if self.hot.len() == 1 && self.others <= 0.0 => self.label.clone(),
            0 => format!("the busiest value of {}", self.label),
            _ => format!("value {} of {}", value + 1, self.label),
        }
    }
}

/// The busiest has its share; the others share the rest evenly.
fn shares_below(top: f64, values: f64, listed: usize) -> Vec<f64> {
    if values <= MAX_HOT as f64 {
        let rest = (1.0 - top).max(0.0) / (values - 1.0).max(1.0);
        return std::iter::once(top)
            .chain(std::iter::repeat_n(rest, listed.saturating_sub(1)))
            .collect();
    }
    vec![top]
}

/// Shares by rank, as `1 / rank^exponent`.
fn zipf_shares(exponent: f64, values: f64, listed: usize) -> Vec<f64> {
    let weight = |rank: usize| (rank as f64).powf(-exponent);
    let head: f64 = (1..=listed).map(weight).sum();
    // The sum over the other ranks, as an integral.
    let (from, to) = (listed as f64 + 0.5, values + 0.5);
    let tail = if values <= listed as f64 {
        0.0
    } else if (exponent - 1.0).abs() < 1e-9 {
        (to / from).ln()
    } else {
        (to.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent)
    };
    (1..=listed).map(|rank| weight(rank) / (head + tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: Option<f64>, top: Option<f64>, zipf: Option<f64>) -> Spread {
        Spread::new("K#{k}".to_owned(), values, top, zipf)
    }

    #[test]
    fn shares_sum_to_one() {
        for (values, top, zipf) in [
            (Some(1.0), None, None),
            (Some(10.0), None, None),
            (Some(10.0), Some(0.4), None),
            (Some(1e6), Some(0.4), None),
            (Some(1e6), None, Some(1.0)),
            (Some(1e6), None, Some(0.7)),
            (Some(50.0), None, Some(1.2)),
            (Some(1e6), None, None),
            (None, None, None),
        ] {
            let spread = spread(values, top, zipf);
            let sum = spread.hot.iter().sum::<f64>() + spread.rest;
            assert!((sum - 1.0).abs() < 1e-3, "{values:?} {top:?} {zipf:?}: {sum}");
        }
    }

    #[test]
    fn few_values_are_listed_and_many_even_ones_are_not() {
        assert_eq!(spread(Some(10.0), None, None).hot.len(), 10);
        assert_eq!(spread(Some(1e6), None, None).hot.len(), 0);
        assert_eq!(spread(Some(1e6), Some(0.1), None).hot, [0.1]);
    }

    #[test]
    fn positions_are_spread_and_repeat() {
        let spread = spread(Some(200.0), None, None);
        let places: Vec<f64> = (0..200).map(|value| spread.position(value, 7)).collect();
        let mean = places.iter().sum::<f64>() / 200.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
        assert!((spread.position(3, 7) - places[3]).abs() < 1e-15);
    }
}
