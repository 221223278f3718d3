//! Chooses the thread of a call.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use keyloom_api::Work;
use keyloom_engine::{Reply, WaitingCall};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

use crate::limits::Limits;
use crate::memory::{Full, Reservation};
use crate::operation::{Operation, SLOTS};

/// A larger body is never handled on the reactor: hashing, decompressing and parsing it takes
/// longer than the hop to another thread.
const MAX_INLINE_BODY_BYTES: usize = 64 << 10;

/// An operation whose calls take longer than this on average does not run on the reactor. A hop to
/// the pool and back costs about ten microseconds, which is small for such calls.
const MAX_INLINE_MICROS: u32 = 500;

/// Where calls of one class of work run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOn {
    /// On the reactor thread that read the request.
    Inline,
    /// On the reactor thread while such calls are fast, otherwise in the pool.
    InlineWhileQuick,
    /// On a pool thread, while the reactor serves other connections.
    Pool,
}

/// Which thread runs which call.
///
/// A blocking call must not run on a reactor thread, because other connections would wait for it.
/// But a hop to another thread and back means two wake-ups, several times the work of a point read:
/// with bodies of 1 KB, a server keeps over 80 % of a bare echo server's throughput inline and
/// about 40 % with the hop. So the choice depends on the class of work:
///
/// | class | in memory | on disk | store behind a network |
/// |---|---|---|---|
/// | reads of a few items | inline while fast | inline while fast: most find their block in the cache | inline while fast; they await the store as tasks, and in the pool if it takes more than one question |
/// | writes of one item | inline while fast | inline while fast, until they are submitted; they await the disk as tasks, and wait in the pool for a change of their table or a locked item | inline, awaiting their item and their commit as tasks; in the pool for contended items |
/// | changes of tables and settings | inline while fast | pool: they wait for a sync | pool |
/// | scans, batches, transactions, PartiQL | pool | pool | pool |
///
/// *While fast* is decided per operation by a moving average of its calls, wherever they ran and
/// without their wait for the disk: when a disk becomes slow or queries become large, that
/// operation moves to the pool within a few calls, and returns when it is fast again. Large bodies
/// always go to the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// `GetItem`, `Query` and descriptions.
    pub reads: RunOn,
    /// `PutItem`, `UpdateItem` and `DeleteItem`.
    pub writes: RunOn,
    /// Small changes of tables and settings.
    pub changes: RunOn,
    /// Maximum number of pool threads; they start on demand and end when idle.
    pub pool_threads: usize,
}

impl Dispatch {
    /// For a database in memory, where small calls never block.
    pub fn memory() -> Self {
        let quick = RunOn::InlineWhileQuick;
        Self { reads: quick, writes: quick, changes: quick, pool_threads: 32 }
    }

    /// For a database behind a network, where every operation blocks.
    pub fn network() -> Self {
        let pool = RunOn::Pool;
        Self { reads: pool, writes: pool, changes: pool, pool_threads: 256 }
    }

    /// For a database of ours whose store is behind a network: what has one question for the store awaits it.
    pub fn remote_store() -> Self {
        Self { reads: RunOn::InlineWhileQuick, writes: RunOn::Inline, ..Self::network() }
    }

    /// For a database on disk, where every change blocks.
    pub fn disk() -> Self {
        Self { changes: RunOn::Pool, pool_threads: 256, ..Self::memory() }
    }
}

/// Runs calls on the right thread.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    policy: Dispatch,
    /// How long a call waits for memory.
    memory_timeout: Duration,
    /// Calls in the pool, running and queued.
    pool: Semaphore,
    /// Moving average of the duration per operation, in sixteenths of a microsecond.
    averages: [AtomicU32; SLOTS],
}

/// Why a call has no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotRun {
    /// It panicked. The panic message has been printed to standard error.
    Panicked,
    /// There was no memory for it.
    NoMemory,
}

