//! The heaviest keys: Space-Saving behind a filter.
//!
//! A fixed number of keys is monitored. The weight of other keys is added to shared counters; when such a counter
//! exceeds the lightest monitored key, the current key replaces that one. The weight it inherits is its error: a
//! key's true load lies between `load - error` and `load`, and no unlisted key can exceed the floor. (After Homem and
//! Carvalho, "Finding top-k elements in data streams", 2010.)
//!
//! Keys are identified by a 64-bit hash, and only a prefix of each is kept, so that memory does not depend on key
//! length.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;

/// Bytes of a key that are kept.
const KEPT_BYTES: usize = 192;
/// How long a window of rates is when every request is seen, and when only some are: then a run of
/// requests that happens to be seen must not look like a rate.
const WINDOW_MS: u64 = 1000;
const SAMPLED_WINDOW_MS: u64 = 10_000;

/// Units in halves, and what they take of a partition: a write unit as much as three read units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) read_halves: u64,
    pub(crate) write_halves: u64,
}

impl Load {
    /// In halves of read units.
    pub(crate) fn weight(self) -> u64 {
        self.read_halves + 3 * self.write_halves
    }
}

/// One sampled touch of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) hash: u64,
    /// The encoded partition key, and the encoded sort key if items are counted.
    pub(crate) partition: &'a [u8],
    pub(crate) sort: &'a [u8],
    /// Already multiplied by the weight.
    pub(crate) load: Load,
    pub(crate) weight: u64,
    pub(crate) at_ms: u64,
    pub(crate) is_throttled: bool,
    /// Bytes of an item that was put, already multiplied.
    pub(crate) written_bytes: u64,
}

/// A monitored key.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) hash: u64,
    /// The beginnings of the encoded keys.
    pub(crate) partition: Box<[u8]>,
    pub(crate) sort: Box<[u8]>,
    /// What `load` may be too great by.
    pub(crate) error: u64,
    /// Since it is monitored.
    pub(crate) seen: Load,
    pub(crate) requests: u64,
    pub(crate) throttled: u64,
    pub(crate) written_bytes: u64,
    /// Units per second in the busiest window.
    pub(crate) peak_read: f64,
    pub(crate) peak_write: f64,
    window: Window,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start_ms: u64,
    length_ms: u64,
    load: Load,
}

/// The heaviest keys of a stream.
#[derive(Clone, Debug)]
pub(crate) struct TopKeys {
    /// The load of each entry, apart so that the least is found quickly.
    loads: Vec<u64>,
    entries: Vec<Entry>,
    places: HashMap<u64, usize, RandomState>,
    /// Upper bounds for all keys that are not monitored.
    filter: Box<[u64]>,
    capacity: usize,
    /// No entry has less; raised when the list is read.
    floor: u64,
    total: u64,
}

impl TopKeys {
    /// Monitors `capacity` keys, with a filter of `counters`, rounded up to a power of two.
    pub(crate) fn new(capacity: usize, counters: usize) -> Self {
        Self {
            loads: Vec::new(),
            entries: Vec::new(),
            places: HashMap::default(),
            filter: vec![0; counters.next_power_of_two()].into_boxed_slice(),
            capacity: capacity.max(1),
            floor: 0,
            total: 0,
        }
    }

    /// Counts one sampled touch of a key.
    pub(crate) fn add(&mut self, seen: &Seen<'_>) {
        // Every touch counts, even one that cost nothing, so that throttled keys show.
        let weight = seen.load.weight().max(1);
        self.total += weight;
        if let Some(&place) = self.places.get(&seen.hash) {
            if let (Some(load), Some(entry)) =
                (self.loads.get_mut(place), self.entries.get_mut(place))
            {
                *load += weight;
                entry.add(seen);
            }
            return;
        }
        let slot = seen.hash as usize & (self.filter.len() - 1);
        let before = self.filter.get(slot).copied().unwrap_or(0);
        if self.entries.len() < self.capacity {
            self.places.insert(seen.hash, self.entries.len());
            self.loads.push(before + weight);
            self.entries.push(Entry::new(seen, before));
            return;
        }
        if before + weight > self.floor
            && let Some(lightest) = self.lightest()
            && before + weight > self.floor
        {
            self.replace(lightest, Entry::new(seen, before), before + weight);
            return;
        }
        if let Some(counter) = self.filter.get_mut(slot) {
            *counter += weight;
        }
    }

    /// The place of the lightest entry; raises the floor to its load.
    fn lightest(&mut self) -> Option<usize> {
        let (place, load) = self.loads.iter().enumerate().min_by_key(|(_, load)| **load)?;
        self.floor = *load;
        Some(place)
    }

