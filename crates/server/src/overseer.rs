//! Tells a slow client from a patient one.
//!
//! A client can cost a server dearly by doing nothing: sending half a header, or never reading its
//! answer. Instead of a timer for each read and write, [`Pulse`] counts what moves and
//! [`Overseer`] looks at it now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use tokio::time::Instant;

use crate::access::Peer;
use crate::limits::Patience;
use crate::memory::{Account, Reservation};

/// What a client must take of its answers within the time for that, if there is so much.
const LEAST_TAKEN_BYTES: u64 = 64 << 10;
/// Of much it must take a part: one in so many bytes.
const LEAST_TAKEN_PART: u64 = 16;

/// What moved on a connection.
#[derive(Debug)]
pub(crate) struct Pulse {
    pub(crate) account: Arc<Account>,
    pub(crate) peer: Peer,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    /// The socket does not take what is sent.
    pub(crate) is_stalled: AtomicBool,
    pub(crate) speaks_http2: AtomicBool,
    requests: AtomicU64,
    open_requests: AtomicU32,
    /// What had been received when the last request was answered: more means a new one began.
    received_at_rest: AtomicU64,
}

impl Pulse {
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

/// A request from its header to its answer.
#[derive(Debug)]
pub(crate) struct OpenRequest(Arc<Pulse>);

impl OpenRequest {
    pub(crate) fn begin(pulse: &Arc<Pulse>) -> Self {
        pulse.requests.fetch_add(1, Relaxed);
        pulse.open_requests.fetch_add(1, Relaxed);
        Self(Arc::clone(pulse))
    }

    /// The other end of its connection.
    pub(crate) fn peer(&self) -> Peer {
        self.0.peer
    }

