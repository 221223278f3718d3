//! Reading a request body within bounds.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::shared::Shared;

/// What is set aside at once for a body whose size is only promised.
const MAX_FIRST_ALLOCATION_BYTES: usize = 256 << 10;
/// How much of a body that is refused is read and thrown away.
const MAX_DISCARDED_BYTES: usize = 64 << 20;

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// Larger than the limit.
    TooLarge,
    /// Not complete in time.
    TooSlow,
    /// All bodies together are larger than the server may hold.
    ServerFull,
    /// The connection broke, or the framing is wrong.
    Broken,
}

/// A request body that is still on its way.
pub(crate) struct RequestBody {
    shared: Arc<Shared>,
    incoming: Incoming,
    /// When all of it should be here, whether it is wanted or not.
    deadline: Instant,
}

/// A request body in memory, counted until it is dropped.
pub(crate) struct Buffered {
    pub(crate) bytes: Bytes,
    _reservation: Reservation,
}

/// A share of the memory for bodies.
struct Reservation {
    shared: Arc<Shared>,
    bytes: usize,
}

impl RequestBody {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        incoming: Incoming,
        started: std::time::Instant,
    ) -> Self {
        let deadline = Instant::from_std(started + shared.limits.body_timeout);
        Self { shared: Arc::clone(shared), incoming, deadline }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.incoming.is_end_stream()
    }

    /// Reads it to its end.
    pub(crate) async fn read(&mut self) -> Result<Buffered, BodyError> {
        let promised = self.incoming.size_hint().lower();
        if promised > self.shared.limits.max_body_bytes as u64 {
            return Err(BodyError::TooLarge);
        }
        let mut reservation = Reservation { shared: Arc::clone(&self.shared), bytes: 0 };
        // Most bodies are here already, in which case no timer is ever set.
        let reading = read_within(&mut self.incoming, promised as usize, &mut reservation);
        match timeout_at(self.deadline, reading).await {
            Ok(read) => Ok(Buffered { bytes: read?, _reservation: reservation }),
            Err(_) => Err(BodyError::TooSlow),
        }
    }

    /// Reads and forgets what is left of a body that is refused, as far as that is reasonable. A
    /// client that is still sending when the socket closes would see a reset and no refusal.
    pub(crate) async fn discard(&mut self) {
        let incoming = &mut self.incoming;
        if incoming.is_end_stream() || incoming.size_hint().lower() > MAX_DISCARDED_BYTES as u64 {
            return;
        }
        let reading = async {
            let mut left = MAX_DISCARDED_BYTES;
            while let Some(Ok(frame)) = incoming.frame().await {
                let size = frame.data_ref().map_or(0, Bytes::len);
                let Some(rest) = left.checked_sub(size) else { break };
                left = rest;
            }
        };
        // Too slow or not: the refusal is sent now.
        let _ = timeout_at(self.deadline, reading).await;
    }
}

async fn read_within(
    body: &mut Incoming,
    promised: usize,
    reservation: &mut Reservation,
) -> Result<Bytes, BodyError> {
    // A body that came in one piece, as small ones do, is not copied.
    let first = next_data(body, reservation).await?;
    if body.is_end_stream() {
        return Ok(first);
    }
    let Some(second) = some_data(next_data(body, reservation).await?) else { return Ok(first) };
    let mut whole = BytesMut::with_capacity(promised.min(MAX_FIRST_ALLOCATION_BYTES));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    while let Some(data) = some_data(next_data(body, reservation).await?) {
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

fn some_data(data: Bytes) -> Option<Bytes> {
    (!data.is_empty()).then_some(data)
}

/// The next piece of data, skipping what is not data; empty at the end.
async fn next_data(body: &mut Incoming, reservation: &mut Reservation) -> Result<Bytes, BodyError> {
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        if data.is_empty() {
            continue;
        }
        reservation.grow(data.len())?;
        if reservation.bytes > reservation.shared.limits.max_body_bytes {
            return Err(BodyError::TooLarge);
        }
        return Ok(data);
    }
    Ok(Bytes::new())
}

impl Reservation {
    fn grow(&mut self, bytes: usize) -> Result<(), BodyError> {
        let before = self.shared.buffered_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        if before + bytes > self.shared.limits.max_buffered_bytes {
            return Err(BodyError::ServerFull);
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shared.buffered_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
