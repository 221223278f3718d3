//! The body of a response, which counts towards the memory budget until its last byte has been
//! sent.
//!
//! HTTP takes the data of a body long before it sends them: they are queued for the socket or for
//! the client's window. So the reservation is attached to the data, not to the body.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};

use tokio::sync::mpsc::Receiver;

use crate::memory::{Reservation, Unsent};
use crate::stalls::OpenRequest;

/// The body of a response: complete, or streamed.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    data: Option<ResponseData>,
    stream: Option<Stream>,
}

/// A response too large to buffer.
#[derive(Debug)]
struct Stream {
    chunks: Receiver<Result<Bytes, Aborted>>,
    /// The maximum memory of its chunks.
    bytes: usize,
    memory: Option<Reservation>,
    /// The request counts as open while chunks are produced.
    open: Option<OpenRequest>,
}

/// A response could not be completed. Its connection is closed, so that the client cannot take it
/// for complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Aborted;

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response was aborted")
    }
}

impl std::error::Error for Aborted {}

/// The bytes of a response.
#[derive(Debug)]
pub(crate) struct ResponseData {
    bytes: Bytes,
    unsent: Option<Unsent>,
}

impl ResponseBody {
    /// A body without a reservation yet.
    pub(crate) fn new(bytes: Bytes) -> Self {
        let data = (!bytes.is_empty()).then_some(ResponseData { bytes, unsent: None });
        Self { data, stream: None }
    }

    /// A streamed body whose chunks take at most this many bytes at a time.
    pub(crate) fn stream(chunks: Receiver<Result<Bytes, Aborted>>, bytes: usize) -> Self {
        let stream = Stream { chunks, bytes, memory: None, open: None };
        Self { data: None, stream: Some(stream) }
    }

    /// The memory that it takes.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.stream {
            Some(stream) => stream.bytes,
            None => self.data.as_ref().map_or(0, |data| data.bytes.len()),
        }
    }

    /// Attaches the reservation, which is held until the body is sent.
    pub(crate) fn hold(&mut self, reservation: Reservation, open: OpenRequest) {
        if let Some(stream) = &mut self.stream {
            stream.memory = Some(reservation);
            stream.open = Some(open);
        } else if let Some(data) = &mut self.data {
            data.unsent = Some(Unsent::new(reservation, data.bytes.len()));
        }
    }
}

impl Body for ResponseBody {
    type Data = ResponseData;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<ResponseData>, Aborted>>> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(self.data.take().map(|data| Ok(Frame::data(data))));
        };
        stream.chunks.poll_recv(context).map(|chunk| {
            let framed = |bytes: Bytes| {
                // The memory is reserved by the stream; only the unsent bytes are counted here.
                let waiting = stream.open.as_ref().map(OpenRequest::reservation);
                let unsent = waiting.map(|waiting| Unsent::new(waiting, bytes.len()));
                Frame::data(ResponseData { bytes, unsent })
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

impl Buf for ResponseData {
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
    use crate::stalls::Activity;

    #[tokio::test]
    async fn a_body_is_counted_until_its_data_are_dropped() {
        let memory = Arc::new(Memory::new(64 << 20));
        let account = Account::open(&memory, 0).unwrap();
        let mut reservation = Reservation::new(&account);
        reservation.grow(5).unwrap();
        let mut body = ResponseBody::new(Bytes::from_static(b"hello"));
        let activity = Arc::new(Activity::new(Arc::clone(&account), Peer::LOCAL));
        body.hold(reservation, OpenRequest::begin(&activity));
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
        assert!(ResponseBody::new(Bytes::new()).is_end_stream());
    }
}
