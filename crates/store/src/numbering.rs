//! Numbers that the store gives at commit: of records appended to logs, and the sums of counters.
//!
//! In a local store both become ordinary writes when a transaction takes its place in the total
//! order: a record's key ends in its number, and a counter is an entry that holds its sum. The last
//! number of each log and the newest sums are remembered, since they may not be durable yet.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use foldhash::fast::RandomState;

use crate::transaction::WriteSet;
use crate::{Direction, KeyRange, Snapshot, StoreError};

/// What a transaction leaves to the store to number and to sum.
#[derive(Debug, Default)]
pub(crate) struct Unnumbered {
    /// Records for logs, in the order in which they were appended.
    pub(crate) appends: Vec<Append>,
    /// What to add to each counter.
    pub(crate) adds: BTreeMap<Bytes, i64>,
}

/// A record for a log.
#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) log: Bytes,
    pub(crate) floor: u64,
    pub(crate) record: Bytes,
}

impl Unnumbered {
    /// Whether there is nothing to number and to sum.
    pub(crate) fn is_empty(&self) -> bool {
        self.appends.is_empty() && self.adds.is_empty()
    }

    /// The size of each future entry: its key's and its value's.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        let records = self.appends.iter().map(|a| (a.log.len() + size_of::<u64>(), a.record.len()));
        records.chain(self.adds.keys().map(|counter| (counter.len(), size_of::<i64>())))
    }
}

/// The key of a log's record.
pub(crate) fn record_key(log: &[u8], number: u64) -> Bytes {
    [log, &number.to_be_bytes()].concat().into()
}

/// The number that a record of this log has by its key; none if the key is not one of its records.
fn number_of(log: &[u8], key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.strip_prefix(log)?.try_into().ok()?))
}

/// The stored form of a sum.
fn encode_sum(sum: i64) -> Bytes {
    sum.to_be_bytes().to_vec().into()
}

/// The sum in a counter's entry; zero if it is not there.
pub(crate) fn decode_sum(counter: &[u8], value: Option<&Bytes>) -> Result<i64, StoreError> {
    let Some(value) = value else { return Ok(0) };
    let bytes = value.as_ref().try_into().map_err(|_| StoreError::Engine {
        action: format!("read the counter {}", counter.escape_ascii()),
        detail: format!("its value has {} bytes, not 8; something else wrote it", value.len()),
    })?;
    Ok(i64::from_be_bytes(bytes))
}

/// The newest number of each log and the newest sums.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    logs: HashMap<Bytes, u64, RandomState>,
    sums: HashMap<Bytes, i64, RandomState>,
    /// Grows when what was remembered is forgotten: what was read before is out of date then.
    generation: u64,
}

/// Newest numbers and sums, read from the store.
pub(crate) struct Known {
    generation: u64,
    logs: Vec<(Bytes, u64)>,
    sums: Vec<(Bytes, i64)>,
}

/// Logs and counters without a remembered state.
pub(crate) struct Missing {
    generation: u64,
    logs: Vec<Bytes>,
    counters: Vec<Bytes>,
}

impl Missing {
    /// Reads what is missing.
    pub(crate) fn read(self, snapshot: &dyn Snapshot) -> Result<Known, StoreError> {
        let mut known = Known { generation: self.generation, logs: Vec::new(), sums: Vec::new() };
        for log in self.logs {
            known.logs.push((log.clone(), last_number(snapshot, &log)?));
        }
        for counter in self.counters {
            let sum = decode_sum(&counter, snapshot.get(&counter)?.as_ref())?;
            known.sums.push((counter, sum));
        }
        Ok(known)
    }
}

/// The number of a log's last record; zero if it has none.
fn last_number(snapshot: &dyn Snapshot, log: &[u8]) -> Result<u64, StoreError> {
    // A longer log's name may begin with this one's, so the last key with the prefix is not enough.
    let range = KeyRange {
        lower: std::ops::Bound::Included(record_key(log, 0)),
        upper: std::ops::Bound::Included(record_key(log, u64::MAX)),
    };
    for entry in snapshot.scan(range, Direction::Backward) {
        if let Some(number) = number_of(log, &entry?.0) {
            return Ok(number);
        }
    }
    Ok(0)
}

