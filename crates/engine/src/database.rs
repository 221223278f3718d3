//! The handle of an embedded database, and the state that all operations share.

use std::fmt;
#[cfg(feature = "disk")]
use std::sync::OnceLock;
use std::sync::{Arc, Weak};
use std::time::Duration;

use keyloom_api::{Body, Operation, Reply};
use keyloom_core::error::request;
use keyloom_core::observation::Observer;
use keyloom_core::{Error, Result};
#[cfg(feature = "disk")]
use keyloom_store::OpenReport;
use keyloom_store::{CommitError, Health, MemoryStore, Stats, Store, StoreError, Transaction};

use parking_lot::{Mutex, RwLock};

use crate::background::Background;
use crate::buckets::Buckets;
use crate::call::{Call, WaitingCall};
use crate::catalog::{Catalog, Change, Home, note_written};
use crate::cluster_status::ClusterStatus;
use crate::coordination::Coordination;
use crate::counting::{self, Counted};
use crate::elsewhere::Workers;
use crate::idempotency::Tokens;
use crate::observe::DatabaseObserver;
use crate::ops::{self, Handler};
use crate::replication::{self, Peers, REPLICATION_TARGET};
use crate::stream::{Sequencer, retention};
use crate::write::InFlight;
use keyloom_api::clock::{Clock, SystemClock};

/// An embedded DynamoDB: tables, indexes, transactions, streams, in this process.
///
/// A handle is cheap to clone; all clones share one database. Dropping the last one closes it. A database on
/// disk stores its item counts when it is closed; after a crash the next open counts the items again.
///
/// ```
/// use keyloom_engine::Database;
///
/// let database = Database::memory();
/// let reply = database.call("DynamoDB_20120810.ListTables", b"{}");
/// assert_eq!(reply.body, br#"{"TableNames":[]}"#);
/// ```
#[derive(Clone)]
pub struct Database {
    handle: Arc<Handle>,
}

/// The reference count of the handles: dropping the last one stops the threads, stores the counts and closes
/// the store.
struct Handle {
    inner: Arc<Inner>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(peers) = &self.inner.options.peers {
            peers.stop();
        }
        self.inner.background.end();
        self.inner.leave();
        // A store in memory that is ours goes away with us.
        if self.inner.memory.is_none() {
            counting::close(&self.inner);
        }
    }
}

/// Settings of a database that do not depend on its store.
#[derive(Clone, Debug)]
pub struct Options {
    /// The AWS region that ARNs name.
    pub region: String,
    /// The AWS account that ARNs name.
    pub account: String,
    /// The host and port that DescribeEndpoints names.
    pub endpoint: String,
    /// The buckets of exports, imports and bulk operations.
    pub buckets: Option<Arc<dyn Buckets>>,
    /// Where the time comes from. A store that several processes share has a clock of its own, which all of them
    /// go by instead of their machines'.
    pub clock: Arc<dyn Clock>,
    /// Whether expired items are removed, dropped tables cleaned up and old stream records trimmed
    /// by a thread. Without it, [`Database::run_maintenance`] does the same when called.
    pub background: bool,
    /// How often that thread polls for work; it bounds, for example, how long an expired item stays.
    pub maintenance_interval: Duration,
    /// How long a table's time to live must stay as it is before it can be changed again. AWS: about
    /// an hour.
    pub ttl_change_interval: Duration,
    /// How long a vector index that is added to a table appears to be allocated; meanwhile the table
    /// is `UPDATING`. AWS: half a minute.
    pub index_allocation_time: Duration,
    /// How long it appears to be filled after that, at least. AWS: many minutes.
    pub index_filling_time: Duration,
    /// How many tables there may be; AWS grants up to [`MAX_TABLES`](keyloom_core::limits::MAX_TABLES) on request.
    pub max_tables: usize,
    /// The databases of other regions, which may have replicas of tables.
    pub peers: Option<Arc<dyn Peers>>,
    /// The observer of every request, which may throttle it.
    pub observer: Option<Arc<dyn Observer>>,
    /// The newest version of records that this database knows; for tests of upgrades alone.
    #[doc(hidden)]
    pub known_records: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            region: "us-east-1".into(),
            account: "000000000000".into(),
            endpoint: "localhost:8000".into(),
            buckets: None,
            clock: Arc::new(SystemClock),
            background: true,
            maintenance_interval: Duration::from_secs(30),
            ttl_change_interval: Duration::ZERO,
            index_allocation_time: Duration::ZERO,
            index_filling_time: Duration::ZERO,
            max_tables: keyloom_core::limits::DEFAULT_TABLES,
            peers: None,
            observer: None,
            known_records: crate::records::NEWEST,
        }
    }
}

