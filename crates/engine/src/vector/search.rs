//! The exact search: every entry of a range is scored, the best few are kept.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use keyloom_core::{AttributeValue, Result, Str};
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};

use crate::store_error;

use super::distance::reported;
use super::{EntryRef, Query};

/// What is searched for, and where.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The entries of the index, or of one partition of it.
    pub(crate) range: KeyRange,
    pub(crate) dimensions: usize,
    pub(crate) query: Query,
    /// Attributes that must have these values.
    pub(crate) filters: Vec<(Str, Arc<AttributeValue>)>,
    /// How many results are kept.
    pub(crate) top_k: usize,
}

/// An entry that was found.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) score: f64,
    /// The entry as it is stored.
    pub(crate) entry: Bytes,
}

impl Search {
    /// The best entries, best first; equals come in key order. With them, how many entries there were.
    pub(crate) fn run(&self, snapshot: &dyn Snapshot) -> Result<(Vec<Hit>, usize)> {
        // The worst of the best is on top.
        let mut best: BinaryHeap<Candidate> = BinaryHeap::with_capacity(self.top_k);
        let entries = snapshot.scan(self.range.clone(), Direction::Forward);
        let mut scanned = 0;
        for (position, entry) in entries.enumerate() {
            scanned += 1;
            let (_, value) = entry.map_err(store_error)?;
            let entry = EntryRef::new(&value, self.dimensions)?;
            if !self.passes(&entry)? {
                continue;
            }
            let score = self.query.score(&entry);
            let rank = self.query.rank(score);
            if best.len() >= self.top_k {
                match best.peek() {
                    Some(worst) if rank < worst.rank => drop(best.pop()),
                    _ => continue,
                }
            }
            best.push(Candidate {
                rank,
                position,
                hit: Hit { score: reported(score), entry: value },
            });
        }
        let hits = best.into_sorted_vec().into_iter().map(|candidate| candidate.hit).collect();
        Ok((hits, scanned))
    }

    fn passes(&self, entry: &EntryRef<'_>) -> Result<bool> {
        if self.filters.is_empty() {
            return Ok(true);
        }
        let image = entry.image()?;
        for (name, wanted) in &self.filters {
            let Some(value) = image.get_raw(name)? else { return Ok(false) };
            if !value.equals(wanted)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A hit with what it is ordered by: its rank, and its place in the scan.
#[derive(Debug)]
struct Candidate {
    rank: f64,
    position: usize,
    hit: Hit,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.total_cmp(&other.rank).then(self.position.cmp(&other.position))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}
