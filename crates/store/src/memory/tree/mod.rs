//! A copy-on-write ordered map from bytes to bytes.
//!
//! A B+ tree of reference-counted nodes. A clone shares the root; a change copies the nodes on its
//! path that are shared and modifies the others in place. All values are in leaves, and all leaves
//! have the same depth. A branch has one key fewer than children: each key is a lower bound of the
//! child after it.
//!
//! A node is split when it is full: near its end if it grew there, so that ascending inserts fill
//! nodes well. It is merged with a neighbour when it is sparse and both fit into one node. Nodes
//! are never rebalanced otherwise, so a node may have any number of keys except zero.

mod check;
mod heads;
mod keys;
mod range;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;

use self::keys::Keys;
pub(super) use self::range::Range;
use crate::{Direction, KeyRange};

/// Maximum number of keys of a node.
#[cfg(not(test))]
const MAX_KEYS: usize = 64;

/// Small, so that small tests have many levels.
#[cfg(test)]
const MAX_KEYS: usize = 8;

/// A node with fewer keys is merged with a neighbour if both fit into one.
const SPARSE: usize = MAX_KEYS / 4;

/// A copy-on-write B+ tree.
#[derive(Clone)]
pub(super) struct Tree {
    root: Node,
    len: usize,
}

/// A node and its subtree.
#[derive(Clone)]
enum Node {
    Leaf(Arc<Leaf>),
    Branch(Arc<Branch>),
}

#[derive(Clone)]
struct Leaf {
    keys: Keys,
    values: Vec<Bytes>,
}

#[derive(Clone)]
struct Branch {
    keys: Keys,
    children: Vec<Node>,
}

/// What a split passes to the parent: the new right sibling and its least key.
type Split = Option<(Bytes, Node)>;

impl Default for Tree {
    fn default() -> Self {
        let keys = Keys::new(Vec::new());
        Self { root: Node::Leaf(Arc::new(Leaf { keys, values: Vec::new() })), len: 0 }
    }
}

impl Tree {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Bytes> {
        let mut node = &self.root;
        loop {
            match node {
                Node::Branch(branch) => node = branch.child(key)?,
                Node::Leaf(leaf) => return leaf.values.get(leaf.keys.search(key).ok()?),
            }
        }
    }

    /// The entries in a range, in the order of the direction.
    pub(super) fn range(&self, range: &KeyRange, direction: Direction) -> Range<'_> {
        Range::new(&self.root, range, direction)
    }

    /// All entries in key order.
    pub(super) fn iter(&self) -> Range<'_> {
        self.range(&KeyRange::all(), Direction::Forward)
    }

    /// Sets the value of a key.
    pub(super) fn insert(&mut self, key: Bytes, value: Bytes) {
        let (is_new, split) = self.root.insert(key, value);
        self.len += usize::from(is_new);
        if let Some((key, right)) = split {
            let children = vec![self.root.clone(), right];
            self.root = Node::Branch(Arc::new(Branch { keys: Keys::new(vec![key]), children }));
        }
    }

    /// Removes a key, if it exists.
    pub(super) fn remove(&mut self, key: &[u8]) {
        // Checked first so that no node is copied for a missing key.
        if self.get(key).is_none() {
            return;
        }
        self.root.remove(key);
        self.len -= 1;
        while let Node::Branch(branch) = &self.root
            && let [only] = branch.children.as_slice()
        {
            self.root = only.clone();
        }
    }
}

impl Node {
    /// The number of keys of a leaf, or children of a branch.
    fn width(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.values.len(),
            Self::Branch(branch) => branch.children.len(),
        }
    }

    /// Sets a value; returns whether the key is new.
    fn insert(&mut self, key: Bytes, value: Bytes) -> (bool, Split) {
        match self {
            Self::Leaf(leaf) => Arc::make_mut(leaf).insert(key, value),
            Self::Branch(branch) => Arc::make_mut(branch).insert(key, value),
        }
    }

    /// Removes an existing key.
    fn remove(&mut self, key: &[u8]) {
        match self {
            Self::Leaf(leaf) => Arc::make_mut(leaf).remove(key),
            Self::Branch(branch) => Arc::make_mut(branch).remove(key),
        }
    }

    /// Appends all entries of the right sibling, whose least key is `between`.
    fn append(&mut self, between: Bytes, right: Self) {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => {
                let (left, right) = (Arc::make_mut(left), Arc::unwrap_or_clone(right));
                left.keys.append(None, right.keys);
                left.values.extend(right.values);
            }
            (Self::Branch(left), Self::Branch(right)) => {
                let (left, right) = (Arc::make_mut(left), Arc::unwrap_or_clone(right));
                left.keys.append(Some(between), right.keys);
                left.children.extend(right.children);
            }
            _ => debug_assert!(false, "siblings have the same height"),
        }
    }
}