/// What all clones of a handle share, and the background threads with them.
pub(crate) struct Inner {
    /// For the threads that a request starts.
    pub(crate) me: Weak<Inner>,
    pub(crate) store: Arc<dyn Store>,
    /// The same store, if it is in memory and can be forked.
    memory: Option<Arc<MemoryStore>>,
    pub(crate) catalog: Catalog,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: Options,
    pub(crate) in_flight: InFlight,
    pub(crate) tokens: Tokens,
    pub(crate) counted: Counted,
    pub(crate) observer: DatabaseObserver,
    /// What DescribeEndpoints names.
    pub(crate) endpoint: RwLock<String>,
    #[cfg(feature = "disk")]
    pub(crate) open_report: OnceLock<OpenReport>,
    pub(crate) streams: Arc<Sequencer>,
    pub(crate) background: Background,
    pub(crate) workers: Workers,
    /// The servers on the store, and the jobs that they hold.
    pub(crate) coordination: Coordination,
    /// What the links to other regions have met.
    pub(crate) replication_notes: replication::Notes,
    /// Which opening of the database this is, for other regions.
    pub(crate) lineage: replication::Lineage,
    /// Held by the one verification that is under way.
    pub(crate) verifying: Mutex<()>,
}

impl Database {
    /// A database in memory, which is freed when the last handle is dropped.
    pub fn memory() -> Self {
        Self::memory_with(Options::default())
    }

    /// A database in memory with these settings.
    pub fn memory_with(options: Options) -> Self {
        let store = Arc::new(MemoryStore::new());
        let database = Self::load(Arc::clone(&store) as Arc<dyn Store>, Some(store), options)
            .and_then(|database| {
                database.inner().counted.finish();
                database.start()
            });
        // An empty store in memory has no record that could fail to load.
        database.unwrap_or_else(|error| unreachable!("an empty database opens: {error}"))
    }

    /// A database on a store of your own, such as one that fails on purpose.
    pub fn on(store: Arc<dyn Store>, options: Options) -> Result<Self> {
        let database = Self::load(store, None, options)?;
        counting::begin(database.inner())?;
        database.start()
    }

    /// Connects to the database in a PostgreSQL, or makes one there: `postgres://user@host/name`. What the URL
    /// leaves out comes from the environment (`PGPASSWORD` …), a service file or a password file.
    #[cfg(feature = "postgres")]
    pub fn connect(url: &str) -> Result<Self> {
        Self::connect_with(url, Options::default())
    }

    /// Connects to the database in a PostgreSQL with these settings.
    #[cfg(feature = "postgres")]
    pub fn connect_with(url: &str, options: Options) -> Result<Self> {
        use keyloom_store::{PostgresOptions, PostgresStore};
        if options.peers.is_some() {
            return Err(Error::validation(
                "Global tables need a store of one server; leave out Options::peers",
            ));
        }
        let store = PostgresOptions::from_url(url).and_then(PostgresStore::connect);
        Self::on(Arc::new(store.map_err(store_error)?), options)
    }

    /// Figures about the store beneath: its size, its commits and how many syncs they took.
    pub fn store_stats(&self) -> Result<Stats> {
        self.inner().store.stats().map_err(store_error)
    }

    /// Whether the store beneath accepts writes, and why not.
    pub fn health(&self) -> Health {
        self.inner().store.health()
    }

    /// Loads the catalog from a store. No background work runs before [`Self::start`].
    fn load(
        store: Arc<dyn Store>,
        memory: Option<Arc<MemoryStore>>,
        options: Options,
    ) -> Result<Self> {
        if let Some(source) =
            crate::copying::unfinished_source(store.as_ref()).map_err(store_error)?
        {
            return Err(Error::InternalServer(format!(
                "it holds an unfinished copy of {source}: run `keyloom copy` again to finish it"
            )));
        }
        let home = Home { region: options.region.clone(), account: options.account.clone() };
        let catalog = Catalog::load(store.as_ref(), home, options.known_records)?;
        let clock = crate::store_clock::of(&store, &options.clock);
        let coordination = Coordination::new(clock.now_ms());
        let inner = Arc::new_cyclic(|me| Inner {
            me: Weak::clone(me),
            store,
            memory,
            catalog,
            streams: Arc::new(Sequencer::new(Arc::clone(&clock))),
            clock,
            in_flight: InFlight::default(),
            tokens: Tokens::default(),
            counted: Counted::default(),
            observer: DatabaseObserver::new(options.observer.clone()),
            endpoint: RwLock::new(options.endpoint.clone()),
            #[cfg(feature = "disk")]
            open_report: OnceLock::new(),
            background: Background::default(),
            workers: Workers::default(),
            replication_notes: replication::Notes::default(),
            lineage: replication::Lineage::default(),
            coordination,
            verifying: Mutex::new(()),
            options,
        });
        Ok(Self { handle: Arc::new(Handle { inner }) })
    }