    fn replace(&mut self, place: usize, new: Entry, new_load: u64) {
        let (Some(load), Some(entry)) = (self.loads.get_mut(place), self.entries.get_mut(place))
        else {
            return;
        };
        // What leaves is bounded by its counter from now on.
        let slot = entry.hash as usize & (self.filter.len() - 1);
        if let Some(counter) = self.filter.get_mut(slot) {
            *counter = (*counter).max(*load);
        }
        self.places.remove(&entry.hash);
        self.places.insert(new.hash, place);
        *load = new_load;
        *entry = new;
    }

    /// Adds what another has counted, of a filter of the same size. Loads stay within their errors.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let mask = self.filter.len() - 1;
        let counted = |filter: &[u64], hash| filter.get(hash as usize & mask).copied().unwrap_or(0);
        self.total += other.total;
        // Of a key that only one of them monitors, the other may have counted that much.
        for (load, entry) in self.loads.iter_mut().zip(&mut self.entries) {
            if !other.places.contains_key(&entry.hash) {
                let unseen = counted(&other.filter, entry.hash);
                *load += unseen;
                entry.error += unseen;
            }
        }
        let before = self.filter.clone();
        for (own, more) in self.filter.iter_mut().zip(&other.filter) {
            *own += more;
        }
        // All that both monitor come first: what leaves for others must have been added up by then.
        let mut unknown = Vec::new();
        for (more, entry) in other.loads.iter().zip(&other.entries) {
            let place = self.places.get(&entry.hash).copied().unwrap_or(usize::MAX);
            match (self.loads.get_mut(place), self.entries.get_mut(place)) {
                (Some(load), Some(own)) => {
                    *load += more;
                    own.absorb(entry);
                }
                _ => unknown.push((more, entry)),
            }
        }
        for (more, entry) in unknown {
            let unseen = counted(&before, entry.hash);
            let (load, new) =
                (unseen + more, Entry { error: unseen + entry.error, ..entry.clone() });
            if self.entries.len() < self.capacity {
                self.places.insert(new.hash, self.entries.len());
                self.loads.push(load);
                self.entries.push(new);
            } else if let Some(lightest) = self.lightest().filter(|_| load > self.floor) {
                self.replace(lightest, new, load);
            } else if let Some(counter) = self.filter.get_mut(entry.hash as usize & mask) {
                *counter = (*counter).max(load);
            }
        }
    }

    /// The total load of all keys.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The heaviest keys first, with their loads; and the most that a key which is not among them
    /// can have.
    pub(crate) fn heaviest(&self, count: usize) -> (Vec<(u64, &Entry)>, u64) {
        let mut all: Vec<(u64, &Entry)> = self.loads.iter().copied().zip(&self.entries).collect();
        all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.hash.cmp(&b.1.hash)));
        let unlisted = self.filter.iter().copied().max().unwrap_or(0);
        let floor = all.get(count).map_or(unlisted, |(load, _)| unlisted.max(*load));
        all.truncate(count);
        (all, floor)
    }
}

impl Entry {
    fn new(seen: &Seen<'_>, error: u64) -> Self {
        let kept = |bytes: &[u8]| bytes.get(..KEPT_BYTES).unwrap_or(bytes).into();
        let mut entry = Self {
            hash: seen.hash,
            partition: kept(seen.partition),
            sort: kept(seen.sort),
            error,
            seen: Load::default(),
            requests: 0,
            throttled: 0,
            written_bytes: 0,
            peak_read: 0.0,
            peak_write: 0.0,
            window: Window::default(),
        };
        entry.add(seen);
        entry
    }

    fn add(&mut self, seen: &Seen<'_>) {
        self.requests += seen.weight;
        self.seen.read_halves += seen.load.read_halves;
        self.seen.write_halves += seen.load.write_halves;
        self.written_bytes += seen.written_bytes;
        if seen.is_throttled {
            self.throttled += seen.weight;
        }
        let end_ms = self.window.start_ms + self.window.length_ms;
        if seen.at_ms >= end_ms || seen.at_ms < self.window.start_ms {
            let length_ms = if seen.weight == 1 { WINDOW_MS } else { SAMPLED_WINDOW_MS };
            let start_ms = seen.at_ms - seen.at_ms % length_ms;
            self.window = Window { start_ms, length_ms, load: Load::default() };
        }
        let window = &mut self.window;
        window.load.read_halves += seen.load.read_halves;
        window.load.write_halves += seen.load.write_halves;
        let rate = |halves: u64| halves as f64 * 500.0 / window.length_ms as f64;
        self.peak_read = self.peak_read.max(rate(window.load.read_halves));
        self.peak_write = self.peak_write.max(rate(window.load.write_halves));
    }
}

