//! Responses that a thread of their own writes while they are sent: archives, exports.
//!
//! The thread is a few chunks ahead of the client; a client that stops reading is disconnected like any other, which ends
//! the thread. If the response cannot be completed, the connection is closed without an end marker, so that the client
//! cannot take it for complete.

use std::io::{self, Write};
use std::thread;

use bytes::{Bytes, BytesMut};
use hyper::header::{self, HeaderValue};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Sender, channel};

use crate::response::HttpResponse;
use crate::response_body::{Aborted, ResponseBody};

/// Size of a chunk.
const CHUNK_BYTES: usize = 128 << 10;
/// Number of chunks that may be queued for the client.
const CHUNKS: usize = 4;
/// Memory of a response: the queue, the chunk being filled, and the one being sent.
const HELD_BYTES: usize = (CHUNKS + 3) * CHUNK_BYTES;

/// What is sent.
pub(crate) struct Streamed {
    /// What messages call it: `a backup`.
    pub(crate) what: &'static str,
    pub(crate) content_type: &'static str,
    /// Memory that the writer takes besides the chunks.
    pub(crate) work_bytes: usize,
    /// The right to run, returned when the thread ends.
    pub(crate) turn: OwnedSemaphorePermit,
}

impl Streamed {
    /// Begins to send what `write` writes.
    pub(crate) fn begin(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) -> io::Result<HttpResponse> {
        let Self { what, content_type, work_bytes, turn } = self;
        let (sender, chunks) = channel(CHUNKS);
        let run = move || {
            let mut out = Chunks { sender, chunk: BytesMut::with_capacity(CHUNK_BYTES) };
            if let Err(error) = write(&mut out).and_then(|()| out.flush()) {
                // The client sees an incomplete response; the reason can only be logged here.
                if !out.sender.is_closed() {
                    drop(writeln!(io::stderr(), "{what} was aborted: {error}"));
                }
                drop(out.sender.blocking_send(Err(Aborted)));
            }
            drop(turn);
        };
        thread::Builder::new().name("keyloom-stream".into()).spawn(run)?;
        let body = ResponseBody::stream(chunks, HELD_BYTES + work_bytes);
        let mut response = HttpResponse::new(body);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        Ok(response)
    }
}

/// Splits what is written into chunks; blocks while the queue is full.
struct Chunks {
    sender: Sender<Result<Bytes, Aborted>>,
    chunk: BytesMut,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK_BYTES - self.chunk.len().min(CHUNK_BYTES);
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.chunk.extend_from_slice(taken);
        if self.chunk.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            // Who has nothing to write yet finds out here that nobody waits for it any more.
            let is_gone = self.sender.is_closed();
            return if is_gone { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) };
        }
        let chunk = std::mem::replace(&mut self.chunk, BytesMut::with_capacity(CHUNK_BYTES));
        let sent = self.sender.blocking_send(Ok(chunk.freeze()));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}
