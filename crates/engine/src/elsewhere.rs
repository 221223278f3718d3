//! Work on a thread of its own, for a task that must not block.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use keyloom_api::Reply;
use keyloom_core::Error;
use parking_lot::Mutex;

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
    /// Begins the work.
    pub(crate) fn run(work: impl FnOnce() -> Reply + Send + 'static) -> Self {
        let state = Arc::<Mutex<State>>::default();
        let owed = Owed { state: Arc::clone(&state), reply: None };
        // Without a thread the work is dropped, and with it what is owed: the reply is an error.
        drop(thread::Builder::new().name("keyloom-request".into()).spawn(move || {
            let mut owed = owed;
            owed.reply = Some(work());
        }));
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
