//! HTTP in: finds the route and takes an operation through its stages.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode, Version};
use keyloom_engine::{Error, decoded_bytes};

use crate::auth::DYNAMODB;
use crate::backup;
use crate::body::{BodyError, RequestBody};
use crate::cloudwatch::{self, Wire};
use crate::dispatch::{NotRun, inline};
use crate::exchange::{Exchange, Progress, body_too_large, decoded_too_large, target};
use crate::memory::{Full, Reservation};
use crate::operation::Operation;
use crate::overseer::OpenRequest;
use crate::pages;
use crate::response::{self, Answer, HttpResponse, MediaType};
use crate::shared::Shared;
use crate::visitor::Visitor;

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
    /// `POST /keyloom/backup`.
    Backup,
    /// An operation of CloudWatch, named by its path.
    Cloudwatch,
    /// A browser asks whether a page may ask.
    Preflight,
    /// Nothing that DynamoDB knows.
    NotFound,
}

impl Route {
    fn of(head: &Parts, door: Door) -> Self {
        let reads = head.method == Method::GET || head.method == Method::HEAD;
        match head.uri.path() {
            _ if head.method == Method::OPTIONS && head.headers.contains_key(header::ORIGIN) => {
                Self::Preflight
            }
            "/health" if reads => Self::Health,
            "/metrics" if reads => Self::Metrics,
            _ if door == Door::Metrics => Self::NotFound,
            "/" if head.method == Method::POST => Self::Operation,
            "/" if reads => Self::Healthy,
            "/keyloom/stats" if reads => Self::Statistics,
            "/keyloom/verify" if head.method == Method::POST => Self::Verification,
            "/keyloom/backup" if head.method == Method::POST => Self::Backup,
            path if head.method == Method::POST && Wire::is_path(path) => Self::Cloudwatch,
            _ => Self::NotFound,
        }
    }
}

/// Which listener a request came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The endpoint.
    Endpoint,
    /// The one for metrics and health only.
    Metrics,
}

/// Answers one request. Every failure is an answer, so the error type is empty.
pub(crate) async fn handle(
    shared: Arc<Shared>,
    open: OpenRequest,
    door: Door,
    request: Request<Incoming>,
) -> Result<HttpResponse, Infallible> {
    let started = Instant::now();
    let (mut head, body) = request.into_parts();
    if shared.auth.has_identities() {
        head.extensions.insert(open.peer());
    }
    let is_sending = is_sending(&head);
    let (mut body, mut memory) = (RequestBody::new(&shared, body, started), open.reservation());
    let visitor = match door {
        Door::Endpoint => shared.visitors.judge(&head),
        Door::Metrics => shared.metrics_visitors.judge(&head),
    };
    let mut response = match (&visitor, memory.grow(head_bytes(&head))) {
        (Err(refusal), _) => {
            shared.metrics.strangers.add(1);
            Answer::refused(refusal).into_response()
        }
        (Ok(_), Err(Full)) => Answer::unavailable(MediaType::Json).into_response(),
        (Ok(_), Ok(())) => match Route::of(&head, door) {
            Route::Operation => operation(&shared, started, head, &mut body, &mut memory).await,
            Route::Cloudwatch => {
                let _in_flight = shared.metrics.in_flight.enter();
                let input = (&mut body, &mut memory);
                cloudwatch::answer(&shared, started, Wire::Cbor, head, input).await
            }
            Route::Backup => backup::answer(&shared, &head, &mut body, &mut memory).await,
            Route::Preflight => response::preflight(&head.headers),
            route => page(&shared, route, door, &head, &mut memory).await.into_response(),
        },
    };
    let held_bytes = response.body().held_bytes();
    if memory.settle(held_bytes, shared.limits.memory_timeout).await.is_err() {
        response = Answer::unavailable(MediaType::Json).into_response();
    }
    if is_sending {
        body.discard().await;
    }
    if let Ok(Visitor::Page(origin)) = visitor {
        response::allow_origin(&mut response, origin);
    }
    response.body_mut().hold(memory, open);
    Ok(response)
}

/// What a request's head takes.
fn head_bytes(head: &Parts) -> usize {
    /// The tables of headers, the task, and what the protocol keeps for it.
    const FIXED_BYTES: usize = 2048;
    let header = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    let headers: usize = head.headers.iter().map(header).sum();
    FIXED_BYTES + headers + head.uri.path().len() + head.uri.query().map_or(0, str::len)
}

