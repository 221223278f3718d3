//! Recovers the intact part of the log.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::files::Found;
use super::report::RepairReport;
use super::table::Salvaged;
use crate::StoreError;
use crate::disk::files::RealFiles;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::record::{
    RECORD_HEADER, SEGMENT_HEADER, SegmentHeader, decode_payload, decode_record,
};
use crate::disk::log::recovery::find_witness;

/// The newest version of each key in the log: its transaction number and value.
pub(super) type LogEntries = BTreeMap<Bytes, (u64, Option<Bytes>)>;

/// Where a segment must end, as far as known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MustEnd {
    /// At this offset: everything before was acknowledged.
    At(u64),
    /// At its last record.
    Somewhere,
    /// Wherever a crash has torn it.
    Torn,
}

/// Reads all intact records of the segments that are needed, and reports what cannot be read.
pub(super) fn read(
    found: &Found,
    tables: &[Salvaged],
    report: &mut RepairReport,
) -> Result<LogEntries, StoreError> {
    let log = LogDirectory::new(Arc::new(RealFiles), &found.path.join("log"));
    let mut ids = log.list().map_err(|error| StoreError::io("list the log", error))?;
    if let Some(contents) = found.contents {
        ids.retain(|id| *id >= contents.first_segment);
    }
    let first = found.contents.map_or(ids.first().copied().unwrap_or(1), |c| c.first_segment);
    let last = ids.last().copied().unwrap_or(0);
    let last = last.max(found.contents.map_or(0, |contents| contents.last_segment));
    let mut reading = Reading { log: &log, found, last, entries: LogEntries::new(), newest: 0 };
    // The part of the log that is also in tables is read only if a table is lost.
    let are_whole = found.list_is_known && tables.iter().all(|table| table.is_whole);
    let all_there = are_whole && tables.len() == found.tables.len();
    let persisted = tables.iter().map(|table| table.highest).max().unwrap_or(0);
    let flushed = found.contents.map_or(0, |contents| contents.flushed);
    let from = if all_there { persisted.max(flushed) } else { flushed };
    for id in first..=last {
        if ids.contains(&id) {
            reading.segment(id, from, report)?;
        } else {
            report.lose(&log.name(id), "the segment is missing");
        }
    }
    if let Some(contents) = found.contents
        && contents.flushing > reading.newest.max(persisted)
        && report.is_complete()
    {
        let detail = format!(
            "it ends with transaction {}, but {} had been written",
            reading.newest, contents.flushing
        );
        report.lose(&log.name(contents.last_segment), detail);
    }
    Ok(reading.entries)
}

struct Reading<'a> {
    log: &'a LogDirectory,
    found: &'a Found,
    last: u64,
    entries: LogEntries,
    newest: u64,
}

impl Reading<'_> {
    fn segment(&mut self, id: u64, from: u64, report: &mut RepairReport) -> Result<(), StoreError> {
        let path = self.log.name(id);
        let bytes = match self.log.read(id) {
            Ok(bytes) => bytes,
            Err(error) => {
                report.lose(&path, format!("the segment cannot be read: {error}"));
                return Ok(());
            }
        };
        let salt = match SegmentHeader::decode(&bytes) {
            Ok(header) if header.id == id => Some(header.salt),
            // Often one flipped bit of the header is the only damage, and the salt is intact.
            _ => salt_of(&bytes).filter(|salt| {
                decode_record(&bytes, *salt, SEGMENT_HEADER).is_some()
                    || find_witness(&bytes, *salt, SEGMENT_HEADER, bytes.len()).is_some()
            }),
        };
        let must_end = self.must_end(id)?;
        let Some(salt) = salt else {
            if must_end != MustEnd::At(SEGMENT_HEADER as u64) {
                report.lose(&path, "its header is damaged, and without it no record can be read");
            }
            return Ok(());
        };
        let mut offset = SEGMENT_HEADER;
        loop {
            while let Some(record) = decode_record(&bytes, salt, offset) {
                for (number, writes) in decode_payload(record.payload).unwrap_or_default() {
                    self.newest = self.newest.max(number);
                    if number > from {
                        self.apply(number, writes);
                    }
                }
                offset += RECORD_HEADER + record.payload.len();
            }
            let Some(end) = next_record(&bytes, salt, offset, must_end) else { break };
            let detail = format!("the records from offset {offset} to {end} are damaged");
            report.lose(&path, detail);
            offset = end;
        }
        let is_short = match must_end {
            MustEnd::At(end) => (offset as u64) < end,
            MustEnd::Somewhere => has_more(&bytes, offset),
            MustEnd::Torn => {
                if has_more(&bytes, offset) {
                    let path = path.display();
                    report
                        .notes
                        .push(format!("{path} has a torn tail, which was never acknowledged"));
                }
                false
            }
        };
        if is_short {
            report
                .lose(&path, format!("its records from offset {offset} on are damaged or missing"));
        }
        Ok(())
    }

    /// Where a segment must end, according to the next one's header or the manifest of a closed
    /// store.
    fn must_end(&self, id: u64) -> Result<MustEnd, StoreError> {
        if id < self.last {
            let next = match self.log.read(id + 1) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(MustEnd::Somewhere);
                }
                read => read.map_err(|error| StoreError::io("read the log", error))?,
            };
            let end = SegmentHeader::decode(&next).map(|header| header.previous_end);
            return Ok(end.map_or(MustEnd::Somewhere, MustEnd::At));
        }
        let closed_at = self
            .found
            .contents
            .and_then(|contents| contents.closed_at.filter(|_| contents.last_segment == id));
        Ok(closed_at.map_or(MustEnd::Torn, MustEnd::At))
    }

    fn apply(&mut self, number: u64, writes: crate::transaction::WriteSet) {
        for (key, value) in writes {
            match self.entries.get(&key) {
                Some((newer, _)) if *newer > number => {}
                _ => {
                    self.entries.insert(key, (number, value));
                }
            }
        }
    }
}

fn has_more(bytes: &[u8], offset: usize) -> bool {
    bytes.get(offset..).is_some_and(|rest| rest.iter().any(|byte| *byte != 0))
}

/// The next intact record after damage. After a torn tail, later records were never acknowledged.
fn next_record(bytes: &[u8], salt: u64, damage: usize, must_end: MustEnd) -> Option<usize> {
    let rest = bytes.len().saturating_sub(damage);
    if must_end == MustEnd::Torn {
        find_witness(bytes, salt, damage, rest)?;
    }
    (damage + 1..bytes.len()).find(|offset| decode_record(bytes, salt, *offset).is_some())
}

fn salt_of(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?))
}
