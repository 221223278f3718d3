//! What all parts of the store share.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::types::Type;

use super::connection::{Connector, Link, Pool};
use super::contention::Contention;
use super::keys::EPOCH;
use super::member::Revision;
use super::order::Order;
use super::paging::Sizes;
use super::sql::{CLOCK, Prepared, Sql};
use super::trouble::Trouble;
use crate::{Health, StoreError};

/// How long an operation keeps trying while the database is away.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// How long one statement may take.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections for control work: exclusive changes, node making, counts.
const CONTROL_CONNECTIONS: usize = 2;

/// The version of the tables' layout.
const FORMAT: u8 = 1;

/// What all parts share.
pub(super) struct Core {
    pub(super) connector: Connector,
    pub(super) sql: Sql,
    pub(super) order: Order,
    pub(super) contention: Contention,
    pub(super) control: Pool,
    pub(super) snapshots: Pool,
    pub(super) sizes: Sizes,
    /// What readers prepare.
    pub(super) lookups: Vec<Prepared>,
    pub(super) counters: Counters,
    pub(super) closing: AtomicBool,
    runtime: Handle,
    epoch: AtomicU64,
    /// Why the database cannot be used, while it cannot.
    trouble: Mutex<Option<Arc<str>>>,
    /// The database's clock, and when it was read.
    clock: Mutex<Option<(Instant, u64)>>,
}

/// Wakes a thread that runs a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Statistics of the connections.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) commits: AtomicU64,
    pub(super) flights: AtomicU64,
}

impl Core {
    pub(super) fn new(connector: Connector, sql: Sql, snapshots: usize, runtime: Handle) -> Self {
        let (lookups, scans) = (sql.of_lookups(), sql.of_scans());
        Self {
            connector,
            sql,
            order: Order::default(),
            contention: Contention::default(),
            control: Pool::new(CONTROL_CONNECTIONS, Vec::new()),
            snapshots: Pool::new(snapshots, scans),
            sizes: Sizes::default(),
            lookups,
            counters: Counters::default(),
            closing: AtomicBool::new(false),
            runtime,
            epoch: AtomicU64::new(0),
            trouble: Mutex::default(),
            clock: Mutex::default(),
        }
    }

