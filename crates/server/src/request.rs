//! HTTP requests: finds the route and runs an operation through its stages.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode, Version};
use keyloom_engine::{Error, decoded_bytes};

use crate::auth::{self, DYNAMODB};
use crate::backup;
use crate::body::{BodyError, RequestBody};
use crate::console;
use crate::dispatch::{NotRun, inline};
use crate::exchange::{Exchange, Progress, body_too_large, decoded_too_large, target};
use crate::forks;
use crate::insights::{self, Wire};
use crate::memory::{Full, Reservation};
use crate::operation::Operation;
use crate::origin::RequestOrigin;
use crate::pages;
use crate::response::{self, Answer, HttpResponse, MediaType};
use crate::shared::Shared;
use crate::stalls::OpenRequest;

/// Larger responses are compressed in the pool: that takes longer than the hop.
const MAX_INLINE_PACK_BYTES: usize = 16 << 10;

/// The headers of a request, and its URL, may each have so many bytes, as with DynamoDB. hyper reads larger heads,
/// so that these are refused with DynamoDB's status.
const MAX_PART_BYTES: usize = 16 << 10;

/// The destination of a request.
#[derive(Debug, PartialEq, Eq)]
enum Route {
    /// A DynamoDB operation.
    Operation,
    /// `GET /`, DynamoDB's health check for load balancers.
    Healthy,
    /// `GET /health`.
    Health,
    /// `GET /metrics`.
    Metrics,
    /// `GET /keyloom/stats`, or `GET /keyloom/stats/heat`.
    Statistics { with_heat: bool },
    /// `POST /keyloom/verify`.
    Verification,
    /// `POST /keyloom/backup`.
    Backup,
    /// `POST` or `DELETE /keyloom/fork`.
    Fork,
    /// Anything else under `/keyloom`: the console's pages and their API.
    Console,
    /// An operation of CloudWatch, named by its path.
    Insights(Wire),
    /// A CORS preflight.
    Preflight,
    /// Anything that DynamoDB does not serve.
    NotFound,
}

impl Route {
    fn of(head: &Parts, listener: ListenerKind) -> Self {
        let reads = head.method == Method::GET || head.method == Method::HEAD;
        match head.uri.path() {
            _ if head.method == Method::OPTIONS && head.headers.contains_key(header::ORIGIN) => {
                Self::Preflight
            }
            "/health" if reads => Self::Health,
            "/metrics" if reads => Self::Metrics,
            _ if listener == ListenerKind::Metrics => Self::NotFound,
            "/" if head.method == Method::POST => Self::Operation,
            "/" if reads => Self::Healthy,
            "/keyloom/stats" if reads => Self::Statistics { with_heat: false },
            "/keyloom/stats/heat" if reads => Self::Statistics { with_heat: true },
            "/keyloom/verify" if head.method == Method::POST => Self::Verification,
            "/keyloom/backup" if head.method == Method::POST => Self::Backup,
            "/keyloom/fork" if [Method::POST, Method::DELETE].contains(&head.method) => Self::Fork,
            path if path == "/keyloom" || path.starts_with("/keyloom/") => Self::Console,
            path if head.method == Method::POST => {
                Wire::of_path(path).map_or(Self::NotFound, Self::Insights)
            }
            _ => Self::NotFound,
        }
    }
}

/// The listener that a request arrived at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    /// The endpoint.
    Endpoint,
    /// The listener for metrics and health only.
    Metrics,
}

/// Handles one request. Every failure is a response, so the error type is empty.
pub(crate) async fn handle(
    shared: Arc<Shared>,
    open: OpenRequest,
    listener: ListenerKind,
    request: Request<Incoming>,
) -> Result<HttpResponse, Infallible> {
    let started = Instant::now();
    let (mut head, body) = request.into_parts();
    if shared.auth.has_identities() {
        head.extensions.insert(open.peer());
    }
    let is_sending = is_sending(&head);
    let (mut body, mut memory) = (RequestBody::new(&shared, body, started), open.reservation());
    let origin = match listener {
        ListenerKind::Endpoint => shared.origins.check_request(&head),
        ListenerKind::Metrics => shared.metrics_origins.check_request(&head),
    };
    let mut response = match (&origin, memory.grow(head_bytes(&head))) {
        (Err(refusal), _) => {
            shared.metrics.strangers.add(1);
            Answer::refused(refusal).into_response()
        }
        (Ok(_), _) if header_bytes(&head) > MAX_PART_BYTES || url_bytes(&head) > MAX_PART_BYTES => {
            Answer::empty(StatusCode::BAD_REQUEST).into_response()
        }
        (Ok(_), Err(Full)) => Answer::unavailable(MediaType::Json).into_response(),
        (Ok(_), Ok(())) => match Route::of(&head, listener) {
            Route::Operation => operation(&shared, started, head, &mut body, &mut memory).await,
            Route::Insights(wire) => {
                let _in_flight = shared.metrics.in_flight.enter();
                let input = (&mut body, &mut memory);
                insights::answer(&shared, started, wire, head, input).await
            }
            Route::Backup => backup::answer(&shared, &head, &mut body, &mut memory).await,
            Route::Console => console::answer(&shared, &head, &mut body, &mut memory).await,
            Route::Preflight => response::preflight(&head.headers),
            route => page(&shared, route, listener, &head, &mut memory).await.into_response(),
        },
    };
    let held_bytes = response.body().held_bytes();
    if memory.settle(held_bytes, shared.limits.memory_timeout).await.is_err() {
        response = Answer::unavailable(MediaType::Json).into_response();
    }
    if is_sending {
        body.discard().await;
    }
    if let Ok(RequestOrigin::Page(origin)) = origin {
        response::allow_origin(&mut response, origin);
    }
    response.body_mut().hold(memory, open);
    Ok(response)
}

