//! Bounds on what clients may use: bytes, time, sockets.

use std::time::Duration;

/// Bounds on what clients may use. The defaults suit a server that strangers can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections. One more is answered 503 and closed.
    pub max_connections: u32,
    /// Open connections of one client: an IPv4 address, or a network of IPv6 (/64).
    pub max_connections_per_client: u32,
    /// Calls that run or wait in the pool at the same time; further ones queue.
    pub max_in_flight: usize,
    /// The size of a request body, before and after decompression.
    ///
    /// DynamoDB takes 16 MB of request; the margin leaves the exact refusal of a slightly larger
    /// batch to the engine, which words it better.
    pub max_body_bytes: usize,
    /// What clients may make the server hold in memory: buffers of connections, request bodies, their
    /// decoded form, answers that wait to be sent. Past it a request waits a moment, then it is
    /// answered 503. At least [`MIN_MEMORY_BYTES`](Self::MIN_MEMORY_BYTES).
    pub memory_bytes: usize,
    /// How long a request waits for memory before it is answered 503.
    pub memory_timeout: Duration,
    /// From the first byte of a request to the end of its headers.
    pub header_timeout: Duration,
    /// From the end of the headers to the end of the body.
    pub body_timeout: Duration,
    /// How long a client may leave responses without taking a good part of them: a sixteenth of what
    /// waits for it, and no less than 64 KiB.
    pub write_timeout: Duration,
    /// How long a connection may stay open without a request.
    pub idle_timeout: Duration,
    /// The TLS handshake.
    pub handshake_timeout: Duration,
    /// How long a shutdown waits for requests under way before it drops them.
    pub shutdown_grace: Duration,
}

impl Limits {
    /// The least memory that is of use: the largest request fits, decoded as most are.
    pub const MIN_MEMORY_BYTES: usize = 64 << 20;
}

/// A quarter of what the machine or the container has.
fn default_memory_bytes() -> usize {
    let machine = keyloom_engine::machine_memory_bytes().unwrap_or(OTHERWISE_BYTES);
    usize::try_from(machine / 4).unwrap_or(usize::MAX).max(Limits::MIN_MEMORY_BYTES)
}

/// The memory of a machine that does not tell.
const OTHERWISE_BYTES: u64 = 2 << 30;

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 20_000,
            max_connections_per_client: 10_000,
            max_in_flight: 1024,
            max_body_bytes: 17 << 20,
            memory_bytes: default_memory_bytes(),
            memory_timeout: Duration::from_secs(5),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_mins(1),
            write_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(3),
            handshake_timeout: Duration::from_secs(10),
            shutdown_grace: Duration::from_secs(30),
        }
    }
}

/// How long a client may let a connection wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// For the rest of a header.
    pub(crate) header: Duration,
    /// For taking more of an answer.
    pub(crate) write: Duration,
    /// For a request.
    pub(crate) idle: Duration,
}

impl Patience {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            header: limits.header_timeout,
            write: limits.write_timeout,
            idle: limits.idle_timeout,
        }
    }

    /// What is left once the connection is to end: a moment to say goodbye. Only an answer still
    /// has all its time.
    pub(crate) fn at_the_end(self) -> Self {
        const FAREWELL: Duration = Duration::from_secs(1);
        Self { header: self.header.min(FAREWELL), idle: self.idle.min(FAREWELL), ..self }
    }

    /// What is left when others wait for memory that clients hold.
    pub(crate) fn when_memory_is_short(self) -> Self {
        Self { write: self.write / 10, ..self }
    }

    /// How often to look: often enough that a time-out is at most half its length late, which
    /// spares every request a timer of its own.
    pub(crate) fn period(self) -> Duration {
        (self.header.min(self.write).min(self.idle) / 2).max(Duration::from_millis(5))
    }
}
