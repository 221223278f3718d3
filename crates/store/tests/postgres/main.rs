//! The store over PostgreSQL when connections are cut, servers die and others are faster.
//!
//! `KEYLOOM_PG_FAULTS` says how often each fault is caused; `scripts/long postgres` does it 200 times.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod faults;
mod keys;
mod login;
mod pages;
mod paused;
mod reactor;
mod rivals;
#[path = "../../../testkit/src/postgres.rs"]
#[expect(dead_code, unreachable_pub, reason = "a module of the test kit")]
mod server;
mod standby;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyloom_store::{CommitError, PostgresOptions, PostgresStore, Store};

use server::{Postgres, Proxy};

/// The server that all tests share, but those that stop it.
fn shared() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::start(false)).as_ref()
}

fn schema() -> String {
    static SCHEMAS: AtomicUsize = AtomicUsize::new(0);
    format!("s{}", SCHEMAS.fetch_add(1, Ordering::Relaxed))
}

fn connect(url: &str) -> PostgresStore {
    PostgresStore::connect(PostgresOptions::from_url(url).unwrap()).unwrap()
}

/// How often each fault is caused.
fn rounds() -> usize {
    std::env::var("KEYLOOM_PG_FAULTS").ok().and_then(|n| n.parse().ok()).unwrap_or(10)
}

fn number(store: &dyn Store, key: &str) -> usize {
    let value = store.get(key.as_bytes()).unwrap();
    value.map_or(0, |value| std::str::from_utf8(&value).unwrap().parse().unwrap())
}

/// Adds one to a number, in the log and in a counter, once; tries again after a conflict.
fn increment(store: &dyn Store, key: &'static str) -> Result<(), CommitError> {
    increment_counting(store, key).map(drop)
}

/// The same; returns how many conflicts there were.
fn increment_counting(store: &dyn Store, key: &'static str) -> Result<usize, CommitError> {
    let mut conflicts = 0;
    loop {
        let mut transaction = store.begin(&[key.as_bytes()]).map_err(CommitError::Failed)?;
        let value = transaction.get(key.as_bytes()).map_err(CommitError::Failed)?;
        let value = value.map_or(0, |v| std::str::from_utf8(&v).unwrap().parse::<usize>().unwrap());
        transaction.put(key.into(), (value + 1).to_string().into());
        transaction.append("log/".into(), 0, key.into());
        transaction.add("count".into(), 1);
        match transaction.commit() {
            Err(CommitError::Conflict | CommitError::Stale) => conflicts += 1,
            outcome => return outcome.map(|()| conflicts),
        }
    }
}

/// How many records the log has.
fn logged(store: &dyn Store) -> usize {
    let snapshot = store.snapshot().unwrap();
    let range = keyloom_store::KeyRange::prefix(b"log/");
    snapshot.scan(range, keyloom_store::Direction::Forward).map(Result::unwrap).count()
}

/// What was acknowledged is there, exactly.
fn assert_exact(store: &dyn Store, keys: &[&str], acknowledged: usize) {
    let sum: usize = keys.iter().map(|key| number(store, key)).sum();
    let counted = store.sum(&[b"count"]).unwrap()[0] as usize;
    assert_eq!((sum, logged(store), counted), (acknowledged, acknowledged, acknowledged));
}