/// The memory of a request's head.
fn head_bytes(head: &Parts) -> usize {
    /// Header tables, the task, and protocol state.
    const FIXED_BYTES: usize = 2048;
    FIXED_BYTES + header_bytes(head) + url_bytes(head)
}

/// The size of all headers, without the characters between them.
fn header_bytes(head: &Parts) -> usize {
    let header = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    head.headers.iter().map(header).sum()
}

fn url_bytes(head: &Parts) -> usize {
    head.uri.path().len() + head.uri.query().map_or(0, str::len)
}

/// Pages about the server and its backend.
async fn page(
    shared: &Arc<Shared>,
    route: Route,
    listener: ListenerKind,
    head: &Parts,
    memory: &mut Reservation,
) -> Answer {
    let action = match route {
        Route::Metrics if listener == ListenerKind::Endpoint => Some("GetMetrics"),
        Route::Statistics { .. } => Some("GetStatistics"),
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
        Route::Statistics { with_heat } => pages::statistics(shared, memory, with_heat).await,
        Route::Verification => pages::verification(shared, memory).await,
        Route::Fork => forks::answer(shared, head, memory).await,
        Route::Operation
        | Route::Backup
        | Route::Console
        | Route::Insights(_)
        | Route::Preflight
        | Route::NotFound => Answer::not_found(),
    }
}

/// Whether the client sends its body regardless of the response. A client that expects `100
/// Continue` has not sent it yet, and HTTP/2 can cancel a body without closing the connection.
fn is_sending(head: &Parts) -> bool {
    head.version < Version::HTTP_2 && !head.headers.contains_key(header::EXPECT)
}

/// Runs one operation and counts it.
async fn operation(
    shared: &Arc<Shared>,
    started: Instant,
    head: Parts,
    body: &mut RequestBody,
    memory: &mut Reservation,
) -> HttpResponse {
    let _in_flight = shared.metrics.in_flight.enter();
    let Some(media_type) = media_type(&head, body) else {
        if let Some(wire) = Wire::of_form(&head) {
            return insights::answer(shared, started, wire, head, (body, memory)).await;
        }
        shared.metrics.answered(Operation::Unknown, 404, started.elapsed());
        return Answer::not_found().into_response();
    };
    let exchange = Exchange::new(head, media_type);
    let operation = exchange.operation;
    if operation == Operation::Unknown
        && let Some(wire) = Wire::of_target(target(exchange.request()))
    {
        let head = exchange.into_request();
        return insights::answer(shared, started, wire, head, (body, memory)).await;
    }
    let answer = stages(shared, exchange, body, memory).await;
    if answer.is_throttle() {
        shared.metrics.throttles.add(1);
    }
    shared.metrics.answered(operation, answer.status(), started.elapsed());
    answer.into_response()
}

/// The media type of the response; `None` if the body has a type that the protocol does not know.
/// Without a body any type is accepted.
fn media_type(head: &Parts, body: &RequestBody) -> Option<MediaType> {
    let stated = head.headers.get(header::CONTENT_TYPE).and_then(MediaType::of);
    stated.or(if body.is_empty() { Some(MediaType::Json) } else { None })
}

/// Authenticates, reads the body, decompresses and runs.
async fn stages(
    shared: &Arc<Shared>,
    mut exchange: Exchange,
    body: &mut RequestBody,
    memory: &mut Reservation,
) -> Answer {
    let admission = auth::check_region(exchange.request(), &shared.region, shared.checks_region)
        .and_then(|()| shared.console.check_token(exchange.request()))
        .and_then(|()| shared.auth.admit(exchange.request(), DYNAMODB));
    match admission {
        Ok(admission) => {
            exchange.identity = admission.as_ref().and_then(|one| one.identity.clone());
            exchange.admission = admission;
        }
        // DynamoDB checks the target first.
        Err(_) if exchange.operation == Operation::Unknown => {
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

/// Decompresses the body and runs the exchange.
async fn run_packed(
    shared: &Arc<Shared>,
    exchange: Exchange,
    bytes: Bytes,
    memory: &mut Reservation,
) -> Result<Answer, NotRun> {
    /// The maximum compression ratio of deflate, which gzip uses, too.
    const MAX_RATIO: usize = 1032;
    let max_bytes = shared.limits.max_body_bytes;
    let before_bytes = memory.bytes();
    // The output buffer doubles until it is large enough.
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

/// Runs an exchange on the right thread. Its body stays reserved until the response exists: a write
/// that waits for the disk is no smaller.
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
                return Ok(
                    exchange.answer(dispatcher.wait(call, exchange.operation, is_alone).await?)
                );
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

/// Compresses the response if the client accepts that and it helps.
pub(crate) async fn packed(shared: &Shared, answer: Answer, memory: &mut Reservation) -> Answer {
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

/// The response to a body that could not be read.
fn unreadable(shared: &Shared, exchange: &Exchange, error: BodyError) -> Answer {
    match error {
        BodyError::TooLarge => exchange.refuse(&body_too_large(shared.limits.max_body_bytes)),
        BodyError::TooSlow => Answer::empty(StatusCode::REQUEST_TIMEOUT),
        BodyError::ServerFull => Answer::unavailable(exchange.media_type),
        BodyError::Broken => Answer::empty(StatusCode::BAD_REQUEST),
    }
}
