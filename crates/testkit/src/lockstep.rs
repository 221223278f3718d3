//! A database in memory, a database on disk and, where asked for, servers on one PostgreSQL, side by side: every
//! request goes to all, and all must answer alike.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use std::{fmt, fs};

use keyloom_engine::buckets::Folder;
use keyloom_engine::{
    Call, Database, DiskOptions, Durability, ManualClock, Options, Reply, WaitingCall,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::{crash, export};

/// The time at which test databases begin: 2026-01-01 00:00 UTC.
pub const START_MS: u64 = 1_767_225_600_000;

/// Where buckets are in the directory of a pair of databases.
const BUCKETS: &str = "buckets";

/// The status and the body of a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The JSON body.
    pub body: Value,
}

impl Answer {
    /// The error code without its namespace; empty for a success.
    pub fn code(&self) -> &str {
        let kind = self.body.get("__type").and_then(Value::as_str).unwrap_or_default();
        kind.rsplit('#').next().unwrap_or_default()
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.body)
    }
}

/// The target header of an operation.
pub fn target(operation: &str) -> String {
    let service = match operation {
        "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => {
            "DynamoDBStreams_20120810"
        }
        _ => "DynamoDB_20120810",
    };
    format!("{service}.{operation}")
}

/// One request on one of the ways that a database offers: all must answer alike. The body decides which,
/// so that a request takes the same way when it is tried again.
fn reply(database: &Database, target: &str, body: &[u8]) -> Reply {
    let way = body.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte))) % 3;
    if way == 0 {
        return database.call(target, body);
    }
    match database.begin_call(target, body) {
        Call::Answered(reply) => reply,
        Call::Waiting(call) if way == 1 => call.wait(),
        Call::Waiting(call) => wait_as_task(call),
        Call::NotBegun => database.call(target, body),
    }
}

/// Waits for a call as an asynchronous program would.
fn wait_as_task(call: WaitingCall) -> Reply {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut call = pin!(call);
    loop {
        match call.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(reply) => return reply,
            Poll::Pending => thread::park(),
        }
    }
}

/// Sends one request to a database. A reply that is neither JSON nor empty is a bug.
pub fn call(database: &Database, operation: &str, body: &[u8]) -> Answer {
    let reply = reply(database, &target(operation), body);
    // TagResource and UntagResource answer with nothing at all, as on AWS.
    let body: &[u8] = if reply.body.is_empty() { b"null" } else { &reply.body };
    match serde_json::from_slice(body) {
        Ok(body) => Answer { status: reply.status, body },
        Err(error) => panic!("{operation} answered something that is not JSON: {error}"),
    }
}

/// Sends one request and insists on success.
pub fn succeed(database: &Database, operation: &str, body: &Value) -> Value {
    let answer = call(database, operation, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{operation} {body}: {answer}");
    answer.body
}

/// Where a database of a test lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The database in memory.
    Memory,
    /// On disk; a write is synced before its call returns.
    Disk,
    /// In a PostgreSQL that so many servers share.
    Servers(usize),
}

/// A database for one test, with the directory it may need.
#[derive(Debug)]
pub struct TestDatabase {
    /// The handle; with several servers, that of the first.
    pub database: Database,
    cluster: Option<Cluster>,
    // Dropped after the database, which closes its files first.
    _directory: Option<TempDir>,
}

impl TestDatabase {
    /// An empty database whose clock is the machine's; none if PostgreSQL is needed and not installed.
    pub fn at(place: Place) -> Option<Self> {
        let (database, cluster, directory) = match place {
            Place::Memory => (Database::memory(), None, None),
            Place::Disk => {
                let directory = new_directory();
                match Database::open(directory.path()) {
                    Ok(database) => (database, None, Some(directory)),
                    Err(error) => panic!("a new database opens: {error}"),
                }
            }
            Place::Servers(servers) => {
                let cluster = Cluster::start(servers, &Options::default())?;
                (cluster.server(0).clone(), Some(cluster), None)
            }
        };
        Some(Self { database, cluster, _directory: directory })
    }

    /// The server that the client of this number uses.
    pub fn server(&self, client: usize) -> &Database {
        self.cluster.as_ref().map_or(&self.database, |cluster| cluster.server(client))
    }
}

/// The databases and the clock they share.
#[derive(Debug)]
pub struct Lockstep {
    cluster: Option<Cluster>,
    memory: Database,
    /// None only while it is being opened again.
    disk: Option<Database>,
    /// The number of crashes so far; after each, the database continues in another directory.
    crashes: usize,
    clock: Arc<ManualClock>,
    directory: TempDir,
}

