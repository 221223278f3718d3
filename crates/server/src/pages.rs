//! Pages about the server and its backend: health, metrics, statistics, verification.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::http::request::Parts;
use keyloom_engine::Error;

use crate::auth::{Admission, DYNAMODB};
use crate::exchange::Exchange;
use crate::health;
use crate::memory::Reservation;
use crate::response::{Answer, MediaType};
use crate::shared::Shared;

/// Memory for rendering metrics: little, so that they are available when memory is short.
const METRICS_BYTES: usize = 32 << 10;
/// Memory for rendering statistics, which have many keys.
const STATISTICS_BYTES: usize = 4 << 20;
/// Memory for a whole recording: heat maps of 64 tables and indexes.
const RECORDING_BYTES: usize = 24 << 20;
/// Memory for a verification report, which lists a bounded number of findings.
const VERIFICATION_BYTES: usize = 4 << 20;

/// Whether writes are accepted.
pub(crate) fn health(shared: &Shared) -> Answer {
    let health = shared.health.update(shared.backend.health());
    match health::complaint(&health) {
        None => Answer::text(StatusCode::OK, "ok\n"),
        Some(complaint) => Answer::text(StatusCode::SERVICE_UNAVAILABLE, complaint),
    }
}

/// The counters of the server and its backend.
pub(crate) async fn metrics(shared: &Arc<Shared>, memory: &mut Reservation) -> Answer {
    let mut page = shared.metrics.render();
    shared.render_state(&mut page);
    let backend = Arc::clone(shared);
    let run = move || {
        backend.backend.metrics(&mut page);
        page
    };
    match shared.dispatcher.in_pool(memory, METRICS_BYTES, run).await {
        Ok(page) => Answer::metrics(page),
        Err(not_run) => Exchange::not_run(&not_run, MediaType::Json),
    }
}

/// Answers with the statistics of requests.
pub(crate) async fn statistics(
    shared: &Arc<Shared>,
    memory: &mut Reservation,
    with_heat: bool,
) -> Answer {
    let backend = Arc::clone(shared);
    let run = move || backend.backend.statistics(with_heat);
    let bytes = if with_heat { RECORDING_BYTES } else { STATISTICS_BYTES };
    match shared.dispatcher.in_pool(memory, bytes, run).await {
        Ok(Some(json)) => Answer::json(json),
        Ok(None) => Answer::not_found(),
        Err(not_run) => Exchange::not_run(&not_run, MediaType::Json),
    }
}

/// Verifies the database while the server keeps serving. The request's body is ignored.
pub(crate) async fn verification(shared: &Arc<Shared>, memory: &mut Reservation) -> Answer {
    let backend = Arc::clone(shared);
    let run = move || backend.backend.verify();
    match shared.dispatcher.in_pool(memory, VERIFICATION_BYTES, run).await {
        Ok(Some(Ok(report))) => Answer::json(report),
        Ok(Some(Err(error))) => Answer::error(&error, MediaType::Json),
        Ok(None) => Answer::not_found(),
        Err(not_run) => Exchange::not_run(&not_run, MediaType::Json),
    }
}

/// Statistics and findings contain keys, and metrics contain table names, so they require
/// permission to read the data: a signature and, with policies, the action `keyloom:ACTION`.
pub(crate) fn admit(shared: &Shared, head: &Parts, action: &str) -> Result<(), Error> {
    shared.console.check_token(head)?;
    let Some(admission) = shared.auth.admit(head, DYNAMODB)? else { return Ok(()) };
    admission.verify(&[])?;
    authorize(shared, head, &admission, action)
}

/// Whether the policies allow an action on the server itself.
pub(crate) fn authorize(
    shared: &Shared,
    head: &Parts,
    admission: &Admission,
    action: &str,
) -> Result<(), Error> {
    let Some(identity) = &admission.identity else { return Ok(()) };
    shared.asked(identity, head).check_action("keyloom", action, "server")
}
