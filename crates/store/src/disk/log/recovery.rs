//! Log recovery: which transactions the log holds, and whether its end is a torn write (expected
//! after a crash, and harmless) or damage (an error).
//!
//! # Telling a torn tail from damage
//!
//! A group is acknowledged only after its sync has returned, and the next group is written only
//! after that. So after a power failure, whatever the disk made of the *last* group (nothing, some
//! of its pages, garbage) was never acknowledged and may be truncated. Everything before it was.
//!
//! Each record states the offset up to which the log was durable when it was written. So damage is
//! proven to affect acknowledged data by any intact record after it that was written when that
//! offset was already durable: a *witness*. To leave no acknowledged record without a witness, a
//! store that becomes idle or is closed appends a *seal*, an empty record. With relaxed durability
//! many groups may be unsynced at once, and the same rule holds, because only witnesses count.
//!
//! A segment that is not the last was durable before its successor was created, and the successor's
//! header states where it ends: damage in it is always an error.

use std::io;
use std::path::PathBuf;

use crate::StoreError;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::record::{
    RECORD_HEADER, SEGMENT_HEADER, SegmentHeader, decode_payload, decode_record,
};
use crate::disk::manifest::Contents;
use crate::disk::mutation::{self, Mutation};
use crate::transaction::WriteSet;

/// The unacknowledged, torn tail of a log after a crash, which was truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutTail {
    /// The log segment.
    pub file: PathBuf,
    /// The offset at which it was truncated.
    pub offset: u64,
    /// The length of the tail without trailing zeros.
    pub bytes: u64,
}

/// The result of log recovery.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    /// All segments, ascending.
    pub(crate) segments: Vec<u64>,
    /// How many transactions were replayed.
    pub(crate) transactions: u64,
    /// The end of the records in the last segment; zero without segments.
    pub(crate) last_end: u64,
    /// The offset and content of the part of the last segment that may not be durable.
    unsure: (u64, Vec<u8>),
    /// Bytes of all segments, headers and records.
    pub(crate) bytes: u64,
    /// The torn tail; truncated unless access is read-only.
    pub(crate) cut: Option<CutTail>,
}

/// What the manifest says about the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The oldest segment that is needed.
    pub(crate) first: u64,
    /// The newest segment that may hold records; zero if there is none.
    pub(crate) last: u64,
    /// The end of that segment, if the store was closed cleanly.
    pub(crate) closed_at: Option<u64>,
}

impl From<Contents> for Expected {
    fn from(contents: Contents) -> Self {
        Self {
            first: contents.first_segment,
            last: contents.last_segment,
            closed_at: contents.closed_at,
        }
    }
}

/// What [`recover`] may do to the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Truncate a torn tail, remove obsolete segments, and make durable what was read.
    Repair,
    /// Reads the log without changing it.
    Read,
}

/// Reads all segments in order and passes every transaction to `replay` with its segment's number.
/// When this returns, everything that later files refer to is durable: the process that wrote the
/// last segment may have ended before it was synced.
pub(crate) fn recover(
    log: &LogDirectory,
    expected: Option<Expected>,
    access: Access,
    mut replay: impl FnMut(u64, u64, WriteSet) -> Result<(), StoreError>,
) -> Result<Recovery, StoreError> {
    let mut segments = log.list().map_err(|error| StoreError::io("list the log", error))?;
    match expected {
        Some(expected) => check_expected(log, &mut segments, expected, access)?,
        None => check_no_gap(log, &segments)?,
    }
    let mut recovery = Recovery { segments, ..Recovery::default() };
    for id in recovery.segments.clone() {
        let path = log.name(id);
        let bytes = log
            .read(id)
            .map_err(|error| StoreError::io(format!("read {}", path.display()), error))?;
        let damaged = |detail| StoreError::Corrupt { path: path.clone(), detail };
        let header = SegmentHeader::decode(&bytes).map_err(damaged)?;
        check_header(log, &recovery, id, header)?;
        let mut replayed = Ok(());
        let end = read_segment(&bytes, header.salt, |seqno, writes| {
            recovery.transactions += 1;
            if replayed.is_ok() {
                replayed = replay(id, seqno, writes);
            }
        })
        .map_err(damaged)?;
        replayed?;
        if let Some(expected) = expected {
            check_end(expected, id, &end).map_err(damaged)?;
            if id > expected.last {
                // Created by a process that ended before the manifest named it, so it is empty. If
                // it stayed, there would be two such segments when this process ends as early.
                recovery.segments.retain(|kept| *kept != id);
                if access == Access::Repair {
                    log.remove(id).map_err(|error| {
                        StoreError::io(format!("remove {}", log.name(id).display()), error)
                    })?;
                }
                continue;
            }
        }
        recovery.last_end = end.offset as u64;
        let unsure = bytes.get(end.durable_to..end.offset).unwrap_or_default();
        recovery.unsure = (end.durable_to as u64, unsure.to_vec());
        recovery.bytes += end.offset as u64;
        recovery.cut = (end.torn > 0).then_some(CutTail {
            file: path,
            offset: end.offset as u64,
            bytes: end.torn as u64,
        });
    }
    if access == Access::Repair {
        secure(log, expected, &recovery)?;
    }
    Ok(recovery)
}

