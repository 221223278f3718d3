//! What the recorded processes do, and how to check a store against it.
//!
//! Transactions are numbered; each writes its number and two of a few slots, so that the whole
//! content follows from the number. Some of them fill a prefix, which is deleted later.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use keyloom_store::{
    Bytes, Direction, DiskOptions, DiskStore, Durability, KeyRange, Store, Transaction,
};

use crate::random::Random;

const SLOTS: u64 = 24;
/// The number of transactions between one prefix and the next.
const ERA: u64 = 25;
const FILLED_AT: u64 = 5;
const DROPPED_AT: u64 = 20;
const DROPPED_KEYS: u64 = 6;

/// Buffers so small that a few transactions fill a memtable.
pub(crate) fn options(is_relaxed: bool) -> DiskOptions {
    let durability = if is_relaxed { Durability::Relaxed } else { Durability::Sync };
    DiskOptions { durability, memtable_bytes: 6_000, cache_bytes: 1 << 20 }
}

fn slot(n: u64) -> Bytes {
    format!("slot {:02}", n % SLOTS).into()
}

fn payload(n: u64, which: u64) -> Bytes {
    let mut random = Random::new(n * 2 + which);
    let length = if random.below(9) == 0 { 5_000 } else { 40 + random.below(400) };
    (0..length).map(|_| random.below(251) as u8 + 1).collect()
}

fn prefix(era: u64) -> String {
    format!("era {era:06}/")
}

/// The slots that a transaction writes, and the one that it deletes.
fn edits(n: u64) -> ([(Bytes, Bytes); 2], Option<Bytes>) {
    let written = [(slot(n), payload(n, 0)), (slot(n * 7 + 3), payload(n, 1))];
    let removed = Some(slot(n * 5 + 1)).filter(|_| n.is_multiple_of(3));
    (written, removed)
}

/// The content of the store after this transaction, apart from prefixes.
#[derive(Default)]
pub(crate) struct Expected {
    contents: Vec<BTreeMap<Bytes, Bytes>>,
}

impl Expected {
    /// The content after this transaction.
    pub(crate) fn up_to(last: u64) -> Self {
        let mut contents = vec![BTreeMap::new()];
        for n in 1..=last {
            let mut content = contents.last().unwrap().clone();
            let (written, removed) = edits(n);
            content.extend(written);
            if let Some(removed) = removed {
                content.remove(&removed);
            }
            content.insert("number".into(), Bytes::copy_from_slice(&n.to_be_bytes()));
            contents.push(content);
        }
        Self { contents }
    }
}

fn number_of(value: Option<Bytes>) -> u64 {
    value.map_or(0, |value| u64::from_be_bytes(value.as_ref().try_into().unwrap()))
}

/// A process that continues from the store's state until it has committed `count` transactions. It
/// reports what it is about to do and has done in marks.
pub(crate) fn live(path: &Path, marks: &Path, is_relaxed: bool, count: u64) {
    let marks = OpenOptions::new().append(true).create(true).open(marks).unwrap();
    let mark = |text: String| (&marks as &File).write_all(text.as_bytes()).unwrap();
    mark(format!("life {}", u64::from(is_relaxed)));
    let (store, _) = DiskStore::open(path, options(is_relaxed)).unwrap();
    let first = number_of(store.get(b"number").unwrap()) + 1;
    let drop_era = |era: u64| {
        mark(format!("drop {era}"));
        store.delete_prefix(prefix(era).as_bytes(), 4).unwrap();
        mark(format!("dropped {era}"));
    };
    // Deletions that a kill may have interrupted are repeated.
    (0..=first / ERA).filter(|era| era * ERA + DROPPED_AT < first).for_each(drop_era);
    for n in first..first + count {
        if n % ERA == DROPPED_AT {
            drop_era(n / ERA);
        }
        let mut transaction = store.begin(&[]).unwrap();
        write(&mut *transaction, n);
        mark(format!("try {n}"));
        transaction.commit().unwrap();
        mark(format!("done {n}"));
        if n % 10 == 3 {
            // Long enough for the store to become idle and seal its log.
            thread::sleep(Duration::from_millis(30));
        }
    }
    store.close().unwrap();
    mark("closed".to_owned());
}

