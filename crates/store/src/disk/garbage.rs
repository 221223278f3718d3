//! How much of the tables is garbage: overwritten and deleted values, and tombstones.
//!
//! The engine counts tombstones, but neither the values they hide nor overwritten values. So there
//! are two measures: an upper bound that costs nothing, and an estimate from samples, which reads
//! the upper levels.

use std::collections::HashMap;
use std::fs::File;

use lsm_tree::coding::Decode;
use lsm_tree::table::block::Header;
use lsm_tree::{InternalValue, Table, TableId};

/// The number of entries sampled for an estimate.
const SAMPLES: u64 = 500;

/// The tables of a tree: those of the upper levels, newest first, and those of the last level.
#[derive(Default)]
pub(super) struct Levels {
    pub(super) upper: Vec<Table>,
    pub(super) last: Vec<Table>,
}

impl Levels {
    /// Bytes of all tables.
    pub(super) fn bytes(&self) -> u64 {
        self.all().map(|table| table.metadata.file_size).sum()
    }

    fn all(&self) -> impl Iterator<Item = &Table> {
        self.upper.iter().chain(&self.last)
    }

    /// Upper bound of the bytes made obsolete by the upper levels and the memtables, which hold
    /// `deletions` tombstones: each of their entries hides at most one below.
    pub(super) fn most_garbage(&self, deletions: u64) -> u64 {
        let upper: u64 = self.upper.iter().map(|table| table.metadata.file_size).sum();
        let tombstones: u64 = self.upper.iter().map(Table::tombstone_count).sum();
        upper + self.largest(tombstones + deletions)
    }

    /// Upper bound of the bytes that tombstones in the last level take; they hide nothing.
    pub(super) fn most_garbage_in_last_level(&self) -> u64 {
        let share = |table: &Table| {
            let metadata = &table.metadata;
            metadata.file_size * metadata.tombstone_count / metadata.item_count.max(1)
        };
        self.last.iter().map(share).sum()
    }

    /// The size of this many entries if they are the largest ones: averages are per table, and
    /// items of one kind are adjacent.
    fn largest(&self, mut entries: u64) -> u64 {
        let mut sizes: Vec<(u64, u64)> = self
            .all()
            .map(|table| (table.metadata.file_size, table.metadata.item_count.max(1)))
            .collect();
        sizes.sort_unstable_by_key(|(bytes, items)| std::cmp::Reverse(bytes / items));
        let mut sum = 0;
        for (bytes, items) in sizes {
            let taken = items.min(entries);
            sum += bytes / items * taken;
            entries -= taken;
        }
        sum
    }

    /// Estimates the bytes made obsolete by the upper levels: sampled entries of these are looked
    /// up below.
    pub(super) fn sampled_garbage(&self) -> lsm_tree::Result<u64> {
        let entries: u64 = self.upper.iter().map(|table| table.metadata.item_count).sum();
        let step = (entries / SAMPLES).max(1);
        let mut ratios = HashMap::new();
        let (mut passed, mut looked_up, mut dead) = (0, 0, 0);
        for table in &self.upper {
            for entry in table.scan()? {
                let entry = entry?;
                passed += 1;
                if passed % step == 0 {
                    looked_up += 1;
                    dead += self.hidden_by(&entry, &mut ratios)?;
                    if entry.is_tombstone() {
                        dead += entry.key.user_key.len() as u64;
                    }
                }
            }
        }
        Ok(dead * entries / looked_up.max(1))
    }

    /// The size on disk of the version that an entry directly supersedes, if any.
    fn hidden_by(
        &self,
        entry: &InternalValue,
        ratios: &mut HashMap<TableId, (u64, u64)>,
    ) -> lsm_tree::Result<u64> {
        let key = &entry.key.user_key;
        let mut newest: Option<(u64, u64)> = None;
        for table in self.all().filter(|table| table.metadata.key_range.contains_key(key)) {
            for older in table.range(key.clone()..=key.clone()) {
                let older = older?;
                let number = older.key.seqno;
                if number >= entry.key.seqno || newest.is_some_and(|(newest, _)| number <= newest) {
                    continue;
                }
                let (stored, plain) = match ratios.get(&table.id()) {
                    Some(known) => *known,
                    None => *ratios.entry(table.id()).or_insert(compression(table)?),
                };
                let bytes = (key.len() + older.value.len()) as u64;
                newest = Some((number, bytes * stored / plain.max(1)));
            }
        }
        Ok(newest.map_or(0, |(_, bytes)| bytes))
    }
}

/// The compressed and uncompressed size of a table's first block.
fn compression(table: &Table) -> lsm_tree::Result<(u64, u64)> {
    let header = Header::decode_from(&mut File::open(&*table.path)?)?;
    Ok((u64::from(header.data_length), u64::from(header.uncompressed_length)))
}
