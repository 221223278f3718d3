//! One partition: its limits, its consumption, and how long it has been hot.

use super::bucket::Bucket;
use super::meter::Meter;
use super::sample::{NoSplit, Position, Sample};

/// What every partition may take, in units per second.
pub const PARTITION_READ_UNITS: f64 = 3_000.0;
/// What every partition may take, in units per second.
pub const PARTITION_WRITE_UNITS: f64 = 1_000.0;

/// The share of its limit from which a partition counts as hot.
const HOT_SHARE: f64 = 0.8;
/// The share from which its traffic is sampled.
const WARM_SHARE: f64 = 0.2;
/// How many minutes in a row a partition must be hot before it is split.
const HOT_MINUTES: u32 = 3;

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Read,
    Write,
}

/// The load in one direction: reads or writes.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) bucket: Bucket,
    pub(super) meter: Meter,
    /// Requests that were refused, or would have been.
    pub(super) throttled: u64,
    /// Units that were requested in this minute, admitted or not.
    asked: f64,
}

impl Flow {
    fn new(rate: f64, burst_seconds: f64, now_ms: u64) -> Self {
        let bucket = Bucket::new(rate, burst_seconds, now_ms);
        Self { bucket, meter: Meter::default(), throttled: 0, asked: 0.0 }
    }

    fn part(&self, share: f64) -> Self {
        let (bucket, meter) = (self.bucket.halved(), self.meter.scaled(share));
        Self { bucket, meter, throttled: 0, asked: 0.0 }
    }

    /// The demand of this minute as a share of the limit.
    fn share(&self) -> f64 {
        self.asked / (self.bucket.rate() * 60.0)
    }
}

/// A range of keys, up to where the next partition begins.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    pub(super) start: Position,
    pub(super) read: Flow,
    pub(super) write: Flow,
    /// Bytes written here: how partitions compare when one must be split for its size.
    pub(super) written_bytes: f64,
    /// Why it was not split although it is hot.
    pub(super) no_split: Option<NoSplit>,
    sample: Sample,
    minute: u64,
    hot_minutes: u32,
}

impl Partition {
    pub(super) fn new(start: Position, burst_seconds: f64, now_ms: u64) -> Self {
        Self {
            start,
            read: Flow::new(PARTITION_READ_UNITS, burst_seconds, now_ms),
            write: Flow::new(PARTITION_WRITE_UNITS, burst_seconds, now_ms),
            written_bytes: 0.0,
            no_split: None,
            sample: Sample::default(),
            minute: now_ms / 60_000,
            hot_minutes: 0,
        }
    }

    pub(super) fn flow(&mut self, lane: Lane) -> &mut Flow {
        match lane {
            Lane::Read => &mut self.read,
            Lane::Write => &mut self.write,
        }
    }

    /// Counts the demand of a request, whether it was admitted or not.
    pub(super) fn ask(&mut self, lane: Lane, hash: u64, sort: &[u8], units: f64) {
        let flow = self.flow(lane);
        flow.asked += units;
        let is_warm = flow.share() >= WARM_SHARE;
        if is_warm || self.hot_minutes > 0 {
            self.sample.note(hash, sort, units);
        }
    }

    /// Ends the minute if it is over. True if the partition has been hot for so long that it should be
    /// split.
    pub(super) fn ends_hot_minutes(&mut self, now_ms: u64) -> bool {
        let minute = now_ms / 60_000;
        if minute <= self.minute {
            return false;
        }
        let is_hot = self.read.share().max(self.write.share()) >= HOT_SHARE;
        let follows = minute == self.minute + 1;
        self.minute = minute;
        (self.read.asked, self.write.asked) = (0.0, 0.0);
        if is_hot && follows {
            self.hot_minutes += 1;
        } else {
            self.hot_minutes = 0;
            self.no_split = None;
            self.sample.clear();
        }
        self.hot_minutes >= HOT_MINUTES
    }

    /// Where to split it, and the share of the left side.
    pub(super) fn split_point(&self, has_local_indexes: bool) -> Result<(Position, f64), NoSplit> {
        let (point, left) = self.sample.split_point(has_local_indexes)?;
        if point <= self.start { Err(NoSplit::OneItem) } else { Ok((point, left)) }
    }

    /// Cuts it at a point, and gives the part behind it.
    pub(super) fn split_at(&mut self, point: Position, left: f64) -> Self {
        let right = Self {
            start: point,
            read: self.read.part(1.0 - left),
            write: self.write.part(1.0 - left),
            written_bytes: self.written_bytes * (1.0 - left),
            no_split: None,
            sample: Sample::default(),
            minute: self.minute,
            hot_minutes: 0,
        };
        let (reads, writes) = (self.read.throttled, self.write.throttled);
        self.read = Flow { throttled: reads, ..self.read.part(left) };
        self.write = Flow { throttled: writes, ..self.write.part(left) };
        self.written_bytes *= left;
        self.sample.clear();
        self.no_split = None;
        self.hot_minutes = 0;
        right
    }

    /// As [`Partition::split_at`], where capacity is added: both parts have what the one had saved.
    pub(super) fn grow_at(&mut self, point: Position) -> Self {
        let (reads, writes) = (self.read.bucket.clone(), self.write.bucket.clone());
        let mut right = self.split_at(point, 0.5);
        for part in [&mut *self, &mut right] {
            part.read.bucket = reads.clone();
            part.write.bucket = writes.clone();
        }
        right
    }
}
