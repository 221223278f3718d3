//! HTTP in: finds the route and takes an operation through its stages.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode, Version};
use keyloom_engine::Error;

use crate::auth::DYNAMODB;
use crate::body::{BodyError, Buffered, RequestBody};
use crate::cloudwatch::{self, Wire};
use crate::connection::OpenRequest;
use crate::dispatch::{Panicked, inline};
use crate::exchange::{Exchange, Progress, body_too_large, target};
use crate::operation::Operation;
use crate::response::{self, Answer, HttpResponse, MediaType};
use crate::shared::Shared;
use crate::verification;

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
    /// `GET /keyloom/stats`.
    Statistics,
    /// `POST /keyloom/verify`.
    Verification,
    /// An operation of CloudWatch, named by its path.
    Cloudwatch,
    /// A browser asks whether a page may ask.
    Preflight,
    /// Nothing that DynamoDB knows.
    NotFound,
}

impl Route {
    fn of(head: &Parts) -> Self {
        let reads = head.method == Method::GET || head.method == Method::HEAD;
        match head.uri.path() {
            _ if head.method == Method::OPTIONS && head.headers.contains_key(header::ORIGIN) => {
                Self::Preflight
            }
            "/" if head.method == Method::POST => Self::Operation,
            "/" if reads => Self::Healthy,
            "/health" if reads => Self::Health,
            "/metrics" if reads => Self::Metrics,
            "/keyloom/stats" if reads => Self::Statistics,
            "/keyloom/verify" if head.method == Method::POST => Self::Verification,
            path if head.method == Method::POST && Wire::is_path(path) => Self::Cloudwatch,
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
    let started = Instant::now();
    let (head, body) = request.into_parts();
    let from_page = head.headers.contains_key(header::ORIGIN);
    let is_sending = is_sending(&head);
    let mut body = RequestBody::new(&shared, body, started);
    let mut response = match Route::of(&head) {
        Route::Operation => operation(&shared, started, head, &mut body).await,
        Route::Healthy => Answer::text(StatusCode::OK, shared.healthy.clone()).into_response(),
        Route::Health => Answer::text(StatusCode::OK, "ok\n").into_response(),
        Route::Metrics => metrics(&shared).await.into_response(),
        Route::Statistics => statistics(&shared, &head).await.into_response(),
        Route::Verification => verification::answer(&shared, &head).await.into_response(),
        Route::Cloudwatch => {
            let _in_flight = shared.metrics.in_flight.enter();
            cloudwatch::answer(&shared, started, Wire::Cbor, head, &mut body).await
        }
        Route::Preflight => response::preflight(&head.headers),
        Route::NotFound => Answer::not_found().into_response(),
    };
    if is_sending {
        body.discard().await;
    }
    if from_page {
        response::allow_origin(&mut response);
    }
    Ok(response)
}

/// The counters of the server and of what stands behind it.
async fn metrics(shared: &Arc<Shared>) -> Answer {
    let mut page = shared.metrics.render();
    let backend = Arc::clone(shared);
    let run = move || {
        backend.backend.metrics(&mut page);
        page
    };
    match shared.dispatcher.in_pool(run).await {
        Ok(page) => Answer::metrics(page),
        Err(Panicked) => Exchange::broken(MediaType::Json),
    }
}

/// Statistics hold keys, so that whoever asks must be allowed to read the data.
async fn statistics(shared: &Arc<Shared>, head: &Parts) -> Answer {
    let admitted = shared.auth.admit(head, DYNAMODB).and_then(|admission| match admission {
        Some(admission) => admission.verify(&[]),
        None => Ok(()),
    });
    if let Err(error) = admitted {
        return Answer::error(&error, MediaType::Json);
    }
    let backend = Arc::clone(shared);
    match shared.dispatcher.in_pool(move || backend.backend.statistics()).await {
        Ok(Some(json)) => Answer::json(json),
        Ok(None) => Answer::not_found(),
        Err(Panicked) => Exchange::broken(MediaType::Json),
    }
}

/// Whether the client sends its body whatever it is told. One that asks before it sends has nothing
/// on its way, and HTTP/2 can stop a body without closing the connection.
fn is_sending(head: &Parts) -> bool {
    head.version < Version::HTTP_2 && !head.headers.contains_key(header::EXPECT)
}

/// Answers one operation and counts it.
async fn operation(
    shared: &Arc<Shared>,
    started: Instant,
    head: Parts,
    body: &mut RequestBody,
) -> HttpResponse {
    let _in_flight = shared.metrics.in_flight.enter();
    let Some(media_type) = media_type(&head, body) else {
        if Wire::is_form(&head) {
            return cloudwatch::answer(shared, started, Wire::Query, head, body).await;
        }
        shared.metrics.answered(Operation::UNKNOWN, 404, started.elapsed());
        return Answer::not_found().into_response();
    };
    let exchange = Exchange::new(head, media_type);
    let operation = exchange.operation;
    if operation == Operation::UNKNOWN && Wire::is_target(target(exchange.request())) {
        let head = exchange.into_request();
        return cloudwatch::answer(shared, started, Wire::Json, head, body).await;
    }
    let answer = stages(shared, exchange, body).await;
    if answer.is_throttle() {
        shared.metrics.throttles.add(1);
    }
    shared.metrics.answered(operation, answer.status(), started.elapsed());
    answer.into_response()
}

/// The type of the answer; none if the body is of a type that the protocol does not have. Without
/// a body the type does not matter.
fn media_type(head: &Parts, body: &RequestBody) -> Option<MediaType> {
    let stated = head.headers.get(header::CONTENT_TYPE).and_then(MediaType::of);
    stated.or(if body.is_empty() { Some(MediaType::Json) } else { None })
}

/// Admit, read, run.
async fn stages(shared: &Arc<Shared>, mut exchange: Exchange, body: &mut RequestBody) -> Answer {
    match shared.auth.admit(exchange.request(), DYNAMODB) {
        Ok(admission) => exchange.admission = admission,
        // DynamoDB looks at the target first.
        Err(_) if exchange.operation == Operation::UNKNOWN => {
            return exchange.refuse(&Error::UnknownOperation(String::new()));
        }
        Err(error) => return exchange.refuse(&error),
    }
    let buffered = match body.read().await {
        Ok(buffered) => buffered,
        Err(error) => return unreadable(shared, &exchange, error),
    };
    let media_type = exchange.media_type;
    match run(shared, exchange, buffered).await {
        Ok(answer) => packed(shared, answer).await,
        Err(Panicked) => Exchange::broken(media_type),
    }
}

/// Runs an exchange where it belongs. Its body counts as held until the answer is there: what waits for
/// the disk is no smaller.
async fn run(
    shared: &Arc<Shared>,
    exchange: Exchange,
    buffered: Buffered,
) -> Result<Answer, Panicked> {
    let dispatcher = &shared.dispatcher;
    if !dispatcher.needs_pool(exchange.operation, buffered.bytes.len()) {
        match inline(|| exchange.begin(shared, &buffered.bytes))? {
            Progress::Answered(answer) => return Ok(answer),
            Progress::Waiting(call) => {
                let is_alone = shared.metrics.in_flight.get() <= 1;
                return Ok(exchange.answer(dispatcher.wait(call, is_alone).await?));
            }
            Progress::NotBegun => {}
        }
    }
    let shared = Arc::clone(shared);
    dispatcher.in_pool(move || exchange.finish(&shared, &buffered.bytes)).await
}

/// The answer, packed if the client takes that and it helps.
async fn packed(shared: &Shared, answer: Answer) -> Answer {
    let packed = match answer.bytes_to_pack() {
        None => return answer,
        Some(bytes) if bytes <= MAX_INLINE_PACK_BYTES => inline(|| answer.pack()),
        Some(_) => shared.dispatcher.in_pool(|| answer.pack()).await,
    };
    packed.unwrap_or_else(|Panicked| Exchange::broken(MediaType::AmzJson))
}

/// The answer to a body that could not be read.
fn unreadable(shared: &Shared, exchange: &Exchange, error: BodyError) -> Answer {
    match error {
        BodyError::TooLarge => exchange.refuse(&body_too_large(shared.limits.max_body_bytes)),
        BodyError::TooSlow => Answer::empty(StatusCode::REQUEST_TIMEOUT),
        BodyError::ServerFull => Answer::unavailable(exchange.media_type),
        BodyError::Broken => Answer::empty(StatusCode::BAD_REQUEST),
    }
}
