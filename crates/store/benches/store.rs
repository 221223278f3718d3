//! Speed of the stores, next to the disk's own speed in the same run.
//!
//! `cargo bench -p keyloom-store` runs everything in about a minute; an argument such as `memory`
//! or `durable` selects rows whose name contains it. Compare rows of one run, not runs.

#![expect(clippy::unwrap_used, reason = "a benchmark may stop when anything fails")]

use std::fs::File;
use std::hint::black_box;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use fastrand::Rng;
use keyloom_store::{
    Bytes, Direction, DiskOptions, DiskStore, Durability, KeyRange, MemoryStore, Store,
};

const KEYS: u64 = 100_000;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(200);

/// 60 bytes, like a database key: a shared prefix, then a unique part.
fn key(n: u64) -> Bytes {
    format!("table-0001/partition-of-some-customer/{n:022}").into()
}

fn value(n: u64) -> Bytes {
    let mut random = Rng::with_seed(n);
    std::iter::repeat_with(|| random.u8(..0x20)).take(1000).collect()
}

type Work<'a> = Box<dyn Fn(u64, &mut Rng) + Sync + 'a>;

/// Rows that are measured in turn, round by round, so that background load affects all of them.
#[derive(Default)]
struct Section<'a> {
    rows: Vec<(String, u64, Work<'a>)>,
}

impl<'a> Section<'a> {
    /// Adds a row: this many threads that only run `work`.
    fn row(
        &mut self,
        name: impl Into<String>,
        threads: u64,
        work: impl Fn(u64, &mut Rng) + Sync + 'a,
    ) {
        self.rows.push((name.into(), threads, Box::new(work)));
    }

    /// Prints the median time per call and the median rate of each row.
    fn run(mut self, filter: Option<&str>) {
        self.rows.retain(|(name, ..)| filter.is_none_or(|filter| name.contains(filter)));
        let mut rates = vec![Vec::new(); self.rows.len()];
        for _ in 0..ROUNDS {
            for ((_, threads, work), rates) in self.rows.iter().zip(&mut rates) {
                rates.push(rate(*threads, work));
            }
        }
        for ((name, threads, _), mut rates) in self.rows.into_iter().zip(rates) {
            rates.sort_by(f64::total_cmp);
            let rate = rates.get(ROUNDS / 2).copied().unwrap_or_default();
            let micros = threads as f64 * 1e6 / rate;
            let line = format!("{name:<52} {micros:>10.2} µs {rate:>12.0} /s\n");
            std::io::stdout().write_all(line.as_bytes()).unwrap();
        }
    }
}

fn rate(threads: u64, work: &Work<'_>) -> f64 {
    let calls = AtomicU64::new(0);
    let start = Instant::now();
    scope(|scope| {
        for thread in 0..threads {
            let calls = &calls;
            scope.spawn(move || {
                let mut random = Rng::with_seed(thread);
                let mut done = 0;
                while start.elapsed() < ROUND {
                    // Reading the clock costs as much as the fastest rows.
                    for _ in 0..16 {
                        work(thread, &mut random);
                    }
                    done += 16;
                }
                calls.fetch_add(done, Ordering::Relaxed);
            });
        }
    });
    calls.into_inner() as f64 / start.elapsed().as_secs_f64()
}

fn load(store: &dyn Store) {
    for chunk in 0..KEYS / 1000 {
        let mut transaction = store.begin(&[]).unwrap();
        for n in chunk * 1000..(chunk + 1) * 1000 {
            transaction.put(key(n), value(n));
        }
        transaction.commit().unwrap();
    }
}

fn put(store: &dyn Store, n: u64, value: &Bytes) {
    let key = key(n);
    let mut transaction = store.begin(&[&key]).unwrap();
    transaction.put(key.clone(), value.clone());
    transaction.commit().unwrap();
}

/// The accesses of a conditional write of an item with two indexes.
fn read_modify_write(store: &dyn Store, n: u64, value: &Bytes) {
    let key = key(n);
    let mut transaction = store.begin(&[&key]).unwrap();
    black_box(transaction.get(&key).unwrap());
    transaction.put(key.clone(), value.clone());
    transaction.put([b"i1/", key.as_ref()].concat().into(), Bytes::new());
    transaction.put([b"i2/", key.as_ref()].concat().into(), Bytes::new());
    transaction.commit().unwrap();
}

