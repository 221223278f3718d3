//! Reads request bodies within limits.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::memory::{Full, Reservation};
use crate::shared::Shared;

/// This many bytes at the start of a body are reserved several times, which covers their decoded
/// form: small requests have no other reservation.
const SMALL_BYTES: usize = 64 << 10;
const SMALL_FACTOR: usize = 4;
/// How much of a refused body is read and discarded.
const MAX_DISCARDED_BYTES: usize = 64 << 20;

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// Larger than the limit.
    TooLarge,
    /// Not complete before the deadline.
    TooSlow,
    /// All bodies together exceed the server's memory budget.
    ServerFull,
    /// The connection broke, or the framing is wrong.
    Broken,
}

/// A request body that is still being received.
pub(crate) struct RequestBody {
    max_bytes: usize,
    incoming: Incoming,
    /// When the whole body must have been received, whether it is used or discarded.
    deadline: Instant,
}

impl RequestBody {
    pub(crate) fn new(shared: &Shared, incoming: Incoming, started: std::time::Instant) -> Self {
        let deadline = Instant::from_std(started + shared.limits.body_timeout);
        Self { max_bytes: shared.limits.max_body_bytes, incoming, deadline }
    }

    /// Whether the request has no body.
    pub(crate) fn is_empty(&self) -> bool {
        self.incoming.is_end_stream()
    }

    /// Reads the body to its end; memory is reserved as it arrives.
    pub(crate) async fn read(&mut self, memory: &mut Reservation) -> Result<Bytes, BodyError> {
        let promised = self.incoming.size_hint();
        if promised.lower() > self.max_bytes as u64 {
            return Err(BodyError::TooLarge);
        }
        let promised = promised.exact().map(|bytes| bytes as usize);
        let max_bytes = self.max_bytes;
        let mut reading = Reading { max_bytes, bytes: 0, promised, reserved_bytes: 0, memory };
        // Most bodies have already arrived, in which case no timer is registered.
        match timeout_at(self.deadline, reading.read(&mut self.incoming)).await {
            Ok(read) => read,
            Err(_) => Err(BodyError::TooSlow),
        }
    }

    /// Reads and discards the rest of a refused body, up to a limit. A client that is still sending
    /// when the socket closes would see a reset instead of the response.
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
        // In time or not, the response is sent now.
        let _ = timeout_at(self.deadline, reading).await;
    }
}

/// A body that is being read.
struct Reading<'m> {
    max_bytes: usize,
    bytes: usize,
    /// Its size, if declared.
    promised: Option<usize>,
    /// What is reserved for the pieces received, or for the buffer if that is larger.
    reserved_bytes: usize,
    memory: &'m mut Reservation,
}

impl Reading<'_> {
    async fn read(&mut self, body: &mut Incoming) -> Result<Bytes, BodyError> {
        // A body that arrived in one piece, as small ones do, is not copied.
        let first = self.next(body).await?;
        if body.is_end_stream() {
            return Ok(first);
        }
        let Some(second) = some_data(self.next(body).await?) else { return Ok(first) };
        let mut whole = self.larger(&[])?;
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        drop((first, second));
        while let Some(data) = some_data(self.next(body).await?) {
            if whole.capacity() - whole.len() < data.len() {
                whole = self.larger(&whole)?;
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    /// A copy with room for what has been received and as much again, if that is still expected: a
    /// declared size costs nothing until half of it has been received.
    ///
    /// The whole buffer is reserved although it is not full: recycled pages are resident before they
    /// are written. Copying keeps the allocator from growing the old buffer in place.
    fn larger(&mut self, received: &[u8]) -> Result<BytesMut, BodyError> {
        let expected = self.promised.unwrap_or(self.max_bytes);
        let capacity = (self.bytes * 2).min(expected).max(self.bytes);
        self.reserve(capacity)?;
        let mut buffer = BytesMut::with_capacity(capacity);
        buffer.extend_from_slice(received);
        self.memory.count_freed(received.len());
        Ok(buffer)
    }

    /// The next piece of data, skipping frames without data; empty at the end.
    async fn next(&mut self, body: &mut Incoming) -> Result<Bytes, BodyError> {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
            if data.is_empty() {
                continue;
            }
            self.count(data.len())?;
            return Ok(data);
        }
        Ok(Bytes::new())
    }

    fn count(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.bytes += bytes;
        if self.bytes > self.max_bytes {
            return Err(BodyError::TooLarge);
        }
        self.reserve(self.bytes)
    }

    /// Reserves memory for a body of this size, unless that much is reserved already.
    fn reserve(&mut self, bytes: usize) -> Result<(), BodyError> {
        let reserved_bytes = bytes + bytes.min(SMALL_BYTES) * (SMALL_FACTOR - 1);
        let Some(more) = reserved_bytes.checked_sub(self.reserved_bytes) else { return Ok(()) };
        self.memory.grow_body(more).map_err(|Full| BodyError::ServerFull)?;
        self.reserved_bytes = reserved_bytes;
        Ok(())
    }
}

fn some_data(data: Bytes) -> Option<Bytes> {
    (!data.is_empty()).then_some(data)
}
