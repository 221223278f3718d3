//! Reads request bodies within limits.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::memory::{Full, Reservation};
use crate::shared::Shared;

/// Allocated up front for a body that only declares its size.
const MAX_FIRST_ALLOCATION_BYTES: usize = 256 << 10;
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
        let mut reading = Reading { max_bytes: self.max_bytes, bytes: 0, promised, memory };
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
        let mut whole = BytesMut::with_capacity(self.room().min(MAX_FIRST_ALLOCATION_BYTES));
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(data) = some_data(self.next(body).await?) {
            // After the first piece the declared size is trusted, so that the body is copied only
            // once. Pages that are not written take no memory.
            if whole.capacity() - whole.len() < data.len() {
                whole.reserve(self.room().saturating_sub(whole.len()).max(data.len()));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    /// The expected size, as far as known.
    fn room(&self) -> usize {
        self.promised.unwrap_or(self.bytes * 2)
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
        let small_before = self.bytes.min(SMALL_BYTES);
        self.bytes += bytes;
        if self.bytes > self.max_bytes {
            return Err(BodyError::TooLarge);
        }
        // A body of unknown size is copied when it outgrows its buffer.
        let moves = if self.promised.is_some() { 1 } else { 2 };
        let small = self.bytes.min(SMALL_BYTES) - small_before;
        let reserved = bytes * moves + small * (SMALL_FACTOR - 1);
        self.memory.grow_body(reserved).map_err(|Full| BodyError::ServerFull)
    }
}

fn some_data(data: Bytes) -> Option<Bytes> {
    (!data.is_empty()).then_some(data)
}