/// What the server tells of itself and of what stands behind it.
async fn page(
    shared: &Arc<Shared>,
    route: Route,
    door: Door,
    head: &Parts,
    memory: &mut Reservation,
) -> Answer {
    let action = match route {
        Route::Metrics if door == Door::Endpoint => Some("GetMetrics"),
        Route::Statistics => Some("GetStatistics"),
        Route::Verification => Some("Verify"),
        _ => None,
    };
    if let Some(action) = action
        && let Err(error) = pages::admit(shared, head, action)
    {
        return Answer::error(&error, MediaType::Json);
    }
    match route {
        Route::Healthy => Answer::text(StatusCode::OK, shared.healthy.clone()),
        Route::Health => pages::health(shared),
        Route::Metrics => pages::metrics(shared, memory).await,
        Route::Statistics => pages::statistics(shared, memory).await,
        Route::Verification => pages::verification(shared, memory).await,
        Route::Operation
        | Route::Backup
        | Route::Cloudwatch
        | Route::Preflight
        | Route::NotFound => Answer::not_found(),
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
    memory: &mut Reservation,
) -> HttpResponse {
    let _in_flight = shared.metrics.in_flight.enter();
    let Some(media_type) = media_type(&head, body) else {
        if Wire::is_form(&head) {
            return cloudwatch::answer(shared, started, Wire::Query, head, (body, memory)).await;
        }
        shared.metrics.answered(Operation::UNKNOWN, 404, started.elapsed());
        return Answer::not_found().into_response();
    };
    let exchange = Exchange::new(head, media_type);
    let operation = exchange.operation;
    if operation == Operation::UNKNOWN && Wire::is_target(target(exchange.request())) {
        let head = exchange.into_request();
        return cloudwatch::answer(shared, started, Wire::Json, head, (body, memory)).await;
    }
    let answer = stages(shared, exchange, body, memory).await;
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

/// Admit, read, unpack, run.
async fn stages(
    shared: &Arc<Shared>,
    mut exchange: Exchange,
    body: &mut RequestBody,
    memory: &mut Reservation,
) -> Answer {
    match shared.auth.admit(exchange.request(), DYNAMODB) {
        Ok(admission) => {
            exchange.identity = admission.as_ref().and_then(|one| one.identity.clone());
            exchange.admission = admission;
        }
        // DynamoDB looks at the target first.
        Err(_) if exchange.operation == Operation::UNKNOWN => {
            return exchange.refuse(&Error::UnknownOperation(String::new()));
        }
        Err(error) => return exchange.refuse(&error),
    }
    let bytes = match body.read(memory).await {
        Ok(bytes) => bytes,
        Err(error) => return unreadable(shared, &exchange, error),
    };
    let media_type = exchange.media_type;
    let answer = if exchange.is_packed() {
        run_packed(shared, exchange, bytes, memory).await
    } else {
        run(shared, exchange, bytes, memory).await
    };
    match answer {
        Ok(answer) => packed(shared, answer, memory).await,
        Err(not_run) => Exchange::not_run(&not_run, media_type),
    }
}

/// Unpacks the body of an exchange, and runs it.
async fn run_packed(
    shared: &Arc<Shared>,
    exchange: Exchange,
    bytes: Bytes,
    memory: &mut Reservation,
) -> Result<Answer, NotRun> {
    /// What a byte can stand for at most, as the format has it.
    const MAX_RATIO: usize = 1032;
    let max_bytes = shared.limits.max_body_bytes;
    let before_bytes = memory.bytes();
    // The place of what is unpacked doubles until it is large enough.
    let bound = bytes.len().saturating_mul(MAX_RATIO).min(max_bytes) * 2;
    let unpack = move || exchange.unpack(&bytes, max_bytes);
    match shared.dispatcher.in_pool(memory, bound, unpack).await? {
        Ok((exchange, plain)) => {
            memory.shrink_to(before_bytes + plain.len());
            run(shared, exchange, plain, memory).await
        }
        Err(refusal) => Ok(refusal),
    }
}

/// Runs an exchange where it belongs. Its body counts as held until the answer is there: what waits for
/// the disk is no smaller.
async fn run(
    shared: &Arc<Shared>,
    exchange: Exchange,
    bytes: Bytes,
    memory: &mut Reservation,
) -> Result<Answer, NotRun> {
    let dispatcher = &shared.dispatcher;
    if !dispatcher.needs_pool(exchange.operation, bytes.len()) {
        dispatcher.turn(memory).await?;
        match inline(|| exchange.begin(shared, &bytes))? {
            Progress::Answered(answer) => return Ok(answer),
            Progress::Waiting(call) => {
                let is_alone = shared.metrics.in_flight.get() <= 1;
                return Ok(exchange.answer(dispatcher.wait(call, is_alone).await?));
            }
            Progress::NotBegun => {}
        }
    }
    let room_bytes = memory.limit_bytes().saturating_sub(memory.bytes());
    let decoded_bytes = decoded_bytes(&bytes);
    if decoded_bytes > room_bytes {
        return Ok(exchange.refuse(&decoded_too_large(decoded_bytes)));
    }
    let answer_bytes = exchange.operation.largest_answer_bytes();
    let work_bytes = room_bytes.min(decoded_bytes + answer_bytes);
    let shared = Arc::clone(shared);
    dispatcher.in_pool(memory, work_bytes, move || exchange.finish(&shared, &bytes)).await
}

/// The answer, packed if the client takes that and it helps.
async fn packed(shared: &Shared, answer: Answer, memory: &mut Reservation) -> Answer {
    let packed = match answer.bytes_to_pack() {
        None => return answer,
        Some(bytes) if bytes <= MAX_INLINE_PACK_BYTES => inline(|| answer.pack()),
        Some(bytes) => {
            memory.shrink_to(bytes);
            shared.dispatcher.in_pool(memory, bytes, || answer.pack()).await
        }
    };
    packed.unwrap_or_else(|not_run| Exchange::not_run(&not_run, MediaType::AmzJson))
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