impl Dispatcher {
    pub(crate) fn new(policy: Dispatch, limits: &Limits) -> Self {
        Self {
            policy,
            memory_timeout: limits.memory_timeout,
            pool: Semaphore::new(limits.max_in_flight.clamp(1, Semaphore::MAX_PERMITS)),
            averages: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Whether a call goes to the pool.
    pub(crate) fn needs_pool(&self, operation: Operation, body_bytes: usize) -> bool {
        let place = match operation.work() {
            _ if body_bytes > MAX_INLINE_BODY_BYTES => RunOn::Pool,
            Work::Read => self.policy.reads,
            Work::Write => self.policy.writes,
            Work::Change => self.policy.changes,
            Work::Bulk => RunOn::Pool,
        };
        match place {
            RunOn::Inline => false,
            RunOn::InlineWhileQuick => self.average_micros(operation) > MAX_INLINE_MICROS,
            RunOn::Pool => true,
        }
    }

    /// Updates the moving average with a call's duration.
    pub(crate) fn learn(&self, operation: Operation, took: Duration) {
        let Some(average) = self.averages.get(operation.slot()) else { return };
        let before = average.load(Relaxed);
        // Capped, so that a single delayed call does not dominate the average for long.
        let micros = took.as_micros().min(u128::from(16 * MAX_INLINE_MICROS)) as u32;
        // A lost update by another thread is harmless.
        average.store(before - before / 16 + micros, Relaxed);
    }

    fn average_micros(&self, operation: Operation) -> u32 {
        self.averages.get(operation.slot()).map_or(0, |average| average.load(Relaxed) / 16)
    }

    /// Runs `work`, which needs `bytes` more memory, on a pool thread. A panic is caught. The
    /// memory is reserved first, so that waiting for it blocks no thread. It stays reserved until
    /// the work is done, even if the caller no longer waits for the result.
    pub(crate) async fn in_pool<T: Send + 'static>(
        &self,
        memory: &mut Reservation,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotRun> {
        let grown = memory.grow_within(bytes, self.memory_timeout).await;
        grown.map_err(|Full| NotRun::NoMemory)?;
        // The semaphore is never closed; if it were, the work would still run.
        let _turn = self.pool.acquire().await;
        let reserved = memory.take();
        let run = tokio::task::spawn_blocking(move || (work(), reserved)).await;
        let (result, reserved) = run.map_err(|_| NotRun::Panicked)?;
        *memory = reserved;
        Ok(result)
    }

    /// Waits until the connection is within its memory share and may run another small call.
    pub(crate) async fn turn(&self, memory: &mut Reservation) -> Result<(), NotRun> {
        memory.turn_within(self.memory_timeout).await.map_err(|Full| NotRun::NoMemory)
    }

    /// Waits until a write is durable. A lone write runs the group commit on this thread: no other
    /// request waits for it, and new ones are served by other reactor threads. With several writes,
    /// the committer thread does it for all of them.
    pub(crate) async fn wait(
        &self,
        call: WaitingCall,
        operation: Operation,
        is_alone: bool,
    ) -> Result<Reply, NotRun> {
        if is_alone && call.would_lead() {
            let has_others = Handle::current().metrics().num_workers() > 1;
            return inline(
                || if has_others { call.wait() } else { block_in_place(|| call.wait()) },
            );
        }
        let mut awaited = Awaited(Some(call));
        poll_fn(|context| {
            let started = Instant::now();
            let polled = inline(|| awaited.poll(context));
            match polled {
                Ok(Poll::Ready(reply)) => {
                    if operation.work() == Work::Read {
                        // What was read is encoded here.
                        self.learn(operation, started.elapsed());
                    }
                    Poll::Ready(Ok(reply))
                }
                Ok(Poll::Pending) => Poll::Pending,
                Err(not_run) => Poll::Ready(Err(not_run)),
            }
        })
        .await
    }
}

/// Runs `work` on this thread. A panic is caught: one request fails, the server continues.
pub(crate) fn inline<T>(work: impl FnOnce() -> T) -> Result<T, NotRun> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| NotRun::Panicked)
}

/// A call whose client may disconnect: then a pool thread waits for it instead of the reactor.
struct Awaited(Option<WaitingCall>);

