//! `POST /keyloom/backup`: a snapshot of the database's files as a tar archive.
//!
//! The request's body lists the tables that the client already has, which are left out.

use std::io::{self, Write};
use std::sync::Arc;

use hyper::StatusCode;
use hyper::http::request::Parts;
use keyloom_engine::{Error, Inventory};

use crate::auth::DYNAMODB;
use crate::body::{BodyError, RequestBody};
use crate::exchange::{Exchange, body_too_large};
use crate::memory::Reservation;
use crate::pages;
use crate::response::{Answer, HttpResponse, MediaType};
use crate::shared::Shared;
use crate::streaming::Streamed;

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
    let archive =
        Streamed { what: "a backup", content_type: "application/x-tar", work_bytes: 0, turn };
    let write =
        move |out: &mut dyn Write| source.write_archive(&inventory, out).map_err(io::Error::other);
    archive.begin(write).map_err(|error| {
        let text = format!("the backup could not be started: {error}\n");
        Answer::text(StatusCode::INTERNAL_SERVER_ERROR, text)
    })
}
