//! Iterates over the entries of a tree.

use std::ops::Bound;

use bytes::Bytes;
use smallvec::SmallVec;

use super::keys::Keys;
use super::{Leaf, Node};
use crate::{Direction, KeyRange};

/// The entries in a key range, in scan order.
pub(in crate::memory) struct Range<'a> {
    direction: Direction,
    /// The bound at which the scan ends.
    end: Bound<Bytes>,
    /// For each branch from the root down, the children not yet visited.
    path: SmallVec<[&'a [Node]; 8]>,
    /// The rest of the current leaf.
    keys: &'a [Bytes],
    values: &'a [Bytes],
}

impl<'a> Range<'a> {
    pub(super) fn new(root: &'a Node, range: &KeyRange, direction: Direction) -> Self {
        let (start, end) = match direction {
            Direction::Forward => (&range.lower, &range.upper),
            Direction::Backward => (&range.upper, &range.lower),
        };
        let (path, (keys, values)) = (SmallVec::new(), Default::default());
        let mut entries = Self { direction, end: end.clone(), path, keys, values };
        entries.descend(root, start.as_ref().map(AsRef::as_ref));
        entries
    }

    /// Descends to the leaf that contains `start`, or to the first one in scan order.
    fn descend(&mut self, mut node: &'a Node, start: Bound<&[u8]>) {
        let leaf = loop {
            let branch = match node {
                Node::Leaf(leaf) => break leaf,
                Node::Branch(branch) => branch,
            };
            let children = branch.children.as_slice();
            let place = match (start, self.direction) {
                (Bound::Included(key) | Bound::Excluded(key), _) => branch.place(key),
                (Bound::Unbounded, Direction::Forward) => 0,
                (Bound::Unbounded, Direction::Backward) => children.len() - 1,
            };
            let (before, from) = children.split_at_checked(place).unwrap_or((children, &[]));
            let Some((child, behind)) = from.split_first() else { return };
            self.path.push(match self.direction {
                Direction::Forward => behind,
                Direction::Backward => before,
            });
            node = child;
        };
        self.enter(leaf, start);
    }

    /// Selects the wanted part of a leaf.
    fn enter(&mut self, leaf: &'a Leaf, start: Bound<&[u8]>) {
        let end = self.end.as_ref().map(AsRef::as_ref);
        let (lower, upper) = match self.direction {
            Direction::Forward => (start, end),
            Direction::Backward => (end, start),
        };
        let wanted = lower_place(&leaf.keys, lower)..upper_place(&leaf.keys, upper);
        let is_last = match self.direction {
            Direction::Forward => wanted.end < leaf.keys.len(),
            Direction::Backward => wanted.start > 0,
        };
        if is_last {
            self.path.clear();
        }
        self.keys = leaf.keys.as_slice().get(wanted.clone()).unwrap_or_default();
        self.values = leaf.values.get(wanted).unwrap_or_default();
    }

    /// Moves to the next leaf; false if there is none.
    fn advance(&mut self) -> bool {
        while let Some(rest) = self.path.last_mut() {
            let next = match self.direction {
                Direction::Forward => rest.split_off_first(),
                Direction::Backward => rest.split_off_last(),
            };
            if let Some(node) = next {
                self.descend(node, Bound::Unbounded);
                return true;
            }
            self.path.pop();
        }
        false
    }
}

/// The index of the first key within the lower bound.
fn lower_place(keys: &Keys, bound: Bound<&[u8]>) -> usize {
    match bound {
        Bound::Unbounded => 0,
        Bound::Included(key) => keys.search(key).unwrap_or_else(|place| place),
        Bound::Excluded(key) => keys.search(key).map_or_else(|place| place, |place| place + 1),
    }
}

/// The index after the last key within the upper bound.
fn upper_place(keys: &Keys, bound: Bound<&[u8]>) -> usize {
    match bound {
        Bound::Unbounded => keys.len(),
        Bound::Included(key) => keys.search(key).map_or_else(|place| place, |place| place + 1),
        Bound::Excluded(key) => keys.search(key).unwrap_or_else(|place| place),
    }
}

impl<'a> Iterator for Range<'a> {
    type Item = (&'a Bytes, &'a Bytes);

    fn next(&mut self) -> Option<Self::Item> {
        while self.keys.is_empty() {
            if !self.advance() {
                return None;
            }
        }
        match self.direction {
            Direction::Forward => {
                Some((self.keys.split_off_first()?, self.values.split_off_first()?))
            }
            Direction::Backward => {
                Some((self.keys.split_off_last()?, self.values.split_off_last()?))
            }
        }
    }
}