fn reads<'a>(section: &mut Section<'a>, name: &str, store: &'a dyn Store, keys: &'a [Bytes]) {
    let pick = move |random: &mut Rng| keys.get(random.usize(..KEYS as usize)).unwrap();
    section.row(format!("{name}: get"), 1, move |_, random| {
        black_box(store.get(pick(random)).unwrap().unwrap());
    });
    section.row(format!("{name}: get, 2 threads"), 2, move |_, random| {
        black_box(store.get(pick(random)).unwrap().unwrap());
    });
    section.row(format!("{name}: get, key missing"), 1, move |_, random| {
        let missing = [pick(random).as_ref(), b"?"].concat();
        assert!(store.get(&missing).unwrap().is_none());
    });
    section.row(format!("{name}: get 25 keys at once"), 1, move |_, random| {
        let wanted: Vec<&[u8]> = (0..25).map(|_| pick(random).as_ref()).collect();
        black_box(store.get_many(&wanted).unwrap());
    });
    section.row(format!("{name}: snapshot"), 1, move |_, _| {
        black_box(store.snapshot().unwrap());
    });
    for (what, direction) in [("forward", Direction::Forward), ("backward", Direction::Backward)] {
        section.row(format!("{name}: scan 100, {what}"), 1, move |_, random| {
            let middle = pick(random).as_ref();
            let range = match direction {
                Direction::Forward => KeyRange::new(middle..),
                Direction::Backward => KeyRange::new(..middle),
            };
            let snapshot = store.snapshot().unwrap();
            for entry in snapshot.scan(range, direction).take(100) {
                black_box(entry.unwrap());
            }
        });
    }
}

fn writes<'a>(section: &mut Section<'a>, name: &str, store: &'a dyn Store, value: &'a Bytes) {
    for writers in [1, 16] {
        section.row(format!("{name}: put, {writers} writers"), writers, move |_, random| {
            put(store, random.u64(..KEYS), value);
        });
        let label = format!("{name}: read, write + 2 index entries, {writers} writers");
        section.row(label, writers, move |_, random| {
            read_modify_write(store, random.u64(..KEYS), value);
        });
    }
    section.row(format!("{name}: read, write + 2, one key, 16 writers"), 16, move |_, _| {
        read_modify_write(store, 7, value);
    });
}

/// The disk's own speed: the bytes of one put, written and synced at the end of a file, or inside a
/// preallocated file.
fn raw_syncs(section: &mut Section<'_>, path: &Path) {
    let record = vec![0x5A; 60 + 1000 + 42];
    let length = record.len() as u64;
    let write = move |mut file: &File, at: u64| {
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&record).unwrap();
        file.sync_data().unwrap();
    };
    let (grows, zeroed) =
        (File::create(path.join("grows")).unwrap(), File::create(path.join("zeroed")).unwrap());
    (&zeroed).write_all(&vec![0; 64 << 20]).unwrap();
    zeroed.sync_all().unwrap();
    let (again, end) = (write.clone(), AtomicU64::new(0));
    section.row("durable: bare write + fdatasync, file grows", 1, move |_, _| {
        write(&grows, end.fetch_add(length, Ordering::Relaxed));
    });
    let end = AtomicU64::new(0);
    section.row("durable: bare write + fdatasync, zeroed file", 1, move |_, _| {
        again(&zeroed, end.fetch_add(length, Ordering::Relaxed) % (63 << 20));
    });
}

fn main() {
    // Cargo adds `--bench`.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let (keys, value): (Vec<Bytes>, Bytes) = ((0..KEYS).map(key).collect(), value(1));
    let directory = tempfile::tempdir_in(".").unwrap();
    let open = |name, durability| {
        let options = DiskOptions { durability, ..DiskOptions::default() };
        let (store, _) = DiskStore::open(directory.path().join(name), options).unwrap();
        load(&store);
        store
    };

    let memory = MemoryStore::new();
    load(&memory);
    let mut section = Section::default();
    reads(&mut section, "memory", &memory, &keys);
    writes(&mut section, "memory", &memory, &value);
    section.row("memory: fork", 1, |_, _| drop(black_box(memory.fork())));
    section.run(filter.as_deref());

    let durable = open("durable", Durability::Sync);
    let mut section = Section::default();
    reads(&mut section, "disk", &durable, &keys);
    section.run(filter.as_deref());
    let mut section = Section::default();
    raw_syncs(&mut section, directory.path());
    writes(&mut section, "durable", &durable, &value);
    section.run(filter.as_deref());

    let relaxed = open("relaxed", Durability::Relaxed);
    let mut section = Section::default();
    writes(&mut section, "relaxed", &relaxed, &value);
    section.run(filter.as_deref());
}
