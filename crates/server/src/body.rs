//! Reading a request body within bounds.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::memory::{Full, Reservation};
use crate::shared::Shared;

/// What is set aside at once for a body whose size is only promised.
const MAX_FIRST_ALLOCATION_BYTES: usize = 256 << 10;
/// The first so many bytes of a body are reserved several times, for what is made of them: small
/// requests have no other reservation.
const SMALL_BYTES: usize = 64 << 10;
const SMALL_FACTOR: usize = 4;
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
    max_bytes: usize,
    incoming: Incoming,
    /// When all of it should be here, whether it is wanted or not.
    deadline: Instant,
}

impl RequestBody {
    pub(crate) fn new(shared: &Shared, incoming: Incoming, started: std::time::Instant) -> Self {
        let deadline = Instant::from_std(started + shared.limits.body_timeout);
        Self { max_bytes: shared.limits.max_body_bytes, incoming, deadline }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.incoming.is_end_stream()
    }

    /// Reads it to its end, into memory that is reserved while it comes.
    pub(crate) async fn read(&mut self, memory: &mut Reservation) -> Result<Bytes, BodyError> {
        let promised = self.incoming.size_hint();
        if promised.lower() > self.max_bytes as u64 {
            return Err(BodyError::TooLarge);
        }
        let promised = promised.exact().map(|bytes| bytes as usize);
        let mut reading = Reading { max_bytes: self.max_bytes, bytes: 0, promised, memory };
        // Most bodies are here already, in which case no timer is ever set.
        match timeout_at(self.deadline, reading.read(&mut self.incoming)).await {
            Ok(read) => read,
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

/// A body that is being read.
struct Reading<'m> {
    max_bytes: usize,
    bytes: usize,
    /// Its size, if its sender has told.
    promised: Option<usize>,
    memory: &'m mut Reservation,
}

impl Reading<'_> {
    async fn read(&mut self, body: &mut Incoming) -> Result<Bytes, BodyError> {
        // A body that came in one piece, as small ones do, is not copied.
        let first = self.next(body).await?;
        if body.is_end_stream() {
            return Ok(first);
        }
        let Some(second) = some_data(self.next(body).await?) else { return Ok(first) };
        let mut whole = BytesMut::with_capacity(self.room().min(MAX_FIRST_ALLOCATION_BYTES));
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(data) = some_data(self.next(body).await?) {
            // Who has sent some of it is believed the rest, so that the body is copied once only. What
            // is not written to takes no memory.
            if whole.capacity() - whole.len() < data.len() {
                whole.reserve(self.room().saturating_sub(whole.len()).max(data.len()));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    /// How large it will be, as far as one knows.
    fn room(&self) -> usize {
        self.promised.unwrap_or(self.bytes * 2)
    }

    /// The next piece of data, skipping what is not data; empty at the end.
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
        // A body of unknown size is moved when it has outgrown its place.
        let moves = if self.promised.is_some() { 1 } else { 2 };
        let small = self.bytes.min(SMALL_BYTES) - small_before;
        let reserved = bytes * moves + small * (SMALL_FACTOR - 1);
        self.memory.grow_body(reserved).map_err(|Full| BodyError::ServerFull)
    }
}

fn some_data(data: Bytes) -> Option<Bytes> {
    (!data.is_empty()).then_some(data)
}
