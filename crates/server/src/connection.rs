//! One connection: HTTP on it, and an eye on its client.

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
use crate::limits::Patience;
use crate::memory::{Account, Full};
use crate::overseer::{OpenRequest, Overseer, Pulse, Verdict};
use crate::request::{self, Door};
use crate::shared::{CONNECTION_WINDOW_BYTES, Lifecycle, MAX_STREAMS, Shared};

/// What an HTTP/2 connection takes more than another: its receive window, and a little for each of its
/// streams.
const HTTP2_BYTES: usize = CONNECTION_WINDOW_BYTES as usize + MAX_STREAMS as usize * 1024;

/// Serves one connection until either side ends it.
pub(crate) async fn serve<S>(
    shared: Arc<Shared>,
    account: Arc<Account>,
    peer: Peer,
    door: Door,
    stream: S,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let pulse = Arc::new(Pulse::new(account, peer));
    let metered = Metered { stream, pulse: Arc::clone(&pulse), shared: Arc::clone(&shared) };
    let service = {
        let (shared, pulse) = (Arc::clone(&shared), Arc::clone(&pulse));
        service_fn(move |request| {
            request::handle(Arc::clone(&shared), OpenRequest::begin(&pulse), door, request)
        })
    };
    let mut connection = pin!(shared.http.serve_connection(TokioIo::new(metered), service));
    let mut lifecycle = shared.lifecycle.subscribe();
    // The end may have begun between the accepting and now.
    if *lifecycle.borrow() != Lifecycle::Serving {
        lifecycle.mark_changed();
    }
    let mut overseer = Overseer::default();
    let mut patience = Patience::of(&shared.limits);
    let mut closing = false;
    let mut check = pin!(sleep_until(Instant::now() + patience.period()));
    loop {
        tokio::select! {
            biased;
            // An error here is the client's: it broke the protocol or went away.
            _ = connection.as_mut() => return,
            () = check.as_mut() => {
                let now = Instant::now();
                match overseer.judge(&pulse, pressed(patience, &shared), now) {
                    Verdict::Fine => {}
                    _ if closing => return,
                    Verdict::Slow => {
                        shared.metrics.connections_timed_out.add(1);
                        return;
                    }
                    Verdict::Idle => {
                        shared.metrics.connections_timed_out.add(1);
                        closing = true;
                        patience = patience.at_the_end();
                        connection.as_mut().graceful_shutdown();
                    }
                }
                check.as_mut().reset(now + patience.period());
            }
            changed = lifecycle.changed() => {
                let state = *lifecycle.borrow_and_update();
                if changed.is_err() || state == Lifecycle::Aborting {
                    return;
                }
                closing = true;
                patience = patience.at_the_end();
                connection.as_mut().graceful_shutdown();
                check.as_mut().reset(Instant::now() + patience.period());
            }
        }
    }
}

/// A client that does not take its answers has less time when others wait for the memory.
fn pressed(patience: Patience, shared: &Shared) -> Patience {
    if shared.memory.is_short() { patience.when_memory_is_short() } else { patience }
}

/// A stream that counts.
struct Metered<S> {
    stream: S,
    pulse: Arc<Pulse>,
    shared: Arc<Shared>,
}

impl<S> Metered<S> {
    fn count_sent(&self, result: &Poll<io::Result<usize>>) {
        match result {
            Poll::Ready(Ok(bytes)) => {
                self.pulse.sent_bytes.fetch_add(*bytes as u64, Relaxed);
                self.pulse.is_stalled.store(false, Relaxed);
                self.shared.metrics.bytes_sent.add(*bytes as u64);
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.pulse.is_stalled.store(true, Relaxed),
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
            let earlier = self.pulse.received_bytes.fetch_add(bytes, Relaxed);
            self.shared.metrics.bytes_received.add(bytes);
            if earlier == 0 && fresh.starts_with(b"PRI ") {
                self.pulse.speaks_http2.store(true, Relaxed);
                // There is nobody to tell: HTTP/2 has not begun.
                self.pulse.account.grow_buffers(HTTP2_BYTES).map_err(|Full| {
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
