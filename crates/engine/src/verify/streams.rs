//! Verifies the shards of streams, and each item's chain of records.
//!
//! A shard's number is greater than its parent's, and an item's records are in one shard until it is closed, so
//! reading records in key order gives each item's changes from the beginning. An inserted item must not have existed;
//! the old image of a change must be the new image of the record before; and the last new image must be the item in
//! the table.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_core::hash::fnv1a_128;
use keyloom_core::{Item, image};
use keyloom_store::{Direction, KeyRange, Snapshot};

use crate::catalog::Table;
use crate::layout;
use crate::stream::{Event, Record, Shard, StreamRecord, decode_record};

use super::contents::Contents;
use super::report::{Finding, Kind, Report};
use super::show;

/// Bytes of keys that are remembered at once; a stream with more is read several times.
const REMEMBERED_BYTES: u64 = 16 << 20;

/// What the last record of an item has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    /// The item, by the fingerprint of its image if the stream shows that.
    Item(Option<u128>),
}

/// Checks a stream.
pub(super) fn check(
    snapshot: &dyn Snapshot,
    stream: &StreamRecord,
    contents: &Contents,
    report: &mut Report,
) {
    let writer = contents.writer_of(stream.keyspace);
    check_shards(stream, writer, report);
    let mut judge = Judge { snapshot, stream, writer };
    let key_bytes = judge.check_records(report);
    let passes = 1 + key_bytes / REMEMBERED_BYTES;
    for pass in 0..passes {
        if !judge.check_chains(pass, passes, report) {
            return;
        }
    }
}

fn broken(stream: &StreamRecord, detail: impl Into<String>) -> Finding {
    let detail = format!("stream {}: {}", stream.label, detail.into());
    Finding::new(Kind::BrokenStream, detail).of_table(&stream.table)
}

/// Checks where shards begin and end.
fn check_shards(stream: &StreamRecord, writer: Option<&Table>, report: &mut Report) {
    let mut numbers = BTreeSet::new();
    for shard in &stream.shards {
        if !numbers.insert(shard.number) {
            report.add(broken(stream, format!("there are two shards {}", shard.number)));
        }
        if shard.end.is_some_and(|end| end < shard.start) {
            report.add(broken(stream, format!("shard {} ends before it begins", shard.id)));
        }
        // A parent that is gone has been trimmed.
        let parent = stream.shards.iter().find(|other| Some(&other.id) == shard.parent.as_ref());
        if let Some(parent) = parent {
            let is_inside =
                parent.first_hash <= shard.first_hash && shard.last_hash <= parent.last_hash;
            if parent.end != Some(shard.start) || parent.number >= shard.number || !is_inside {
                let detail = format!("shard {} does not follow its parent {}", shard.id, parent.id);
                report.add(broken(stream, detail));
            }
        }
    }
    let mut open: Vec<&Shard> = stream.shards.iter().filter(|shard| shard.end.is_none()).collect();
    open.sort_by_key(|shard| shard.first_hash);
    if stream.closed_ms.is_some() {
        if !open.is_empty() || writer.is_some() {
            report.add(broken(stream, "it is closed and takes records"));
        }
        return;
    }
    let Some(writer) = writer else {
        return report.add(broken(stream, "it is open, and no table writes to it"));
    };
    let mut next = Some(0);
    for shard in &open {
        if next != Some(shard.first_hash) {
            report.add(broken(stream, "its open shards do not share all partitions"));
            return;
        }
        next = shard.last_hash.checked_add(1);
    }
    if next.is_some() {
        report.add(broken(stream, "its open shards do not share all partitions"));
    }
    let setting = writer.record.stream.as_ref();
    if setting.is_some_and(|setting| setting.shards != stream.open_shards()) {
        report.add(broken(stream, "its table writes to other shards than those that are open"));
    }
}

struct Judge<'a> {
    snapshot: &'a dyn Snapshot,
    stream: &'a StreamRecord,
    writer: Option<&'a Table>,
}

