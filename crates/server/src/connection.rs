//! One connection: HTTP on it, and an eye on its client.
//!
//! A client can cost a server dearly by doing nothing: sending half a header, or never reading its
//! answer. Instead of a timer for each read and write, [`Pulse`] counts what moves and
//! [`Overseer`] looks at it now and then.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

use crate::limits::Patience;
use crate::request;
use crate::shared::{Lifecycle, Shared};

/// Serves one connection until either side ends it.
pub(crate) async fn serve<S>(shared: Arc<Shared>, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let pulse = Arc::new(Pulse::default());
    let metered = Metered { stream, pulse: Arc::clone(&pulse), shared: Arc::clone(&shared) };
    let service = {
        let (shared, pulse) = (Arc::clone(&shared), Arc::clone(&pulse));
        service_fn(move |request| {
            request::handle(Arc::clone(&shared), OpenRequest::begin(&pulse), request)
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
                match overseer.judge(&pulse, patience, now) {
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

/// What moved on a connection.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    received_bytes: AtomicU64,
    sent_bytes: AtomicU64,
    /// The client does not take what is sent.
    is_stalled: AtomicBool,
    speaks_http2: AtomicBool,
    requests: AtomicU64,
    open_requests: AtomicU32,
    /// What had been received when the last request was answered: more means a new one began.
    received_at_rest: AtomicU64,
}

/// A request from its header to its answer.
#[derive(Debug)]
pub(crate) struct OpenRequest(Arc<Pulse>);

impl OpenRequest {
    fn begin(pulse: &Arc<Pulse>) -> Self {
        pulse.requests.fetch_add(1, Relaxed);
        pulse.open_requests.fetch_add(1, Relaxed);
        Self(Arc::clone(pulse))
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.received_at_rest.store(self.0.received_bytes.load(Relaxed), Relaxed);
        self.0.open_requests.fetch_sub(1, Relaxed);
    }
}

/// What a connection waits for. Two equal phases at two looks mean that nothing happened between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A request is being read or answered; the body has a time-out of its own.
    Busy,
    /// The client should read.
    Sending { sent_bytes: u64 },
    /// The client should complete the header it began. Each byte more does not count as progress:
    /// the header as a whole has its time.
    Header { requests: u64 },
    /// The client may ask.
    Idle { requests: u64, sent_bytes: u64 },
}

impl Phase {
    fn of(pulse: &Pulse) -> Self {
        let (requests, sent_bytes) = (pulse.requests.load(Relaxed), pulse.sent_bytes.load(Relaxed));
        let received = pulse.received_bytes.load(Relaxed);
        if pulse.open_requests.load(Relaxed) > 0 {
            Self::Busy
        } else if pulse.is_stalled.load(Relaxed) {
            Self::Sending { sent_bytes }
        } else if received > pulse.received_at_rest.load(Relaxed)
            && !pulse.speaks_http2.load(Relaxed)
        {
            Self::Header { requests }
        } else {
            Self::Idle { requests, sent_bytes }
        }
    }
}

/// Tells a slow client from a patient one.
#[derive(Debug, Default)]
struct Overseer {
    /// The phase at the last look, and the first look that saw it.
    phase: Option<(Phase, Instant)>,
}

/// What the overseer thinks of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Let it be.
    Fine,
    /// It has not asked for long enough.
    Idle,
    /// It holds up what it began.
    Slow,
}

impl Overseer {
    /// Whether the connection has been in one phase for longer than that may last.
    fn judge(&mut self, pulse: &Pulse, patience: Patience, now: Instant) -> Verdict {
        let phase = Phase::of(pulse);
        let since = match self.phase {
            Some((before, since)) if before == phase => since,
            _ => now,
        };
        self.phase = Some((phase, since));
        let (limit, verdict) = match phase {
            Phase::Busy => return Verdict::Fine,
            Phase::Sending { .. } => (patience.write, Verdict::Slow),
            Phase::Header { .. } => (patience.header, Verdict::Slow),
            Phase::Idle { .. } => (patience.idle, Verdict::Idle),
        };
        if now.duration_since(since) >= limit { verdict } else { Verdict::Fine }
    }
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
            if earlier == 0 && fresh.starts_with(b"PRI ") {
                self.pulse.speaks_http2.store(true, Relaxed);
            }
            self.shared.metrics.bytes_received.add(bytes);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Verdict::{Fine, Idle, Slow};
    use super::*;

    /// What happens at which second.
    type Step = (u64, fn(&Pulse));

    fn verdicts(pulse: &Pulse, steps: &[Step]) -> Vec<Verdict> {
        let patience = Patience {
            header: Duration::from_secs(10),
            write: Duration::from_secs(20),
            idle: Duration::from_mins(1),
        };
        let (start, mut overseer) = (Instant::now(), Overseer::default());
        let look = |(second, happens): &Step| {
            happens(pulse);
            overseer.judge(pulse, patience, start + Duration::from_secs(*second))
        };
        steps.iter().map(look).collect()
    }

    #[test]
    fn an_idle_connection_lasts_as_long_as_it_may() {
        let looks = verdicts(&Pulse::default(), &[(0, |_| ()), (59, |_| ()), (60, |_| ())]);
        assert_eq!(looks, [Fine, Fine, Idle]);
    }

    #[test]
    fn a_header_that_drips_is_not_progress() {
        let drip = |pulse: &Pulse| _ = pulse.received_bytes.fetch_add(1, Relaxed);
        let looks = verdicts(&Pulse::default(), &[(0, drip), (5, drip), (10, drip)]);
        assert_eq!(looks, [Fine, Fine, Slow]);
    }

    #[test]
    fn an_open_request_has_no_limit_here_and_restarts_the_clock() {
        let pulse = Arc::new(Pulse::default());
        pulse.received_bytes.store(100, Relaxed);
        let open = OpenRequest::begin(&pulse);
        assert_eq!(verdicts(&pulse, &[(0, |_| ()), (1000, |_| ())]), [Fine; 2]);
        drop(open);
        assert_eq!(Phase::of(&pulse), Phase::Idle { requests: 1, sent_bytes: 0 });
    }

    #[test]
    fn a_client_that_does_not_read_is_overdue_and_one_that_does_is_not() {
        let stall = |pulse: &Pulse| pulse.is_stalled.store(true, Relaxed);
        let sip = |pulse: &Pulse| _ = pulse.sent_bytes.fetch_add(1, Relaxed);
        let looks = verdicts(&Pulse::default(), &[(0, stall), (19, |_| ()), (20, |_| ())]);
        assert_eq!(looks, [Fine, Fine, Slow]);
        let looks = verdicts(&Pulse::default(), &[(0, stall), (19, sip), (38, sip)]);
        assert_eq!(looks, [Fine; 3]);
    }
}