    /// Starts the background work, and resumes what was interrupted by the last close or crash.
    fn start(self) -> Result<Self> {
        let inner = self.inner();
        inner.beat()?;
        inner.raise_records()?;
        replication::begin_lineage(inner)?;
        crate::history::resume(inner)?;
        inner.adopt()?;
        inner.background.start(inner);
        replication::start(inner);
        Ok(self)
    }

    /// A fork of a database in memory, made in constant time; the two are independent from then on.
    /// `None` for a database on disk.
    pub fn fork(&self) -> Option<Self> {
        self.fork_with(self.inner().options.observer.clone())
    }

    /// A [`fork`](Self::fork) with its own observer.
    pub fn fork_observed(&self, observer: Arc<dyn Observer>) -> Option<Self> {
        self.fork_with(Some(observer))
    }

    fn fork_with(&self, observer: Option<Arc<dyn Observer>>) -> Option<Self> {
        let store = Arc::new(self.inner().memory.as_ref()?.fork());
        // Two databases of one region would send the same numbers for different writes.
        let options = Options { peers: None, observer, ..self.inner().options.clone() };
        let fork = Self::load(Arc::clone(&store) as Arc<dyn Store>, Some(store), options).ok()?;
        for (name, table) in self.inner().catalog.all().iter() {
            if let Some(copy) = fork.inner().catalog.find(name) {
                copy.copy_stats(table);
            }
        }
        fork.inner().counted.finish();
        fork.start().ok()
    }

    /// Runs one operation as the wire protocol states it: the target (`DynamoDB_20120810.PutItem`)
    /// and the JSON body.
    pub fn call(&self, target: &str, body: &[u8]) -> Reply {
        match Operation::from_target(target) {
            Some(operation) => self.call_operation(operation, body),
            None => match target.strip_prefix(REPLICATION_TARGET) {
                Some(message) => self.receive(message, body),
                None => self.refusal(None, &request::unknown_operation()),
            },
        }
    }

    /// Begins one operation as [`call`](Self::call) runs it, for those who must not wait. A write of one
    /// item does not wait for the disk here: its answer comes from the [`WaitingCall`], to a thread or to
    /// a task. Most other operations run to their end.
    pub fn begin_call(&self, target: &str, body: &[u8]) -> Call {
        let waits = self.inner().store.waits();
        let Some(operation) = Operation::from_target(target) else {
            return if waits { Call::NotBegun } else { Call::Answered(self.call(target, body)) };
        };
        if waits {
            return WaitingCall::ask(self, operation, body);
        }
        let Handler::Write(plan) = ops::handler(operation) else {
            if operation.shows_counts() && self.inner().counted.is_counting() {
                return Call::NotBegun;
            }
            return Call::Answered(self.call_operation(operation, body));
        };
        Body::parse(operation, body)
            .and_then(|body| plan(self.inner(), body.fields()))
            .and_then(|planned| WaitingCall::submit(self, operation, planned))
            .unwrap_or_else(|error| Call::Answered(self.refusal(Some(operation), &error)))
    }

    /// Runs one operation with the JSON body of its request.
    pub(crate) fn call_operation(&self, operation: Operation, body: &[u8]) -> Reply {
        match self.answer(operation, body) {
            Ok(body) => Reply::ok(body),
            Err(error) => self.refusal(Some(operation), &error),
        }
    }

    /// Answers a message of the database of another region.
    fn receive(&self, message: &str, body: &[u8]) -> Reply {
        match replication::receive(self.inner(), message, body) {
            Ok(body) => Reply::ok(body),
            Err(error) => Reply::from(&error),
        }
    }

    fn answer(&self, operation: Operation, body: &[u8]) -> Result<Vec<u8>> {
        let inner = self.inner();
        inner.on_current_tables(reads_items(operation), || Self::answer_on(inner, operation, body))
    }

    /// Runs one operation by the tables in memory.
    pub(crate) fn answer_now(&self, operation: Operation, body: &[u8]) -> Result<Vec<u8>> {
        Self::answer_on(self.inner(), operation, body)
    }

