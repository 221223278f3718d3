//! The block cache holds no blocks of removed tables: overwriting and reading a few keys for long
//! does not fill it, however large its limit.
//!
//! `KEYLOOM_OVERWRITES` sets how many times all keys are overwritten (default 24).

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use keyloom_store::{Bytes, DiskOptions, DiskStore, Durability, Store};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const KEYS: u64 = 3_000;
const VALUE_BYTES: usize = 500;
const MEMTABLE_BYTES: u64 = 512 << 10;

/// The live data once in memtables and once in the cache, sealed memtables, indexes and filters.
const MOST_MEGABYTES: f32 = 12.0;

fn key(n: u64) -> Bytes {
    format!("key {n:08}").into()
}

#[test]
fn overwritten_keys_do_not_fill_the_cache() {
    let rounds = env::var("KEYLOOM_OVERWRITES").map_or(24, |rounds| rounds.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let options = DiskOptions {
        durability: Durability::Relaxed,
        cache_bytes: 1 << 30,
        memtable_bytes: MEMTABLE_BYTES,
    };
    let (store, _) = DiskStore::open(directory.path(), options).unwrap();
    let before = ALLOCATOR.current_usage_as_mb();
    for round in 0_u64..rounds {
        for first in (0..KEYS).step_by(100) {
            let mut transaction = store.begin(&[]).unwrap();
            for n in first..first + 100 {
                // Reading overwritten keys is what brings blocks into the cache.
                let old = transaction.get(&key(n)).unwrap();
                assert_eq!(old.map(|old| old[0]), round.checked_sub(1).map(|last| last as u8));
                transaction.put(key(n), vec![round as u8; VALUE_BYTES].into());
            }
            transaction.commit().unwrap();
        }
        if round % 8 == 7 {
            let used = ALLOCATOR.current_usage_as_mb() - before;
            eprintln!("after {:3} rounds: {used:.1} MB", round + 1);
        }
    }
    // Blocks of tables replaced last are evicted by the next periodic check.
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let used = ALLOCATOR.current_usage_as_mb() - before;
        if used <= MOST_MEGABYTES {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "{used:.1} MB are allocated; the limit is {MOST_MEGABYTES}"
        );
        thread::sleep(Duration::from_millis(100));
    }
}
