//! The console: pages under `/keyloom/`, and the small JSON API under `/keyloom/api/` that they ask besides DynamoDB's
//! operations and `/keyloom/stats`. `docs/console-api.md` describes the API.
//!
//! The files are the same for everyone and hold no data, so they need no credentials. Everything else does where
//! credentials are configured, with the action `keyloom:…` for identities with policies. What an answer says comes from
//! a [`Console`], which knows designs, plans and statistics; this module has its routes, its rules and its memory.

mod assets;
mod question;
mod read_only;

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, StatusCode};
use keyloom_engine::{Error, Reply};
use serde_json::{Value, json};

pub use self::question::{
    ConsoleBody, ConsoleQuestion, ConsoleReply, ConsoleRequest, ConsoleWriter,
};

use self::question::Asked;
use crate::auth::DYNAMODB;
use crate::body::{BodyError, RequestBody};
use crate::encoding::Coding;
use crate::exchange::{Exchange, body_too_large};
use crate::memory::Reservation;
use crate::pages;
use crate::request::packed;
use crate::response::{Answer, HttpResponse, MediaType};
use crate::shared::{MAX_EXPORTS, Shared};
use crate::streaming::Streamed;

/// Marks the requests of the console's pages; holds the token where one is needed.
const X_KEYLOOM_CONSOLE: HeaderName = HeaderName::from_static("x-keyloom-console");

/// Memory for what a [`Console`] says of itself.
const INFO_BYTES: usize = 1 << 20;

/// Answers the questions of the console's API that need more than this server knows. Calls may block; they run in the
/// pool.
pub trait Console: Send + Sync + 'static {
    /// What `GET /keyloom/api/info` says besides version, region and how requests are signed: an object.
    fn info(&self) -> Value;

    /// Answers a question.
    fn answer(&self, request: &ConsoleRequest<'_>) -> ConsoleReply;
}

/// How the console is served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsoleOptions {
    /// Serves neither its pages nor its API.
    pub is_off: bool,
    /// Refuses what its pages send to write.
    pub is_read_only: bool,
    /// A secret that every request but those for the files must carry in the header `x-keyloom-console`: for a server
    /// that signs on behalf of its pages, which other pages on the machine must not use.
    pub token: Option<String>,
}

impl ConsoleOptions {
    /// Refuses a request without the token, where one is needed.
    pub(crate) fn check_token(&self, head: &Parts) -> Result<(), Error> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = head.headers.get(X_KEYLOOM_CONSOLE).map(HeaderValue::as_bytes);
        let is_right = given
            .is_some_and(|given| subtle::ConstantTimeEq::ct_eq(given, token.as_bytes()).into());
        if is_right {
            return Ok(());
        }
        Err(Error::UnrecognizedClient(
            "This console answers only the page that `keyloom console` opened; open the address that it printed".into(),
        ))
    }

    /// Refuses an operation that writes and comes from the console's pages, where these may only read.
    pub(crate) fn check_operation(
        &self,
        head: &Parts,
        operation: &str,
        body: &[u8],
    ) -> Result<(), Error> {
        let is_bound = self.is_read_only && head.headers.contains_key(X_KEYLOOM_CONSOLE);
        if !is_bound || read_only::is_read(operation, body) {
            return Ok(());
        }
        Err(no_writes())
    }
}

fn no_writes() -> Error {
    Error::AccessDenied(
        "This console is read-only: it was started so, and nothing was changed".into(),
    )
}

/// What is sent.
enum Answered {
    Whole(Answer),
    /// Written while it is sent.
    Streamed(HttpResponse),
}