impl Numbering {
    /// What has to be read before these can be numbered; none if everything is remembered.
    pub(crate) fn missing(&self, unnumbered: &Unnumbered) -> Option<Missing> {
        let logs = unnumbered.appends.iter().map(|append| &append.log);
        let logs = logs.filter(|log| !self.logs.contains_key(*log)).cloned();
        let counters = unnumbered.adds.keys();
        let counters = counters.filter(|counter| !self.sums.contains_key(*counter)).cloned();
        let missing = Missing {
            generation: self.generation,
            logs: logs.collect(),
            counters: counters.collect(),
        };
        (!missing.logs.is_empty() || !missing.counters.is_empty()).then_some(missing)
    }

    /// Remembers what was read, unless a newer state is known by now.
    pub(crate) fn learn(&mut self, known: Known) {
        if known.generation == self.generation {
            for (log, number) in known.logs {
                self.logs.entry(log).or_insert(number);
            }
            for (counter, sum) in known.sums {
                self.sums.entry(counter).or_insert(sum);
            }
        }
    }

    /// Turns appends and additions into writes. Nothing of them may be [`missing`](Self::missing).
    pub(crate) fn number(&mut self, unnumbered: Unnumbered, writes: &mut WriteSet) {
        for Append { log, floor, record } in unnumbered.appends {
            let last = self.logs.entry(log.clone()).or_default();
            *last = floor.max(last.saturating_add(1));
            writes.insert(record_key(&log, *last), Some(record));
        }
        for (counter, delta) in unnumbered.adds {
            let sum = self.sums.entry(counter.clone()).or_default();
            *sum = sum.saturating_add(delta);
            writes.insert(counter, Some(encode_sum(*sum)));
        }
    }

    /// Forgets everything: writes that were numbered have failed.
    pub(crate) fn forget(&mut self) {
        self.forget_prefix(b"");
    }

    /// Forgets the logs and counters whose names begin with this: they were deleted.
    pub(crate) fn forget_prefix(&mut self, prefix: &[u8]) {
        self.generation += 1;
        self.logs.retain(|log, _| !log.starts_with(prefix));
        self.sums.retain(|counter, _| !counter.starts_with(prefix));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryStore, Store};

    fn unnumbered(log: &'static str, floor: u64) -> Unnumbered {
        let append = Append { log: log.into(), floor, record: "record".into() };
        Unnumbered { appends: vec![append], adds: BTreeMap::from([("sum".into(), 5)]) }
    }

    #[test]
    fn what_was_read_before_it_was_forgotten_is_not_learned() {
        let store = MemoryStore::new();
        let mut numbering = Numbering::default();
        let missing = numbering.missing(&unnumbered("log", 0)).unwrap();
        let old = missing.read(&*store.snapshot().unwrap()).unwrap();
        numbering.forget();
        numbering.learn(old);
        assert!(numbering.missing(&unnumbered("log", 0)).is_some());
    }

    #[test]
    fn numbers_rise_from_the_floor_and_sums_add_up() {
        let mut numbering = Numbering::default();
        let mut writes = WriteSet::new();
        for floor in [10, 0, 11, 12, 40] {
            numbering.number(unnumbered("log", floor), &mut writes);
        }
        let numbers: Vec<u64> = writes.keys().filter_map(|key| number_of(b"log", key)).collect();
        assert_eq!(numbers, [10, 11, 12, 13, 40]);
        let sum = writes.get(&b"sum"[..]).unwrap().as_ref();
        assert_eq!(decode_sum(b"sum", sum).unwrap(), 25);
        assert!(decode_sum(b"sum", Some(&"short".into())).is_err());
    }
}