fn write(transaction: &mut dyn Transaction, n: u64) {
    let (written, removed) = edits(n);
    for (key, value) in written {
        transaction.put(key, value);
    }
    if let Some(removed) = removed {
        transaction.delete(removed);
    }
    transaction.put("number".into(), Bytes::copy_from_slice(&n.to_be_bytes()));
    if n % ERA == FILLED_AT {
        for key in 0..DROPPED_KEYS {
            transaction.put(format!("{}{key}", prefix(n / ERA)).into(), payload(n, key));
        }
    }
}

/// What the marks of the processes say about a store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Promises {
    is_relaxed: bool,
    /// The last transaction begun, and the last one acknowledged.
    tried: u64,
    done: u64,
    /// The last transaction that must be present whatever happens.
    durable: u64,
    /// Per prefix, whether it is being deleted (false) or has been (true).
    drops: BTreeMap<u64, bool>,
}

impl Promises {
    /// Processes a mark.
    pub(crate) fn process(&mut self, mark: &str) {
        let (word, number) = mark.split_once(' ').unwrap_or((mark, "0"));
        let number: u64 = number.parse().unwrap();
        match word {
            "life" => self.is_relaxed = number == 1,
            "try" => self.tried = number,
            "done" => {
                self.done = number;
                if !self.is_relaxed {
                    self.durable = number;
                }
            }
            "drop" => drop(self.drops.insert(number, false)),
            "dropped" if !self.is_relaxed => drop(self.drops.insert(number, true)),
            "dropped" => {}
            "closed" => self.durable = self.done,
            other => panic!("unknown mark {other}"),
        }
    }

    /// The last transaction begun.
    pub(crate) fn tried(&self) -> u64 {
        self.tried
    }

    /// Opens the state after a power failure; returns what is wrong with it.
    pub(crate) fn check(&self, path: &Path, expected: &Expected) -> Result<(), String> {
        let (store, _) = DiskStore::open(path, options(self.is_relaxed))
            .map_err(|error| format!("the store does not open: {error}"))?;
        let number = number_of(store.get(b"number").map_err(|error| error.to_string())?);
        if number < self.durable || number > self.tried {
            let (durable, tried) = (self.durable, self.tried);
            return Err(format!("transaction {number}, but {durable} was durable, {tried} begun"));
        }
        let snapshot = store.snapshot().map_err(|error| error.to_string())?;
        let mut eras: BTreeMap<u64, u64> = BTreeMap::new();
        let mut wanted = expected.contents[number as usize].iter();
        for entry in snapshot.scan(KeyRange::all(), Direction::Forward) {
            let (key, value) = entry.map_err(|error| error.to_string())?;
            let key = key.into_bytes();
            if let Some(rest) = key.strip_prefix(b"era ") {
                let era = String::from_utf8_lossy(&rest[..6]).parse().unwrap();
                *eras.entry(era).or_default() += 1;
            } else if wanted.next() != Some((&key, &value)) {
                return Err(format!("transaction {number} is only partly present: {key:?}"));
            }
        }
        if let Some((key, _)) = wanted.next() {
            return Err(format!("transaction {number} is only partly present: {key:?} is missing"));
        }
        self.check_eras(number, &eras)?;
        drop(snapshot);
        let verification = store.verify().map_err(|error| error.to_string())?;
        match verification.damage.first() {
            Some(damage) => Err(format!("damage: {damage}")),
            None => store.close().map_err(|error| format!("the store does not close: {error}")),
        }
    }

    fn check_eras(&self, number: u64, found: &BTreeMap<u64, u64>) -> Result<(), String> {
        for era in 0..=self.tried / ERA {
            let keys = found.get(&era).copied().unwrap_or(0);
            let is_filled = number >= era * ERA + FILLED_AT;
            let is_right = match self.drops.get(&era) {
                Some(true) => keys == 0,
                Some(false) => keys <= DROPPED_KEYS,
                None => keys == if is_filled { DROPPED_KEYS } else { 0 },
            };
            if !is_right {
                let drop = self.drops.get(&era);
                return Err(format!("{keys} keys of the prefix of era {era}, dropped: {drop:?}"));
            }
        }
        Ok(())
    }
}
