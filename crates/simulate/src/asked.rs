//! What is asked of the values of a partition key, and which share of it is admitted.

use crate::lanes::Lanes;
use crate::spread::Spread;

/// A number for each listed value of a spread, and one for the others together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByValue {
    /// Of the listed values.
    pub hot: Vec<f64>,
    /// Of the others.
    pub rest: f64,
}

impl ByValue {
    /// The same for each value.
    pub(crate) fn all(spread: &Spread, number: f64) -> Self {
        Self { hot: vec![number; spread.hot.len()], rest: number }
    }

    /// A load that all values share as the spread says.
    pub fn spread(rate: f64, spread: &Spread) -> Self {
        let hot = spread.hot.iter().map(|share| rate * share).collect();
        Self { hot, rest: rate * spread.rest }
    }

    pub(crate) fn of(&self, value: usize) -> f64 {
        self.hot.get(value).copied().unwrap_or(0.0)
    }

    /// The sum over all values.
    pub fn total(&self) -> f64 {
        self.hot.iter().sum::<f64>() + self.rest
    }

    /// The sum over all values of what is asked, times the share that is admitted.
    pub(crate) fn admitted(&self, shares: &Self) -> f64 {
        let listed = self.hot.iter().zip(&shares.hot).map(|(rate, share)| rate * share);
        listed.sum::<f64>() + self.rest * shares.rest
    }
}

/// What is asked of a place, in units per second, by lane and spread.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// What all other places admit of it.
    pub taken: Lanes<Vec<ByValue>>,
    /// What those that are asked before it admit.
    pub asked: Lanes<Vec<ByValue>>,
}

impl Load {
    /// Reads and writes, which are cut together. What a read takes is known when it has been served: refused ones hardly count.
    pub(crate) fn both(&self, reads: f64) -> Vec<ByValue> {
        let pairs = self.asked.read.iter().zip(&self.asked.write);
        let sum = |(read, write): (&ByValue, &ByValue)| ByValue {
            hot: read.hot.iter().zip(&write.hot).map(|(a, b)| a * reads + b).collect(),
            rest: read.rest * reads + write.rest,
        };
        pairs.map(sum).collect()
    }
}

/// What a load finds at a place: the share of each value that is admitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Admission {
    /// By lane and spread.
    pub shares: Lanes<Vec<ByValue>>,
    /// The share that the limit of the whole place admits, by lane.
    pub whole: Lanes<f64>,
    /// The share that each part admits, by lane.
    pub parts: Lanes<Vec<f64>>,
}
