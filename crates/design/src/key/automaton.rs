//! Languages of key texts, and whether two of them share a text.
//!
//! Every template is a small automaton over bytes: literals are chains, a text field is a loop that
//! avoids the separator, a date is ten digit classes. The product of two automata answers "can a key
//! of this entity lie in that range?", and the path it finds is the text of a counter-example.

use std::collections::{HashMap, VecDeque};

use keyloom_keys::ByteSet;

/// A set of texts.
#[derive(Clone, Debug)]
pub struct Language {
    states: Vec<State>,
    /// Open ends, to which the next part is attached.
    ends: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
struct State {
    edges: Vec<(ByteSet, usize)>,
    skips: Vec<usize>,
}

/// Far more than any pair of real templates needs; a guard against templates made to explode.
const MAX_PAIRS: usize = 200_000;

impl Default for Language {
    fn default() -> Self {
        Self::empty_text()
    }
}

impl Language {
    /// The language of the empty text only.
    pub fn empty_text() -> Self {
        Self { states: vec![State::default()], ends: vec![0] }
    }

    fn state(&mut self) -> usize {
        self.states.push(State::default());
        self.states.len() - 1
    }

    fn edge(&mut self, from: usize, set: ByteSet, to: usize) {
        if let Some(state) = self.states.get_mut(from) {
            state.edges.push((set, to));
        }
    }

    /// One state from which the next part starts.
    fn join(&mut self) -> usize {
        if let [only] = self.ends.as_slice() {
            return *only;
        }
        let join = self.state();
        for end in std::mem::take(&mut self.ends) {
            if let Some(state) = self.states.get_mut(end) {
                state.skips.push(join);
            }
        }
        self.ends = vec![join];
        join
    }

    /// Then exactly this text.
    pub fn literal(&mut self, text: &[u8]) {
        let mut at = self.join();
        for &byte in text {
            let next = self.state();
            self.edge(at, ByteSet::of(&[byte]), next);
            at = next;
        }
        self.ends = vec![at];
    }

    /// Then one byte of each set in turn.
    pub fn classes(&mut self, sets: &[ByteSet]) {
        let mut at = self.join();
        for &set in sets {
            let next = self.state();
            self.edge(at, set, next);
            at = next;
        }
        self.ends = vec![at];
    }

    /// Then one of these texts.
    pub fn choice(&mut self, texts: &[String]) {
        let start = self.join();
        let mut ends = Vec::with_capacity(texts.len());
        for text in texts {
            let mut at = start;
            for &byte in text.as_bytes() {
                let next = self.state();
                self.edge(at, ByteSet::of(&[byte]), next);
                at = next;
            }
            ends.push(at);
        }
        self.ends = ends;
    }

    /// Then one or more bytes of the set, never containing `avoid` (unless that is empty).
    pub fn text(&mut self, set: ByteSet, avoid: &[u8]) {
        let start = self.join();
        if avoid.is_empty() {
            let more = self.state();
            self.edge(start, set, more);
            self.edge(more, set, more);
            self.ends = vec![more];
            return;
        }
        // State k has just seen the first k bytes of `avoid`; completing it is forbidden.
        let states: Vec<usize> = avoid.iter().map(|_| self.state()).collect();
        for (k, from) in std::iter::once((0, start)).chain(states.iter().copied().enumerate()) {
            let mut targets: HashMap<usize, ByteSet> = HashMap::new();
            for byte in set.iter() {
                let matched = matched_after(avoid, k, byte);
                if matched < avoid.len() {
                    let set = targets.entry(matched).or_insert(ByteSet::EMPTY);
                    *set = set.with(byte);
                }
            }
            let mut targets: Vec<_> = targets.into_iter().collect();
            targets.sort_by_key(|(matched, _)| *matched);
            for (matched, bytes) in targets {
                if let Some(&to) = states.get(matched) {
                    self.edge(from, bytes, to);
                }
            }
        }
        self.ends = states;
    }

    /// Then a whole number without leading zeros.
    pub fn whole_number(&mut self, signed: bool) {
        let start = self.join();
        let (zero, more) = (self.state(), self.state());
        let (digits, first) = (ByteSet::range(b'0', b'9'), ByteSet::range(b'1', b'9'));
        self.edge(start, ByteSet::of(b"0"), zero);
        self.edge(start, first, more);
        self.edge(more, digits, more);
        if signed {
            let minus = self.state();
            self.edge(start, ByteSet::of(b"-"), minus);
            self.edge(minus, first, more);
        }
        self.ends = vec![zero, more];
    }

    /// Then anything, or nothing.
    pub fn anything(&mut self) {
        let at = self.join();
        self.edge(at, ByteSet::ALL, at);
    }

    /// Then a text from `low` to `high`, both included, in byte order.
    pub fn between(&mut self, low: &[u8], high: &[u8]) {
        Interval { low, high, free: None, ends: Vec::new() }.attach(self);
    }

