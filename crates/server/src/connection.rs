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

use crate::limits::Timeouts;
use crate::request::{self, ListenerKind};
use crate::shared::{CONNECTION_WINDOW_BYTES, Lifecycle, MAX_STREAMS, Shared};
use crate::stalls::{Activity, Liveness, OpenRequest, StallDetector};

/// Additional memory of an HTTP/2 connection: its receive window, and some for each of its streams.
const HTTP2_BYTES: usize = CONNECTION_WINDOW_BYTES as usize + MAX_STREAMS as usize * 1024;

/// The read buffer that every connection has room for. hyper enlarges it when it was filled.
const SMALL_BUFFER_BYTES: usize = 16 << 10;
/// Additional memory of a connection with an enlarged buffer.
const LARGE_BUFFER_BYTES: usize = 40 << 10;

/// Serves one connection until either side closes it.
pub(crate) async fn serve<S>(
    shared: Arc<Shared>,
    activity: Arc<Activity>,
    listener: ListenerKind,
    stream: S,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let metered = Metered {
        stream,
        activity: Arc::clone(&activity),
        shared: Arc::clone(&shared),
        has_large_buffer: false,
    };
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
            () = activity.evicted.notified() => {
                // A request may have arrived in the meantime.
                if activity.idle_since().is_some() {
                    shared.metrics.connections_evicted.add(1);
                    return;
                }
            }
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
    /// Whether the memory of a large read buffer is reserved.
    has_large_buffer: bool,
}

impl<S> Metered<S> {
    /// Reserves more for the connection's buffers. On failure the connection ends without a response:
    /// nothing has been read that could be answered.
    fn grow_buffers(&self, bytes: usize) -> io::Result<()> {
        self.shared.connections.grow(&self.activity, bytes).map_err(|_| {
            self.shared.metrics.connections_refused.add(1);
            io::Error::from(io::ErrorKind::OutOfMemory)
        })
    }

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
        if !self.has_large_buffer && buffer.remaining() > SMALL_BUFFER_BYTES {
            self.grow_buffers(LARGE_BUFFER_BYTES)?;
            self.has_large_buffer = true;
        }
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        let fresh = buffer.filled().get(before..).unwrap_or_default();
        if !fresh.is_empty() {
            let bytes = fresh.len() as u64;
            let earlier = self.activity.received_bytes.fetch_add(bytes, Relaxed);
            self.shared.metrics.bytes_received.add(bytes);
            if earlier == 0 && fresh.starts_with(b"PRI ") {
                self.activity.speaks_http2.store(true, Relaxed);
                self.grow_buffers(HTTP2_BYTES)?;
            }
        }
        result
    }
}

/// hyper answers a head that is longer than its buffer by itself, with 431 or 414, where DynamoDB answers 400. Nothing
/// else that is sent looks like that: responses of ours have other codes, and no JSON has a bare line break.
fn as_bad_request(bytes: &[u8]) -> Option<Vec<u8>> {
    const STATUS: &[u8] = b"HTTP/1.1 400 ";
    let rest = bytes.strip_prefix(b"HTTP/1.1 ")?;
    let is_refusal = (rest.starts_with(b"431 ") || rest.starts_with(b"414 "))
        && bytes.ends_with(b"\r\n\r\n")
        && bytes.len() < 300;
    is_refusal.then(|| [STATUS, bytes.get(STATUS.len()..).unwrap_or_default()].concat())
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let restated = as_bad_request(bytes);
        let bytes = restated.as_deref().unwrap_or(bytes);
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count_sent(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let restated = slices.first().and_then(|first| as_bad_request(first));
        let result = match &restated {
            Some(answer) => Pin::new(&mut self.stream).poll_write(context, answer),
            None => Pin::new(&mut self.stream).poll_write_vectored(context, slices),
        };
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
