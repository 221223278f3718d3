//! HTTP in: finds the route and takes an operation through its stages.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::{Body, Incoming};
use hyper::header;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode, Version};
use keyloom_engine::Error;

use crate::body::{self, BodyError, Buffered};
use crate::connection::OpenRequest;
use crate::dispatch::{Panicked, Place};
use crate::exchange::{Exchange, body_too_large};
use crate::operation::Operation;
use crate::response::{self, Answer, HttpResponse, MediaType};
use crate::shared::Shared;

/// A larger answer is packed in the pool: that takes longer than the hop.
const MAX_INLINE_PACK_BYTES: usize = 16 << 10;

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
enum Route {
    /// The protocol itself.
    Operation,
    /// `GET /`, which load balancers ask DynamoDB.
    Healthy,
    /// `GET /health`.
    Health,
    /// `GET /metrics`.
    Metrics,
    /// A browser asks whether a page may ask.
    Preflight,
    /// Nothing that DynamoDB knows.
    NotFound,
}

impl Route {
    fn of(request: &Request<Incoming>) -> Self {
        let method = request.method();
        let reads = method == Method::GET || method == Method::HEAD;
        match request.uri().path() {
            _ if method == Method::OPTIONS && request.headers().contains_key(header::ORIGIN) => {
                Self::Preflight
            }
            "/" if method == Method::POST => Self::Operation,
            "/" if reads => Self::Healthy,
            "/health" if reads => Self::Health,
            "/metrics" if reads => Self::Metrics,
            _ => Self::NotFound,
        }
    }
}

/// Answers one request. Every failure is an answer, so the error type is empty.
pub(crate) async fn handle(
    shared: Arc<Shared>,
    _open: OpenRequest,
    request: Request<Incoming>,
) -> Result<HttpResponse, Infallible> {
    let from_page = request.headers().contains_key(header::ORIGIN);
    let mut response = match Route::of(&request) {
        Route::Operation => operation(&shared, request).await,
        Route::Healthy => Answer::text(StatusCode::OK, shared.healthy.clone()).into_response(),
        Route::Health => Answer::text(StatusCode::OK, "ok\n").into_response(),
        Route::Metrics => Answer::text(StatusCode::OK, shared.metrics.render()).into_response(),
        Route::Preflight => response::preflight(request.headers()),
        Route::NotFound => Answer::not_found().into_response(),
    };
    if from_page {
        response::allow_origin(&mut response);
    }
    Ok(response)
}

/// Answers one operation and counts it.
async fn operation(shared: &Arc<Shared>, request: Request<Incoming>) -> HttpResponse {
    let started = Instant::now();
    let _in_flight = shared.metrics.in_flight.enter();
    let (head, body) = request.into_parts();
    let Some(media_type) = media_type(&head, &body) else {
        shared.metrics.answered(Operation::UNKNOWN, 404, started.elapsed());
        return Answer::not_found().into_response();
    };
    let exchange = Exchange::new(head, media_type);
    let operation = exchange.operation;
    let answer = stages(shared, exchange, body).await;
    if answer.is_throttle() {
        shared.metrics.throttles.add(1);
    }
    shared.metrics.answered(operation, answer.status(), started.elapsed());
    answer.into_response()
}

/// The type of the answer; none if the body is of a type that the protocol does not have. Without
/// a body the type does not matter.
fn media_type(head: &Parts, body: &Incoming) -> Option<MediaType> {
    let stated = head.headers.get(header::CONTENT_TYPE).and_then(MediaType::of);
    stated.or(if body.is_end_stream() { Some(MediaType::Json) } else { None })
}

/// Admit, read, run.
async fn stages(shared: &Arc<Shared>, mut exchange: Exchange, mut body: Incoming) -> Answer {
    match shared.auth.admit(exchange.request()) {
        Ok(admission) => exchange.admission = admission,
        // DynamoDB looks at the target first.
        Err(_) if exchange.operation == Operation::UNKNOWN => {
            return exchange.refuse(&Error::UnknownOperation(String::new()));
        }
        Err(error) => return exchange.refuse(&error),
    }
    let buffered = match Buffered::read(shared, &mut body).await {
        Ok(buffered) => buffered,
        Err(error) => return unreadable(shared, &exchange, error, body).await,
    };
    let place = shared.dispatcher.policy.place(exchange.operation.work(), buffered.bytes.len());
    let media_type = exchange.media_type;
    let run = {
        let shared = Arc::clone(shared);
        move || exchange.answer(&shared, &buffered.bytes)
    };
    match shared.dispatcher.run(place, run).await {
        Ok(answer) => packed(shared, answer).await,
        Err(Panicked) => Exchange::broken(media_type),
    }
}

/// The answer, packed if the client takes that and it helps.
async fn packed(shared: &Shared, answer: Answer) -> Answer {
    let Some(bytes) = answer.bytes_to_pack() else { return answer };
    let place = if bytes > MAX_INLINE_PACK_BYTES { Place::Pool } else { Place::Inline };
    let packed = shared.dispatcher.run(place, || answer.pack()).await;
    packed.unwrap_or_else(|Panicked| Exchange::broken(MediaType::AmzJson))
}

/// The answer to a body that could not be read.
async fn unreadable(
    shared: &Shared,
    exchange: &Exchange,
    error: BodyError,
    mut body: Incoming,
) -> Answer {
    match error {
        BodyError::TooLarge => {
            let head = exchange.request();
            // A client that asks before it sends has nothing on its way yet.
            let sending = !head.headers.contains_key(header::EXPECT);
            if sending && head.version < Version::HTTP_2 {
                body::discard(shared, &mut body).await;
            }
            exchange.refuse(&body_too_large(shared.limits.max_body_bytes))
        }
        BodyError::TooSlow => Answer::empty(StatusCode::REQUEST_TIMEOUT),
        BodyError::ServerFull => Answer::unavailable(exchange.media_type),
        BodyError::Broken => Answer::empty(StatusCode::BAD_REQUEST),
    }
}
