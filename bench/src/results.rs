//! What was measured: one series of values per case, setting, contender and metric, a value per
//! round.

use serde::Serialize;

use crate::contender::Contender;

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Metric {
    /// Operations per second.
    Rate,
    /// CPU time of the server, or of the calling thread when embedded, per operation.
    CpuMicros,
    /// CPU time of the load generator per operation.
    GeneratorMicros,
    /// The median latency.
    MedianMicros,
    /// The latency that 99 % stay below.
    P99Micros,
    /// A duration.
    Millis,
    /// The same per item.
    MicrosPerItem,
    /// Memory.
    Megabytes,
    /// Memory or disk per item.
    BytesPerItem,
    /// How many times a sync was asked of the disk per call.
    SyncsPerCall,
}

impl Metric {
    /// Whether more is better.
    pub(crate) fn is_rate(self) -> bool {
        self == Self::Rate
    }

    /// The unit, as a table's heading.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Rate => "operations/s",
            Self::CpuMicros => "CPU µs/operation",
            Self::GeneratorMicros => "generator CPU µs/operation",
            Self::MedianMicros => "median µs",
            Self::P99Micros => "99 % µs",
            Self::Millis => "ms",
            Self::MicrosPerItem => "µs/item",
            Self::Megabytes => "MB",
            Self::BytesPerItem => "bytes/item",
            Self::SyncsPerCall => "syncs/call",
        }
    }
}

/// Which family of cases a series belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Section {
    HttpMemory,
    HttpDisk,
    EmbeddedMemory,
    EmbeddedDisk,
    Syncs,
    PartitionsMemory,
    PartitionsDisk,
    Scan,
    WriteDuringScan,
    Start,
    Memory,
    Disk,
}

/// What a series is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Key {
    pub(crate) section: Section,
    pub(crate) case: String,
    /// For example the number of connections.
    pub(crate) setting: String,
    pub(crate) contender: Contender,
    pub(crate) metric: Metric,
}

/// The values of all rounds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Series {
    #[serde(flatten)]
    pub(crate) key: Key,
    pub(crate) values: Vec<f64>,
}

impl Series {
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let upper = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        if sorted.len() % 2 == 1 {
            return upper;
        }
        let lower = sorted.len().checked_sub(2).and_then(|_| sorted.get(sorted.len() / 2 - 1));
        lower.map_or(upper, |lower| f64::midpoint(*lower, upper))
    }

    pub(crate) fn least(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn most(&self) -> f64 {
        self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// All series of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Results {
    pub(crate) series: Vec<Series>,
    /// Who could not be measured, and why.
    pub(crate) absent: Vec<String>,
}

impl Results {
    /// Adds the value of a round.
    pub(crate) fn add(&mut self, key: Key, value: f64) {
        match self.series.iter_mut().find(|series| series.key == key) {
            Some(series) => series.values.push(value),
            None => self.series.push(Series { key, values: vec![value] }),
        }
    }

    /// The median of a series, if it was measured.
    pub(crate) fn median(
        &self,
        section: Section,
        case: &str,
        setting: &str,
        contender: Contender,
        metric: Metric,
    ) -> Option<f64> {
        self.find(section, case, setting, contender, metric).map(Series::median)
    }

    /// A series, if it was measured.
    pub(crate) fn find(
        &self,
        section: Section,
        case: &str,
        setting: &str,
        contender: Contender,
        metric: Metric,
    ) -> Option<&Series> {
        let case = case.to_owned();
        let key = Key { section, case, setting: setting.to_owned(), contender, metric };
        self.series.iter().find(|series| series.key == key)
    }

    /// The series of a section.
    pub(crate) fn of(&self, section: Section) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(move |series| series.key.section == section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        let (section, contender) = (Section::Scan, Contender::Keyloom);
        let (case, setting) = (String::new(), String::new());
        let key = Key { section, case, setting, contender, metric: Metric::Rate };
        Series { key, values: values.to_vec() }
    }

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert!((series(&[3.0, 1.0, 2.0]).median() - 2.0).abs() < 1e-9);
        assert!((series(&[4.0, 1.0, 2.0, 3.0]).median() - 2.5).abs() < 1e-9);
        assert!((series(&[9.0]).median() - 9.0).abs() < 1e-9);
    }
}