impl Judge<'_> {
    /// Checks each record for itself; how many bytes the keys of their items have.
    fn check_records(&mut self, report: &mut Report) -> u64 {
        let mut key_bytes = 0;
        let range = KeyRange::prefix(&layout::stream_records(self.stream.keyspace));
        for entry in self.snapshot.scan(range, Direction::Forward) {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let finding = Finding::new(Kind::Damage, error.to_string());
                    report.add(finding.of_table(&self.stream.table));
                    return key_bytes;
                }
            };
            report.totals.stream_records += 1;
            let Some((number, sequence)) = layout::shard_and_sequence(&key) else {
                let detail = "it is no key of a stream record";
                report.add(Finding::new(Kind::UnknownKey, detail).at(show::hex(&key)));
                continue;
            };
            let shard = self.stream.shards.iter().find(|shard| shard.number == number);
            let is_inside = shard.is_some_and(|shard| {
                sequence > shard.start && shard.end.is_none_or(|end| sequence < end)
            });
            if !is_inside {
                let detail = match shard {
                    Some(shard) => format!("record {sequence} lies outside of shard {}", shard.id),
                    None => format!("record {sequence} lies in shard {number}, which is unknown"),
                };
                report.add(broken(self.stream, detail));
            }
            match decode_record(&value) {
                Ok(record) => key_bytes += image::encode(&record.keys).len() as u64,
                Err(error) => {
                    let detail = format!("record {sequence}: {}", error.message());
                    let finding = Finding::new(Kind::Undecodable, detail);
                    report.add(finding.of_table(&self.stream.table).at(show::hex(&key)));
                }
            }
        }
        key_bytes
    }

    /// Follows the items whose keys belong to this pass; false if records cannot be read.
    fn check_chains(&self, pass: u64, passes: u64, report: &mut Report) -> bool {
        let mut left: BTreeMap<Vec<u8>, Left> = BTreeMap::new();
        let range = KeyRange::prefix(&layout::stream_records(self.stream.keyspace));
        for entry in self.snapshot.scan(range, Direction::Forward) {
            // What cannot be read has been reported; what follows from it would be guesses.
            let Ok((key, value)) = entry else { return false };
            let Ok(record) = decode_record(&value) else { return false };
            let item = image::encode(&record.keys);
            if (fnv1a_128(&item) % u128::from(passes)) as u64 != pass {
                continue;
            }
            let next = Left::after(&record);
            let before = left.insert(item, next);
            if before.is_some_and(|before| !before.leads_to(&record)) {
                let sequence = layout::sequence_of(&key).unwrap_or_default();
                let detail = format!(
                    "record {sequence} ({}) does not follow from the one before it",
                    record.event.as_str()
                );
                let finding = broken(self.stream, detail);
                report.add(finding.at(show::json(&record.keys).unwrap_or_default()));
            }
        }
        if let Some(table) = self.writer {
            for (keys, left) in left {
                self.compare_with(table, &keys, left, report);
            }
        }
        true
    }

    /// What the last record leaves is what the table has.
    fn compare_with(&self, table: &Table, keys: &[u8], left: Left, report: &mut Report) {
        let Ok(keys) = image::decode(keys) else { return };
        let Ok(store_key) = table.item_key(&keys) else {
            let finding = broken(self.stream, "a record has no key of the table");
            return report.add(finding.at(show::json(&keys).unwrap_or_default()));
        };
        // What cannot be read is reported with the table.
        let Ok(stored) = self.snapshot.get(&store_key) else { return };
        let is_same = match (left, &stored) {
            (Left::Nothing, None) | (Left::Item(None), Some(_)) => true,
            (Left::Item(Some(shown)), Some(stored)) => fnv1a_128(stored) == shown,
            (Left::Nothing, Some(_)) | (Left::Item(_), None) => false,
        };
        if !is_same {
            let finding = broken(self.stream, "the table is not what the last record left");
            report.add(finding.at(show::json(&keys).unwrap_or_default()));
        }
    }
}

impl Left {
    fn after(record: &Record) -> Self {
        match record.event {
            Event::Remove => Self::Nothing,
            Event::Insert | Event::Modify => Self::Item(record.new.as_ref().map(fingerprint)),
        }
    }

    /// Whether a record can come next.
    fn leads_to(self, record: &Record) -> bool {
        match (self, record.event) {
            (Self::Nothing, Event::Insert) => true,
            (Self::Nothing, Event::Modify | Event::Remove) | (Self::Item(_), Event::Insert) => {
                false
            }
            (Self::Item(new), Event::Modify | Event::Remove) => {
                let old = record.old.as_ref().map(fingerprint);
                new.zip(old).is_none_or(|(new, old)| new == old)
            }
        }
    }
}

fn fingerprint(item: &Item) -> u128 {
    fnv1a_128(&image::encode(item))
}