    /// Memory for the request, of which there is none yet.
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

/// What a connection waits for. Two equal phases at two looks mean that nothing happened between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Answers wait for the client. Requests that are open beside them do not excuse it; that it
    /// had once taken all there was does.
    Answering { drained: u64 },
    /// A request is being read or answered; the body has a time-out of its own.
    Busy,
    /// The socket takes nothing, of what little is sent besides answers.
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
        if pulse.account.unsent_bytes() > 0 {
            Self::Answering { drained: pulse.account.drained() }
        } else if pulse.open_requests.load(Relaxed) > 0 {
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
pub(crate) struct Overseer {
    /// The phase at the last look, the first look that saw it, and what had been taken of answers then.
    phase: Option<(Phase, Instant, u64)>,
}

/// What the overseer thinks of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Let it be.
    Fine,
    /// It has not asked for long enough.
    Idle,
    /// It holds up what it began.
    Slow,
}

impl Overseer {
    /// Whether the connection has been in one phase for longer than that may last.
    pub(crate) fn judge(&mut self, pulse: &Pulse, patience: Patience, now: Instant) -> Verdict {
        let (phase, taken_now) = (Phase::of(pulse), pulse.account.taken_bytes());
        let (since, taken_then) = match self.phase {
            Some((before, since, taken)) if before == phase => (since, taken),
            _ => (now, taken_now),
        };
        self.phase = Some((phase, since, taken_then));
        let (limit, verdict) = match phase {
            Phase::Busy => return Verdict::Fine,
            Phase::Answering { .. } | Phase::Sending { .. } => (patience.write, Verdict::Slow),
            Phase::Header { .. } => (patience.header, Verdict::Slow),
            Phase::Idle { .. } => (patience.idle, Verdict::Idle),
        };
        if now.duration_since(since) < limit {
            return Verdict::Fine;
        }
        let unsent_bytes = pulse.account.unsent_bytes() as u64;
        let least_bytes = LEAST_TAKEN_BYTES.max(unsent_bytes / LEAST_TAKEN_PART);
        if matches!(phase, Phase::Answering { .. }) && taken_now - taken_then >= least_bytes {
            self.phase = Some((phase, now, taken_now));
            return Verdict::Fine;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Verdict::{Fine, Idle, Slow};
    use super::*;
    use crate::limits::Limits;
    use crate::memory::{Memory, Unsent};

    /// What happens at which second.
    type Step = (u64, fn(&Pulse));

    fn pulse() -> Arc<Pulse> {
        let memory = Arc::new(Memory::new(64 << 20));
        Arc::new(Pulse::new(Account::open(&memory, 0).unwrap(), Peer::LOCAL))
    }

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
        let looks = verdicts(&pulse(), &[(0, |_| ()), (59, |_| ()), (60, |_| ())]);
        assert_eq!(looks, [Fine, Fine, Idle]);
    }

    #[test]
    fn a_header_that_drips_is_not_progress() {
        let drip = |pulse: &Pulse| _ = pulse.received_bytes.fetch_add(1, Relaxed);
        let looks = verdicts(&pulse(), &[(0, drip), (5, drip), (10, drip)]);
        assert_eq!(looks, [Fine, Fine, Slow]);
    }

    #[test]
    fn an_open_request_has_no_limit_here_and_restarts_the_clock() {
        let pulse = pulse();
        pulse.received_bytes.store(100, Relaxed);
        let open = OpenRequest::begin(&pulse);
        assert_eq!(verdicts(&pulse, &[(0, |_| ()), (1000, |_| ())]), [Fine; 2]);
        drop(open);
        assert_eq!(Phase::of(&pulse), Phase::Idle { requests: 1, sent_bytes: 0 });
    }

    #[test]
    fn a_socket_that_takes_nothing_is_overdue_and_one_that_does_is_not() {
        let stall = |pulse: &Pulse| pulse.is_stalled.store(true, Relaxed);
        let sip = |pulse: &Pulse| _ = pulse.sent_bytes.fetch_add(1, Relaxed);
        let looks = verdicts(&pulse(), &[(0, stall), (19, |_| ()), (20, |_| ())]);
        assert_eq!(looks, [Fine, Fine, Slow]);
        let looks = verdicts(&pulse(), &[(0, stall), (19, sip), (38, sip)]);
        assert_eq!(looks, [Fine; 3]);
    }

    /// An answer of 2 MiB waits, and what the client takes of it is a part of it or next to nothing.
    #[test]
    fn answers_must_be_taken_at_a_pace_whatever_else_moves() {
        let answer = |pulse: &Pulse| Unsent::new(Reservation::new(&pulse.account), 2 << 20);
        let sip = |pulse: &Pulse| pulse.account.take(1);
        let gulp = |pulse: &Pulse| pulse.account.take(128 << 10);
        // Frames that are no answers, and requests that are open, are no progress.
        let busy = |pulse: &Pulse| {
            pulse.sent_bytes.fetch_add(1000, Relaxed);
            pulse.open_requests.fetch_add(1, Relaxed);
        };
        for (happens, expected) in [
            ((|_| ()) as fn(&Pulse), [Fine, Fine, Slow, Slow]),
            (sip, [Fine, Fine, Slow, Slow]),
            (busy, [Fine, Fine, Slow, Slow]),
            (gulp, [Fine, Fine, Fine, Fine]),
        ] {
            let pulse = pulse();
            let _answer = answer(&pulse);
            let steps = [(0, happens), (10, happens), (20, happens), (40, happens)];
            assert_eq!(verdicts(&pulse, &steps), expected);
        }
    }

    #[test]
    fn a_client_that_takes_every_answer_may_always_have_another() {
        let (pulse, mut overseer) = (pulse(), Overseer::default());
        let (start, patience) = (Instant::now(), Patience::of(&Limits::default()));
        for second in (0..1000).step_by(10) {
            let answer = Unsent::new(Reservation::new(&pulse.account), 100);
            let at = start + Duration::from_secs(second);
            assert_eq!(overseer.judge(&pulse, patience, at), Fine);
            drop(answer);
        }
    }
}
