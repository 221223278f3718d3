//! `POST /keyloom/backup`: a snapshot of the database's files as a tar archive.
//!
//! The request's body lists the tables that the client already has, which are left out. A thread
//! reads the files a few chunks ahead of the client; a client that stops reading is disconnected
//! like any other, which ends the thread. If the archive cannot be completed, the connection is
//! closed without an end marker, so the client cannot take it for complete.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;

use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use keyloom_engine::{BackupSource, Error, Inventory};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Sender, channel};

use crate::auth::DYNAMODB;
use crate::body::{BodyError, RequestBody};
use crate::exchange::{Exchange, body_too_large};
use crate::memory::Reservation;
use crate::pages;
use crate::response::{Answer, HttpResponse, MediaType};
use crate::response_body::{Aborted, ResponseBody};
use crate::shared::Shared;

/// Size of a chunk.
const CHUNK_BYTES: usize = 128 << 10;
/// Number of chunks that may be queued for the client.
const CHUNKS: usize = 4;
/// Memory of a running backup: the queue, the chunk being filled, and the one being sent.
const HELD_BYTES: usize = (CHUNKS + 3) * CHUNK_BYTES;

/// Responds with the archive, or with the reason why not.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    head: &Parts,
    body: &mut RequestBody,
    memory: &mut Reservation,
) -> HttpResponse {
    match begin(shared, head, body, memory).await {
        Ok(response) => response,
        Err(answer) => answer.into_response(),
    }
}

async fn begin(
    shared: &Arc<Shared>,
    head: &Parts,
    body: &mut RequestBody,
    memory: &mut Reservation,
) -> Result<HttpResponse, Answer> {
    let refused = |error: &Error| Answer::error(error, MediaType::Json);
    let admission = shared.auth.admit(head, DYNAMODB).map_err(|error| refused(&error))?;
    let bytes = body.read(memory).await.map_err(|error| match error {
        BodyError::TooLarge => refused(&body_too_large(shared.limits.max_body_bytes)),
        BodyError::TooSlow => Answer::empty(StatusCode::REQUEST_TIMEOUT),
        BodyError::ServerFull => Answer::unavailable(MediaType::Json),
        BodyError::Broken => Answer::empty(StatusCode::BAD_REQUEST),
    })?;
    if let Some(admission) = admission {
        let verified = admission.verify(&bytes);
        let allowed = verified.and_then(|()| pages::authorize(shared, head, &admission, "Backup"));
        allowed.map_err(|error| refused(&error))?;
    }
    let inventory = std::str::from_utf8(&bytes)
        .map_err(|error| error.to_string())
        .and_then(Inventory::decode)
        .map_err(|detail| Answer::text(StatusCode::BAD_REQUEST, format!("{detail}\n")))?;
    let Ok(turn) = Arc::clone(&shared.backups).try_acquire_owned() else {
        let text = "another backup is running; retry when it has finished\n";
        return Err(Answer::text(StatusCode::CONFLICT, text));
    };
    let backend = Arc::clone(shared);
    let source = shared.dispatcher.in_pool(memory, 0, move || backend.backend.backup_source());
    let source = match source.await {
        Ok(Some(Ok(source))) => source,
        Ok(Some(Err(error))) => return Err(refused(&error)),
        Ok(None) => return Err(Answer::not_found()),
        Err(not_run) => return Err(Exchange::not_run(&not_run, MediaType::Json)),
    };
    if !source.may_go_to(&inventory) {
        let text = "that directory holds a backup of another store; choose another directory\n";
        return Err(Answer::text(StatusCode::CONFLICT, text));
    }
    send(source, inventory, turn).map_err(|error| {
        let text = format!("the backup could not be started: {error}\n");
        Answer::text(StatusCode::INTERNAL_SERVER_ERROR, text)
    })
}

/// Starts sending the archive.
fn send(
    source: BackupSource,
    inventory: Inventory,
    turn: OwnedSemaphorePermit,
) -> io::Result<HttpResponse> {
    let (sender, chunks) = channel(CHUNKS);
    let run = move || {
        let mut out = Chunks { sender, chunk: BytesMut::with_capacity(CHUNK_BYTES) };
        if let Err(error) = source.write_archive(&inventory, &mut out) {
            // The client sees an incomplete archive; the reason can only be logged here.
            if !out.sender.is_closed() {
                drop(writeln!(io::stderr(), "a backup was aborted: {error}"));
            }
            drop(out.sender.blocking_send(Err(Aborted)));
        }
        drop(turn);
    };
    thread::Builder::new().name("keyloom-backup".into()).spawn(run)?;
    let mut response = HttpResponse::new(ResponseBody::stream(chunks, HELD_BYTES));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    Ok(response)
}

/// Splits the archive into chunks; blocks while the queue is full.
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
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.chunk, BytesMut::with_capacity(CHUNK_BYTES));
        let sent = self.sender.blocking_send(Ok(chunk.freeze()));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}