impl Entry {
    /// Adds what another sketch has counted of the same key.
    fn absorb(&mut self, other: &Self) {
        self.error += other.error;
        self.requests += other.requests;
        self.throttled += other.throttled;
        self.written_bytes += other.written_bytes;
        self.seen.read_halves += other.seen.read_halves;
        self.seen.write_halves += other.seen.write_halves;
        self.peak_read = self.peak_read.max(other.peak_read);
        self.peak_write = self.peak_write.max(other.peak_write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::hash_of;

    fn sampled(key: u64, halves: u64) -> (u64, Load) {
        (hash_of(&key.to_le_bytes()), Load { read_halves: halves, write_halves: 0 })
    }

    fn add(top: &mut TopKeys, key: u64, halves: u64, at_ms: u64) {
        let (hash, load) = sampled(key, halves);
        let bytes = key.to_be_bytes();
        top.add(&Seen {
            hash,
            partition: &bytes,
            sort: &[],
            load,
            weight: 1,
            at_ms,
            is_throttled: false,
            written_bytes: 0,
        });
    }

    #[test]
    fn true_loads_lie_within_the_stated_errors_whatever_the_order() {
        unkind(50_000);
        // In parts that are added up.
        for part in [7, 100, 3000, 20_000] {
            unkind(part);
        }
    }

    /// A stream that wants to be unkind: rising, falling and repeated keys; counted in parts of this length.
    fn unkind(part: u64) {
        let (mut top, mut whole) = (TopKeys::new(16, 64), TopKeys::new(16, 64));
        let mut exact: HashMap<u64, u64> = HashMap::new();
        let mut state = 1_u64;
        for step in 0..50_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = match step % 4 {
                0 => state >> 54,
                1 => step / 100,
                2 => 1000 - step / 50,
                _ => 7,
            };
            let halves = 1 + (state >> 60);
            add(&mut top, key, halves, 0);
            *exact.entry(hash_of(&key.to_le_bytes())).or_default() += halves;
            if (step + 1) % part == 0 {
                whole.absorb(&std::mem::replace(&mut top, TopKeys::new(16, 64)));
            }
        }
        whole.absorb(&top);
        let top = whole;
        assert_eq!(top.total(), exact.values().sum::<u64>());
        let (listed, floor) = top.heaviest(16);
        for (load, entry) in &listed {
            let truth = exact.get(&entry.hash).copied().unwrap_or(0);
            assert!(truth <= *load && *load - entry.error <= truth, "{load} {truth} {entry:?}");
        }
        for (hash, truth) in exact {
            let known = listed.iter().any(|(_, entry)| entry.hash == hash);
            assert!(known || truth <= floor, "{truth} is above the floor {floor}");
            let counted = top.filter.get(hash as usize & (top.filter.len() - 1));
            assert!(known || Some(&truth) <= counted, "{truth} is above its counter {counted:?}");
        }
        assert_eq!(listed.first().map(|(_, entry)| entry.hash), Some(sampled(7, 0).0));
    }

    /// Whoever leaves for a heavier key has been added up first.
    #[test]
    fn a_key_that_two_sketches_have_keeps_what_both_counted() {
        let (mut one, mut other) = (TopKeys::new(2, 64), TopKeys::new(2, 64));
        add(&mut one, 1, 5, 0);
        add(&mut one, 2, 10, 0);
        add(&mut other, 3, 100, 0);
        add(&mut other, 1, 50, 0);
        one.absorb(&other);
        let (listed, _) = one.heaviest(2);
        let loads: Vec<_> = listed.iter().map(|(load, entry)| (entry.hash, *load)).collect();
        assert_eq!(loads, [(sampled(3, 0).0, 100), (sampled(1, 0).0, 55)]);
    }

    #[test]
    fn the_peak_is_the_busiest_second() {
        let mut top = TopKeys::new(4, 64);
        for ms in 0..3000 {
            let halves = if ms / 1000 == 1 { 4 } else { 1 };
            add(&mut top, 1, halves, 50_000 + ms);
        }
        let (listed, _) = top.heaviest(1);
        let peak = listed.first().map(|(_, entry)| entry.peak_read);
        assert_eq!(peak, Some(2000.0));
    }

    #[test]
    fn long_keys_take_no_more_room_than_short_ones() {
        let mut top = TopKeys::new(4, 64);
        let long = vec![7_u8; 2000];
        let (hash, load) = sampled(1, 2);
        top.add(&Seen {
            hash,
            partition: &long,
            sort: &long,
            load,
            weight: 1,
            at_ms: 0,
            is_throttled: true,
            written_bytes: 0,
        });
        let (listed, _) = top.heaviest(1);
        let entry = listed.first().map(|(_, entry)| (entry.partition.len(), entry.throttled));
        assert_eq!(entry, Some((KEPT_BYTES, 1)));
    }
}
