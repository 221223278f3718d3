//! What is simulated besides the design: the course of the load, the capacity, the clients' patience.

use crate::lanes::Lanes;
use crate::retries::Retries;

/// The course of the load over time, as a factor of each flow's peak rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Profile {
    /// The peak, all the time, on tables that grew with it.
    Constant,
    /// A day: lowest at four in the morning, highest twelve hours later.
    Daily {
        /// The lowest load, as a share of the highest.
        trough: f64,
    },
    /// The usual load, and many times that for some minutes, half an hour after the start.
    Spike {
        /// How many times the usual load.
        times: f64,
        /// For how long.
        minutes: f64,
    },
    /// A new table, and all the load within some minutes.
    Launch {
        /// How long it takes to reach the peak.
        minutes: f64,
    },
}

impl Profile {
    /// The factor at a minute after the start.
    pub fn at(self, minute: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Daily { trough } => {
                let hours = (minute / 60.0).rem_euclid(24.0);
                let height = (1.0 - ((hours - 4.0) / 24.0 * std::f64::consts::TAU).cos()) / 2.0;
                trough + (1.0 - trough) * height
            }
            Self::Spike { times, minutes } => {
                if (SPIKE_START..SPIKE_START + minutes).contains(&minute) { times } else { 1.0 }
            }
            Self::Launch { minutes } => ((minute + 1.0) / minutes.max(1.0)).min(1.0),
        }
    }

    /// The load that tables have met before the start: what they were grown for.
    pub fn met_before(self) -> f64 {
        match self {
            Self::Constant | Self::Daily { .. } | Self::Spike { .. } => 1.0,
            Self::Launch { .. } => 0.0,
        }
    }

    /// The average over the course.
    pub fn average(self, minutes: u32) -> f64 {
        let sum: f64 = (0..minutes).map(|minute| self.at(f64::from(minute))).sum();
        sum / f64::from(minutes.max(1))
    }

    /// How many minutes show all of it.
    pub fn minutes(self) -> u32 {
        match self {
            Self::Constant => 2 * 60,
            Self::Daily { .. } => 24 * 60,
            Self::Spike { minutes, .. } | Self::Launch { minutes } => 2 * 60 + minutes as u32,
        }
    }
}

/// When a spike begins, in minutes.
const SPIKE_START: f64 = 30.0;

/// How capacity is bought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// As each table of the design says; on demand if it does not.
    AsDesigned,
    /// On demand, all tables.
    OnDemand,
    /// Provisioned for the load that was met before, followed by auto scaling.
    Provisioned {
        /// The share of the capacity that auto scaling aims at.
        target: f64,
    },
}

/// Everything that a simulation is told besides the design.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The multiples of the declared load.
    pub scales: Vec<f64>,
    /// The course of the load.
    pub profile: Profile,
    /// How long, in minutes; as long as the profile needs if absent.
    pub minutes: Option<u32>,
    /// How capacity is bought.
    pub capacity: Capacity,
    /// Growth of items and load per month, beyond what entities declare; 0.1 is a tenth more.
    pub growth: f64,
    /// How many months ahead it begins: items have grown in number and size or expired by then, and the load has grown.
    pub months: f64,
    /// What clients do with a refused request.
    pub retries: Retries,
    /// The exponent of a Zipf law over key values, where a design does not say how they are shared.
    pub zipf: Option<f64>,
    /// How many seconds of unused capacity partitions save.
    pub burst_seconds: f64,
    /// What each table and global index may take at most, reads and writes: the maximum throughput of those on demand, the
    /// maximum of auto scaling for others. AWS's quota is 40,000 each until more is asked for.
    pub most: Lanes<Option<f64>>,
    /// Warm throughput, reads and writes: what tables and global indexes are ready for at once, whatever they have met.
    pub warm: Lanes<f64>,
    /// Where keys lie is drawn from this.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scales: vec![1.0, 10.0, 100.0, 1000.0],
            profile: Profile::Constant,
            minutes: None,
            capacity: Capacity::AsDesigned,
            growth: 0.0,
            months: 0.0,
            retries: Retries::default(),
            zipf: None,
            burst_seconds: 300.0,
            most: Lanes::default(),
            warm: Lanes::default(),
            seed: 1,
        }
    }
}

impl Options {
    /// How long is simulated, in minutes.
    pub fn length(&self) -> u32 {
        self.minutes.unwrap_or_else(|| self.profile.minutes()).max(1)
    }

    /// The load and the number of items after some months, as a multiple of what they were.
    pub(crate) fn grown(&self, months: f64) -> f64 {
        (1.0 + self.growth).powf(months)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_peak_and_one_trough() {
        let day = Profile::Daily { trough: 0.2 };
        assert!((day.at(4.0 * 60.0) - 0.2).abs() < 1e-9);
        assert!((day.at(16.0 * 60.0) - 1.0).abs() < 1e-9);
        assert!((day.average(24 * 60) - 0.6).abs() < 1e-3);
        assert!((day.at(28.0 * 60.0) - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_spike_ends() {
        let spike = Profile::Spike { times: 5.0, minutes: 10.0 };
        let loads = [29.0, 30.0, 39.0, 40.0].map(|minute| spike.at(minute) as u32);
        assert_eq!(loads, [1, 5, 5, 1]);
    }
}
