//! How fast the stores are, beside the disk's own speed in the same run.
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

use keyloom_store::{
    Bytes, Direction, DiskOptions, DiskStore, Durability, KeyRange, MemoryStore, Store,
};

const KEYS: u64 = 100_000;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(400);

/// 60 bytes, in the manner of a database key: a shared prefix, then what differs.
fn key(n: u64) -> Bytes {
    format!("table-0001/partition-of-some-customer/{n:022}").into()
}

fn value(n: u64) -> Bytes {
    let mut state = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as u8 & 0x1F
    })
    .take(1000)
    .collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

struct Bench {
    filter: Option<String>,
}

impl Bench {
    /// Runs rounds of `work` on so many threads and prints the median time per call and its rate.
    fn row(&self, name: &str, threads: u64, work: impl Fn(u64, &mut Random) + Sync) {
        if self.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            return;
        }
        let mut rates: Vec<f64> = (0..ROUNDS).map(|_| rate(threads, &work)).collect();
        rates.sort_by(f64::total_cmp);
        let rate = rates.get(ROUNDS / 2).copied().unwrap_or_default();
        let micros = threads as f64 * 1e6 / rate;
        let line = format!("{name:<52} {micros:>10.2} µs {rate:>12.0} /s\n");
        std::io::stdout().write_all(line.as_bytes()).unwrap();
    }
}

fn rate(threads: u64, work: &(impl Fn(u64, &mut Random) + Sync)) -> f64 {
    let calls = AtomicU64::new(0);
    let start = Instant::now();
    scope(|scope| {
        for thread in 0..threads {
            let calls = &calls;
            scope.spawn(move || {
                let mut random = Random(0x1234_5678_9ABC_DEF1 + thread);
                let mut done = 0;
                while start.elapsed() < ROUND {
                    // Asking for the time costs as much as the fastest of the rows.
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

/// What a conditional write of an item with two indexes does.
fn read_modify_write(store: &dyn Store, n: u64, value: &Bytes) {
    let key = key(n);
    let mut transaction = store.begin(&[&key]).unwrap();
    black_box(transaction.get(&key).unwrap());
    transaction.put(key.clone(), value.clone());
    transaction.put([b"i1/", key.as_ref()].concat().into(), Bytes::new());
    transaction.put([b"i2/", key.as_ref()].concat().into(), Bytes::new());
    transaction.commit().unwrap();
}

fn reads(bench: &Bench, name: &str, store: &dyn Store) {
    let keys: Vec<Bytes> = (0..KEYS).map(key).collect();
    let pick = |random: &mut Random| keys.get(random.below(KEYS) as usize).unwrap();
    bench.row(&format!("{name}: get"), 1, |_, random| {
        black_box(store.get(pick(random)).unwrap().unwrap());
    });
    bench.row(&format!("{name}: get, 2 threads"), 2, |_, random| {
        black_box(store.get(pick(random)).unwrap().unwrap());
    });
    bench.row(&format!("{name}: get, key missing"), 1, |_, random| {
        let missing = [pick(random).as_ref(), b"?"].concat();
        assert!(store.get(&missing).unwrap().is_none());
    });
    bench.row(&format!("{name}: get 25 keys at once"), 1, |_, random| {
        let wanted: Vec<&[u8]> = (0..25).map(|_| pick(random).as_ref()).collect();
        black_box(store.get_many(&wanted).unwrap());
    });
    bench.row(&format!("{name}: snapshot"), 1, |_, _| {
        black_box(store.snapshot().unwrap());
    });
    for (what, direction) in [("forward", Direction::Forward), ("backward", Direction::Backward)] {
        bench.row(&format!("{name}: scan 100, {what}"), 1, |_, random| {
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

fn writes(bench: &Bench, name: &str, store: &dyn Store) {
    let value = value(1);
    for writers in [1, 16] {
        bench.row(&format!("{name}: put, {writers} writers"), writers, |_, random| {
            put(store, random.below(KEYS), &value);
        });
        let label = format!("{name}: read, write + 2 index entries, {writers} writers");
        bench.row(&label, writers, |_, random| {
            read_modify_write(store, random.below(KEYS), &value);
        });
    }
    bench.row(&format!("{name}: read, write + 2, one key, 16 writers"), 16, |_, _| {
        read_modify_write(store, 7, &value);
    });
}

/// The disk's own speed: the bytes of one put, written and synced in place or at the end.
fn raw_syncs(bench: &Bench, path: &Path) {
    let record = vec![0x5A; 60 + 1000 + 42];
    let open = |name| File::create(path.join(name)).unwrap();
    let write = |mut file: &File, at: u64| {
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&record).unwrap();
        file.sync_data().unwrap();
    };
    let (appended, end) = (open("appended"), AtomicU64::new(0));
    bench.row("durable disk: write + fdatasync, file grows", 1, |_, _| {
        write(&appended, end.fetch_add(record.len() as u64, Ordering::Relaxed));
    });
    let zeroed = open("zeroed");
    (&zeroed).write_all(&vec![0; 64 << 20]).unwrap();
    zeroed.sync_all().unwrap();
    let end = AtomicU64::new(0);
    bench.row("durable disk: write + fdatasync, zeroed file", 1, |_, _| {
        write(&zeroed, end.fetch_add(record.len() as u64, Ordering::Relaxed) % (63 << 20));
    });
}

fn main() {
    // Cargo adds `--bench`.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let bench = Bench { filter };
    let memory = MemoryStore::new();
    load(&memory);
    reads(&bench, "memory", &memory);
    writes(&bench, "memory", &memory);
    bench.row("memory: fork", 1, |_, _| drop(black_box(memory.fork())));

    let directory = tempfile::tempdir_in(".").unwrap();
    let open = |name, durability| {
        let options = DiskOptions { durability, ..DiskOptions::default() };
        let (store, _) = DiskStore::open(directory.path().join(name), options).unwrap();
        load(&store);
        store
    };
    let disk = open("disk", Durability::Sync);
    reads(&bench, "disk", &disk);
    raw_syncs(&bench, directory.path());
    writes(&bench, "durable", &disk);
    raw_syncs(&bench, directory.path());
    drop(disk);
    writes(&bench, "relaxed", &open("relaxed", Durability::Relaxed));
}
