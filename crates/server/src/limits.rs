//! Limits on what clients may use: bytes, time, sockets.

use std::time::Duration;

/// Limits on what clients may use. The defaults suit a server exposed to untrusted clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections. Beyond that, a new one replaces the one that has been idle for longest; if
    /// there is no idle one, it gets a 503.
    pub max_connections: u32,
    /// Open connections of one client: an IPv4 address, or an IPv6 /64 network.
    pub max_connections_per_client: u32,
    /// Calls that run or wait in the pool at the same time; further ones queue.
    pub max_in_flight: usize,
    /// The size of a request body, before and after decompression. DynamoDB accepts 16 MB.
    pub max_body_bytes: usize,
    /// Memory that clients may make the server hold: connection buffers, request bodies, their
    /// decoded form, unsent responses. Beyond it a request waits for `memory_timeout`, then it gets
    /// a 503. At least [`MIN_MEMORY_BYTES`](Self::MIN_MEMORY_BYTES).
    pub memory_bytes: usize,
    /// How long a request waits for memory before it gets a 503.
    pub memory_timeout: Duration,
    /// From the first byte of a request to the end of its headers.
    pub header_timeout: Duration,
    /// From the end of the headers to the end of the body.
    pub body_timeout: Duration,
    /// How long a client may take to read a sixteenth of its unsent responses, or 64 KiB if that is
    /// more.
    pub write_timeout: Duration,
    /// How long a connection may stay open without a request.
    pub idle_timeout: Duration,
    /// Time limit of the TLS handshake.
    pub handshake_timeout: Duration,
    /// How long a shutdown waits for open requests before it drops them.
    pub shutdown_grace: Duration,
}

impl Limits {
    /// The minimum useful memory: the largest request fits, decoded as most are.
    pub const MIN_MEMORY_BYTES: usize = 64 << 20;
}

/// A quarter of the memory of the machine or the container.
fn default_memory_bytes() -> usize {
    let machine = keyloom_engine::machine_memory_bytes().unwrap_or(OTHERWISE_BYTES);
    usize::try_from(machine / 4).unwrap_or(usize::MAX).max(Limits::MIN_MEMORY_BYTES)
}

/// The assumed memory of a machine that does not report it.
const OTHERWISE_BYTES: u64 = 2 << 30;

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 20_000,
            max_connections_per_client: 10_000,
            max_in_flight: 1024,
            max_body_bytes: 16 << 20,
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

/// The timeouts of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// To complete a header.
    pub(crate) header: Duration,
    /// To read more of a response.
    pub(crate) write: Duration,
    /// How long a connection may be idle between requests.
    pub(crate) idle: Duration,
}

impl Timeouts {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            header: limits.header_timeout,
            write: limits.write_timeout,
            idle: limits.idle_timeout,
        }
    }

    /// The timeouts during shutdown: one second, except for unsent responses, which keep their
    /// timeout.
    pub(crate) fn during_shutdown(self) -> Self {
        const FAREWELL: Duration = Duration::from_secs(1);
        Self { header: self.header.min(FAREWELL), idle: self.idle.min(FAREWELL), ..self }
    }

    /// The timeouts when others wait for memory that clients hold.
    pub(crate) fn when_memory_is_short(self) -> Self {
        Self { write: self.write / 10, ..self }
    }

    /// The polling interval: short enough that a timeout is at most half its length late. Polling
    /// saves a timer per request.
    pub(crate) fn period(self) -> Duration {
        (self.header.min(self.write).min(self.idle) / 2).max(Duration::from_millis(5))
    }
}
