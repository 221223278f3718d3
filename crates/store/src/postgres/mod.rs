//! A store in a database that speaks PostgreSQL's protocol, shared by any number of processes.
//!
//! ```text
//! kv   (k, v, r)                  every entry; r is 63 random bits of the transaction that wrote it
//! lane (id, n, x, e, sums, seen)  one per committing connection: fence, commit marker, counters
//! tail (id, n)                    the last number of each log
//! total(id, n)                    counters that lanes have handed over
//! ```
//!
//! A transaction remembers the revisions of what it reads. What it writes waits with others for the
//! next *flight* ([`flight`]): one transaction of the database, sent in one go, that checks all
//! revisions and writes everything. Its [`lane`] makes sure that a flight whose outcome got lost is
//! found out, never guessed. Safety rests on row locks, unique keys and checked revisions alone, so
//! READ COMMITTED is enough, and nothing depends on clocks.
//!
//! Plain reads that wait at the same time share a statement ([`reader`]); scans come in pages of so
//! many bytes ([`snapshot`], [`paging`]); keys longer than an index takes are spread over nodes
//! ([`keys`]); changes of what all servers hold in memory stop all lanes ([`exclusive`]).

mod connection;
mod contention;
mod core;
mod directness;
mod exclusive;
mod flight;
mod keys;
mod lane;
mod locked;
mod member;
mod options;
mod order;
mod paging;
mod reader;
mod removal;
mod roster;
mod snapshot;
mod sql;
mod sums;
mod tls;
mod transaction;
mod trouble;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use self::connection::{Connector, Link};
use self::contention::Wish;
use self::core::{Core, encode_epoch, epoch_row};
use self::exclusive::PostgresExclusive;
use self::flight::Parameters;
use self::lane::Lane;
pub use self::options::PostgresOptions;
use self::order::LookupSince;
use self::reader::Reader;
use self::snapshot::PostgresSnapshot;
use self::sql::Sql;
use self::sums::Sums;
use self::transaction::{CheckedReads, Primed};
use self::trouble::Trouble;
use crate::locks::{HeldLocks, KeyLocks};
use crate::transaction::StagedTransaction;
use crate::{
    Direction, Exclusive, Expected, FirstPage, Health, KeyRange, LaneStatus, LookedUp, Lookup,
    PageLookup, Snapshot, Stats, Store, StoreError, Transaction, Verification,
};

/// How long a database that nobody has reached yet is waited for: whoever began with it wants to know that the name or the
/// port is wrong.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);

/// How many connections commit. Most of the time one is enough; while the database syncs slowly, or
/// keys are contended, others help. Those that were never needed do not connect.
const LANES: usize = 4;

/// How long closing waits for the lanes.
const CLOSING: Duration = Duration::from_secs(10);

/// Fewer entries than this are counted exactly.
const COUNTED: i64 = 10_000;

/// An ordered store in a database, shared with other processes.
pub struct PostgresStore {
    core: Arc<Core>,
    reader: Arc<Reader>,
    locks: KeyLocks,
    /// Disconnects when the lanes have ended.
    lanes: Mutex<Receiver<()>>,
    runtime: Option<Runtime>,
}

impl PostgresStore {
    /// Connects, and creates the tables if they are missing, unless they
    /// [must exist](PostgresOptions::must_exist).
    pub fn connect(options: PostgresOptions) -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("keyloom-postgres")
            .enable_all()
            .build()
            .map_err(|error| StoreError::io("start the threads of the store", error))?;
        let (sql, snapshots) = (Sql::new(&options), options.snapshots);
        let must_exist = options.must_exist;
        let handle = runtime.handle().clone();
        let core = Arc::new(Core::new(Connector::new(options)?, sql, snapshots, handle));
        core.run(prepare(&core, must_exist))?;
        let reader = Reader::start(&core);
        let (ended, lanes) = sync_channel(1);
        for number in 0..LANES {
            let (lane, ended) = (Lane::new(Arc::clone(&core), number), ended.clone());
            core.spawn(async move {
                lane.run().await;
                drop(ended);
            });
        }
        Ok(Self {
            core,
            reader,
            locks: KeyLocks::new(),
            lanes: Mutex::new(lanes),
            runtime: Some(runtime),
        })
    }

    /// The wish for contended keys, made before they are locked: others that wait for the same keys
    /// share the session.
    fn wish(&self, keys: &[&[u8]]) -> Option<Wish<'_>> {
        let wish = self.core.contention.wish(keys)?;
        self.core.order.arrived.notify_one();
        Some(wish)
    }

    fn transaction<'a>(
        &'a self,
        keys: &[&[u8]],
        locks: HeldLocks<'a>,
        wish: Option<Wish<'a>>,
    ) -> Box<dyn Transaction + 'a> {
        Box::new(StagedTransaction::new(CheckedReads::new(self, keys, locks, wish)))
    }
}

