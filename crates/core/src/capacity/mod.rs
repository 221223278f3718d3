//! Capacity units: the exact cost of reads and writes.
//!
//! - A read unit is a strongly consistent read of 4 KB; eventually consistent reads cost half,
//!   transactional ones twice.
//! - A write unit is a write of 1 KB; transactional writes cost twice, on the table only.
//! - A single item is rounded up by itself; a Query or Scan page rounds up the sum of what it
//!   evaluated.

mod consumed;

pub use consumed::{Arm, ConsumedCapacity, VectorArm};

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use crate::schema::KeySchema;
use crate::size::item_size;
use crate::value::Item;

/// The bytes of one read unit.
pub const READ_UNIT_BYTES: usize = 4096;
/// The bytes of one write unit.
pub const WRITE_UNIT_BYTES: usize = 1024;
/// The minimum billed for a write to, or a search of, a vector index.
const VECTOR_FLOOR_BYTES: usize = 1024;

/// Capacity units, counted in halves so that sums are exact.
///
/// Prints as AWS does: `0.5`, `1.0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Units {
    halves: u64,
}

impl Units {
    /// No units at all.
    pub const ZERO: Self = Self { halves: 0 };
    /// Half a unit.
    pub const HALF: Self = Self { halves: 1 };

    /// So many whole units.
    pub const fn whole(units: u64) -> Self {
        Self { halves: units * 2 }
    }

    /// So many halves of a unit.
    pub const fn halves(halves: u64) -> Self {
        Self { halves }
    }

    /// The number of halves.
    pub const fn as_halves(self) -> u64 {
        self.halves
    }

    /// The value as a float, exact up to 2^52.
    pub fn as_f64(self) -> f64 {
        self.halves as f64 / 2.0
    }

    /// Whether this is zero.
    pub const fn is_zero(self) -> bool {
        self.halves == 0
    }

    /// The cost inside a transaction: double.
    #[must_use]
    pub const fn transactional(self) -> Self {
        Self { halves: self.halves * 2 }
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.halves / 2, if self.halves.is_multiple_of(2) { 0 } else { 5 })
    }
}

impl Add for Units {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { halves: self.halves.saturating_add(other.halves) }
    }
}

impl AddAssign for Units {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Units {
    type Output = Self;

    fn mul(self, factor: u64) -> Self {
        Self { halves: self.halves.saturating_mul(factor) }
    }
}

impl Sum for Units {
    fn sum<I: Iterator<Item = Self>>(units: I) -> Self {
        units.fold(Self::ZERO, Add::add)
    }
}

/// How consistent a read is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadMode {
    /// Eventually consistent: half the cost.
    Eventual,
    /// Strongly consistent.
    Strong,
    /// In a transaction: double the cost.
    Transactional,
}

impl ReadMode {
    /// The cost of one read unit.
    pub const fn price(self) -> Units {
        match self {
            Self::Eventual => Units::HALF,
            Self::Strong => Units::whole(1),
            Self::Transactional => Units::whole(2),
        }
    }
}

/// The cost of reading `bytes`: one item (0 if it does not exist), or everything that a page
/// evaluated.
pub fn read_units(bytes: usize, mode: ReadMode) -> Units {
    mode.price() * steps(bytes, READ_UNIT_BYTES)
}

/// The cost of a page collected from several partitions, each of which is rounded up by itself.
pub fn partitioned_read_units(
    bytes_per_partition: impl IntoIterator<Item = usize>,
    mode: ReadMode,
) -> Units {
    bytes_per_partition.into_iter().map(|bytes| read_units(bytes, mode)).sum()
}

/// The cost of writing `bytes`.
pub fn write_units(bytes: usize) -> Units {
    Units::whole(steps(bytes, WRITE_UNIT_BYTES))
}

/// The cost of a write to the table: by the larger of the item before and after; 1 if there is
/// neither.
pub fn item_write_units(old_bytes: Option<usize>, new_bytes: Option<usize>) -> Units {
    write_units(old_bytes.max(new_bytes).unwrap_or(0))
}

/// The bytes billed for a write to a vector index: the larger of its entry before and after, but at
/// least 1 KB.
pub fn vector_write_bytes(old_bytes: Option<usize>, new_bytes: Option<usize>) -> u64 {
    old_bytes.max(new_bytes).unwrap_or(0).max(VECTOR_FLOOR_BYTES) as u64
}

/// The bytes billed for a vector search.
///
/// AWS bills what its approximate index happens to read, and two equal searches may differ. This is
/// the figure measured most often: about 31 bytes for each dimension, 65 and its size for each
/// result, 4 for each dimension of each returned vector; at least 1 KB.
pub fn vector_search_bytes(
    dimensions: usize,
    results: usize,
    result_bytes: usize,
    returned_vectors: usize,
) -> u64 {
    // 30.6875 bytes, in sixteenths.
    let index = (dimensions * 491).div_ceil(16);
    let vectors = returned_vectors * dimensions * size_of::<f32>();
    (index + results * 65 + result_bytes + vectors).max(VECTOR_FLOOR_BYTES) as u64
}

/// Rounds up to whole steps, at least one.
fn steps(bytes: usize, step: usize) -> u64 {
    bytes.div_ceil(step).max(1) as u64
}

/// The effect of a write on an item's entry in an index. Sizes are those of the projected entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexChange {
    /// The entry is unchanged, or there is none: free, and the index is not reported.
    Unchanged,
    /// An entry is added.
    Insert {
        /// The new entry's size.
        bytes: usize,
    },
    /// The entry is removed.
    Delete {
        /// The old entry's size.
        bytes: usize,
    },
    /// The entry changes under the same key.
    Update {
        /// The old entry's size.
        old_bytes: usize,
        /// The new entry's size.
        new_bytes: usize,
    },
    /// The key changes: a delete and an insert, each rounded by itself.
    Move {
        /// The old entry's size.
        old_bytes: usize,
        /// The new entry's size.
        new_bytes: usize,
    },
}

impl IndexChange {
    /// The change from one projected entry to another, in an index with this key.
    pub fn between(old: Option<&Item>, new: Option<&Item>, key: &KeySchema) -> Self {
        match (old, new) {
            (None, None) => Self::Unchanged,
            (None, Some(new)) => Self::Insert { bytes: item_size(new) },
            (Some(old), None) => Self::Delete { bytes: item_size(old) },
            (Some(old), Some(new)) if old == new => Self::Unchanged,
            (Some(old), Some(new)) => {
                let (old_bytes, new_bytes) = (item_size(old), item_size(new));
                if key.attributes().all(|attr| old.get(&attr.name) == new.get(&attr.name)) {
                    Self::Update { old_bytes, new_bytes }
                } else {
                    Self::Move { old_bytes, new_bytes }
                }
            }
        }
    }

    /// The cost of the change; `None` if the index is not written.
    pub fn units(self) -> Option<Units> {
        Some(match self {
            Self::Unchanged => return None,
            Self::Insert { bytes } | Self::Delete { bytes } => write_units(bytes),
            Self::Update { old_bytes, new_bytes } => write_units(old_bytes.max(new_bytes)),
            Self::Move { old_bytes, new_bytes } => write_units(old_bytes) + write_units(new_bytes),
        })
    }
}

#[cfg(test)]
mod tests;