/// Answers a request for anything under `/keyloom`.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    head: &Parts,
    body: &mut RequestBody,
    memory: &mut Reservation,
) -> HttpResponse {
    let path = head.uri.path();
    if shared.console.is_off {
        return Answer::not_found().into_response();
    }
    let is_read = head.method == Method::GET || head.method == Method::HEAD;
    let Some(path) = path.strip_prefix("/keyloom/") else {
        return if is_read { redirect() } else { Answer::not_found().into_response() };
    };
    let Some(path) = path.strip_prefix("api/") else {
        let asset = is_read.then(|| assets::answer(path, head)).flatten();
        return asset.unwrap_or_else(|| Answer::not_found().into_response());
    };
    let answered = api(shared, head, path, body, memory).await;
    let mut response = match answered.unwrap_or_else(Answered::Whole) {
        Answered::Streamed(response) => response,
        Answered::Whole(mut answer) => {
            let accepted = head.headers.get(header::ACCEPT_ENCODING);
            let accepted = accepted.and_then(|value| value.to_str().ok());
            answer.accept(accepted.and_then(Coding::accepted));
            packed(shared, answer, memory).await.into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// From `/keyloom` to the page.
fn redirect() -> HttpResponse {
    let mut response = Answer::empty(StatusCode::PERMANENT_REDIRECT).into_response();
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/keyloom/"));
    response
}

/// Checks and answers a question of the API.
async fn api(
    shared: &Arc<Shared>,
    head: &Parts,
    path: &str,
    body: &mut RequestBody,
    memory: &mut Reservation,
) -> Result<Answered, Answer> {
    if path == "info" && head.method == Method::GET {
        return info(shared, head, memory).await.map(Answered::Whole);
    }
    shared.console.check_token(head).map_err(|error| refused(&error))?;
    let asked = Asked::of(&head.method, path);
    let Some(asked) = asked.filter(|_| shared.backend.console().is_some()) else {
        let known = "The console's API has no such question; docs/console-api.md lists them";
        return Err(error(404, "NotFound", known));
    };
    let admission = shared.auth.admit(head, DYNAMODB).map_err(|error| refused(&error))?;
    let bytes = body.read(memory).await.map_err(|error| unreadable(shared, &error))?;
    if let Some(admission) = admission {
        let verified = admission.verify(&bytes);
        let action = asked.question.action();
        let allowed = verified.and_then(|()| pages::authorize(shared, head, &admission, action));
        allowed.map_err(|error| refused(&error))?;
    }
    if asked.question.is_write() && shared.console.is_read_only {
        return Err(refused(&no_writes()));
    }
    if asked.question == ConsoleQuestion::Save && !is_own_page(head) {
        let text =
            "Only the console's own pages may write a design file, not pages of another origin";
        return Err(refused(&Error::AccessDenied(text.into())));
    }
    run(shared, head, asked, bytes, memory).await
}

/// Whether a request comes from no page, or from one of this server. Pages of other origins on this machine may use the
/// database; files are another matter.
fn is_own_page(head: &Parts) -> bool {
    let Some(origin) = head.headers.get(header::ORIGIN) else { return true };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = head.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| head.uri.authority().map(Authority::as_str));
    origin
        .is_some_and(|(_, authority)| host.is_some_and(|host| host.eq_ignore_ascii_case(authority)))
}

/// Has the [`Console`] answer in the pool.
async fn run(
    shared: &Arc<Shared>,
    head: &Parts,
    asked: Asked,
    bytes: Bytes,
    memory: &mut Reservation,
) -> Result<Answered, Answer> {
    // What is read from JSON takes several times its text.
    let work_bytes = asked.question.work_bytes() + bytes.len().saturating_mul(4);
    let room_bytes = memory.limit_bytes().saturating_sub(memory.bytes());
    let query = head.uri.query().unwrap_or_default().to_owned();
    let (server, question) = (Arc::clone(shared), asked.question);
    let work = move || {
        let request = ConsoleRequest::new(&asked, &query, &bytes);
        server.backend.console().map(|console| console.answer(&request))
    };
    match shared.dispatcher.in_pool(memory, work_bytes.min(room_bytes), work).await {
        Ok(Some(reply)) => {
            let most_bytes = memory.limit_bytes() / 2;
            answered(shared, reply, question.work_bytes().min(most_bytes))
        }
        Ok(None) => Err(Answer::not_found()),
        Err(not_run) => Err(Exchange::not_run(&not_run, MediaType::Json)),
    }
}

/// What the page must know before it can ask anything else. Without credentials, where they are needed, it is told only
/// that. What the [`Console`] adds may wait for another server, so it is asked in the pool.
async fn info(
    shared: &Arc<Shared>,
    head: &Parts,
    memory: &mut Reservation,
) -> Result<Answer, Answer> {
    let (is_signed, is_proxy) = (shared.auth.is_signed(), shared.console.token.is_some());
    let signing = match (is_proxy, is_signed) {
        (true, _) => "proxy",
        (false, true) => "required",
        (false, false) => "none",
    };
    let mut info = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "mode": if is_proxy { "console" } else { "server" },
        "signing": signing,
        "region": shared.region,
    });
    let is_known = shared.console.check_token(head).is_ok()
        && shared
            .auth
            .admit(head, DYNAMODB)
            .is_ok_and(|admission| admission.is_none_or(|admission| admission.verify(&[]).is_ok()));
    if let (true, Value::Object(members)) = (is_known, &mut info) {
        members.insert("readOnly".to_owned(), json!(shared.console.is_read_only));
        let server = Arc::clone(shared);
        let work = move || server.backend.console().map(Console::info);
        let more = shared.dispatcher.in_pool(memory, INFO_BYTES, work).await;
        let more = more.map_err(|not_run| Exchange::not_run(&not_run, MediaType::Json))?;
        if let Some(Value::Object(more)) = more {
            members.extend(more);
        }
    }
    Ok(Answer::json(info.to_string()))
}

/// A reply as it is sent.
fn answered(shared: &Shared, reply: ConsoleReply, work_bytes: usize) -> Result<Answered, Answer> {
    let ConsoleReply { status, content_type, body } = reply;
    let write = match body {
        ConsoleBody::Whole(bytes) => {
            return Ok(Answered::Whole(Answer::other(status, content_type, bytes)));
        }
        ConsoleBody::Streamed(write) => write,
    };
    let Ok(turn) = Arc::clone(&shared.exports).try_acquire_owned() else {
        let text = format!("{MAX_EXPORTS} exports are running; try again when one has finished");
        return Err(error(503, "Busy", &text));
    };
    let streamed = Streamed { what: "an export", content_type, work_bytes, turn };
    let begun = streamed.begin(write);
    begun.map(Answered::Streamed).map_err(|cause| {
        error(500, "InternalServerError", &format!("The export could not be started: {cause}"))
    })
}

fn error(status: u16, code: &str, message: &str) -> Answer {
    Answer::other(status, "application/json", question::error_text(code, message))
}

/// A refusal in the words of the API.
fn refused(error: &Error) -> Answer {
    let status = match error {
        Error::AccessDenied(_) => 403,
        error => Reply::from(error).status,
    };
    self::error(status, error.code(), &error.message())
}

fn unreadable(shared: &Shared, error: &BodyError) -> Answer {
    match error {
        BodyError::TooLarge => refused(&body_too_large(shared.limits.max_body_bytes)),
        BodyError::TooSlow => Answer::empty(StatusCode::REQUEST_TIMEOUT),
        BodyError::ServerFull => Answer::unavailable(MediaType::Json),
        BodyError::Broken => Answer::empty(StatusCode::BAD_REQUEST),
    }
}
