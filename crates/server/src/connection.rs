//! One connection: runs HTTP on it and enforces its timeouts.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

use crate::access::Peer;
use crate::limits::Timeouts;
use crate::memory::{Account, Full};
use crate::request::{self, ListenerKind};
use crate::shared::{CONNECTION_WINDOW_BYTES, Lifecycle, MAX_STREAMS, Shared};
use crate::stalls::{Activity, Liveness, OpenRequest, StallDetector};

/// Additional memory of an HTTP/2 connection: its receive window, and some for each of its streams.
const HTTP2_BYTES: usize = CONNECTION_WINDOW_BYTES as usize + MAX_STREAMS as usize * 1024;

/// Serves one connection until either side closes it.
pub(crate) async fn serve<S>(
    shared: Arc<Shared>,
    account: Arc<Account>,
    peer: Peer,
    listener: ListenerKind,
    stream: S,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Arc::new(Activity::new(account, peer));
    let metered = Metered { stream, activity: Arc::clone(&activity), shared: Arc::clone(&shared) };
    let service = {
        let (shared, activity) = (Arc::clone(&shared), Arc::clone(&activity));
        service_fn(move |request| {
            request::handle(Arc::clone(&shared), OpenRequest::begin(&activity), listener, request)
        })
    };
    let mut connection = pin!(shared.http.serve_connection(TokioIo::new(metered), service));
    let mut lifecycle = shared.lifecycle.subscribe();
    // Shutdown may have begun since the connection was accepted.
    if *lifecycle.borrow() != Lifecycle::Serving {
        lifecycle.mark_changed();
    }
    let mut stalls = StallDetector::default();
    let mut timeouts = Timeouts::of(&shared.limits);
    let mut closing = false;
    let mut check = pin!(sleep_until(Instant::now() + timeouts.period()));
    loop {
        tokio::select! {
            biased;
            // An error here is the client's: it violated the protocol or disconnected.
            _ = connection.as_mut() => return,
            () = check.as_mut() => {
                let now = Instant::now();
                match stalls.poll(&activity, pressed(timeouts, &shared), now) {
                    Liveness::Fine => {}
                    _ if closing => return,
                    Liveness::Slow => {
                        shared.metrics.connections_timed_out.add(1);
                        return;
                    }
                    Liveness::Idle => {
                        shared.metrics.connections_timed_out.add(1);
                        closing = true;
                        timeouts = timeouts.during_shutdown();
                        connection.as_mut().graceful_shutdown();
                    }
                }
                check.as_mut().reset(now + timeouts.period());
            }
            changed = lifecycle.changed() => {
                let state = *lifecycle.borrow_and_update();
                if changed.is_err() || state == Lifecycle::Aborting {
                    return;
                }
                closing = true;
                timeouts = timeouts.during_shutdown();
                connection.as_mut().graceful_shutdown();
                check.as_mut().reset(Instant::now() + timeouts.period());
            }
        }
    }
}

/// Shortens the write timeout while others wait for memory.
fn pressed(timeouts: Timeouts, shared: &Shared) -> Timeouts {
    if shared.memory.is_short() { timeouts.when_memory_is_short() } else { timeouts }
}

/// A stream that counts bytes.
struct Metered<S> {
    stream: S,
    activity: Arc<Activity>,
    shared: Arc<Shared>,
}

impl<S> Metered<S> {
    fn count_sent(&self, result: &Poll<io::Result<usize>>) {
        match result {
            Poll::Ready(Ok(bytes)) => {
                self.activity.sent_bytes.fetch_add(*bytes as u64, Relaxed);
                self.activity.is_stalled.store(false, Relaxed);
                self.shared.metrics.bytes_sent.add(*bytes as u64);
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.is_stalled.store(true, Relaxed),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        let fresh = buffer.filled().get(before..).unwrap_or_default();
        if !fresh.is_empty() {
            let bytes = fresh.len() as u64;
            let earlier = self.activity.received_bytes.fetch_add(bytes, Relaxed);
            self.shared.metrics.bytes_received.add(bytes);
            if earlier == 0 && fresh.starts_with(b"PRI ") {
                self.activity.speaks_http2.store(true, Relaxed);
                // No response is possible: the HTTP/2 connection has not been established.
                self.activity.account.grow_buffers(HTTP2_BYTES).map_err(|Full| {
                    self.shared.metrics.connections_refused.add(1);
                    io::Error::from(io::ErrorKind::OutOfMemory)
                })?;
            }
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count_sent(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.count_sent(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
