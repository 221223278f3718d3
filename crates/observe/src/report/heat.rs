//! Heat maps: the load of a table or index over time and over the space of its partition hashes.

use serde::{Deserialize, Serialize};

use crate::redaction::Redaction;

/// The load of one table or index over time and key space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatMap {
    /// The name of the table.
    pub table: String,
    /// The index, if it is one.
    pub index: Option<String>,
    /// In how many equal parts the hash space is divided. Part `n` of `rows` has the keys whose hash, as a share of
    /// 2^64, lies from `n / rows` on.
    pub rows: usize,
    /// The same load at several widths of time, the finest first: ten minutes, three hours and three days.
    pub levels: Vec<HeatLevel>,
}

/// The load at one width of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatLevel {
    /// How many milliseconds a column stands for.
    pub step_ms: u64,
    /// How many columns are kept.
    pub kept: usize,
    /// In the order of time; times without load have no column.
    pub columns: Vec<HeatColumn>,
}

/// One span of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatColumn {
    /// Milliseconds since 1970 at which it begins.
    pub start_ms: u64,
    /// The parts of the hash space with load, by their numbers.
    pub cells: Vec<HeatCell>,
    /// The heaviest partition keys, the heaviest first.
    pub keys: Vec<HeatKey>,
}

/// The load of one part of the hash space in one span of time, as a list: the part, read units, write units, refused
/// requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatCell(pub usize, pub f32, pub f32, pub f32);

/// A heavy partition key in one span of time. What is stated of it is the least that it had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatKey {
    /// The key, redacted if keys are hidden.
    pub key: String,
    /// Its place in the hash space.
    pub hash: u64,
    /// The part of the hash space that it lies in.
    pub row: usize,
    /// Read units that were consumed.
    pub reads: f64,
    /// Write units that were consumed.
    pub writes: f64,
    /// Requests that were refused for lack of throughput.
    pub refused: u64,
}

impl HeatMap {
    /// The level that shows a span of time best: the finest that keeps so many milliseconds, or else the longest.
    pub fn level_for(&self, span_ms: u64) -> Option<&HeatLevel> {
        let keeps = |level: &&HeatLevel| level.step_ms.saturating_mul(level.kept as u64) >= span_ms;
        self.levels.iter().find(keeps).or(self.levels.last())
    }

    /// Hides the keys as far as the level says.
    pub(super) fn redact(&mut self, redaction: Redaction) {
        for level in &mut self.levels {
            for key in level.columns.iter_mut().flat_map(|column| &mut column.keys) {
                key.key = redaction.apply(&key.key);
            }
        }
    }

    /// Adds the load of another map of the same place. A map with another number of rows is left out: its cells lie
    /// elsewhere.
    pub(super) fn merge(&mut self, other: Self) {
        if self.rows != other.rows {
            return;
        }
        for level in other.levels {
            match self.levels.iter_mut().find(|mine| mine.step_ms == level.step_ms) {
                Some(mine) => mine.merge(level),
                None => self.levels.push(level),
            }
        }
        self.levels.sort_by_key(|level| level.step_ms);
    }
}

impl HeatLevel {
    fn merge(&mut self, other: Self) {
        for column in other.columns {
            match self.columns.iter_mut().find(|mine| mine.start_ms == column.start_ms) {
                Some(mine) => mine.merge(column),
                None => self.columns.push(column),
            }
        }
        self.columns.sort_by_key(|column| column.start_ms);
        let old = self.columns.len().saturating_sub(self.kept);
        self.columns.drain(..old);
    }
}

impl HeatColumn {
    fn merge(&mut self, other: Self) {
        for HeatCell(row, reads, writes, refused) in other.cells {
            match self.cells.iter_mut().find(|cell| cell.0 == row) {
                Some(cell) => {
                    cell.1 += reads;
                    cell.2 += writes;
                    cell.3 += refused;
                }
                None => self.cells.push(HeatCell(row, reads, writes, refused)),
            }
        }
        self.cells.sort_by_key(|cell| cell.0);
        for key in other.keys {
            match self.keys.iter_mut().find(|mine| mine.hash == key.hash) {
                Some(mine) => {
                    mine.reads += key.reads;
                    mine.writes += key.writes;
                    mine.refused += key.refused;
                }
                None => self.keys.push(key),
            }
        }
        self.keys.sort_by(|a, b| b.load().total_cmp(&a.load()));
    }
}

impl HeatKey {
    /// What it takes of a partition, in read units: a write unit counts as three.
    pub fn load(&self) -> f64 {
        self.reads + 3.0 * self.writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(start_ms: u64, row: usize, reads: f32) -> HeatMap {
        let key = HeatKey { key: "K#1".into(), hash: 1, row, reads: 1.0, ..HeatKey::default() };
        let cells = vec![HeatCell(row, reads, 0.0, 0.0)];
        let column = HeatColumn { start_ms, cells, keys: vec![key] };
        let level = HeatLevel { step_ms: 5, kept: 2, columns: vec![column] };
        HeatMap { table: "t".into(), index: None, rows: 4, levels: vec![level] }
    }

    #[test]
    fn maps_are_added_cell_by_cell_and_forget_the_oldest() {
        let mut sum = map(10, 1, 1.0);
        sum.merge(map(10, 1, 2.0));
        sum.merge(map(10, 0, 5.0));
        sum.merge(map(5, 3, 7.0));
        sum.merge(map(0, 3, 7.0));
        sum.merge(HeatMap { rows: 8, ..map(15, 3, 7.0) });
        let columns = &sum.levels.first().unwrap().columns;
        let starts: Vec<u64> = columns.iter().map(|column| column.start_ms).collect();
        assert_eq!(starts, [5, 10]);
        let last = columns.last().unwrap();
        assert_eq!(last.cells, [HeatCell(0, 5.0, 0.0, 0.0), HeatCell(1, 3.0, 0.0, 0.0)]);
        assert!((last.keys.first().unwrap().reads - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_finest_level_that_is_long_enough_is_chosen() {
        let level = |step_ms, kept| HeatLevel { step_ms, kept, columns: Vec::new() };
        let levels = vec![level(1, 10), level(10, 10), level(100, 10)];
        let map = HeatMap { levels, ..HeatMap::default() };
        let step = |span_ms| map.level_for(span_ms).map(|level| level.step_ms);
        assert_eq!(
            [step(5), step(10), step(11), step(9999)],
            [Some(1), Some(1), Some(10), Some(100)]
        );
    }
}
