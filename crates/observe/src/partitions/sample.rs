//! A small sample of the hashes that a partition's traffic goes to, from which a split point is chosen.

use keyloom_core::hash::{SplitMix64, fraction};
use serde::{Deserialize, Serialize};

/// How many positions are kept.
const MAX_SEEN: usize = 64;
/// How many bytes of a sort key are kept: enough to distinguish neighbours.
const MAX_SORT_BYTES: usize = 128;
/// The share of neighbours in time that must follow each other for a sort key to count as moving.
const MOVING_SHARE: f64 = 0.9;

/// A position in the keys of a table or index: the hash of the partition key, then the sort key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) hash: u64,
    pub(super) sort: Box<[u8]>,
}

/// Why a hot partition is not split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoSplit {
    /// All its traffic goes to one item, or to one key without sort keys.
    OneItem,
    /// All its traffic goes to one item collection, and the table has a local index.
    LocalIndex,
    /// All its traffic goes to the end of one item collection: its sort key only rises, or only
    /// falls, so that a new partition would soon be as cold as the old one.
    MovingSortKey,
    /// There are as many partitions as are followed.
    TooMany,
}

#[derive(Clone, Debug)]
struct Seen {
    order: u64,
    at: Position,
}

/// A sample of the traffic of a partition, in which every unit is as likely as any other.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    seen: Vec<Seen>,
    total: f64,
    order: u64,
    random: SplitMix64,
}

impl Sample {
    pub(super) fn clear(&mut self) {
        self.seen = Vec::new();
        self.total = 0.0;
    }

    /// Takes note of some units at a position.
    pub(super) fn note(&mut self, hash: u64, sort: &[u8], units: f64) {
        self.order += 1;
        self.total += units;
        let slot = if self.seen.len() < MAX_SEEN {
            self.seen.len()
        } else {
            // Weighted reservoir sampling (Chao): the newest is kept with its share of the total.
            let chance = MAX_SEEN as f64 * units / self.total;
            if fraction(self.random.draw()) >= chance {
                return;
            }
            (fraction(self.random.draw()) * MAX_SEEN as f64) as usize
        };
        let sort = sort.get(..MAX_SORT_BYTES).unwrap_or(sort).into();
        let seen = Seen { order: self.order, at: Position { hash, sort } };
        match self.seen.get_mut(slot) {
            Some(place) => *place = seen,
            None => self.seen.push(seen),
        }
    }

    /// Where to split so that each side has about half of the traffic, and the share of the left side.
    pub(super) fn split_point(&self, has_local_indexes: bool) -> Result<(Position, f64), NoSplit> {
        let mut at: Vec<&Position> = self.seen.iter().map(|seen| &seen.at).collect();
        at.sort_unstable();
        let (Some(first), Some(last), Some(middle)) = (at.first(), at.last(), at.get(at.len() / 2))
        else {
            return Err(NoSplit::OneItem);
        };
        if first == last {
            return Err(NoSplit::OneItem);
        }
        let point = if first.hash == last.hash {
            // A range read does not state which part of the collection it reads.
            at.retain(|position| !position.sort.is_empty());
            let (Some(first), Some(last), Some(middle)) =
                (at.first(), at.last(), at.get(at.len() / 2))
            else {
                return Err(NoSplit::OneItem);
            };
            if first == last {
                return Err(NoSplit::OneItem);
            }
            if has_local_indexes {
                return Err(NoSplit::LocalIndex);
            }
            if self.is_moving() {
                return Err(NoSplit::MovingSortKey);
            }
            let above = at.iter().find(|position| *position > first && *position >= middle);
            above.map_or_else(|| (*last).clone(), |position| (**position).clone())
        } else {
            // Item collections stay whole as long as there are several of them.
            let above = at.iter().find(|p| p.hash > first.hash && p.hash >= middle.hash);
            let hash = above.map_or(last.hash, |position| position.hash);
            Position { hash, sort: Box::default() }
        };
        let left = at.iter().filter(|position| ***position < point).count();
        Ok((point, left as f64 / at.len() as f64))
    }

    /// Whether the sort keys followed each other in one direction.
    fn is_moving(&self) -> bool {
        let mut in_time: Vec<&Seen> =
            self.seen.iter().filter(|seen| !seen.at.sort.is_empty()).collect();
        in_time.sort_unstable_by_key(|seen| seen.order);
        let (mut rises, mut falls, mut pairs) = (0u32, 0u32, 0u32);
        for pair in in_time.windows(2) {
            let [before, after] = pair else { continue };
            if before.at.sort == after.at.sort {
                continue;
            }
            pairs += 1;
            if before.at.sort < after.at.sort {
                rises += 1;
            } else {
                falls += 1;
            }
        }
        pairs > 0 && f64::from(rises.max(falls)) >= MOVING_SHARE * f64::from(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(traffic: impl IntoIterator<Item = (u64, u32)>) -> Sample {
        let mut sample = Sample::default();
        for (hash, sort) in traffic {
            sample.note(hash, &sort.to_be_bytes(), 1.0);
        }
        sample
    }

    #[test]
    fn many_keys_are_split_between_them_near_the_middle_of_the_traffic() {
        let uniform = sample((0..10_000u64).map(|n| (n * 7919 % 10_000, 0)));
        let (point, left) = uniform.split_point(true).unwrap();
        assert!((3_000..7_000).contains(&point.hash), "{point:?}");
        assert!(point.sort.is_empty() && (0.4..0.6).contains(&left));
    }

    #[test]
    fn a_hot_key_among_others_gets_a_partition_of_its_own() {
        let mostly = |n: u64| if n.is_multiple_of(10) { n } else { 500 };
        let (point, _) = sample((0..1000).map(|n| (mostly(n), 0))).split_point(false).unwrap();
        assert_eq!(point.hash, 500);
        // From the left it is free now; what follows is cut off next.
        let rest = sample((500..1000).map(|n| (mostly(n), 0)));
        let (point, _) = rest.split_point(false).unwrap();
        assert!(point.hash > 500);
    }

    #[test]
    fn one_collection_is_split_by_its_sort_key_unless_a_local_index_holds_it_together() {
        let scattered = sample((0..1000u32).map(|n| (5, n * 7919 % 1000)));
        let (point, left) = scattered.split_point(false).unwrap();
        assert_eq!(point.hash, 5);
        assert!(!point.sort.is_empty() && (0.3..0.7).contains(&left), "{point:?} {left}");
        assert_eq!(scattered.split_point(true), Err(NoSplit::LocalIndex));
    }

    #[test]
    fn a_sort_key_that_only_moves_one_way_and_one_item_are_not_split() {
        assert_eq!(
            sample((0..5000).map(|n| (5, n))).split_point(false),
            Err(NoSplit::MovingSortKey)
        );
        let mut with_reads = Sample::default();
        for number in 0..5000_u32 {
            with_reads.note(5, &number.to_be_bytes(), 1.0);
            with_reads.note(5, &[], 1.0);
        }
        assert_eq!(with_reads.split_point(false), Err(NoSplit::MovingSortKey));
        let falling = sample((0..5000).map(|n| (5, 9999 - n)));
        assert_eq!(falling.split_point(false), Err(NoSplit::MovingSortKey));
        assert_eq!(sample((0..100).map(|_| (5, 5))).split_point(false), Err(NoSplit::OneItem));
        assert_eq!(Sample::default().split_point(false), Err(NoSplit::OneItem));
    }
}
