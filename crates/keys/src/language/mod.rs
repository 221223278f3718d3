//! Languages of key texts: which texts a template can produce, and whether two sets of texts overlap.
//!
//! A [`Language`] is a nondeterministic finite automaton over bytes, built from left to right: a literal is a chain of
//! states, a text field is a loop that avoids the separator, a date is a set of digit chains that only real dates pass.
//! The product of two automata answers "can a key of this template lie in that range?", and the path it finds is the
//! text of a counter-example.
//!
//! The language of a template has every key of the template, so that "no" is a proof. It has other texts only where
//! counting would cost more than it tells: the maximum length of a text field and of the whole key is not enforced, and
//! `fixed` text and text beside a non-ASCII separator may be invalid UTF-8. `tests/properties/language.rs` checks both
//! directions against parsing.

mod calendar;
mod field;
mod interval;
mod search;
mod utf8;

use std::collections::{BTreeMap, HashMap};

use crate::byteset::ByteSet;
use crate::escape::runs_into;
use crate::template::{Segment, Template};

pub(crate) use search::{completion, search};

/// The index of a state in its automaton.
pub(crate) type State = usize;

/// A set of texts.
#[derive(Clone, Debug)]
pub struct Language {
    states: Vec<Node>,
    /// The states in which a text may end, and to which the next part is attached.
    ends: Vec<State>,
    /// The template segment being appended; recorded in each new state.
    segment: usize,
}

#[derive(Clone, Debug)]
struct Node {
    edges: Vec<(ByteSet, State)>,
    segment: usize,
}

/// How the unescaped part of a text field is told from what follows it.
#[derive(Clone, Copy, Debug)]
struct Guard<'s> {
    /// A text that does not occur; empty if every text may.
    avoid: &'s [u8],
    /// The text must not end such that, followed by `avoid`, `avoid` is found too early.
    clear_end: bool,
}

impl Default for Language {
    fn default() -> Self {
        Self::empty_text()
    }
}

impl Language {
    /// The state before the first byte.
    pub(crate) const START: State = 0;

    /// The language of the empty text only.
    pub fn empty_text() -> Self {
        let start = Node { edges: Vec::new(), segment: 0 };
        Language { states: vec![start], ends: vec![Self::START], segment: 0 }
    }

    /// The number of its states; comparing two languages takes time with the product.
    pub fn size(&self) -> usize {
        self.states.len()
    }

    /// Whether a text may end in this state.
    pub(crate) fn accepts(&self, state: State) -> bool {
        self.ends.contains(&state)
    }

    /// The template segment that a state is in or has just ended.
    pub(crate) fn segment(&self, state: State) -> usize {
        self.states.get(state).map_or(0, |node| node.segment)
    }

