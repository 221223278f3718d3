//! Templates as finite automata over bytes, to compare them with each other and with beginnings of keys.
//!
//! The automaton accepts every key of the template and, because it looks at one byte at a time, a few texts more: it
//! knows that the tens of a month are 0 or 1, not that there is no month 19. So "no" is a proof and "yes" means maybe;
//! examples are checked by parsing them.

use std::collections::HashSet;
use std::hash::Hash;

use crate::byteset::ByteSet;
use crate::escape::{TextCodec, runs_into};
use crate::format::Shape;
use crate::template::{Segment, Template};

/// A state's place in the automaton.
pub(crate) type State = usize;

/// States with transitions on sets of bytes.
pub(crate) struct Automaton {
    edges: Vec<Vec<(ByteSet, State)>>,
    accepting: Vec<State>,
    /// The segment that each state is in or has just ended.
    segments: Vec<usize>,
}

impl Automaton {
    /// Before the first byte.
    pub(crate) const START: State = 0;

    pub(crate) fn new(template: &Template) -> Self {
        let mut automaton =
            Automaton { edges: vec![Vec::new()], accepting: vec![Self::START], segments: vec![0] };
        for (at, segment) in template.segments().iter().enumerate() {
            automaton.append(at, segment, template.codec());
        }
        automaton
    }

    /// Whether a key may end here.
    pub(crate) fn accepts(&self, state: State) -> bool {
        self.accepting.contains(&state)
    }

    /// The segment that a state is in or has just ended.
    pub(crate) fn segment(&self, state: State) -> usize {
        self.segments.get(state).copied().unwrap_or_default()
    }

    pub(crate) fn edges(&self, state: State) -> &[(ByteSet, State)] {
        self.edges.get(state).map_or(&[], Vec::as_slice)
    }

    /// The states reached from some states by one byte.
    pub(crate) fn step(&self, states: &[State], byte: u8) -> Vec<State> {
        let mut reached: Vec<State> = states
            .iter()
            .flat_map(|&state| self.edges(state))
            .filter(|(bytes, _)| bytes.contains(byte))
            .map(|&(_, to)| to)
            .collect();
        reached.sort_unstable();
        reached.dedup();
        reached
    }

    fn state(&mut self, segment: usize) -> State {
        self.edges.push(Vec::new());
        self.segments.push(segment);
        self.edges.len() - 1
    }

    fn edge(&mut self, from: State, bytes: ByteSet, to: State) {
        if !bytes.is_empty()
            && let Some(edges) = self.edges.get_mut(from)
        {
            edges.push((bytes, to));
        }
    }

    /// Lets a segment follow all that may end now.
    fn append(&mut self, at: usize, segment: &Segment, codec: &TextCodec) {
        let from = std::mem::take(&mut self.accepting);
        self.accepting = match segment {
            Segment::Literal(literal) => vec![self.chain(at, &from, one_each(literal))],
            Segment::Field(field) => match field.format().shape(codec) {
                Shape::Places(places) => vec![self.chain(at, &from, places)],
                Shape::Choices(choices) => {
                    choices.iter().map(|choice| self.chain(at, &from, one_each(choice))).collect()
                }
                Shape::Run(bytes) if field.format().is_guarded() => {
                    self.run_without(at, &from, bytes, codec.separator().as_bytes())
                }
                Shape::Run(bytes) => self.run_without(at, &from, bytes, &[]),
            },
        };
    }

    /// One state after another.
    fn chain(&mut self, segment: usize, from: &[State], places: Vec<ByteSet>) -> State {
        let mut from = from.to_vec();
        let mut last = from.first().copied().unwrap_or(Self::START);
        for bytes in places {
            last = self.state(segment);
            for state in from {
                self.edge(state, bytes, last);
            }
            from = vec![last];
        }
        last
    }

    /// One or more bytes in which the separator does not occur, nor begins so that it would be found too early. There is
    /// a state for each number of separator bytes just seen. Returns the states in which the run may end.
    fn run_without(
        &mut self,
        segment: usize,
        from: &[State],
        bytes: ByteSet,
        separator: &[u8],
    ) -> Vec<State> {
        let states: Vec<State> = (0..separator.len().max(1)).map(|_| self.state(segment)).collect();
        for (seen, &state) in states.iter().enumerate() {
            let mut targets = vec![ByteSet::EMPTY; separator.len().max(1)];
            for byte in bytes.iter() {
                // Reaching the whole separator is not allowed, so there is no target for it.
                if let Some(target) = targets.get_mut(matched(separator, seen, byte)) {
                    *target = target.with(byte);
                }
            }
            for (target, &to) in targets.iter().zip(&states) {
                self.edge(state, *target, to);
                if seen == 0 {
                    for &state in from {
                        self.edge(state, *target, to);
                    }
                }
            }
        }
        let may_end =
            |seen: &usize| !runs_into(separator.get(..*seen).unwrap_or_default(), separator);
        states
            .iter()
            .enumerate()
            .filter(|(seen, _)| may_end(seen))
            .map(|(_, &state)| state)
            .collect()
    }
}

fn one_each(text: &str) -> Vec<ByteSet> {
    text.bytes().map(|byte| ByteSet::EMPTY.with(byte)).collect()
}

/// How many bytes of the separator have been seen after one more byte.
fn matched(separator: &[u8], seen: usize, byte: u8) -> usize {
    let mut text: Vec<u8> = separator.iter().copied().take(seen).collect();
    text.push(byte);
    (0..=text.len())
        .filter_map(|skip| text.get(skip..))
        .find(|tail| separator.starts_with(tail))
        .map_or(0, <[u8]>::len)
}

/// Walks two automata in step to the nearest wanted pair of states: the text read, and the right one's state.
pub(crate) fn search(
    left: &Automaton,
    right: &Automaton,
    wanted: impl Fn(State, State) -> bool,
) -> Option<(Vec<u8>, State)> {
    let steps = |(a, b): (State, State)| {
        let pairs = left.edges(a).iter().flat_map(|x| right.edges(b).iter().map(move |y| (x, y)));
        pairs
            .filter_map(|((left_bytes, left_to), (right_bytes, right_to))| {
                let byte = likeliest(left_bytes.intersection(*right_bytes))?;
                Some((byte, (*left_to, *right_to)))
            })
            .collect()
    };
    let start = (Automaton::START, Automaton::START);
    shortest(start, steps, |(a, b)| wanted(a, b)).map(|(text, (_, state))| (text, state))
}

/// A shortest continuation, of at least one byte, from a state to the end of a key.
pub(crate) fn completion(automaton: &Automaton, from: State) -> Option<Vec<u8>> {
    let steps = |state| {
        let edges = automaton.edges(state).iter();
        edges.filter_map(|(bytes, to)| Some((likeliest(*bytes)?, *to))).collect()
    };
    shortest(from, steps, |state| automaton.accepts(state)).map(|(text, _)| text)
}

/// Breadth-first search over nodes for a wanted one, at least one step away: the bytes on the way, and the node.
pub(crate) fn shortest<N: Copy + Eq + Hash>(
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

/// A byte of the set that makes examples readable, and dates and numbers valid.
fn likeliest(bytes: ByteSet) -> Option<u8> {
    b"1a0A-".iter().copied().find(|&byte| bytes.contains(byte)).or_else(|| {
        let printable = bytes.intersection(ByteSet::range(b'!', b'~'));
        printable.min().or_else(|| bytes.min())
    })
}
