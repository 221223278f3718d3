//! The body of an answer, which counts as held until its last byte has left.
//!
//! HTTP takes the data of a body long before it sends them: they wait in its queues for the socket or
//! for the client's window. So it is the data that carry the reservation, not the body.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};

use crate::memory::{Reservation, Unsent};

/// The body of an answer, in one piece.
#[derive(Debug)]
pub(crate) struct HeldBody {
    data: Option<HeldData>,
}

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
        Self { data }
    }

    pub(crate) fn len(&self) -> usize {
        self.data.as_ref().map_or(0, |data| data.bytes.len())
    }

    /// Counts the body until it is sent.
    pub(crate) fn hold(&mut self, reservation: Reservation) {
        if let Some(data) = &mut self.data {
            data.unsent = Some(Unsent::new(reservation, data.bytes.len()));
        }
    }
}

impl Body for HeldBody {
    type Data = HeldData;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<HeldData>, Infallible>>> {
        Poll::Ready(self.data.take().map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len() as u64)
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
    use crate::memory::{Account, Memory};

    #[tokio::test]
    async fn a_body_is_counted_until_its_data_are_dropped() {
        let memory = Arc::new(Memory::new(64 << 20));
        let account = Account::open(&memory, 0).unwrap();
        let mut reservation = Reservation::new(&account);
        reservation.grow(5).unwrap();
        let mut body = HeldBody::new(Bytes::from_static(b"hello"));
        body.hold(reservation);
        assert_eq!((body.len(), body.size_hint().exact()), (5, Some(5)));
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
