//! Checks the invariants of a tree.

use super::{MAX_KEYS, Node, Tree};

impl Tree {
    /// Checks every node and reports the first violation.
    pub(in crate::memory) fn check(&self) -> Result<(), String> {
        let mut depths = Vec::new();
        check(&self.root, 0, &mut depths)?;
        if depths.windows(2).any(|pair| matches!(pair, [left, right] if left != right)) {
            return Err("leaves of the tree have different depths".into());
        }
        let is_ordered = self.iter().zip(self.iter().skip(1)).all(|(one, next)| one.0 < next.0);
        if !is_ordered {
            return Err("keys of the tree are not in order".into());
        }
        if !self.iter().all(|(key, _)| self.get(key).is_some()) {
            return Err("a key of the tree cannot be found".into());
        }
        match self.iter().count() {
            count if count == self.len => Ok(()),
            count => Err(format!("the tree has {count} entries, but counts {}", self.len)),
        }
    }
}

/// Checks a node and its subtree, and records the depth of each leaf.
fn check(node: &Node, depth: usize, depths: &mut Vec<usize>) -> Result<(), String> {
    let keys = match node {
        Node::Leaf(leaf) => {
            depths.push(depth);
            if leaf.keys.len() != leaf.values.len() {
                return Err("a leaf has keys without values".into());
            }
            &leaf.keys
        }
        Node::Branch(branch) => {
            if branch.keys.len() + 1 != branch.children.len() {
                return Err("a branch has keys without children".into());
            }
            for (place, child) in branch.children.iter().enumerate() {
                if child.width() == 0 {
                    return Err("a node is empty".into());
                }
                let mut ends = child.ends();
                if ends.any(|key| branch.place(key) != place) {
                    return Err("a key lies in the wrong child of a branch".into());
                }
                check(child, depth + 1, depths)?;
            }
            &branch.keys
        }
    };
    if keys.len() > MAX_KEYS {
        return Err("a node has too many keys".into());
    }
    let is_found = |(place, key): (usize, &bytes::Bytes)| keys.search(key) == Ok(place);
    if !keys.as_slice().iter().enumerate().all(is_found) {
        return Err("a key cannot be found in its own node".into());
    }
    Ok(())
}

impl Node {
    /// The first and last key of this node.
    fn ends(&self) -> impl Iterator<Item = &[u8]> {
        let keys = match self {
            Self::Leaf(leaf) => leaf.keys.as_slice(),
            Self::Branch(branch) => branch.keys.as_slice(),
        };
        keys.first().into_iter().chain(keys.last()).map(AsRef::as_ref)
    }
}
