//! The bare store over PostgreSQL against `pgbench` on the same server, in one run: only their ratio means
//! something on another machine.
//!
//! `cargo run --release -p keyloom-store --features postgres --example postgres_speed`
//!
//! Prints a table in Markdown. `KEYLOOM_SECONDS` sets how long each case runs; an argument leaves only the
//! cases whose names contain it.

#[path = "../../testkit/src/postgres.rs"]
#[expect(dead_code, unreachable_pub, reason = "a module of the test kit")]
mod server;

use std::error::Error;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use keyloom_store::{
    Bytes, CommitError, Direction, Expected, KeyRange, PostgresOptions, PostgresStore, Store,
};

/// Keys, each with a value of 1 KB.
const KEYS: usize = 20_000;

/// Partitions of 100 values of 200 bytes.
const PARTITIONS: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(server) = server::Postgres::start(true) else { return Ok(()) };
    let only = std::env::args().nth(1).unwrap_or_default();
    let seconds = std::env::var("KEYLOOM_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(5);
    let duration = Duration::from_secs(seconds);
    let url = server.url("speed");
    let stores = (0..3)
        .map(|_| PostgresStore::connect(PostgresOptions::from_url(&url)?))
        .collect::<Result<Vec<_>, _>>()?;
    let [first, ..] = stores.as_slice() else { return Ok(()) };
    fill(&server, first)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| case | connections | per second | p50 ms | p99 ms | µs of PostgreSQL | µs of the client |\n\
         |---|---|---|---|---|---|---|"
    )?;
    run_pgbench(&server, &mut out, &only, duration)?;
    let read = |store: &PostgresStore, n: usize| store.get(&key(n % KEYS)).map(|_| true);
    let page = |store: &PostgresStore, n: usize| {
        let range = KeyRange::prefix(format!("page {:02} ", n % PARTITIONS).as_bytes());
        // What a Query without a limit asks for.
        let expected = Expected { entries: usize::MAX, bytes: 5 << 18 };
        let page = store.first_page(&range, Direction::Forward, expected)?;
        Ok(page.is_some_and(|page| page.is_whole && page.entries.len() == 100))
    };
    let write = |store: &PostgresStore, n: usize| modify_one(store, n % KEYS);
    let hot = |store: &PostgresStore, _: usize| modify_one(store, 0);
    for (name, threads, servers, work) in [
        ("get", 16, 1, &read as &Work),
        ("page of 100 × 200 B", 16, 1, &page),
        ("read-modify-write", 16, 1, &write),
        ("read-modify-write", 128, 1, &write),
        ("read-modify-write", 128, 3, &write),
        ("one hot key", 64, 1, &hot),
        ("one hot key", 64, 3, &hot),
    ] {
        if !name.contains(&only) {
            continue;
        }
        let used = Used::until_now(&server);
        let stores = stores.get(..servers).unwrap_or(&stores);
        let (done, measured) = measure(stores, threads, duration, work);
        let used = used.each(&server, done);
        writeln!(
            out,
            "| store, {servers} process(es): {name} | {threads} | {measured} | {used} |"
        )?;
    }
    Ok(())
}

/// Makes the same entries in a store and in tables.
fn fill(server: &server::Postgres, store: &PostgresStore) -> Result<(), Box<dyn Error>> {
    for chunk in 0..KEYS / 100 {
        let mut transaction = store.begin(&[])?;
        for n in 0..100 {
            transaction.put(key(chunk * 100 + n), vec![7; 1000].into());
        }
        transaction.commit()?;
    }
    for partition in 0..PARTITIONS {
        let mut transaction = store.begin(&[])?;
        for n in 0..100 {
            transaction.put(format!("page {partition:02} {n:04}").into(), vec![7; 200].into());
        }
        transaction.commit()?;
    }
    server.query("CREATE TABLE plain (id int PRIMARY KEY, v bytea NOT NULL)");
    server.query(
        "CREATE TABLE ranges (p int, s int, v bytea NOT NULL, PRIMARY KEY (p, s)); \
         INSERT INTO ranges SELECT p, s, decode(repeat('07', 200), 'hex') \
         FROM generate_series(0, 15) p, generate_series(0, 99) s",
    );
    server.query(&format!(
        "INSERT INTO plain SELECT n, decode(repeat('07', 1000), 'hex') FROM generate_series(0, {}) n; \
         ANALYZE; CHECKPOINT",
        KEYS - 1
    ));
    Ok(())
}