/// Removes obsolete segments from the list, and fails if a segment is missing or unknown.
fn check_expected(
    log: &LogDirectory,
    segments: &mut Vec<u64>,
    expected: Expected,
    access: Access,
) -> Result<(), StoreError> {
    for id in expected.first..=expected.last {
        if !segments.contains(&id) {
            let detail = "the segment is missing".to_owned();
            return Err(StoreError::Corrupt { path: log.name(id), detail });
        }
    }
    // A segment is created before it is added to the manifest.
    if let Some(&id) = segments.iter().find(|id| **id > expected.last + 1) {
        return Err(StoreError::Corrupt { path: log.name(id), detail: mixed(expected.last) });
    }
    for &id in segments.iter().filter(|id| **id < expected.first && access == Access::Repair) {
        log.remove(id)
            .map_err(|error| StoreError::io(format!("remove {}", log.name(id).display()), error))?;
    }
    segments.retain(|id| *id >= expected.first);
    Ok(())
}

/// Checks the end of a segment against the manifest.
fn check_end(expected: Expected, id: u64, end: &End) -> Result<(), String> {
    if id > expected.last && (end.offset > SEGMENT_HEADER || end.torn > 0) {
        return Err(mixed(expected.last));
    }
    match expected.closed_at {
        Some(closed_at)
            if id == expected.last && (end.offset as u64 != closed_at || end.torn > 0) =>
        {
            Err(format!(
                "its records end at offset {}, but the store was closed at {closed_at}",
                end.offset
            ))
        }
        _ => Ok(()),
    }
}

fn mixed(last: u64) -> String {
    format!(
        "it has records, but the manifest knows segments up to {last}; the files were copied at \
         different times (use 'keyloom backup' to copy an open store)"
    )
}

/// Makes durable what was read but may be only in the page cache, and truncates a torn tail.
///
/// A sync is not enough: if a sync of the previous process has failed, the system has marked the
/// pages clean, and another sync succeeds without them. So they are written again.
fn secure(
    log: &LogDirectory,
    expected: Option<Expected>,
    recovery: &Recovery,
) -> Result<(), StoreError> {
    if expected.is_some_and(|expected| expected.closed_at.is_some()) {
        return Ok(());
    }
    if let Some(&id) = recovery.segments.last()
        && !mutation::is_on(Mutation::LogNotSynced)
    {
        let (offset, bytes) = &recovery.unsure;
        log.write_again(id, *offset, bytes)
            .map_err(|error| StoreError::io(format!("sync {}", log.name(id).display()), error))?;
    }
    if let (Some(cut), Some(&id)) = (&recovery.cut, recovery.segments.last()) {
        log.truncate(id, cut.offset)
            .map_err(|error| StoreError::io(format!("truncate {}", cut.file.display()), error))?;
    }
    Ok(())
}