    /// Runs a future on this thread, whichever that is; the store's own thread does its I/O.
    pub(super) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let _runtime = self.runtime.enter();
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => thread::park(),
            }
        }
    }

    /// Runs something in the background, whoever waits for it.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn(work)
    }

    /// Runs a task in the background.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// The newest epoch that was met.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Takes note of an epoch.
    pub(super) fn meet(&self, epoch: u64) {
        self.epoch.fetch_max(epoch, Ordering::AcqRel);
    }

    /// Takes note of the epoch in its row and returns it.
    pub(super) fn meet_row(&self, value: &[u8]) -> Result<u64, StoreError> {
        let epoch = decode_epoch(value)?.0;
        self.meet(epoch);
        Ok(epoch)
    }

    /// Notes that the database answers.
    pub(super) fn is_well(&self) {
        let mut trouble = self.trouble.lock();
        if trouble.is_some() {
            *trouble = None;
        }
    }

    /// Notes that the database cannot be used.
    pub(super) fn is_ill(&self, trouble: &Trouble) {
        if let Trouble::Lost(cause) | Trouble::Busy(cause) = trouble {
            *self.trouble.lock() = Some(Arc::clone(cause));
        }
    }

    pub(super) fn health(&self) -> Health {
        match &*self.trouble.lock() {
            None => Health::Ready,
            Some(cause) => Health::ReadOnly {
                reason: StoreError::Unreachable { cause: Arc::clone(cause) }.to_string(),
                restart_needed: false,
            },
        }
    }

    /// Reads the database's clock.
    pub(super) async fn read_clock(&self, link: &Link) -> Result<(), Trouble> {
        let sent = Instant::now();
        let row = link.client.query_typed_one(CLOCK, &[]).await?;
        let now_ms: i64 = row.try_get(0)?;
        // Somewhere between question and answer.
        *self.clock.lock() = Some((sent + sent.elapsed() / 2, now_ms.max(0) as u64));
        Ok(())
    }

    /// The database's clock now, as far as it was read.
    pub(super) fn now_ms(&self) -> Option<u64> {
        let clock = *self.clock.lock();
        clock.map(|(at, now_ms)| now_ms + at.elapsed().as_millis() as u64)
    }

    /// Runs something on a control connection, again while the connection breaks.
    pub(super) async fn control<T>(
        &self,
        work: impl AsyncFn(&Link) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        self.control_within(PATIENCE, work).await
    }

    /// The same for no longer than this.
    pub(super) async fn control_within<T>(
        &self,
        patience: Duration,
        work: impl AsyncFn(&Link) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let mut pauses = super::connection::Pauses::within(patience);
        loop {
            let done = match self.control.take(&self.connector, patience).await {
                Ok(pooled) => {
                    match tokio::time::timeout(STATEMENT_TIMEOUT, work(&pooled.link)).await {
                        Ok(Ok(done)) => {
                            self.control.put_back(pooled);
                            Ok(done)
                        }
                        Ok(Err(trouble)) => Err(trouble),
                        Err(_) => {
                            pooled.link.abandon();
                            Err(super::trouble::timed_out())
                        }
                    }
                }
                Err(trouble) => Err(trouble),
            };
            match done {
                Ok(done) => return Ok(done),
                Err(trouble) if trouble.is_passing() && pauses.pause().await => {}
                Err(trouble) => return Err(trouble.into_error()),
            }
        }
    }

    /// Makes a node, unless it is there.
    pub(super) async fn make_node(&self, node: Bytes) -> Result<(), StoreError> {
        let (id, revision) = (random()?.to_be_bytes(), random()?);
        self.control(async |link: &Link| {
            let (node, id) = (node.as_ref(), &id[..]);
            let parameters: super::flight::Parameters<'_> =
                vec![(&node, Type::BYTEA), (&id, Type::BYTEA), (&revision, Type::INT8)];
            link.client.execute_typed(&self.sql.make_node, &parameters).await?;
            Ok(())
        })
        .await
    }
}

/// The value of the epoch's row: format, epoch, and the nonce of the change that began it.
pub(super) fn encode_epoch(epoch: u64, nonce: i64) -> Vec<u8> {
    [&[FORMAT][..], &epoch.to_be_bytes(), &nonce.to_be_bytes()].concat()
}

/// The epoch and the nonce in its row.
pub(super) fn decode_epoch(value: &[u8]) -> Result<(u64, i64), StoreError> {
    let failed = |detail: String| StoreError::Engine {
        action: "read the format of the store in the database".into(),
        detail,
    };
    match value.split_first() {
        Some((&FORMAT, rest)) => {
            let (epoch, nonce) =
                rest.split_first_chunk().ok_or_else(|| failed("it is cut".into()))?;
            let nonce = nonce.try_into().map_err(|_| failed("it is cut".into()))?;
            Ok((u64::from_be_bytes(*epoch), i64::from_be_bytes(nonce)))
        }
        Some((other, _)) => Err(failed(format!(
            "it is {other}, and this version knows {FORMAT}; use a newer version"
        ))),
        None => Err(failed("it is empty".into())),
    }
}

/// The row of the epoch.
pub(super) fn epoch_row() -> &'static [u8] {
    EPOCH
}

/// 63 random bits, not all zero.
pub(super) fn random() -> Result<Revision, StoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Engine {
        action: "draw a random number".into(),
        detail: error.to_string(),
    })?;
    Ok((i64::from_be_bytes(bytes) & i64::MAX).max(1))
}

/// The store is closed.
pub(super) fn closed() -> StoreError {
    StoreError::Engine { action: "use the store".into(), detail: "it is closed".into() }
}
