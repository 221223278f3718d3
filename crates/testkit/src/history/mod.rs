//! Histories of concurrent requests, and what must be true of them.
//!
//! A [`Recorder`] notes when each request began and ended. [`search`] looks for an order of the
//! requests, each within its time, in which a sequential database would have given the same answers
//! (linearizability; with transactions, strict serializability). [`append`] infers the order from
//! what transactions read, and looks for cycles in it: weaker, but fast on long histories.
//! [`items`] has the requests, and runs them on a database.

pub mod append;
pub mod items;
pub mod search;

use std::sync::atomic::{AtomicU64, Ordering};

/// A request, its answer, and when it began and ended.
#[derive(Clone, Debug)]
pub struct Event<O, A> {
    /// What was asked.
    pub operation: O,
    /// What was answered.
    pub answer: A,
    /// The moment just before.
    pub invoked: u64,
    /// The moment just after.
    pub returned: u64,
}

/// Gives moments, each later than all before it on every thread.
#[derive(Debug, Default)]
pub struct Recorder {
    now: AtomicU64,
}

impl Recorder {
    /// The next moment.
    pub fn moment(&self) -> u64 {
        self.now.fetch_add(1, Ordering::SeqCst)
    }

    /// Runs a request and notes its time.
    pub fn record<O, A>(&self, operation: O, run: impl FnOnce(&O) -> A) -> Event<O, A> {
        let invoked = self.moment();
        let answer = run(&operation);
        Event { operation, answer, invoked, returned: self.moment() }
    }
}

/// Runs the same work on several threads that start together, and gathers what they recorded.
pub fn on_threads<E: Send>(threads: usize, work: impl Fn(usize) -> Vec<E> + Sync) -> Vec<E> {
    let start = std::sync::Barrier::new(threads);
    let run = |thread: usize| {
        start.wait();
        work(thread)
    };
    std::thread::scope(|scope| {
        let run = &run;
        let running: Vec<_> = (0..threads).map(|n| scope.spawn(move || run(n))).collect();
        let mut events = Vec::new();
        for thread in running {
            match thread.join() {
                Ok(recorded) => events.extend(recorded),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        events
    })
}
