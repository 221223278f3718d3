//! Which thread runs a call.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::Semaphore;

use crate::operation::Work;

/// A body larger than this is never handled on the reactor: hashing, unpacking and parsing it takes
/// longer than the hop to another thread.
const MAX_INLINE_BODY_BYTES: usize = 64 << 10;

/// Where a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the reactor's thread that read the request.
    Inline,
    /// On a thread of the pool, while the reactor serves others.
    Pool,
}

/// Which thread runs which call.
///
/// The engine is synchronous. A call that waits (for a disk, or for its turn to commit) must not
/// do so on a reactor thread, because every connection of that thread would wait with it. But a
/// hop to another thread and back costs two wake-ups, several times the work of a point read in
/// memory. So the choice is made per kind of work:
///
/// | kind | in memory | on disk |
/// |---|---|---|
/// | reads of a few items | inline | pool |
/// | writes of a few items | inline | pool: they wait for a sync, and a wide pool lets many of them share one |
/// | scans, batches, transactions, PartiQL, table changes | pool | pool |
///
/// Whatever the kind, a large body goes to the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// `GetItem`, `Query` and descriptions.
    pub reads: Place,
    /// `PutItem`, `UpdateItem`, `DeleteItem` and small changes of settings.
    pub writes: Place,
    /// Threads of the pool at most; they start on demand and end when idle.
    ///
    /// Also the number of writers that can share one sync of a durable database.
    pub pool_threads: usize,
}

impl Dispatch {
    /// For a database in memory, where small calls never wait.
    pub fn memory() -> Self {
        Self { reads: Place::Inline, writes: Place::Inline, pool_threads: 32 }
    }

    /// For a database on disk, where any call may wait.
    pub fn disk() -> Self {
        Self { reads: Place::Pool, writes: Place::Pool, pool_threads: 256 }
    }

    /// The place for a piece of work with a body of this size.
    pub(crate) fn place(&self, work: Work, body_bytes: usize) -> Place {
        match work {
            _ if body_bytes > MAX_INLINE_BODY_BYTES => Place::Pool,
            Work::Read => self.reads,
            Work::Write => self.writes,
            Work::Bulk => Place::Pool,
        }
    }
}

/// Runs calls where they belong.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) policy: Dispatch,
    /// Calls in the pool, running and queued.
    pool: Semaphore,
}

/// The call panicked. The message went to standard error when it happened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Panicked;

impl Dispatcher {
    pub(crate) fn new(policy: Dispatch, max_in_flight: usize) -> Self {
        Self { policy, pool: Semaphore::new(max_in_flight.clamp(1, Semaphore::MAX_PERMITS)) }
    }

    /// Runs `work` to its end. A panic in it stays in it: one request fails, the server lives.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        place: Place,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        match place {
            Place::Inline => catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked),
            Place::Pool => {
                // The semaphore is never closed; were it, the work would still run.
                let _turn = self.pool.acquire().await;
                tokio::task::spawn_blocking(work).await.map_err(|_| Panicked)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_work_in_memory_stays_and_everything_else_moves() {
        let (memory, disk) = (Dispatch::memory(), Dispatch::disk());
        assert_eq!(memory.place(Work::Read, 100), Place::Inline);
        assert_eq!(memory.place(Work::Write, 100), Place::Inline);
        assert_eq!(memory.place(Work::Bulk, 100), Place::Pool);
        assert_eq!(memory.place(Work::Write, 1 << 20), Place::Pool);
        assert_eq!(disk.place(Work::Write, 100), Place::Pool);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_panic_is_an_error_in_both_places() {
        let dispatcher = Dispatcher::new(Dispatch::memory(), 1);
        for place in [Place::Inline, Place::Pool] {
            let failed = dispatcher.run(place, || -> u8 { std::panic::resume_unwind(Box::new(1)) });
            assert_eq!(failed.await, Err(Panicked));
            assert_eq!(dispatcher.run(place, || 7).await, Ok(7));
        }
    }
}
