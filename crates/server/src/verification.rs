//! `POST /keyloom/verify`: everything behind the server is verified while it serves.

use std::sync::Arc;

use hyper::http::request::Parts;

use crate::auth::DYNAMODB;
use crate::dispatch::Panicked;
use crate::exchange::Exchange;
use crate::response::{Answer, MediaType};
use crate::shared::Shared;

/// Findings show keys, so that whoever asks must be allowed to read the data. The body does not matter.
pub(crate) async fn answer(shared: &Arc<Shared>, head: &Parts) -> Answer {
    let admitted = shared.auth.admit(head, DYNAMODB).and_then(|admission| match admission {
        Some(admission) => admission.verify(&[]),
        None => Ok(()),
    });
    if let Err(error) = admitted {
        return Answer::error(&error, MediaType::Json);
    }
    let backend = Arc::clone(shared);
    match shared.dispatcher.in_pool(move || backend.backend.verify()).await {
        Ok(Some(Ok(report))) => Answer::json(report),
        Ok(Some(Err(error))) => Answer::error(&error, MediaType::Json),
        Ok(None) => Answer::not_found(),
        Err(Panicked) => Exchange::broken(MediaType::Json),
    }
}
