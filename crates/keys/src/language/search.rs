//! Walks through automata: texts that two languages share, and the shortest way to the end of a text.

use std::collections::HashSet;
use std::hash::Hash;

use super::{Language, State};
use crate::byteset::ByteSet;

impl Language {
    /// A text that both languages have, if there is one: a shortest one, in letters and digits where possible.
    pub fn shared_text(&self, other: &Self) -> Option<Vec<u8>> {
        let both_end = |a, b| self.accepts(a) && other.accepts(b);
        if both_end(Self::START, Self::START) {
            return Some(Vec::new());
        }
        search(self, other, both_end).map(|(text, _)| text)
    }
}

/// Walks two automata in step to the nearest wanted pair of states, at least one byte away: the text read, and the right
/// one's state.
pub(crate) fn search(
    left: &Language,
    right: &Language,
    wanted: impl Fn(State, State) -> bool,
) -> Option<(Vec<u8>, State)> {
    let steps = |(a, b): (State, State)| {
        let pairs = left.edges(a).iter().flat_map(|x| right.edges(b).iter().map(move |y| (x, y)));
        pairs
            .filter_map(|((left_bytes, left_to), (right_bytes, right_to))| {
                let byte = most_readable(left_bytes.intersection(*right_bytes))?;
                Some((byte, (*left_to, *right_to)))
            })
            .collect()
    };
    let start = (Language::START, Language::START);
    shortest(start, steps, |(a, b)| wanted(a, b)).map(|(text, (_, state))| (text, state))
}

/// A shortest continuation, of at least one byte, from a state to the end of a text.
pub(crate) fn completion(language: &Language, from: State) -> Option<Vec<u8>> {
    let steps = |state| {
        let edges = language.edges(state).iter();
        edges.filter_map(|(bytes, to)| Some((most_readable(*bytes)?, *to))).collect()
    };
    shortest(from, steps, |state| language.accepts(state)).map(|(text, _)| text)
}

/// Breadth-first search over nodes for a wanted one, at least one step away: the bytes on the way, and the node.
fn shortest<N: Copy + Eq + Hash>(
    start: N,
    steps: impl Fn(N) -> Vec<(u8, N)>,
    wanted: impl Fn(N) -> bool,
) -> Option<(Vec<u8>, N)> {
    // Each entry is a node and how it was reached: by a byte from an earlier entry.
    let mut reached: Vec<(N, Option<(u8, usize)>)> = vec![(start, None)];
    let mut seen = HashSet::new();
    let mut at = 0;
    while let Some(&(node, _)) = reached.get(at) {
        for (byte, next) in steps(node) {
            if !seen.insert(next) {
                continue;
            }
            reached.push((next, Some((byte, at))));
            if wanted(next) {
                let mut text = Vec::new();
                let mut back = reached.len() - 1;
                while let Some(&(_, Some((byte, previous)))) = reached.get(back) {
                    text.push(byte);
                    back = previous;
                }
                text.reverse();
                return Some((text, next));
            }
        }
        at += 1;
    }
    None
}

/// The byte of a set that reads best in an example.
fn most_readable(bytes: ByteSet) -> Option<u8> {
    b"a1A0".iter().copied().find(|&byte| bytes.contains(byte)).or_else(|| {
        let printable = bytes.intersection(ByteSet::range(b'!', b'~'));
        printable.min().or_else(|| bytes.min())
    })
}