impl Leaf {
    fn insert(&mut self, key: Bytes, value: Bytes) -> (bool, Split) {
        match self.keys.search(&key) {
            Ok(place) => {
                if let Some(slot) = self.values.get_mut(place) {
                    *slot = value;
                }
                (false, None)
            }
            Err(place) if self.values.len() < MAX_KEYS => {
                self.keys.insert(place, key);
                self.values.insert(place, value);
                (true, None)
            }
            Err(place) => (true, Some(self.insert_and_split(place, key, value))),
        }
    }

    fn insert_and_split(&mut self, place: usize, key: Bytes, value: Bytes) -> (Bytes, Node) {
        let middle = self.keys.split_place(place);
        let mut right =
            Self { keys: self.keys.split_off(middle), values: self.values.split_off(middle) };
        let (side, place) =
            if place < middle { (self, place) } else { (&mut right, place - middle) };
        side.keys.insert(place, key);
        side.values.insert(place, value);
        let least = right.keys.as_slice().first().cloned().unwrap_or_default();
        (least, Node::Leaf(Arc::new(right)))
    }

    fn remove(&mut self, key: &[u8]) {
        if let Ok(place) = self.keys.search(key) {
            self.keys.remove(place);
            self.values.remove(place);
        }
    }
}

impl Branch {
    /// The index of the child that a key belongs to.
    fn place(&self, key: &[u8]) -> usize {
        self.keys.search(key).map_or_else(|place| place, |place| place + 1)
    }

    fn child(&self, key: &[u8]) -> Option<&Node> {
        self.children.get(self.place(key))
    }

    fn insert(&mut self, key: Bytes, value: Bytes) -> (bool, Split) {
        let place = self.place(&key);
        let Some(child) = self.children.get_mut(place) else { return (false, None) };
        let (is_new, split) = child.insert(key, value);
        let Some((least, right)) = split else { return (is_new, None) };
        if self.keys.len() < MAX_KEYS {
            self.insert_child(place, least, right);
            return (is_new, None);
        }
        (is_new, Some(self.insert_and_split(place, least, right)))
    }

    /// Inserts a child after the one at `place`.
    fn insert_child(&mut self, place: usize, least: Bytes, child: Node) {
        self.keys.insert(place, least);
        self.children.insert(place + 1, child);
    }

    fn insert_and_split(&mut self, place: usize, least: Bytes, child: Node) -> (Bytes, Node) {
        let middle = self.keys.split_place(place);
        let mut right =
            Self { keys: self.keys.split_off(middle), children: self.children.split_off(middle) };
        // The last key of the left half is the lower bound of the right half.
        let between = self.keys.remove(middle - 1);
        let (side, place) =
            if place < middle { (self, place) } else { (&mut right, place - middle) };
        side.insert_child(place, least, child);
        (between, Node::Branch(Arc::new(right)))
    }

    /// Removes an existing key.
    fn remove(&mut self, key: &[u8]) {
        let place = self.place(key);
        let Some(child) = self.children.get_mut(place) else { return };
        child.remove(key);
        match child.width() {
            0 => self.remove_child(place),
            1..SPARSE => self.merge_around(place),
            _ => {}
        }
    }

    fn remove_child(&mut self, place: usize) {
        self.children.remove(place);
        if self.keys.len() > 0 {
            self.keys.remove(place.saturating_sub(1));
        }
    }

    /// Merges a sparse child with one of its neighbours, if both fit into one node.
    fn merge_around(&mut self, place: usize) {
        let width = |place: usize| self.children.get(place).map_or(usize::MAX, Node::width);
        let fits = |left: usize| width(left).saturating_add(width(left + 1)) <= MAX_KEYS;
        let mut lefts = place.checked_sub(1).into_iter().chain([place]);
        let Some(left) = lefts.find(|&left| fits(left)) else { return };
        let (right, between) = (self.children.remove(left + 1), self.keys.remove(left));
        if let Some(left) = self.children.get_mut(left) {
            left.append(between, right);
        }
    }
}
