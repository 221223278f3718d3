//! Detects idle and stalled connections.
//!
//! A client can cost a server memory by doing nothing: sending half a header, or never reading its
//! response. Instead of a timer for each read and write, [`Activity`] counts progress and
//! [`StallDetector`] polls it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use tokio::time::Instant;

use crate::access::Peer;
use crate::limits::Timeouts;
use crate::memory::{Account, Reservation};

/// The minimum that a client must read of its responses within the write timeout, if there is that
/// much.
const LEAST_TAKEN_BYTES: u64 = 64 << 10;
/// Of large responses it must read one in this many bytes.
const LEAST_TAKEN_PART: u64 = 16;

/// Progress counters of a connection.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(crate) account: Arc<Account>,
    peer: Peer,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    /// The socket does not accept more data.
    pub(crate) is_stalled: AtomicBool,
    pub(crate) speaks_http2: AtomicBool,
    requests: AtomicU64,
    open_requests: AtomicU32,
    /// Bytes received when the last request was finished: more means that a new one has begun.
    received_at_rest: AtomicU64,
}

impl Activity {
    pub(crate) fn new(account: Arc<Account>, peer: Peer) -> Self {
        Self {
            account,
            peer,
            received_bytes: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
            is_stalled: AtomicBool::new(false),
            speaks_http2: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            open_requests: AtomicU32::new(0),
            received_at_rest: AtomicU64::new(0),
        }
    }
}

/// A request from its header to its response.
#[derive(Debug)]
pub(crate) struct OpenRequest(Arc<Activity>);

impl OpenRequest {
    pub(crate) fn begin(activity: &Arc<Activity>) -> Self {
        activity.requests.fetch_add(1, Relaxed);
        activity.open_requests.fetch_add(1, Relaxed);
        Self(Arc::clone(activity))
    }

    /// The other end of the connection.
    pub(crate) fn peer(&self) -> Peer {
        self.0.peer
    }

    /// An empty reservation for the request.
    pub(crate) fn reservation(&self) -> Reservation {
        Reservation::new(&self.0.account)
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.received_at_rest.store(self.0.received_bytes.load(Relaxed), Relaxed);
        self.0.open_requests.fetch_sub(1, Relaxed);
    }
}

/// What a connection waits for. Two equal phases at two polls mean no progress in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The client has unsent responses. Other open requests do not count as progress; having read
    /// everything once does.
    Answering { drained: u64 },
    /// A request is being read or executed; the body has its own timeout.
    Busy,
    /// The socket accepts nothing of the little that is sent besides responses.
    Sending { sent_bytes: u64 },
    /// The client must complete the header it began. Single bytes do not count as progress: the
    /// timeout is for the whole header.
    Header { requests: u64 },
    /// The client may send a request.
    Idle { requests: u64, sent_bytes: u64 },
}

impl Phase {
    fn of(activity: &Activity) -> Self {
        let (requests, sent_bytes) =
            (activity.requests.load(Relaxed), activity.sent_bytes.load(Relaxed));
        let received = activity.received_bytes.load(Relaxed);
        if activity.account.unsent_bytes() > 0 {
            Self::Answering { drained: activity.account.drained() }
        } else if activity.open_requests.load(Relaxed) > 0 {
            Self::Busy
        } else if activity.is_stalled.load(Relaxed) {
            Self::Sending { sent_bytes }
        } else if received > activity.received_at_rest.load(Relaxed)
            && !activity.speaks_http2.load(Relaxed)
        {
            Self::Header { requests }
        } else {
            Self::Idle { requests, sent_bytes }
        }
    }
}

/// Detects idle and stalled connections.
#[derive(Debug, Default)]
pub(crate) struct StallDetector {
    /// The phase at the last poll, the first poll that saw it, and the bytes read by then.
    phase: Option<(Phase, Instant, u64)>,
}

/// The result of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// Within its timeouts.
    Fine,
    /// No request within the idle timeout.
    Idle,
    /// Too slow to send a header or to read a response.
    Slow,
}