impl Awaited {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Reply> {
        let Some(call) = &mut self.0 else { return Poll::Pending };
        let poll = Pin::new(call).poll(context);
        if poll.is_ready() {
            self.0 = None;
        }
        poll
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let (Some(call), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn_blocking(move || drop(call));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::memory::{Account, Memory};

    fn operation(name: &str) -> Operation {
        Operation::of_target(&format!("DynamoDB_20120810.{name}"))
    }

    fn dispatcher(policy: Dispatch) -> Dispatcher {
        Dispatcher::new(policy, &Limits { max_in_flight: 1, ..Limits::default() })
    }

    #[test]
    fn small_work_runs_inline_and_blocking_work_in_the_pool() {
        let memory = dispatcher(Dispatch::memory());
        let disk = dispatcher(Dispatch::disk());
        let (get, put, scan) = (operation("GetItem"), operation("PutItem"), operation("Scan"));
        let create = operation("CreateTable");
        for (dispatcher, operation, body_bytes, pool) in [
            (&memory, get, 100, false),
            (&memory, put, 100, false),
            (&memory, scan, 100, true),
            (&memory, put, 1 << 20, true),
            (&disk, get, 100, false),
            (&disk, put, 100, false),
            (&memory, create, 100, false),
            (&disk, create, 100, true),
        ] {
            assert_eq!(dispatcher.needs_pool(operation, body_bytes), pool, "{}", operation.name());
        }
    }

    #[test]
    fn a_slow_operation_moves_to_the_pool_and_returns() {
        let dispatcher = dispatcher(Dispatch::memory());
        let (get, query) = (operation("GetItem"), operation("Query"));
        dispatcher.learn(query, Duration::from_secs(3));
        assert!(!dispatcher.needs_pool(query, 1), "one slow call is an accident");
        for _ in 0..3 {
            dispatcher.learn(query, Duration::from_millis(5));
        }
        assert!(dispatcher.needs_pool(query, 1));
        assert!(!dispatcher.needs_pool(get, 1));
        for _ in 0..30 {
            dispatcher.learn(query, Duration::from_micros(20));
        }
        assert!(!dispatcher.needs_pool(query, 1));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_panic_is_an_error_in_both_places_and_keeps_no_memory() {
        let dispatcher = dispatcher(Dispatch::memory());
        let memory = Arc::new(Memory::new(64 << 20, || ()));
        let mut reserved = Reservation::new(&Account::open(&memory, Arc::default(), 0).unwrap());
        let fails = || -> u8 { std::panic::resume_unwind(Box::new(1)) };
        assert_eq!(inline(fails), Err(NotRun::Panicked));
        assert_eq!(dispatcher.in_pool(&mut reserved, 10, fails).await, Err(NotRun::Panicked));
        assert_eq!(memory.used_bytes(), 0);
        assert_eq!(inline(|| 7), Ok(7));
        assert_eq!(dispatcher.in_pool(&mut reserved, 10, || 7).await, Ok(7));
        assert_eq!(memory.used_bytes(), 10);
        let much = dispatcher.in_pool(&mut reserved, 64 << 20, || 7).await;
        assert_eq!((much, memory.used_bytes()), (Err(NotRun::NoMemory), 10));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_that_nobody_waits_for_keeps_its_memory_until_it_is_done() {
        let dispatcher = dispatcher(Dispatch::memory());
        let memory = Arc::new(Memory::new(64 << 20, || ()));
        let mut reserved = Reservation::new(&Account::open(&memory, Arc::default(), 0).unwrap());
        let (go, goes) = std::sync::mpsc::channel::<()>();
        let work = move || goes.recv_timeout(Duration::from_secs(10));
        let left = Duration::from_millis(20);
        let waited = tokio::time::timeout(left, dispatcher.in_pool(&mut reserved, 10, work)).await;
        assert!(waited.is_err());
        drop(reserved);
        assert_eq!(memory.used_bytes(), 10);
        go.send(()).unwrap();
        while memory.used_bytes() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