    /// A text that both languages have, if there is one. The shortest is found first.
    pub fn shared_text(&self, other: &Self) -> Option<Vec<u8>> {
        let mut seen: Steps = HashMap::from([((0, 0), None)]);
        let mut queue = VecDeque::from([(0, 0)]);
        while let Some(pair @ (a, b)) = queue.pop_front() {
            if self.ends.contains(&a) && other.ends.contains(&b) {
                return Some(path_to(&seen, pair));
            }
            let (Some(left), Some(right)) = (self.states.get(a), other.states.get(b)) else {
                continue;
            };
            let mut visit = |next: (usize, usize), byte: Option<u8>| {
                seen.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    Some((pair, byte))
                });
            };
            left.skips.iter().for_each(|&skip| visit((skip, b), None));
            right.skips.iter().for_each(|&skip| visit((a, skip), None));
            for &(set, to) in &left.edges {
                for &(other_set, other_to) in &right.edges {
                    if let Some(byte) = sample(set.intersection(other_set)) {
                        visit((to, other_to), Some(byte));
                    }
                }
            }
            if seen.len() > MAX_PAIRS {
                return None;
            }
        }
        None
    }

    /// Whether the language has this text.
    pub fn contains(&self, text: &[u8]) -> bool {
        let mut exact = Self::empty_text();
        exact.literal(text);
        self.shared_text(&exact).is_some()
    }
}

/// A byte to show people: a letter if there is one, then a digit, then anything.
fn sample(set: ByteSet) -> Option<u8> {
    if set.is_empty() {
        return None;
    }
    let preferred = (b'a'..=b'z').chain(b'A'..=b'Z').chain(b'0'..=b'9').chain(0x21..=0x7e);
    preferred.chain(0..=255).find(|&byte| set.contains(byte))
}

/// How many bytes of `avoid` the text ends with, after `k` matched ones and one more byte.
fn matched_after(avoid: &[u8], k: usize, byte: u8) -> usize {
    let mut seen: Vec<u8> = avoid.get(..k).unwrap_or_default().to_vec();
    seen.push(byte);
    (0..=seen.len().min(avoid.len()))
        .rev()
        .find(|&n| seen.get(seen.len() - n..) == avoid.get(..n))
        .unwrap_or(0)
}

type Steps = HashMap<(usize, usize), Option<((usize, usize), Option<u8>)>>;

fn path_to(steps: &Steps, mut pair: (usize, usize)) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(Some((from, byte))) = steps.get(&pair) {
        bytes.extend(byte);
        pair = *from;
    }
    bytes.reverse();
    bytes
}

/// Builds the automaton of the texts between two bounds: as long as the text equals a bound so far,
/// the next byte decides; once it has left both bounds, anything goes.
struct Interval<'a> {
    low: &'a [u8],
    high: &'a [u8],
    free: Option<usize>,
    ends: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Tight {
    low: bool,
    high: bool,
}

impl Interval<'_> {
    fn attach(mut self, language: &mut Language) {
        let start = language.join();
        if self.low > self.high {
            language.ends = Vec::new();
            return;
        }
        self.grow(language, start, 0, Tight { low: true, high: true });
        language.ends = self.ends;
    }

    fn grow(&mut self, language: &mut Language, at: usize, depth: usize, tight: Tight) {
        // Equal to a proper prefix of `low` is still below it; equal to a prefix of `high` is not above.
        if !tight.low || depth == self.low.len() {
            self.ends.push(at);
        }
        let low = if tight.low { self.low.get(depth).copied() } else { None };
        let high = match (tight.high, self.high.get(depth)) {
            (false, _) => None,
            (true, Some(&byte)) => Some(byte),
            (true, None) => return,
        };
        // Strictly inside both bounds: free from here on.
        let above = low.map_or(0, |byte| u16::from(byte) + 1);
        let below = high.map_or(256, u16::from);
        if above < below {
            let free = self.free(language);
            let set = ByteSet::range(above as u8, (below - 1) as u8);
            language.edge(at, set, free);
        }
        match (low, high) {
            (Some(a), Some(b)) if a == b => {
                self.follow(language, at, a, depth, tight);
            }
            _ => {
                if let Some(byte) = low {
                    self.follow(language, at, byte, depth, Tight { low: true, high: false });
                }
                if let Some(byte) = high {
                    self.follow(language, at, byte, depth, Tight { low: false, high: true });
                }
            }
        }
    }

    fn follow(&mut self, language: &mut Language, at: usize, byte: u8, depth: usize, tight: Tight) {
        let next = language.state();
        language.edge(at, ByteSet::of(&[byte]), next);
        self.grow(language, next, depth + 1, tight);
    }

    fn free(&mut self, language: &mut Language) -> usize {
        if let Some(free) = self.free {
            return free;
        }
        let free = language.state();
        language.edge(free, ByteSet::ALL, free);
        self.ends.push(free);
        self.free = Some(free);
        free
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn enumerations_branch() {
        let mut language = Language::empty_text();
        language.choice(&["Todo".into(), "Done".into()]);
        language.literal(b"#");
        assert!(language.contains(b"Todo#") && language.contains(b"Done#"));
        assert!(!language.contains(b"Dodo#"));
    }

    proptest! {
        #[test]
        fn intervals_hold_exactly_the_texts_between(
            low in "[a-c]{0,4}", high in "[a-c]{0,4}", text in "[a-c]{0,5}",
        ) {
            let mut language = Language::empty_text();
            language.between(low.as_bytes(), high.as_bytes());
            prop_assert_eq!(language.contains(text.as_bytes()), low <= text && text <= high);
        }
    }
}