    pub(crate) fn edges(&self, state: State) -> &[(ByteSet, State)] {
        self.states.get(state).map_or(&[], |node| node.edges.as_slice())
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

    /// The states reached from the start by a text.
    fn after(&self, text: &[u8]) -> Vec<State> {
        text.iter().fold(vec![Self::START], |states, &byte| self.step(&states, byte))
    }

    /// Whether the language has this text.
    pub fn contains(&self, text: &[u8]) -> bool {
        self.after(text).iter().any(|&state| self.accepts(state))
    }

    /// Whether a text of the language begins with this text.
    pub(crate) fn has_beginning(&self, text: &[u8]) -> bool {
        !self.after(text).is_empty()
    }

    /// Every byte that a text of the language can contain.
    pub(crate) fn alphabet(&self) -> ByteSet {
        let edges = self.states.iter().flat_map(|node| &node.edges);
        edges.fold(ByteSet::EMPTY, |set, (bytes, _)| set.union(*bytes))
    }

    fn state(&mut self) -> State {
        self.states.push(Node { edges: Vec::new(), segment: self.segment });
        self.states.len() - 1
    }

    fn edge(&mut self, from: State, bytes: ByteSet, to: State) {
        let Some(node) = self.states.get_mut(from).filter(|_| !bytes.is_empty()) else { return };
        match node.edges.iter_mut().find(|(_, target)| *target == to) {
            Some((known, _)) => *known = known.union(bytes),
            None => node.edges.push((bytes, to)),
        }
    }

    fn edge_from_each(&mut self, from: &[State], bytes: ByteSet, to: State) {
        for &state in from {
            self.edge(state, bytes, to);
        }
    }

    /// A chain of states from any of some states, one for each set.
    fn chain(&mut self, from: &[State], sets: impl IntoIterator<Item = ByteSet>) -> Vec<State> {
        let mut from = from.to_vec();
        for bytes in sets {
            let next = self.state();
            self.edge_from_each(&from, bytes, next);
            from = vec![next];
        }
        from
    }

    /// Several texts from any of some states, with common beginnings shared; returns where each ends.
    fn branches(
        &mut self,
        from: &[State],
        texts: impl IntoIterator<Item = Vec<ByteSet>>,
    ) -> Vec<State> {
        let mut known: HashMap<(Option<State>, ByteSet), State> = HashMap::new();
        let mut ends = Vec::new();
        for text in texts {
            let mut at = None;
            for bytes in text {
                let next = known.get(&(at, bytes)).copied().unwrap_or_else(|| {
                    let next = self.state();
                    match at {
                        Some(state) => self.edge(state, bytes, next),
                        None => self.edge_from_each(from, bytes, next),
                    }
                    next
                });
                known.insert((at, bytes), next);
                at = Some(next);
            }
            match at {
                Some(state) => ends.push(state),
                None => ends.extend_from_slice(from),
            }
        }
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// Appends exactly this text.
    pub fn literal(&mut self, text: &[u8]) {
        self.classes(&one_each(text));
    }

    /// Appends one byte of each set in turn.
    pub fn classes(&mut self, sets: &[ByteSet]) {
        let from = std::mem::take(&mut self.ends);
        self.ends = self.chain(&from, sets.iter().copied());
    }

    /// Appends one of these texts.
    pub fn choice<T: AsRef<str>>(&mut self, texts: &[T]) {
        self.alternatives(texts.iter().map(|text| one_each(text.as_ref().as_bytes())));
    }

    fn alternatives(&mut self, texts: impl IntoIterator<Item = Vec<ByteSet>>) {
        let from = std::mem::take(&mut self.ends);
        self.ends = self.branches(&from, texts);
    }

    /// Appends one or more characters whose bytes are in the set, never containing `avoid` (unless that is empty). Bytes
    /// above 127 stand for all characters outside ASCII.
    pub fn text(&mut self, bytes: ByteSet, avoid: &[u8]) {
        self.run(bytes, &[], Guard { avoid, clear_end: false });
    }

    /// Appends anything, or nothing.
    pub fn anything(&mut self) {
        let more = self.state();
        let from = self.ends.clone();
        self.edge_from_each(&from, ByteSet::ALL, more);
        self.edge(more, ByteSet::ALL, more);
        self.ends.push(more);
    }

    /// Appends a text from `low` to `high`, both included, in byte order.
    pub fn between(&mut self, low: &[u8], high: &[u8]) {
        interval::append(self, low, high, interval::Width::Any);
    }

    /// Appends one or more plain characters or escape sequences. State `k` of the loop has just seen the first `k` bytes of
    /// the text to avoid; completing it is not possible.
    fn run(&mut self, plain: ByteSet, escapes: &[String], guard: Guard<'_>) {
        let from = std::mem::take(&mut self.ends);
        // A wide character ends every beginning of an ASCII text to avoid. Others are avoided byte by byte.
        let (plain, wide) = if guard.avoid.is_ascii() {
            (plain.intersection(ByteSet::ASCII), plain.without(ByteSet::ASCII))
        } else {
            (plain, ByteSet::EMPTY)
        };
        let states: Vec<State> = (0..guard.avoid.len().max(1)).map(|_| self.state()).collect();
        for (seen, &state) in states.iter().enumerate() {
            let mut targets = vec![ByteSet::EMPTY; states.len()];
            for byte in plain.iter() {
                if let Some(target) = targets.get_mut(matched(guard.avoid, seen, byte)) {
                    *target = target.with(byte);
                }
            }
            for (bytes, &to) in targets.into_iter().zip(&states) {
                self.edge(state, bytes, to);
                if seen == 0 {
                    self.edge_from_each(&from, bytes, to);
                }
            }
        }
        let before: Vec<State> = from.iter().chain(&states).copied().collect();
        let after = states.first().copied().unwrap_or_default();
        self.escapes(&before, escapes, after);
        if !wide.is_empty() {
            self.wide_characters(&before, after, Self::edge_from_each);
        }
        let may_end = |seen: usize| {
            !guard.clear_end || !runs_into(guard.avoid.get(..seen).unwrap_or_default(), guard.avoid)
        };
        let ends = states.iter().enumerate().filter(|(seen, _)| may_end(*seen));
        self.ends = ends.map(|(_, &state)| state).collect();
    }

    /// Escape sequences from any of some states to one state.
    fn escapes(&mut self, from: &[State], escapes: &[String], to: State) {
        let mut by_head: BTreeMap<&[u8], ByteSet> = BTreeMap::new();
        for (last, head) in escapes.iter().filter_map(|escape| escape.as_bytes().split_last()) {
            let lasts = by_head.entry(head).or_default();
            *lasts = lasts.with(*last);
        }
        for (head, lasts) in by_head {
            let at = self.chain(from, one_each(head));
            self.edge_from_each(&at, lasts, to);
        }
    }
}

impl Template {
    /// Every text that the template can produce.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let day = Template::parse("DAY#{day:date}")?.language();
    /// assert!(day.contains(b"DAY#2024-02-29") && !day.contains(b"DAY#2023-02-29"));
    /// let any = Template::parse("DAY#{name}")?.language();
    /// assert!(day.shared_text(&any).is_some());
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn language(&self) -> Language {
        let mut language = Language::empty_text();
        for (at, segment) in self.segments().iter().enumerate() {
            language.segment = at;
            match segment {
                Segment::Literal(literal) => language.literal(literal.as_bytes()),
                Segment::Field(field) => language.field(field.format(), self.codec()),
            }
        }
        language
    }
}

fn one_each(text: &[u8]) -> Vec<ByteSet> {
    text.iter().map(|&byte| ByteSet::EMPTY.with(byte)).collect()
}

/// How many bytes of `avoid` a text ends with, after `seen` of them and one more byte.
fn matched(avoid: &[u8], seen: usize, byte: u8) -> usize {
    let ends_with = |count: &usize| {
        let (Some((last, head)), Some(tail)) =
            (avoid.get(..*count).and_then(<[u8]>::split_last), avoid.get(seen + 1 - count..seen))
        else {
            return false;
        };
        *last == byte && head == tail
    };
    (1..=seen + 1).rev().find(ends_with).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(prefix: &str, avoid: &str) -> Language {
        let mut language = Language::empty_text();
        language.literal(prefix.as_bytes());
        language.text(ByteSet::range(0x20, 0x7e), avoid.as_bytes());
        language
    }

    #[test]
    fn a_value_cannot_pass_its_separator() {
        let order = key("ORDER#", "#");
        let mut line = key("ORDER#", "#");
        line.literal(b"#LINE#");
        line.text(ByteSet::ALL, b"#");
        assert_eq!(order.shared_text(&line), None);
        let mut both = Language::empty_text();
        both.literal(b"ORDER#");
        both.anything();
        assert_eq!(order.shared_text(&both).unwrap(), b"ORDER#a");
        assert_eq!(line.shared_text(&both).unwrap(), b"ORDER#a#LINE#a");
    }

    #[test]
    fn separators_of_two_characters_are_avoided_as_a_whole() {
        let one = key("a::", "::");
        assert!(one.contains(b"a::b:c"));
        assert!(!one.contains(b"a::b::c"));
        assert!(!one.contains(b"a::"));
    }

    #[test]
    fn choices_with_a_common_beginning_branch() {
        let mut language = Language::empty_text();
        language.choice(&["Todo", "Tod", "Done"]);
        language.literal(b"#");
        for text in ["Todo#", "Tod#", "Done#"] {
            assert!(language.contains(text.as_bytes()), "{text}");
        }
        for text in ["Dodo#", "To#", "Todo", "Done##"] {
            assert!(!language.contains(text.as_bytes()), "{text}");
        }
    }
}
