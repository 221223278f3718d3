//! Work on other threads, for tasks that must not block.
//!
//! All requests may have such work at once, for example those that wait for a change of tables. There are few threads
//! for it: the rest of the work waits in a queue. It must not wait for other work from there.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use keyloom_api::Reply;
use keyloom_core::Error;
use parking_lot::Mutex;

/// How many threads there are at most. Each ends when there is nothing left to do.
const MOST_THREADS: usize = 64;

/// The threads of a database for work that may block.
#[derive(Clone, Default)]
pub(crate) struct Workers(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Box<dyn FnOnce() + Send>>,
    threads: usize,
}

impl Workers {
    fn submit(&self, work: impl FnOnce() + Send + 'static) {
        let mut queue = self.0.lock();
        queue.waiting.push_back(Box::new(work));
        if queue.threads == MOST_THREADS {
            return;
        }
        queue.threads += 1;
        drop(queue);
        let own = self.clone();
        let spawned =
            thread::Builder::new().name("keyloom-request".into()).spawn(move || own.work());
        if spawned.is_err() {
            let mut queue = self.0.lock();
            queue.threads -= 1;
            // Without any thread the work is dropped, and with it what is owed: the reply is an error.
            let dropped = if queue.threads == 0 {
                std::mem::take(&mut queue.waiting)
            } else {
                VecDeque::new()
            };
            drop(queue);
            drop(dropped);
        }
    }

    fn work(&self) {
        loop {
            let mut queue = self.0.lock();
            let Some(work) = queue.waiting.pop_front() else {
                queue.threads -= 1;
                return;
            };
            drop(queue);
            // A panic has replied for the work that it ends.
            drop(catch_unwind(AssertUnwindSafe(work)));
        }
    }
}

/// A reply that another thread is working on.
pub(crate) struct Elsewhere(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    reply: Option<Reply>,
    waker: Option<Waker>,
}

/// Replies when it is dropped, also if the work panics.
struct Owed {
    state: Arc<Mutex<State>>,
    reply: Option<Reply>,
}

impl Drop for Owed {
    fn drop(&mut self) {
        let panicked = || Reply::from(&Error::InternalServer("the request has failed".into()));
        let mut state = self.state.lock();
        state.reply = Some(self.reply.take().unwrap_or_else(panicked));
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Elsewhere {
    /// Begins the work, or queues it.
    pub(crate) fn run(workers: &Workers, work: impl FnOnce() -> Reply + Send + 'static) -> Self {
        let state = Arc::<Mutex<State>>::default();
        let owed = Owed { state: Arc::clone(&state), reply: None };
        workers.submit(move || {
            let mut owed = owed;
            owed.reply = Some(work());
        });
        Self(state)
    }
}

impl Future for Elsewhere {
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        let mut state = self.0.lock();
        let Some(reply) = state.reply.take() else {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(reply)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use parking_lot::RwLock;

    use super::*;

    fn wait(mut elsewhere: Elsewhere) -> Reply {
        loop {
            match Pin::new(&mut elsewhere).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(reply) => return reply,
                Poll::Pending => thread::yield_now(),
            }
        }
    }

    #[test]
    fn few_threads_do_all_the_work() {
        let workers = Workers::default();
        let gate = Arc::new(RwLock::new(()));
        let closed = gate.write();
        let begun = Arc::new(AtomicUsize::new(0));
        let all: Vec<Elsewhere> = (0..4 * MOST_THREADS)
            .map(|number| {
                let (gate, begun) = (Arc::clone(&gate), Arc::clone(&begun));
                Elsewhere::run(&workers, move || {
                    begun.fetch_add(1, Ordering::SeqCst);
                    drop(gate.read());
                    assert_ne!(number, MOST_THREADS, "one panics");
                    Reply::ok(Vec::new())
                })
            })
            .collect();
        while begun.load(Ordering::SeqCst) < MOST_THREADS {
            thread::yield_now();
        }
        let queue = workers.0.lock();
        assert_eq!((queue.threads, queue.waiting.len()), (MOST_THREADS, 3 * MOST_THREADS));
        drop(queue);
        drop(closed);
        let failed = all.into_iter().map(wait).filter(|reply| reply.status != 200).count();
        assert_eq!((failed, begun.load(Ordering::SeqCst)), (1, 4 * MOST_THREADS));
    }
}
