//! Compares the tree with the standard library's ordered map.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

use super::heads::compare;
use super::{MAX_KEYS, Tree};
use crate::{Direction, KeyRange};

type Model = BTreeMap<Bytes, Bytes>;

#[derive(Clone, Debug)]
enum Step {
    Insert(Bytes),
    Remove(Bytes),
    /// Inserts this many ascending keys with a common prefix.
    Fill(Bytes, u16),
    /// Removes every key in a range except one in this many.
    Thin(Bytes, Bytes, usize),
    /// Clones the tree; later steps must not change the clone.
    Copy,
}

/// Keys that share prefixes, are prefixes of others, or differ only after zeros.
fn key() -> impl Strategy<Value = Bytes> {
    let bytes = prop_oneof![Just(0_u8), Just(1), Just(b'a'), Just(b'b'), Just(u8::MAX)];
    let beginning = prop_oneof![Just(0), Just(1), Just(70)];
    (beginning, vec(bytes, 1..10)).prop_map(|(shared, rest)| {
        let mut key = vec![b'k'; shared];
        key.extend(rest);
        key.into()
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => key().prop_map(Step::Insert),
        4 => key().prop_map(Step::Remove),
        2 => (key(), 0..400_u16).prop_map(|(key, count)| Step::Fill(key, count)),
        1 => (key(), key(), 1..80_usize).prop_map(|(one, other, keep)| Step::Thin(one, other, keep)),
        1 => Just(Step::Copy),
    ]
}

fn behind(key: &Bytes, number: u16) -> Bytes {
    [key.as_ref(), &number.to_be_bytes()].concat().into()
}

fn apply(step: Step, turn: usize, tree: &mut Tree, model: &mut Model) {
    let value = Bytes::from(turn.to_string());
    let mut insert = |key: Bytes, tree: &mut Tree| {
        tree.insert(key.clone(), value.clone());
        model.insert(key, value.clone());
    };
    match step {
        Step::Insert(key) => insert(key, tree),
        Step::Fill(key, count) => {
            (0..count).for_each(|number| insert(behind(&key, number), tree));
        }
        Step::Remove(key) => {
            tree.remove(&key);
            model.remove(&key);
        }
        Step::Thin(one, other, keep) => {
            let range = one.clone().min(other.clone())..=one.max(other);
            let keys: Vec<Bytes> = model.range(range).map(|(key, _)| key.clone()).collect();
            let gone = keys.iter().enumerate().filter(|(place, _)| place % keep != 0);
            for (_, key) in gone {
                tree.remove(key);
                model.remove(key);
            }
        }
        Step::Copy => {}
    }
}

fn assert_equal(tree: &Tree, model: &Model) {
    tree.check().unwrap();
    assert_eq!(tree.len(), model.len());
    assert!(tree.iter().eq(model));
}

fn bound() -> impl Strategy<Value = Bound<Bytes>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        3 => key().prop_map(Bound::Included),
        3 => key().prop_map(Bound::Excluded),
    ]
}

#[test]
fn keys_compare_as_slices_do() {
    let keys: [&[u8]; 12] = [
        b"",
        b"\0",
        b"\0\0",
        b"a",
        b"a\0",
        b"ab",
        b"abcdefgh",
        b"abcdefgh\0",
        b"abcdefghi",
        b"abcdefgi",
        b"abcdefghijklmnop",
        b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
    ];
    for left in keys {
        for right in keys {
            assert_eq!(compare(left, right), left.cmp(right), "{left:?} and {right:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn content_equals_an_ordered_map(steps in vec(step(), 1..60)) {
        let (mut tree, mut model) = (Tree::default(), Model::new());
        let mut copies = Vec::new();
        for (turn, step) in steps.into_iter().enumerate() {
            if matches!(step, Step::Copy) {
                copies.push((tree.clone(), model.clone()));
            }
            apply(step, turn, &mut tree, &mut model);
        }
        assert_equal(&tree, &model);
        for (tree, model) in &copies {
            assert_equal(tree, model);
        }
    }

    #[test]
    fn gets_and_ranges_equal_an_ordered_map(
        steps in vec(step(), 1..30),
        ranges in vec((bound(), bound()), 20),
        keys in vec(key(), 50),
    ) {
        let (mut tree, mut model) = (Tree::default(), Model::new());
        for (turn, step) in steps.into_iter().enumerate() {
            apply(step, turn, &mut tree, &mut model);
        }
        for key in keys {
            prop_assert_eq!(tree.get(&key), model.get(&key));
        }
        for (lower, upper) in ranges {
            let range = KeyRange { lower, upper };
            let mut wanted: Vec<_> =
                model.iter().filter(|(key, _)| range.contains(key)).collect();
            prop_assert!(tree.range(&range, Direction::Forward).eq(wanted.iter().copied()));
            wanted.reverse();
            prop_assert!(tree.range(&range, Direction::Backward).eq(wanted));
        }
    }
}

#[test]
fn ascending_inserts_fill_nodes_and_removals_free_them() {
    let key = |number: usize| Bytes::from(format!("order#{number:06}"));
    let count = MAX_KEYS.pow(4) * 3;
    let mut tree = Tree::default();
    (0..count).for_each(|number| tree.insert(key(number), Bytes::new()));
    tree.check().unwrap();
    let full = count / MAX_KEYS;
    assert!(tree.leaves() <= full * 3 / 2, "{} leaves; {full} would suffice", tree.leaves());
    for number in 0..count {
        tree.remove(&key(number));
    }
    tree.check().unwrap();
    assert_eq!((tree.len(), tree.leaves()), (0, 1));
}

#[test]
fn sparse_nodes_are_merged() {
    let key = |number: usize| Bytes::from(format!("order#{number:06}"));
    let mut tree = Tree::default();
    (0..10_000).for_each(|number| tree.insert(key(number), Bytes::new()));
    (0..10_000).filter(|number| number % 20 != 0).for_each(|number| tree.remove(&key(number)));
    tree.check().unwrap();
    assert_eq!(tree.len(), 500);
    assert!(tree.leaves() <= 500 / (MAX_KEYS / 4), "{} leaves for 500 entries", tree.leaves());
}

impl Tree {
    fn leaves(&self) -> usize {
        fn leaves(node: &super::Node) -> usize {
            match node {
                super::Node::Leaf(_) => 1,
                super::Node::Branch(branch) => branch.children.iter().map(leaves).sum(),
            }
        }
        leaves(&self.root)
    }
}
