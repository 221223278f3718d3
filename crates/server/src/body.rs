//! Reading a request body within bounds.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use crate::shared::Shared;

/// What is set aside at once for a body whose size is only promised.
const MAX_FIRST_ALLOCATION_BYTES: usize = 256 << 10;
/// How much of a body that is too large is read and thrown away. A client that is still sending
/// when the socket closes would see a reset instead of the refusal.
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

impl Buffered {
    /// Reads a body to its end.
    pub(crate) async fn read(shared: &Arc<Shared>, body: &mut Incoming) -> Result<Self, BodyError> {
        let promised = body.size_hint().lower();
        if promised > shared.limits.max_body_bytes as u64 {
            return Err(BodyError::TooLarge);
        }
        let mut reservation = Reservation { shared: Arc::clone(shared), bytes: 0 };
        // Most bodies are here already, in which case no timer is ever set.
        let reading = read_within(body, promised as usize, &mut reservation);
        let bytes = match timeout(shared.limits.body_timeout, reading).await {
            Ok(read) => read?,
            Err(_) => return Err(BodyError::TooSlow),
        };
        Ok(Self { bytes, _reservation: reservation })
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

/// Reads and forgets the rest of a body that is refused, as far as that is reasonable.
pub(crate) async fn discard(shared: &Shared, body: &mut Incoming) {
    if body.size_hint().lower() > MAX_DISCARDED_BYTES as u64 {
        return;
    }
    let reading = async {
        let mut left = MAX_DISCARDED_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let size = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(size) else { break };
            left = rest;
        }
    };
    // Too slow or not: the refusal is sent now.
    let _ = timeout(shared.limits.body_timeout, reading).await;
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