/// What `pgbench` does with the tables.
fn run_pgbench(
    server: &server::Postgres,
    out: &mut impl Write,
    only: &str,
    duration: Duration,
) -> Result<(), Box<dyn Error>> {
    let select = "\\set id random(0, 19999)\nSELECT v FROM plain WHERE id = :id;\n";
    let modify = "\\set id random(0, 19999)\nBEGIN ISOLATION LEVEL SERIALIZABLE;\n\
                  SELECT v FROM plain WHERE id = :id FOR UPDATE;\n\
                  UPDATE plain SET v = decode(repeat('08', 1000), 'hex') WHERE id = :id;\nCOMMIT;\n";
    let update = "\\set id random(0, 19999)\n\
                  UPDATE plain SET v = decode(repeat('08', 1000), 'hex') WHERE id = :id;\n";
    let range = "\\set p random(0, 15)\nSELECT v FROM ranges WHERE p = :p ORDER BY s;\n";
    for (name, script, clients) in [
        ("pgbench UPDATE: one round trip with its sync", update, 1),
        ("pgbench SELECT", select, 16),
        ("pgbench SELECT of a page of 100 × 200 B", range, 16),
        ("pgbench read-modify-write", modify, 16),
        ("pgbench read-modify-write", modify, 64),
    ] {
        if !name.contains(only) {
            continue;
        }
        let used = Used::until_now(server);
        let (rate, ms) = server.pgbench(script, clients, duration.as_secs())?;
        let used = used.each(server, rate * duration.as_secs_f64());
        writeln!(out, "| {name} | {clients} | {rate:.0} | {ms:.2} (average) | | {used} |")?;
    }
    Ok(())
}

type Work = dyn Fn(&PostgresStore, usize) -> Result<bool, keyloom_store::StoreError> + Sync;

fn key(n: usize) -> Bytes {
    format!("key {n:08}").into()
}

/// Processor time, of the PostgreSQL server and of this process with those that it has started.
struct Used([Duration; 2]);

impl Used {
    fn until_now(server: &server::Postgres) -> Self {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = text.rsplit_once(") ").map(|(_, fields)| fields.split(' ').skip(11).take(4));
        let ticks: u32 = fields.into_iter().flatten().filter_map(|n| n.parse::<u32>().ok()).sum();
        Self([server.cpu(), Duration::from_millis(10) * ticks])
    }

    /// What each of so many operations has used since, in microseconds.
    fn each(self, server: &server::Postgres, operations: f64) -> String {
        let now = Self::until_now(server);
        let each = |place: usize| {
            let [now, before] = [&now, &self].map(|used| used.0.get(place).copied());
            let used = now.unwrap_or_default().saturating_sub(before.unwrap_or_default());
            used.as_secs_f64() * 1e6 / operations
        };
        format!("{:.0} | {:.0}", each(0), each(1))
    }
}

/// Reads a value, changes a byte and writes it; false after a conflict.
fn modify_one(store: &PostgresStore, n: usize) -> Result<bool, keyloom_store::StoreError> {
    let key = key(n);
    let mut transaction = store.begin(&[&key])?;
    let mut value = transaction.get(&key)?.unwrap_or_default().to_vec();
    if let Some(first) = value.first_mut() {
        *first = first.wrapping_add(1);
    }
    transaction.put(key, value.into());
    match transaction.commit() {
        Ok(()) => Ok(true),
        Err(CommitError::Conflict | CommitError::Stale) => Ok(false),
        Err(CommitError::Failed(error) | CommitError::Unknown(error)) => Err(error),
    }
}

/// Number, rate and latencies of successes; a conflict is tried again within the same measured time.
fn measure(
    stores: &[PostgresStore],
    threads: usize,
    duration: Duration,
    work: &Work,
) -> (f64, String) {
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let mut times: Vec<Duration> = scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (stop, store) = (&stop, stores.get(thread % stores.len()));
                scope.spawn(move || {
                    let (mut times, mut n) = (Vec::new(), thread.wrapping_mul(7919));
                    let Some(store) = store else { return times };
                    while !stop.load(Ordering::Relaxed) {
                        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let start = Instant::now();
                        while !work(store, n >> 20).unwrap_or(false) {
                            if stop.load(Ordering::Relaxed) {
                                return times;
                            }
                        }
                        times.push(start.elapsed());
                    }
                    times
                })
            })
            .collect();
        std::thread::sleep(duration);
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    (times.len() as f64, format!("{rate:.0} | {:.2} | {:.2}", ms(at(50)), ms(at(99))))
}