impl StallDetector {
    /// Whether the connection has exceeded the timeout of its phase.
    pub(crate) fn poll(
        &mut self,
        activity: &Activity,
        timeouts: Timeouts,
        now: Instant,
    ) -> Liveness {
        let (phase, taken_now) = (Phase::of(activity), activity.account.taken_bytes());
        let (since, taken_then) = match self.phase {
            Some((before, since, taken)) if before == phase => (since, taken),
            _ => (now, taken_now),
        };
        self.phase = Some((phase, since, taken_then));
        let (limit, overdue) = match phase {
            Phase::Busy => return Liveness::Fine,
            Phase::Answering { .. } | Phase::Sending { .. } => (timeouts.write, Liveness::Slow),
            Phase::Header { .. } => (timeouts.header, Liveness::Slow),
            Phase::Idle { .. } => (timeouts.idle, Liveness::Idle),
        };
        if now.duration_since(since) < limit {
            return Liveness::Fine;
        }
        let unsent_bytes = activity.account.unsent_bytes() as u64;
        let least_bytes = LEAST_TAKEN_BYTES.max(unsent_bytes / LEAST_TAKEN_PART);
        if matches!(phase, Phase::Answering { .. }) && taken_now - taken_then >= least_bytes {
            self.phase = Some((phase, now, taken_now));
            return Liveness::Fine;
        }
        overdue
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Liveness::{Fine, Idle, Slow};
    use super::*;
    use crate::limits::Limits;
    use crate::memory::{Memory, Unsent};

    /// An event at a second.
    type Step = (u64, fn(&Activity));

    fn activity() -> Arc<Activity> {
        let memory = Arc::new(Memory::new(64 << 20));
        Arc::new(Activity::new(Account::open(&memory, 0).unwrap(), Peer::LOCAL))
    }

    fn poll_all(activity: &Activity, steps: &[Step]) -> Vec<Liveness> {
        let timeouts = Timeouts {
            header: Duration::from_secs(10),
            write: Duration::from_secs(20),
            idle: Duration::from_mins(1),
        };
        let (start, mut stalls) = (Instant::now(), StallDetector::default());
        let look = |(second, happens): &Step| {
            happens(activity);
            stalls.poll(activity, timeouts, start + Duration::from_secs(*second))
        };
        steps.iter().map(look).collect()
    }

    #[test]
    fn an_idle_connection_lasts_for_the_idle_timeout() {
        let polls = poll_all(&activity(), &[(0, |_| ()), (59, |_| ()), (60, |_| ())]);
        assert_eq!(polls, [Fine, Fine, Idle]);
    }

    #[test]
    fn single_header_bytes_are_not_progress() {
        let drip = |activity: &Activity| _ = activity.received_bytes.fetch_add(1, Relaxed);
        let polls = poll_all(&activity(), &[(0, drip), (5, drip), (10, drip)]);
        assert_eq!(polls, [Fine, Fine, Slow]);
    }

    #[test]
    fn an_open_request_has_no_timeout_and_resets_the_clock() {
        let activity = activity();
        activity.received_bytes.store(100, Relaxed);
        let open = OpenRequest::begin(&activity);
        assert_eq!(poll_all(&activity, &[(0, |_| ()), (1000, |_| ())]), [Fine; 2]);
        drop(open);
        assert_eq!(Phase::of(&activity), Phase::Idle { requests: 1, sent_bytes: 0 });
    }

    #[test]
    fn only_a_socket_that_accepts_nothing_times_out() {
        let stall = |activity: &Activity| activity.is_stalled.store(true, Relaxed);
        let sip = |activity: &Activity| _ = activity.sent_bytes.fetch_add(1, Relaxed);
        let polls = poll_all(&activity(), &[(0, stall), (19, |_| ()), (20, |_| ())]);
        assert_eq!(polls, [Fine, Fine, Slow]);
        let polls = poll_all(&activity(), &[(0, stall), (19, sip), (38, sip)]);
        assert_eq!(polls, [Fine; 3]);
    }

    /// A response of 2 MiB is unsent, and the client reads a part of it or next to nothing.
    #[test]
    fn responses_must_be_read_at_a_minimum_rate() {
        let answer =
            |activity: &Activity| Unsent::new(Reservation::new(&activity.account), 2 << 20);
        let sip = |activity: &Activity| activity.account.take(1);
        let gulp = |activity: &Activity| activity.account.take(128 << 10);
        // Other frames and open requests are not progress.
        let busy = |activity: &Activity| {
            activity.sent_bytes.fetch_add(1000, Relaxed);
            activity.open_requests.fetch_add(1, Relaxed);
        };
        for (happens, expected) in [
            ((|_| ()) as fn(&Activity), [Fine, Fine, Slow, Slow]),
            (sip, [Fine, Fine, Slow, Slow]),
            (busy, [Fine, Fine, Slow, Slow]),
            (gulp, [Fine, Fine, Fine, Fine]),
        ] {
            let activity = activity();
            let _answer = answer(&activity);
            let steps = [(0, happens), (10, happens), (20, happens), (40, happens)];
            assert_eq!(poll_all(&activity, &steps), expected);
        }
    }

    #[test]
    fn a_client_that_reads_every_response_never_times_out() {
        let (activity, mut stalls) = (activity(), StallDetector::default());
        let (start, timeouts) = (Instant::now(), Timeouts::of(&Limits::default()));
        for second in (0..1000).step_by(10) {
            let answer = Unsent::new(Reservation::new(&activity.account), 100);
            let at = start + Duration::from_secs(second);
            assert_eq!(stalls.poll(&activity, timeouts, at), Fine);
            drop(answer);
        }
    }
}
