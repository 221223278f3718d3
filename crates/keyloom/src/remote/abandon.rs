//! Runs a blocking call on its own thread, so that the caller can give up waiting for it.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often to check whether the caller gives up; the call has at least this long.
const ASKED_EVERY: Duration = Duration::from_millis(500);

/// Runs a call on a thread of its own and waits for its result, or until the caller gives up: none then, and the thread
/// is left behind until the call returns by itself. An error if no thread can be started.
pub fn call_unless<T: Send + 'static>(
    is_given_up: impl Fn() -> bool,
    call: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (reply, answer) = mpsc::channel();
    let run = move || drop(reply.send(call()));
    thread::Builder::new().name("keyloom-send".into()).spawn(run)?;
    loop {
        match answer.recv_timeout(ASKED_EVERY) {
            Ok(answer) => return Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) if !is_given_up() => {}
            // Given up, or the call has panicked.
            Err(_) => return Ok(None),
        }
    }
}