impl Lockstep {
    /// Two empty databases that do nothing in the background.
    pub fn new() -> Self {
        let directory = new_directory();
        let clock = Arc::new(ManualClock::at_ms(START_MS));
        let buckets = directory.path().join(BUCKETS);
        if let Err(error) = fs::create_dir_all(buckets.join(export::BUCKET)) {
            panic!("no directory for exports: {error}");
        }
        let memory = Database::memory_with(options(&clock, &directory));
        let disk = Some(open(&directory, 0, &clock));
        Self { cluster: None, memory, disk, crashes: 0, clock, directory }
    }

    /// The same with so many servers on one PostgreSQL, if that is installed.
    pub fn with_servers(servers: usize) -> Self {
        let both = Self::new();
        let cluster = Cluster::start(servers, &options(&both.clock, &both.directory));
        Self { cluster, ..both }
    }

    /// The servers on one PostgreSQL.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// The database in memory.
    pub fn memory(&self) -> &Database {
        &self.memory
    }

    /// The database on disk.
    pub fn disk(&self) -> &Database {
        self.disk.as_ref().unwrap_or_else(|| unreachable!("open except inside reopen"))
    }

    /// Sends a request to the databases in memory and on disk and to one of the servers, and gives the answer if they
    /// agree.
    pub fn call(&self, operation: &str, body: &Value) -> Answer {
        let text = body.to_string();
        let memory = call(&self.memory, operation, text.as_bytes());
        let disk = call(self.disk(), operation, text.as_bytes());
        assert_eq!(memory, disk, "memory and disk disagree on {operation} {text}");
        if let Some(cluster) = &self.cluster {
            let served = call(cluster.next(), operation, text.as_bytes());
            assert_eq!(memory, served, "memory and servers disagree on {operation} {text}");
        }
        memory
    }

    /// Closes the database on disk and opens it again; the servers too.
    pub fn reopen(&mut self) {
        if let Some(cluster) = &mut self.cluster {
            cluster.reopen(&options(&self.clock, &self.directory));
        }
        drop(self.disk.take());
        self.disk = Some(open(&self.directory, self.crashes, &self.clock));
    }

    /// Opens the database on disk from the files that it would leave if its process were killed now.
    pub fn crash(&mut self) {
        let from = data(&self.directory, self.crashes);
        self.crashes += 1;
        crash::copy(&from, &data(&self.directory, self.crashes));
        drop(self.disk.take());
        self.disk = Some(open(&self.directory, self.crashes, &self.clock));
        if let Err(error) = fs::remove_dir_all(&from) {
            panic!("{} cannot be removed: {error}", from.display());
        }
    }

    /// The directory of the buckets that both export to.
    pub fn buckets(&self) -> PathBuf {
        self.directory.path().join(BUCKETS)
    }

    /// Moves the clock of both forward.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// One handle of each store: memory, disk, and one of the servers after the other.
    pub fn databases(&self) -> Vec<&Database> {
        let own = [&self.memory, self.disk()];
        own.into_iter().chain(self.cluster.iter().map(Cluster::next)).collect()
    }

    /// Lets all do what they otherwise do in the background.
    pub fn run_maintenance(&self) {
        let servers = self.cluster.iter().flat_map(Cluster::all);
        for database in [&self.memory, self.disk()].into_iter().chain(servers) {
            if let Err(error) = database.run_maintenance() {
                panic!("maintenance of {database:?}: {error}");
            }
        }
    }
}

impl Default for Lockstep {
    fn default() -> Self {
        Self::new()
    }
}

fn options(clock: &Arc<ManualClock>, directory: &TempDir) -> Options {
    Options {
        clock: Arc::<ManualClock>::clone(clock),
        background: false,
        buckets: Some(Arc::new(Folder::new(directory.path().join(BUCKETS)))),
        ..Options::default()
    }
}

/// Where the database on disk is after so many crashes.
fn data(directory: &TempDir, crashes: usize) -> PathBuf {
    directory.path().join(format!("data-{crashes}"))
}

fn open(directory: &TempDir, crashes: usize, clock: &Arc<ManualClock>) -> Database {
    // What is tested here is meaning, not power failure: without a sync per write this is faster.
    let disk = DiskOptions { durability: Durability::Relaxed, ..DiskOptions::default() };
    match Database::open_with(data(directory, crashes), disk, options(clock, directory)) {
        Ok(database) => database,
        Err(error) => panic!("the database of a test opens: {error}"),
    }
}

fn new_directory() -> TempDir {
    match TempDir::with_prefix("keyloom-test-") {
        Ok(directory) => directory,
        Err(error) => panic!("no directory for a test: {error}"),
    }
}
