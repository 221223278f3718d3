//! Load over time and key space, in bounded memory.
//!
//! The space of partition hashes, by which AWS spreads keys over partitions, is divided into equal rows, time into
//! columns of three widths. Each cell has three sums. The heaviest keys of the open column come from the same sketch as
//! those of the place; of a closed column only the heaviest few are kept, and only if they stand out.

use std::collections::VecDeque;
use std::sync::Arc;

use keyloom_core::hash::partition_hash;

use crate::report::{HeatCell, HeatColumn, HeatKey, HeatLevel};
use crate::sketch::{Entry, Seen, TopKeys};

/// Rows of a place, and of a small one.
const ROWS: usize = 64;
const SMALL_ROWS: usize = 16;
/// Widths in milliseconds and numbers of columns: ten minutes, three hours, three days.
const LEVELS: [(u64, usize); 3] = [(5_000, 120), (60_000, 180), (1_800_000, 144)];
/// Keys monitored in the open column, and the counters for all others.
const MONITORED: usize = 32;
const COUNTERS: usize = 512;
/// Keys that are kept of a closed column, and how much of each.
const KEPT_KEYS: usize = 8;
const KEPT_BYTES: usize = 64;
/// The least share of a column's load that makes a key worth naming.
const LEAST_SHARE: f64 = 0.01;

/// The heat of one table or index.
#[derive(Debug)]
pub(super) struct Heat {
    rows: usize,
    levels: [Level; 3],
}

/// The columns of one width.
#[derive(Debug)]
struct Level {
    step_ms: u64,
    kept: usize,
    columns: VecDeque<Column>,
    /// The heaviest keys of the last column.
    open: TopKeys,
}

#[derive(Debug)]
struct Column {
    start_ms: u64,
    /// Read units, write units and refused requests of each row.
    cells: Box<[[f32; 3]]>,
    /// Empty while the column is open.
    keys: Vec<HotKey>,
}

/// A key that stood out in a column.
#[derive(Clone, Debug)]
struct HotKey {
    hash: u64,
    /// Shared with the columns before, where it is the same.
    partition: Arc<[u8]>,
    reads: f32,
    writes: f32,
    refused: u64,
}

impl Heat {
    pub(super) fn new(is_small: bool) -> Self {
        let level = |(step_ms, kept)| Level {
            step_ms,
            kept,
            columns: VecDeque::new(),
            open: TopKeys::new(MONITORED, COUNTERS),
        };
        Self { rows: if is_small { SMALL_ROWS } else { ROWS }, levels: LEVELS.map(level) }
    }

    /// Counts one sampled touch of a key; `refused` requests had no load.
    pub(super) fn add(&mut self, seen: &Seen<'_>, refused: u64) {
        // Keys are told apart by their place in the hash space, which is a hash as good as any.
        let seen = Seen { hash: partition_hash(seen.partition), ..*seen };
        for level in &mut self.levels {
            level.add(&seen, self.rows, refused);
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// What was counted; `name` makes a key of its bytes.
    pub(super) fn report(&self, name: impl Fn(&[u8]) -> String) -> Vec<HeatLevel> {
        let level = |level: &Level| HeatLevel {
            step_ms: level.step_ms,
            kept: level.kept,
            columns: level.report(self.rows, &name),
        };
        self.levels.iter().map(level).collect()
    }
}

/// The row of a hash.
fn row_of(hash: u64, rows: usize) -> usize {
    ((u128::from(hash) * rows as u128) >> 64) as usize
}

impl Level {
    /// Requests that come late count to the last column.
    fn add(&mut self, seen: &Seen<'_>, rows: usize, refused: u64) {
        let start_ms = seen.at_ms - seen.at_ms % self.step_ms;
        if self.columns.back().is_none_or(|last| last.start_ms < start_ms) {
            self.close();
            if self.columns.len() == self.kept {
                self.columns.pop_front();
            }
            let cells = vec![[0.0; 3]; rows].into_boxed_slice();
            self.columns.push_back(Column { start_ms, cells, keys: Vec::new() });
        }
        let row = row_of(seen.hash, rows);
        let cell = self.columns.back_mut().and_then(|column| column.cells.get_mut(row));
        if let Some([reads, writes, refusals]) = cell {
            *reads += seen.load.read_halves as f32 / 2.0;
            *writes += seen.load.write_halves as f32 / 2.0;
            *refusals += refused as f32;
        }
        self.open.add(seen);
    }

    /// Keeps the keys of the last column that stood out, and begins anew.
    fn close(&mut self) {
        if self.columns.is_empty() {
            return;
        }
        let mut keys = self.hot();
        let mut columns = self.columns.iter_mut().rev();
        let last = columns.next();
        // A key that stays hot is stored once.
        if let Some(before) = columns.next() {
            for key in &mut keys {
                let known = before.keys.iter().find(|known| known.hash == key.hash);
                if let Some(known) = known {
                    key.partition = Arc::clone(&known.partition);
                }
            }
        }
        if let Some(last) = last {
            last.keys = keys;
        }
        self.open = TopKeys::new(MONITORED, COUNTERS);
    }

    /// The keys of the last column that stand out, the heaviest first.
    fn hot(&self) -> Vec<HotKey> {
        let (heaviest, _) = self.open.heaviest(KEPT_KEYS);
        let least = (self.open.total() as f64 * LEAST_SHARE).max(1.0);
        let stands_out = heaviest
            .into_iter()
            .filter(|(load, entry)| load.saturating_sub(entry.error) as f64 >= least);
        let key = |entry: &Entry| HotKey {
            hash: entry.hash,
            partition: entry.partition.get(..KEPT_BYTES).unwrap_or(&entry.partition).into(),
            reads: entry.seen.read_halves as f32 / 2.0,
            writes: entry.seen.write_halves as f32 / 2.0,
            refused: entry.throttled,
        };
        stands_out.map(|(_, entry)| key(entry)).collect()
    }

    fn report(&self, rows: usize, name: &impl Fn(&[u8]) -> String) -> Vec<HeatColumn> {
        let open = self.hot();
        let last = self.columns.len().saturating_sub(1);
        let column = |(number, column): (usize, &Column)| {
            let keys = if number == last { &open } else { &column.keys };
            let cells = column.cells.iter().enumerate();
            let hot = |key: &HotKey| HeatKey {
                key: name(&key.partition),
                hash: key.hash,
                row: row_of(key.hash, rows),
                reads: f64::from(key.reads),
                writes: f64::from(key.writes),
                refused: key.refused,
            };
            HeatColumn {
                start_ms: column.start_ms,
                cells: cells
                    .filter(|(_, cell)| cell.iter().any(|sum| *sum > 0.0))
                    .map(|(row, &[reads, writes, refused])| HeatCell(row, reads, writes, refused))
                    .collect(),
                keys: keys.iter().map(hot).collect(),
            }
        };
        self.columns.iter().enumerate().map(column).collect()
    }
}