/// Creates what is missing, unless it must exist, and reads the epoch and the clock.
async fn prepare(core: &Core, must_exist: bool) -> Result<(), StoreError> {
    core.control_within(FIRST_PATIENCE, async |link: &Link| {
        if must_exist {
            find(core, link).await?;
            return core.read_clock(link).await;
        }
        match link.client.query_typed(&core.sql.lane, &[(&0_i64, Type::INT8)]).await {
            Err(error) if is_absent(&error) => create(core, link).await?,
            lane => drop(lane?),
        }
        let (key, first) = (epoch_row(), encode_epoch(1, 0));
        let parameters: Parameters<'_> = vec![(&key, Type::BYTEA), (&first, Type::BYTEA)];
        link.client.execute_typed(&core.sql.first_epoch, &parameters).await?;
        let rows: Parameters<'_> = vec![(&key, Type::BYTEA)];
        let row = link.client.query_typed_one(&core.sql.share_epoch, &rows).await?;
        core.meet_row(row.try_get(0)?).map_err(Trouble::Failed)?;
        core.read_clock(link).await?;
        // Lanes that nobody heard of for long; zero is no lane's id.
        roster::bury(core, link, 0).await
    })
    .await
}

/// Finds the tables and reads the epoch; writes nothing.
async fn find(core: &Core, link: &Link) -> Result<(), Trouble> {
    let wanted = [epoch_row()].to_vec();
    let parameters: Parameters<'_> = vec![(&wanted, Type::BYTEA_ARRAY)];
    let row = match link.client.query_typed_opt(&core.sql.read, &parameters).await {
        Err(error) if is_absent(&error) => None,
        row => row?,
    };
    let absent = || StoreError::Engine {
        action: "open the store".into(),
        detail: format!(
            "{} holds none in its schema {}",
            core.connector.place(),
            core.connector.schema()
        ),
    };
    let row = row.ok_or_else(|| Trouble::Failed(absent()))?;
    core.meet_row(row.try_get(2)?).map(drop).map_err(Trouble::Failed)
}

/// Whether the schema or its tables are not there. Anything else that is wrong creating them would not mend.
fn is_absent(error: &tokio_postgres::Error) -> bool {
    matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME))
}

async fn create(core: &Core, link: &Link) -> Result<(), Trouble> {
    match link.client.batch_execute(&core.sql.create).await.map_err(Trouble::from) {
        // Two servers that create the tables at once: the other one was faster.
        Err(Trouble::Look) => return Err(Trouble::Conflict),
        created => created?,
    }
    // Settings that other databases do not have are not needed there.
    drop(link.client.batch_execute(&core.sql.tune).await);
    Ok(())
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.core.order.settle();
        self.core.closing.store(true, Ordering::Release);
        self.core.order.wake_all();
        self.reader.wake();
        // They send nothing: this waits for their end.
        let _ = self.lanes.lock().recv_timeout(CLOSING);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("place", &self.core.connector.place())
            .finish_non_exhaustive()
    }
}

