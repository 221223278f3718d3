//! Load over time and key space, in bounded memory.
//!
//! The space of partition hashes, by which AWS spreads keys over partitions, is divided into equal rows, time into
//! columns of three widths. Each cell has three sums. The heaviest keys of the current column come from a sketch of its
//! own; of a finished column only the heaviest few are kept, and only if they are well above the rest.
//!
//! A touch is counted in the finest column only. A column that ends is added to the wider one that it is a part of; reports
//! do the same with a copy of what is still open.

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
#[derive(Clone, Debug)]
pub(super) struct Heat {
    rows: usize,
    levels: [Level; 3],
}

/// The columns of one width.
#[derive(Clone, Debug)]
struct Level {
    step_ms: u64,
    kept: usize,
    /// Shared with reports that are being made.
    columns: VecDeque<Arc<Column>>,
    /// The heaviest keys of the last column.
    open: TopKeys,
}

#[derive(Clone, Debug)]
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
        // The position in the hash space identifies the key.
        let seen = Seen { hash: partition_hash(seen.partition), ..*seen };
        begin(&mut self.levels, self.rows, seen.at_ms);
        if let Some(finest) = self.levels.first_mut() {
            finest.add(&seen, self.rows, refused);
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// What was counted; `name` makes a key of its bytes.
    pub(super) fn report(&self, name: impl Fn(&[u8]) -> String) -> Vec<HeatLevel> {
        let mut whole = self.clone();
        for at in 1..LEVELS.len() {
            let (finer, wider) = whole.levels.split_at_mut(at);
            if let Some(open) = finer.last() {
                pass_on(open, wider, self.rows);
            }
        }
        let level = |level: &Level| HeatLevel {
            step_ms: level.step_ms,
            kept: level.kept,
            columns: level.report(self.rows, &name),
        };
        whole.levels.iter().map(level).collect()
    }
}

/// Begins the column of a moment in the first of these levels, unless it is open; the one that ends goes into the next
/// level. Requests that come late count to the last column.
fn begin(levels: &mut [Level], rows: usize, at_ms: u64) {
    let Some((level, wider)) = levels.split_first_mut() else { return };
    let start_ms = at_ms - at_ms % level.step_ms;
    if level.columns.back().is_some_and(|last| last.start_ms >= start_ms) {
        return;
    }
    pass_on(level, wider, rows);
    level.close();
    if level.columns.len() == level.kept {
        level.columns.pop_front();
    }
    let cells = vec![[0.0; 3]; rows].into_boxed_slice();
    level.columns.push_back(Arc::new(Column { start_ms, cells, keys: Vec::new() }));
}

/// Adds the open column of a level to the next one.
fn pass_on(level: &Level, wider: &mut [Level], rows: usize) {
    let Some(open) = level.columns.back() else { return };
    begin(wider, rows, open.start_ms);
    if let Some(next) = wider.first_mut() {
        next.absorb(open, &level.open);
    }
}

/// The row of a hash.
fn row_of(hash: u64, rows: usize) -> usize {
    ((u128::from(hash) * rows as u128) >> 64) as usize
}

impl Level {
    /// Counts in the open column.
    fn add(&mut self, seen: &Seen<'_>, rows: usize, refused: u64) {
        let row = row_of(seen.hash, rows);
        let column = self.columns.back_mut().map(Arc::make_mut);
        let cell = column.and_then(|column| column.cells.get_mut(row));
        if let Some([reads, writes, refusals]) = cell {
            *reads += seen.load.read_halves as f32 / 2.0;
            *writes += seen.load.write_halves as f32 / 2.0;
            *refusals += refused as f32;
        }
        self.open.add(seen);
    }

    /// Adds a finer column, and what its keys were, to the open one.
    fn absorb(&mut self, finer: &Column, keys: &TopKeys) {
        if let Some(column) = self.columns.back_mut().map(Arc::make_mut) {
            for (own, more) in column.cells.iter_mut().zip(&finer.cells) {
                own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
            }
        }
        self.open.absorb(keys);
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
            Arc::make_mut(last).keys = keys;
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
        let column = |(number, column): (usize, &Arc<Column>)| {
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
