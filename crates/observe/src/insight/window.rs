//! A time window and its heaviest keys.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sketch::{Distinct, Entry, Load, Seen, TopKeys};

/// Keys that a window keeps: as many as AWS reports for a rule.
pub(super) const LISTED: usize = 25;
/// Keys that are left where memory is short: the default length of a report.
const THINNED: usize = 10;

/// A key, shared by all windows that list it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) hash: u64,
    /// The beginnings of the encoded partition and sort key, in one piece because there are many.
    bytes: Box<[u8]>,
    sort_at: u16,
}

impl Key {
    fn of(entry: &Entry) -> Self {
        Self {
            hash: entry.hash,
            bytes: [&*entry.partition, &*entry.sort].concat().into(),
            // Entries keep less of a key than this can count.
            sort_at: entry.partition.len() as u16,
        }
    }

    /// The partition and the sort key.
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at_checked(usize::from(self.sort_at)).unwrap_or((&self.bytes, &[]))
    }
}

/// A key in one window.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) key: Arc<Key>,
    /// What it contributed, at least, in halves.
    pub(super) value: u64,
    /// What that may be too small by.
    pub(super) error: u64,
}

/// All keys together. Values are in halves.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) distinct: Distinct,
    pub(super) sum: u64,
    pub(super) samples: u64,
    /// Of one event.
    pub(super) minimum: u64,
    pub(super) maximum: u64,
}

impl Totals {
    fn add(&mut self, one: u64, weight: u64) {
        self.minimum = if self.samples == 0 { one } else { self.minimum.min(one) };
        self.maximum = self.maximum.max(one);
        self.sum += one * weight;
        self.samples += weight;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.minimum =
            if self.samples == 0 { other.minimum } else { self.minimum.min(other.minimum) };
        self.maximum = self.maximum.max(other.maximum);
        self.sum += other.sum;
        self.samples += other.samples;
        self.distinct.merge(&other.distinct);
    }
}

/// A minute or an hour that is over.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) start_ms: u64,
    pub(super) width_ms: u64,
    /// The heaviest first.
    pub(super) listed: Vec<Listed>,
    /// With a coarse sketch of the distinct keys.
    pub(super) totals: Totals,
}

impl Window {
    /// Adds a shorter window that lies in this one. Of the keys the heaviest are kept.
    pub(super) fn absorb(&mut self, other: &Self) {
        let mut all: HashMap<u64, Listed> = HashMap::with_capacity(2 * LISTED);
        for listed in self.listed.drain(..).chain(other.listed.iter().cloned()) {
            let known =
                all.entry(listed.key.hash).or_insert(Listed { value: 0, error: 0, ..listed });
            known.value += listed.value;
            known.error += listed.error;
        }
        self.listed = all.into_values().collect();
        order(&mut self.listed);
        self.keep(LISTED);
        self.totals.merge(&other.totals);
    }

    /// Forgets all but the heaviest keys; whether there were others.
    pub(super) fn thin(&mut self) -> bool {
        let has_others = self.listed.len() > THINNED;
        self.keep(THINNED);
        has_others
    }

    fn keep(&mut self, count: usize) {
        self.listed.truncate(count);
        self.listed.shrink_to_fit();
    }

    /// What it takes, about. A key that several windows list is shared out among them.
    pub(super) fn bytes(&self) -> usize {
        let key = |listed: &Listed| {
            let key = &listed.key;
            let own = size_of::<Key>() + 2 * size_of::<usize>();
            (own + key.bytes.len()) / Arc::strong_count(key)
        };
        let keys: usize = self.listed.iter().map(key).sum();
        let listed = self.listed.capacity() * size_of::<Listed>();
        size_of::<Self>() + listed + self.totals.distinct.bytes() + keys
    }
}

/// The heaviest first; equals in an order that does not change.
fn order(listed: &mut [Listed]) {
    listed.sort_by(|a, b| b.value.cmp(&a.value).then(a.key.hash.cmp(&b.key.hash)));
}

/// The minute that is being counted.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) start_ms: u64,
    top: TopKeys,
    totals: Totals,
}

impl Live {
    /// Monitors more keys than are kept, so that those are the right ones.
    pub(super) fn new(start_ms: u64, is_small: bool) -> Self {
        let (monitored, counters) = if is_small { (32, 128) } else { (64, 1024) };
        Self { start_ms, top: TopKeys::new(monitored, counters), totals: Totals::default() }
    }

    /// Counts one sampled touch, which stands for events of the load `one` each.
    pub(super) fn add(&mut self, seen: &Seen<'_>, one: Load) {
        let load = Load {
            read_halves: one.read_halves * seen.weight,
            write_halves: one.write_halves * seen.weight,
        };
        self.top.add(&Seen { load, ..*seen });
        self.totals.distinct.add(seen.hash);
        self.totals.add(one.weight(), seen.weight);
    }

    /// What is known of the minute. Keys that `before` lists are shared with it.
    pub(super) fn window(&self, width_ms: u64, before: Option<&Window>) -> Window {
        let (heaviest, _) = self.top.heaviest(usize::MAX);
        let mut listed: Vec<Listed> = heaviest
            .into_iter()
            .map(|(_, entry)| {
                let is_same = |listed: &&Listed| listed.key.hash == entry.hash;
                let known = before.and_then(|before| before.listed.iter().find(is_same));
                let new = || Arc::new(Key::of(entry));
                let key = known.map_or_else(new, |known| Arc::clone(&known.key));
                // A key that few counters stand for may seem heavy for others' sake: what was seen of
                // it is certain.
                Listed { key, value: entry.seen.weight(), error: entry.error }
            })
            .collect();
        order(&mut listed);
        listed.truncate(LISTED);
        listed.shrink_to_fit();
        let totals = Totals { distinct: self.totals.distinct.coarse(), ..self.totals.clone() };
        Window { start_ms: self.start_ms, width_ms, listed, totals }
    }
}