impl Store for PostgresStore {
    fn lanes(&self) -> Result<Vec<LaneStatus>, StoreError> {
        let core = &self.core;
        core.run(core.control(async |link: &Link| {
            let rows = link.client.query_typed(&core.sql.lanes, &[]).await?;
            let lane = |row: &tokio_postgres::Row| {
                Ok(LaneStatus {
                    id: row.try_get(0)?,
                    flights: row.try_get(1)?,
                    silent_ms: row.try_get(2)?,
                    about: row.try_get(3)?,
                })
            };
            rows.iter()
                .map(lane)
                .collect::<Result<_, tokio_postgres::Error>>()
                .map_err(Trouble::from)
        }))
    }
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.get_many(&[key])?.pop().flatten())
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let found = self.reader.keys(keys)?;
        Ok(found.into_iter().map(|row| row.map(|row| row.value)).collect())
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(PostgresSnapshot::now(&self.core)?))
    }

    fn late_snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(PostgresSnapshot::late(&self.core)))
    }

    fn first_page(
        &self,
        range: &KeyRange,
        direction: Direction,
        expected: Expected,
    ) -> Result<Option<FirstPage>, StoreError> {
        self.core.run(snapshot::first_page(&self.core, range, direction, expected))
    }

    fn look_up(&self, keys: &[&[u8]], to_write: bool) -> Option<Lookup> {
        // Contended keys are locked in the database before they are read.
        if to_write && self.core.contention.is_contended(keys) {
            return None;
        }
        let rows: Vec<Bytes> =
            keys.iter().map(|key| keys::short_row(key)).collect::<Option<_>>()?;
        // Whoever only reads takes what is found.
        let since = to_write.then(|| LookupSince::begin(&self.core));
        let answer = self.reader.ask(rows);
        Some(Box::pin(async move {
            let found = answer.await.unwrap_or_else(|_| Err(core::closed()))?;
            let values =
                found.iter().map(|row| row.as_ref().map(|row| row.value.clone())).collect();
            let kept: Box<dyn Any + Send> = match since {
                Some(since) => Box::new(Primed { found, since }),
                None => Box::new(()),
            };
            Ok(LookedUp::new(values, kept))
        }))
    }

    fn look_up_page(
        &self,
        range: &KeyRange,
        direction: Direction,
        expected: Expected,
    ) -> Option<PageLookup> {
        let (core, range) = (Arc::clone(&self.core), range.clone());
        let page = self
            .core
            .begin(async move { snapshot::first_page(&core, &range, direction, expected).await });
        Some(Box::pin(async move { page.await.unwrap_or_else(|_| Err(core::closed())) }))
    }

    fn begin_with<'a>(
        &'a self,
        keys: &[&[u8]],
        timeout: Duration,
        found: LookedUp,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        // They may have become so meanwhile.
        if self.core.contention.is_contended(keys) {
            return Ok(None);
        }
        let Some(held) = self.locks.lock_within(keys, timeout) else { return Ok(None) };
        let reads = CheckedReads::new(self, keys, held, None);
        if let Ok(primed) = found.kept.downcast::<Primed>() {
            reads.prime(keys, *primed);
        }
        Ok(Some(Box::new(StagedTransaction::new(reads))))
    }

    fn begin<'a>(&'a self, keys: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        let wish = self.wish(keys);
        Ok(self.transaction(keys, self.locks.lock(keys), wish))
    }

    fn begin_within<'a>(
        &'a self,
        keys: &[&[u8]],
        timeout: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        let wish = self.wish(keys);
        let Some(held) = self.locks.lock_within(keys, timeout) else { return Ok(None) };
        Ok(Some(self.transaction(keys, held, wish)))
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        Ok(Box::new(PostgresExclusive::begin(self)?))
    }

    fn epoch(&self) -> u64 {
        self.core.epoch()
    }

    fn sum(&self, counters: &[&[u8]]) -> Result<Vec<i64>, StoreError> {
        let wanted: Vec<Bytes> = counters.iter().map(|name| Bytes::copy_from_slice(name)).collect();
        let sums = self.core.run(read_sums(&self.core, &wanted))?;
        Ok(counters.iter().map(|name| sums.0.get(*name).copied().unwrap_or(0)).collect())
    }

    fn now_ms(&self) -> Option<u64> {
        self.core.now_ms()
    }

    fn waits(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn settle(&self) -> Result<(), StoreError> {
        self.core.order.settle();
        Ok(())
    }

    fn verify(&self) -> Result<Verification, StoreError> {
        let mut found = Verification::default();
        crate::verify_entries(&*self.snapshot()?, &mut found);
        Ok(found)
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        let core = &self.core;
        let (entries, bytes) = core.run(core.control(async |link: &Link| {
            let row = link.client.query_typed_one(&core.sql.size, &[]).await?;
            let (mut entries, bytes): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            if entries < COUNTED {
                let row = link.client.query_typed_one(&core.sql.count, &[]).await?;
                entries = row.try_get(0)?;
            }
            Ok((entries, bytes))
        }))?;
        Ok(Stats {
            approximate_entries: entries.max(0) as u64,
            disk_bytes: bytes.max(0) as u64,
            commits: self.core.counters.commits.load(Ordering::Relaxed),
            syncs: self.core.counters.flights.load(Ordering::Relaxed),
            ..Stats::default()
        })
    }

    fn health(&self) -> Health {
        self.core.health()
    }

    fn delete_prefix(&self, prefix: &[u8], chunk: usize) -> Result<(), StoreError> {
        self.core.run(removal::remove(&self.core, prefix, chunk.max(1)))
    }
}

/// The sums of counters, over all lanes and the totals, at one moment.
async fn read_sums(core: &Core, counters: &[Bytes]) -> Result<Sums, StoreError> {
    let names: Vec<&[u8]> = counters.iter().map(AsRef::as_ref).collect();
    core.control(async |link: &Link| {
        let rows = link.client.query_typed(&core.sql.sums, &[(&names, Type::BYTEA_ARRAY)]).await?;
        let mut sums = Sums::default();
        for row in rows {
            if let Some(lane) = row.try_get::<_, Option<&[u8]>>(0)? {
                sums.add(&Sums::decode(lane).map_err(Trouble::Failed)?.0);
            } else {
                let (name, sum): (&[u8], i64) = (row.try_get(1)?, row.try_get(2)?);
                sums.add([(&Bytes::copy_from_slice(name), &sum)]);
            }
        }
        Ok(sums)
    })
    .await
}
