//! Reads and writes: each has limits of its own.

use std::ops::{Index, IndexMut};

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl Lane {
    /// Both lanes, reads first.
    pub const BOTH: [Self; 2] = [Self::Read, Self::Write];

    /// That of writes, or else that of reads.
    pub fn of(is_write: bool) -> Self {
        if is_write { Self::Write } else { Self::Read }
    }
}

/// Something for each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lanes<T> {
    /// The value for reads.
    pub read: T,
    /// The value for writes.
    pub write: T,
}

impl<T> Lanes<T> {
    /// By a function of the lane.
    pub fn from_fn(mut make: impl FnMut(Lane) -> T) -> Self {
        Self { read: make(Lane::Read), write: make(Lane::Write) }
    }

    /// Each made into something else.
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> Lanes<U> {
        Lanes { read: make(self.read), write: make(self.write) }
    }
}

impl<T> Index<Lane> for Lanes<T> {
    type Output = T;

    fn index(&self, lane: Lane) -> &T {
        match lane {
            Lane::Read => &self.read,
            Lane::Write => &self.write,
        }
    }
}

impl<T> IndexMut<Lane> for Lanes<T> {
    fn index_mut(&mut self, lane: Lane) -> &mut T {
        match lane {
            Lane::Read => &mut self.read,
            Lane::Write => &mut self.write,
        }
    }
}