/// Reads all segments again and lists damage. Must not run concurrently with a writer.
pub(crate) fn check(log: &LogDirectory) -> Result<Vec<String>, StoreError> {
    let segments = log.list().map_err(|error| StoreError::io("list the log", error))?;
    let mut damage = Vec::new();
    for id in segments {
        let bytes = match log.read(id) {
            // Flushed and removed since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read.map_err(|error| StoreError::io("read the log", error))?,
        };
        let end = SegmentHeader::decode(&bytes)
            .and_then(|header| read_segment(&bytes, header.salt, |_, _| {}));
        let detail = match end {
            Ok(End { torn: 0, .. }) => continue,
            Ok(End { offset, .. }) => format!("the record at offset {offset} is not intact"),
            Err(detail) => detail,
        };
        damage.push(format!("{}: {detail}", log.name(id).display()));
    }
    Ok(damage)
}

/// Checks a segment's header against its name, and the end of the previous segment against the
/// header.
fn check_header(
    log: &LogDirectory,
    before: &Recovery,
    id: u64,
    header: SegmentHeader,
) -> Result<(), StoreError> {
    if header.id != id {
        let detail = format!("it says it is segment {}", header.id);
        return Err(StoreError::Corrupt { path: log.name(id), detail });
    }
    if before.last_end != 0 && before.last_end != header.previous_end {
        let detail = format!(
            "its records end at offset {}, but {} had been acknowledged",
            before.last_end, header.previous_end
        );
        return Err(StoreError::Corrupt { path: log.name(id - 1), detail });
    }
    Ok(())
}

/// Segments are removed only from the front, so a gap is a loss.
fn check_no_gap(log: &LogDirectory, segments: &[u64]) -> Result<(), StoreError> {
    for (&id, &next) in segments.iter().zip(segments.iter().skip(1)) {
        if next != id + 1 {
            let detail = format!("the segment is missing, although {id} and {next} exist");
            return Err(StoreError::Corrupt { path: log.name(id + 1), detail });
        }
    }
    Ok(())
}

/// The end of the intact part of a segment, and the length of the torn tail after it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) offset: usize,
    /// According to the records, everything before this offset was synced.
    pub(crate) durable_to: usize,
    pub(crate) torn: usize,
}

/// Scans one segment. Fails with a description if it is damaged where it was durable.
pub(crate) fn read_segment(
    segment: &[u8],
    salt: u64,
    mut replay: impl FnMut(u64, WriteSet),
) -> Result<End, String> {
    let (mut offset, mut durable_to) = (SEGMENT_HEADER, SEGMENT_HEADER);
    while let Some(record) = decode_record(segment, salt, offset) {
        let transactions = decode_payload(record.payload)
            .ok_or_else(|| format!("the record at offset {offset} cannot be read"))?;
        for (seqno, writes) in transactions {
            replay(seqno, writes);
        }
        offset += RECORD_HEADER + record.payload.len();
        durable_to = durable_to.max(record.durable_to as usize).min(offset);
    }
    let rest = segment.get(offset..).unwrap_or_default();
    let torn = without_zeros(rest).len();
    if let Some(witness) = find_witness(segment, salt, offset, torn) {
        return Err(format!(
            "the record at offset {offset} was acknowledged but is not intact (the intact record \
             at {witness} was written later)"
        ));
    }
    Ok(End { offset, durable_to, torn })
}

/// Strips trailing zeros. A preallocated segment has many, so whole pages are compared.
fn without_zeros(mut bytes: &[u8]) -> &[u8] {
    const ZEROS: [u8; 4096] = [0; 4096];
    while let Some((rest, page)) = bytes.split_last_chunk::<4096>()
        && *page == ZEROS
    {
        bytes = rest;
    }
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..used).unwrap_or_default()
}

/// An intact record after `damage` that was written when the damaged offset was already durable.
pub(crate) fn find_witness(segment: &[u8], salt: u64, damage: usize, torn: usize) -> Option<usize> {
    let mut offset = damage + 1;
    while offset < damage + torn {
        match decode_record(segment, salt, offset) {
            Some(record) if record.durable_to > damage as u64 => return Some(offset),
            Some(record) => offset += RECORD_HEADER + record.payload.len(),
            None => offset += 1,
        }
    }
    None
}