    fn answer_on(inner: &Arc<Inner>, operation: Operation, body: &[u8]) -> Result<Vec<u8>> {
        match ops::handler(operation) {
            Handler::Run(run) => run(inner, Body::parse(operation, body)?.fields()),
            Handler::Write(plan) => {
                plan(inner, Body::parse(operation, body)?.fields())?.call(inner)
            }
            Handler::Body(run) => run(inner, body),
        }
    }

    /// The reply to a call that failed; `None` for a target that names no operation.
    pub(crate) fn refusal(&self, operation: Option<Operation>, error: &Error) -> Reply {
        self.inner().observer.failed(operation, error);
        Reply::from(error)
    }

    /// Changes the host and port that DescribeEndpoints names: a server knows its port only when it
    /// listens.
    pub fn advertise(&self, endpoint: impl Into<String>) {
        *self.inner().endpoint.write() = endpoint.into();
    }

    /// Removes expired items, cleans up after dropped tables and trims streams, now; without background threads, it
    /// also sends to other regions what they have not got.
    pub fn run_maintenance(&self) -> Result<()> {
        crate::background::run(self.inner())?;
        if !self.inner().options.background {
            replication::run_once(self.inner());
        }
        Ok(())
    }

    /// The background work that is failing, each with the reason: for example, nothing can be removed while the
    /// disk is full. It is retried until it succeeds.
    pub fn background_failures(&self) -> Vec<(String, String)> {
        self.inner().background.failures()
    }

    /// Whether other servers may share the store.
    pub fn is_shared(&self) -> bool {
        self.inner().store.is_shared()
    }

    /// The servers on the store and how they are; none for a store of one process.
    pub fn cluster_status(&self) -> Result<Option<ClusterStatus>> {
        let store = self.inner().store.as_ref();
        store.is_shared().then(|| ClusterStatus::on(store)).transpose()
    }

    /// Splits every open shard of a table's stream in two, as DynamoDB does under load: for trying
    /// out how a consumer follows shards to their children.
    pub fn split_stream_shards(&self, table_name: &str) -> Result<()> {
        retention::split(self.inner(), table_name)
    }

    /// What the typed operations work on.
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.handle.inner
    }
}

impl Inner {
    /// Takes over jobs without a holder: their server has ended, or this is the first start after a crash.
    pub(crate) fn adopt(&self) -> Result<()> {
        crate::backfill::resume(self)?;
        ops::transfers::resume(self)?;
        ops::backups::resume(self)
    }

    /// Begins a change of tables or of what depends on them; others wait until it is committed or dropped.
    pub(crate) fn change(&self) -> Result<Change<'_>> {
        self.catalog.change(self.store.as_ref())
    }

    /// The ARN of a table.
    pub(crate) fn table_arn(&self, name: &str) -> String {
        self.table_arn_in(&self.options.region, name)
    }

    /// The ARN of a table's replica in a region.
    pub(crate) fn table_arn_in(&self, region: &str, name: &str) -> String {
        let account = &self.options.account;
        format!("arn:aws:dynamodb:{region}:{account}:table/{name}")
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("store", &self.inner().store).finish_non_exhaustive()
    }
}

/// Whether an operation that succeeds without a write has read items, not only what is known of tables.
fn reads_items(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::GetItem
            | Operation::Query
            | Operation::Scan
            | Operation::BatchGetItem
            | Operation::TransactGetItems
            | Operation::SearchVectors
            | Operation::ExecuteStatement
            | Operation::ExecuteTransaction
    )
}

/// The one place where a store's failure becomes DynamoDB's.
pub(crate) fn store_error(error: StoreError) -> Error {
    Error::InternalServer(error.to_string())
}

/// Commits a change that sets `key` to `value`; false if it met a conflict and has to be made again. If the outcome
/// of the commit is unknown, it is read back: the reply must agree with what is stored.
pub(crate) fn commit_known(
    store: &dyn Store,
    transaction: Box<dyn Transaction + '_>,
    key: &[u8],
    value: Option<&[u8]>,
) -> Result<bool> {
    note_written();
    match transaction.commit() {
        Ok(()) => Ok(true),
        Err(CommitError::Conflict | CommitError::Stale) => Ok(false),
        Err(error @ CommitError::Unknown(_)) => {
            let found = store.settle().and_then(|()| store.get(key)).map_err(store_error)?;
            if found.as_deref() == value { Ok(true) } else { Err(commit_error(error)) }
        }
        Err(error) => Err(commit_error(error)),
    }
}

/// A commit that failed where no retry is possible.
pub(crate) fn commit_error(error: CommitError) -> Error {
    Error::InternalServer(error.to_string())
}
