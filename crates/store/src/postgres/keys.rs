//! Where a key's row is.
//!
//! A btree of PostgreSQL takes keys of 2,692 bytes; ours reach 65,535. A key of up to [`SHORT`] bytes
//! is at `01 key`. Of a longer one the first [`SHORT`] bytes name a *node*, the row
//! `01 prefix 00`, which holds a random id, and the rest lies in the node's space at `02 id rest`, by
//! the same rule. Only nodes have keys of that length, so they sort right after the key that is their
//! prefix and before everything else, which is where the longer keys belong.
//!
//! Nodes are made before their keys and are removed only with everything under a prefix. A commit
//! checks that the nodes of its keys are still there.

use std::ops::Bound;

use bytes::Bytes;

use crate::KeyRange;

/// The longest part of a key that one row takes.
pub(super) const SHORT: usize = 2048;

/// The row that holds the epoch.
pub(super) const EPOCH: &[u8] = &[0];

/// The space of keys that are not under a node.
pub(super) const ROOT: &[u8] = &[1];

/// Ends the key of a node's row.
const NODE: u8 = 0;

/// The space of a node's keys.
pub(super) fn space_of(id: &[u8]) -> Vec<u8> {
    [&[2], id].concat()
}

/// What the next step to a key's row is.
pub(super) enum Step<'a> {
    /// The row itself.
    Row(Bytes),
    /// A node's row, and the rest of the key in the node's space.
    Node(Bytes, &'a [u8]),
}

/// The next step to a key in a space.
pub(super) fn step<'a>(space: &[u8], key: &'a [u8]) -> Step<'a> {
    match key.split_at_checked(SHORT) {
        Some((prefix, rest)) if !rest.is_empty() => Step::Node(node(space, prefix), rest),
        _ => Step::Row([space, key].concat().into()),
    }
}

/// The row of a key that is short enough for one; none of a longer key.
pub(super) fn short_row(key: &[u8]) -> Option<Bytes> {
    (key.len() <= SHORT).then(|| [ROOT, key].concat().into())
}

/// The row of the node with this prefix.
fn node(space: &[u8], prefix: &[u8]) -> Bytes {
    [space, prefix, &[NODE]].concat().into()
}

/// The prefix of a node, if this is the key of a node's row in a space.
pub(super) fn node_prefix<'a>(space: &[u8], row: &'a [u8]) -> Option<&'a [u8]> {
    let inside = row.strip_prefix(space)?;
    inside.split_at_checked(SHORT).filter(|(_, end)| *end == [NODE]).map(|(prefix, _)| prefix)
}

/// How long the row key of a node in a space is.
pub(super) fn node_length(space: &[u8]) -> usize {
    space.len() + SHORT + 1
}

/// The rows of a space that a range of keys may be in: from the first, inclusive, to the last,
/// exclusive.
pub(super) fn rows(space: &[u8], range: &KeyRange) -> (Vec<u8>, Vec<u8>) {
    let whole = |key: &[u8], end: &[u8]| [space, key, end].concat();
    let first = match &range.lower {
        Bound::Unbounded => space.to_vec(),
        Bound::Included(key) | Bound::Excluded(key) => match (step(space, key), &range.lower) {
            (Step::Node(node, _), _) => node.into(),
            (Step::Row(_), Bound::Excluded(_)) => whole(key, &[0]),
            (Step::Row(row), _) => row.into(),
        },
    };
    let last = match &range.upper {
        Bound::Unbounded => after(space),
        Bound::Included(key) | Bound::Excluded(key) => match (step(space, key), &range.upper) {
            (Step::Node(node, _), _) => [&node, &[0][..]].concat(),
            (Step::Row(_), Bound::Included(_)) => whole(key, &[0]),
            (Step::Row(row), _) => row.into(),
        },
    };
    (first, last)
}

/// The first row after a space, none of which consists of `FF` alone.
fn after(space: &[u8]) -> Vec<u8> {
    match KeyRange::prefix(space).upper {
        Bound::Excluded(end) => end.into(),
        _ => vec![3],
    }
}

/// The part of a range that lies under a node with this prefix.
pub(super) fn under_node(range: &KeyRange, prefix: &[u8]) -> KeyRange {
    let part = |bound: &Bound<Bytes>| match bound {
        Bound::Included(key) | Bound::Excluded(key)
            if key.len() > SHORT && key.starts_with(prefix) =>
        {
            bound.as_ref().map(|key| key.slice(SHORT..))
        }
        _ => Bound::Unbounded,
    };
    KeyRange { lower: part(&range.lower), upper: part(&range.upper) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_sort_right_after_their_prefix() {
        let prefix = vec![7; SHORT];
        let long = [prefix.as_slice(), b"more"].concat();
        let Step::Row(row) = step(ROOT, &prefix) else { panic!("it is short enough") };
        let Step::Node(node, rest) = step(ROOT, &long) else { panic!("it is too long") };
        assert_eq!(rest, b"more");
        assert!(row < node);
        let mut next = prefix.clone();
        *next.last_mut().unwrap() += 1;
        let Step::Row(next) = step(ROOT, &next) else { panic!("it is short enough") };
        assert!(node < next);
        assert_eq!(node_prefix(ROOT, &node), Some(prefix.as_slice()));
        assert_eq!(node_prefix(ROOT, &row), None);
        assert_eq!(node.len(), node_length(ROOT));
    }

    #[test]
    fn a_range_covers_the_rows_of_its_keys() {
        use Bound::{Excluded, Included, Unbounded};
        let long = Bytes::from(vec![7; SHORT + 1]);
        let prefix = Bytes::from(vec![7; SHORT]);
        let Step::Node(node, _) = step(ROOT, &long) else { panic!("it is too long") };
        let covers = |lower, upper| {
            let (first, last) = rows(ROOT, &KeyRange { lower, upper });
            first.as_slice() <= node.as_ref() && node.as_ref() < last.as_slice()
        };
        assert!(covers(Unbounded, Unbounded));
        assert!(covers(Excluded(prefix.clone()), Unbounded));
        assert!(!covers(Unbounded, Included(prefix.clone())));
        assert!(covers(Unbounded, Excluded(long.clone())));
        assert!(covers(Excluded(long.clone()), Unbounded));
        let range = KeyRange { lower: Excluded(long), upper: Unbounded };
        let under = under_node(&range, &prefix);
        assert_eq!(under.lower, Excluded(Bytes::from_static(&[7])));
    }
}
