//! The load of partitions, for reports.

use std::collections::BTreeMap;

use keyloom_core::observation::ThrottleReason;
use serde::{Deserialize, Serialize};

use super::partition::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};
use super::sample::NoSplit;
use super::space::Space;

/// The partitions of a table or global index, as they are at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceHeat {
    /// The name of the table.
    pub table: String,
    /// The global index, if it is one.
    pub index: Option<String>,
    /// In the order of their keys.
    pub partitions: Vec<PartitionHeat>,
    /// How many partitions were split because they were hot for minutes.
    pub splits_for_heat: u64,
    /// How many were split because the table or index grew.
    pub splits_for_size: u64,
    /// How many were split so that an on-demand table takes twice its previous peak.
    pub splits_for_growth: u64,
    /// Requests that were refused, or would have been on AWS, by reason. A write that an index could
    /// not take is counted with the index.
    pub throttled: BTreeMap<String, u64>,
}

impl PlaceHeat {
    /// The partition nearest to its limit.
    pub fn hottest(&self) -> Option<&PartitionHeat> {
        self.partitions.iter().max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))
    }

    /// All requests that were refused, or would have been.
    pub fn throttled_requests(&self) -> u64 {
        self.throttled.values().sum()
    }

    /// Adds the counts of a later report; of the partitions, the later ones stay.
    pub(crate) fn merge(&mut self, later: Self) {
        self.splits_for_heat += later.splits_for_heat;
        self.splits_for_size += later.splits_for_size;
        self.splits_for_growth += later.splits_for_growth;
        self.partitions = later.partitions;
        for (reason, count) in later.throttled {
            *self.throttled.entry(reason).or_default() += count;
        }
    }
}

/// The load of one partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartitionHeat {
    /// The first hash of a partition key that is here.
    pub first_hash: u64,
    /// The last one.
    pub last_hash: u64,
    /// The encoded sort key from which on keys of the first hash are here; empty if all are.
    pub from_sort: Vec<u8>,
    /// Read units per second over the last ten seconds.
    pub read_rate: f64,
    /// Write units per second over the last ten seconds.
    pub write_rate: f64,
    /// The highest rate of read units per second, averaged over ten seconds.
    pub peak_read_rate: f64,
    /// The highest rate of write units per second, averaged over ten seconds.
    pub peak_write_rate: f64,
    /// The present rate as a share of the limit of 3,000 reads or 1,000 writes, whichever is nearer.
    pub utilisation: f64,
    /// Reads that were refused, or would have been.
    pub throttled_reads: u64,
    /// Writes that were refused, or would have been.
    pub throttled_writes: u64,
    /// Why it is not split although it is hot.
    pub no_split: Option<NoSplit>,
}

impl PartitionHeat {
    /// The highest rate as a share of the limit, of reads or of writes, whichever is greater.
    pub fn peak_utilisation(&self) -> f64 {
        (self.peak_read_rate / PARTITION_READ_UNITS)
            .max(self.peak_write_rate / PARTITION_WRITE_UNITS)
    }
}

impl Space {
    pub(super) fn heat(&self, table: &str, index: Option<&str>, now_ms: u64) -> PlaceHeat {
        let partitions = self.partitions.iter().enumerate().map(|(position, partition)| {
            let (read, write) = (&partition.read, &partition.write);
            let (read_rate, write_rate) = (read.meter.rate(now_ms), write.meter.rate(now_ms));
            PartitionHeat {
                first_hash: partition.start.hash,
                last_hash: self.last_hash(position),
                from_sort: partition.start.sort.to_vec(),
                read_rate,
                write_rate,
                peak_read_rate: read.meter.peak(now_ms),
                peak_write_rate: write.meter.peak(now_ms),
                utilisation: (read_rate / PARTITION_READ_UNITS)
                    .max(write_rate / PARTITION_WRITE_UNITS),
                throttled_reads: read.throttled,
                throttled_writes: write.throttled,
                no_split: partition.no_split,
            }
        });
        let is_index = index.is_some();
        let throttled = self.throttled.iter().map(|(&(is_write, limit), &requests)| {
            (ThrottleReason { is_index, is_write, limit }.name(), requests)
        });
        PlaceHeat {
            table: table.to_owned(),
            index: index.map(str::to_owned),
            partitions: partitions.collect(),
            splits_for_heat: self.splits_for_heat,
            splits_for_size: self.splits_for_size,
            splits_for_growth: self.splits_for_growth,
            throttled: throttled.collect(),
        }
    }
}
