//! The body of an answer, which counts as held until its last byte has left.
//!
//! HTTP takes the data of a body long before it sends them: they wait in its queues for the socket or
//! for the client's window. So it is the data that carry the reservation, not the body.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};

use tokio::sync::mpsc::Receiver;

use crate::memory::{Reservation, Unsent};
use crate::overseer::OpenRequest;

/// The body of an answer: in one piece, or as it comes.
#[derive(Debug)]
pub(crate) struct HeldBody {
    data: Option<HeldData>,
    stream: Option<Stream>,
}

/// An answer that is longer than memory should be.
#[derive(Debug)]
struct Stream {
    chunks: Receiver<Result<Bytes, BrokenOff>>,
    /// What its chunks take at most.
    bytes: usize,
    memory: Option<Reservation>,
    /// The request is under way as long as chunks come.
    open: Option<OpenRequest>,
}

/// An answer could not be sent to its end. Its connection is closed, so that nobody takes it for whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl std::error::Error for BrokenOff {}

/// The bytes of an answer.
#[derive(Debug)]
pub(crate) struct HeldData {
    bytes: Bytes,
    unsent: Option<Unsent>,
}

impl HeldBody {
    /// A body that is not counted yet.
    pub(crate) fn new(bytes: Bytes) -> Self {
        let data = (!bytes.is_empty()).then_some(HeldData { bytes, unsent: None });
        Self { data, stream: None }
    }

    /// A body that comes in chunks, which take no more than so many bytes at a time.
    pub(crate) fn stream(chunks: Receiver<Result<Bytes, BrokenOff>>, bytes: usize) -> Self {
        let stream = Stream { chunks, bytes, memory: None, open: None };
        Self { data: None, stream: Some(stream) }
    }

    /// What it takes of the memory.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.stream {
            Some(stream) => stream.bytes,
            None => self.data.as_ref().map_or(0, |data| data.bytes.len()),
        }
    }

    /// Counts the body until it is sent.
    pub(crate) fn hold(&mut self, reservation: Reservation, open: OpenRequest) {
        if let Some(stream) = &mut self.stream {
            stream.memory = Some(reservation);
            stream.open = Some(open);
        } else if let Some(data) = &mut self.data {
            data.unsent = Some(Unsent::new(reservation, data.bytes.len()));
        }
    }
}

impl Body for HeldBody {
    type Data = HeldData;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<HeldData>, BrokenOff>>> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(self.data.take().map(|data| Ok(Frame::data(data))));
        };
        stream.chunks.poll_recv(context).map(|chunk| {
            let framed = |bytes: Bytes| {
                // The memory is that of the stream; what waits for the client is counted by itself.
                let waiting = stream.open.as_ref().map(OpenRequest::reservation);
                let unsent = waiting.map(|waiting| Unsent::new(waiting, bytes.len()));
                Frame::data(HeldData { bytes, unsent })
            };
            chunk.map(|chunk| chunk.map(framed))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none() && self.stream.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.stream {
            Some(_) => SizeHint::default(),
            None => SizeHint::with_exact(self.held_bytes() as u64),
        }
    }
}

impl Buf for HeldData {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if let Some(unsent) = &self.unsent {
            unsent.take(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;

    use super::*;
    use crate::access::Peer;
    use crate::memory::{Account, Memory};
    use crate::overseer::Pulse;

    #[tokio::test]
    async fn a_body_is_counted_until_its_data_are_dropped() {
        let memory = Arc::new(Memory::new(64 << 20));
        let account = Account::open(&memory, 0).unwrap();
        let mut reservation = Reservation::new(&account);
        reservation.grow(5).unwrap();
        let mut body = HeldBody::new(Bytes::from_static(b"hello"));
        let pulse = Arc::new(Pulse::new(Arc::clone(&account), Peer::LOCAL));
        body.hold(reservation, OpenRequest::begin(&pulse));
        assert_eq!((body.held_bytes(), body.size_hint().exact()), (5, Some(5)));
        let mut data = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(body.is_end_stream() && body.frame().await.is_none());
        drop(body);
        data.advance(2);
        assert_eq!((data.chunk(), memory.used_bytes()), (b"llo".as_slice(), 5));
        assert_eq!((account.unsent_bytes(), account.taken_bytes()), (5, 2));
        drop(data);
        assert_eq!((memory.used_bytes(), account.unsent_bytes(), account.drained()), (0, 0, 1));
    }

    #[test]
    fn an_empty_body_ends_at_once() {
        assert!(HeldBody::new(Bytes::new()).is_end_stream());
    }
}
