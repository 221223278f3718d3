//! The part of CloudWatch that reports Contributor Insights; behind the feature `insights`.
//!
//! `DescribeContributorInsights` of DynamoDB names rules; on AWS, CloudWatch has their reports. Here both
//! are served at one address. CloudWatch has three protocols and clients choose: [`Wire`] is the one of a
//! request. `cbor`, `json` and `query` decode a request into a [`Value`] and encode the answer; `rules` and
//! `report` are the operations, which see values only.

mod cbor;
mod error;
pub(crate) mod fuzzing;
mod iso8601;
mod json;
mod query;
mod report;
mod rules;
mod value;

use std::sync::Arc;
use std::time::Instant;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;

use self::error::CloudwatchError;
use self::value::{Input, Value};
use crate::auth::Admission;
use crate::backend::Backend;
use crate::body::{BodyError, RequestBody};
use crate::dispatch::NotRun;
use crate::exchange::{body_too_large, target, unpacked};
use crate::memory::Reservation;
use crate::operation::Operation;
use crate::request_id;
use crate::response::{Answer, HttpResponse, X_AMZN_REQUEST_ID};
use crate::shared::Shared;

const SERVICE: &str = "GraniteServiceVersion20100801";
const VERSION: &str = "2010-08-01";
/// The service that signatures for CloudWatch are scoped to.
const SIGNED_SERVICE: &str = "monitoring";
/// The largest input that is read. What is answered here takes a few hundred bytes, and a decoded input
/// takes many times its size.
const MAX_INPUT_BYTES: usize = 64 << 10;
/// What a decoded input and the answer to it may take.
const WORK_BYTES: usize = 8 << 20;
const X_AMZN_QUERY_ERROR: HeaderName = HeaderName::from_static("x-amzn-query-error");
const SMITHY_PROTOCOL: HeaderName = HeaderName::from_static("smithy-protocol");

/// The protocol of a request and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Smithy's RPC v2 with CBOR: the path names the operation. What SDKs choose today.
    Cbor,
    /// JSON 1.0: the target names the operation, as with DynamoDB.
    Json,
    /// A form, answered with XML: the field `Action` names the operation. What older clients speak.
    Query,
}

/// An operation with its input.
#[derive(Debug, PartialEq)]
struct Asked {
    operation: String,
    input: Input,
}

/// Why there is no answer of an operation.
#[derive(Debug)]
enum Unanswered {
    /// CloudWatch refuses it.
    Error(CloudwatchError),
    /// It is a form, and not for CloudWatch.
    NotOurs,
}

impl From<CloudwatchError> for Unanswered {
    fn from(failure: CloudwatchError) -> Self {
        Self::Error(failure)
    }
}

impl From<keyloom_engine::Error> for Unanswered {
    fn from(error: keyloom_engine::Error) -> Self {
        Self::Error(CloudwatchError::from(error))
    }
}

impl Wire {
    /// The protocol of a request whose path names an operation of CloudWatch.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        operation_of_path(path).map(|_| Self::Cbor)
    }

    /// The protocol of a request whose target names an operation of CloudWatch.
    pub(crate) fn of_target(target: &str) -> Option<Self> {
        operation_of_target(target).map(|_| Self::Json)
    }

    /// The protocol of a request that has a form for its body.
    pub(crate) fn of_form(head: &Parts) -> Option<Self> {
        let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        let is_form = kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded");
        is_form.then_some(Self::Query)
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Cbor => "application/cbor",
            Self::Json => "application/x-amz-json-1.0",
            Self::Query => "text/xml",
        }
    }

    fn asked(self, head: &Parts, body: &[u8]) -> Result<Asked, Unanswered> {
        let (operation, input) = match self {
            Self::Cbor => (operation_of_path(head.uri.path()), cbor::decode(body)),
            Self::Json => (operation_of_target(target(head)), json::decode(body)),
            Self::Query => return query::asked(body),
        };
        let operation = operation.unwrap_or_default().to_owned();
        Ok(Asked { operation, input: Input::of(input.map_err(CloudwatchError::malformed)?)? })
    }

    /// The response with an operation's output, or with why there is none.
    fn response(self, operation: &str, output: &Result<Value, CloudwatchError>) -> HttpResponse {
        let id = request_id::next();
        let id_text = String::from_utf8_lossy(&id);
        let (status, body) = match output {
            Ok(output) => (
                200,
                match self {
                    Self::Cbor => cbor::encode(output),
                    Self::Json => json::encode(output),
                    Self::Query => query::encode(operation, output, &id_text),
                },
            ),
            Err(failure) => (
                failure.status,
                match self {
                    Self::Cbor => cbor::encode(&failure.value()),
                    Self::Json => json::encode(&failure.value()),
                    Self::Query => query::encode_error(failure, &id_text),
                },
            ),
        };
        let mut response = Answer::other(status, self.content_type(), body).into_response();
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_bytes(&id) {
            headers.insert(X_AMZN_REQUEST_ID, id);
        }
        if self == Self::Cbor {
            headers.insert(SMITHY_PROTOCOL, HeaderValue::from_static("rpc-v2-cbor"));
        }
        // The code as the oldest of the protocols has it: programs compare with that one.
        if let (Err(failure), Self::Cbor | Self::Json) = (output, self)
            && let Ok(code) = HeaderValue::try_from(failure.query_error())
        {
            headers.insert(X_AMZN_QUERY_ERROR, code);
        }
        response
    }
}

fn operation_of_path(path: &str) -> Option<&str> {
    path.strip_prefix("/service/")?.strip_prefix(SERVICE)?.strip_prefix("/operation/")
}

fn operation_of_target(target: &str) -> Option<&str> {
    target.strip_prefix(SERVICE)?.strip_prefix('.')
}

/// Answers one request and counts it.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    started: Instant,
    wire: Wire,
    head: Parts,
    (body, memory): (&mut RequestBody, &mut Reservation),
) -> HttpResponse {
    let (operation, response) = match response(shared, wire, head, body, memory).await {
        Some(response) => (Operation::CloudWatch, response),
        None => (Operation::Unknown, Answer::not_found().into_response()),
    };
    shared.metrics.answered(operation, response.status().as_u16(), started.elapsed());
    response
}

/// The response to a request; none if it is not for CloudWatch.
async fn response(
    shared: &Arc<Shared>,
    wire: Wire,
    head: Parts,
    body: &mut RequestBody,
    memory: &mut Reservation,
) -> Option<HttpResponse> {
    // A stranger cannot make the server hold a body.
    let admission = match shared.auth.admit(&head, SIGNED_SERVICE) {
        Ok(admission) => admission,
        Err(error) => return Some(wire.response("", &Err(error.into()))),
    };
    let bytes = match body.read(memory).await {
        Ok(bytes) => bytes,
        Err(error) => return Some(wire.response("", &Err(unreadable(shared, &error)))),
    };
    let held = Arc::clone(shared);
    // An answer may be large, so that it is encoded there, too.
    let work = move || match read(wire, &head, admission.as_ref(), &bytes) {
        Ok(asked) => {
            let identity = admission.as_ref().and_then(|admission| admission.identity.as_deref());
            let allowed = identity.map_or(Ok(()), |identity| {
                let request = held.asked(identity, &head);
                request.check_action("cloudwatch", &asked.operation, "insight-rule/*")
            });
            let result = allowed.map_err(CloudwatchError::from);
            let result = result.and_then(|()| run(held.backend.as_ref(), &asked));
            Some(wire.response(&asked.operation, &result))
        }
        Err(Unanswered::Error(failure)) => Some(wire.response("", &Err(failure))),
        Err(Unanswered::NotOurs) => None,
    };
    let response = shared.dispatcher.in_pool(memory, WORK_BYTES, work).await;
    response.unwrap_or_else(|not_run| {
        let failure = match not_run {
            NotRun::Panicked => CloudwatchError::broken(),
            NotRun::NoMemory => CloudwatchError::no_memory(),
        };
        Some(wire.response("", &Err(failure)))
    })
}

/// Verifies, unpacks and decodes.
fn read(
    wire: Wire,
    head: &Parts,
    admission: Option<&Admission>,
    body: &[u8],
) -> Result<Asked, Unanswered> {
    if let Some(admission) = admission {
        admission.verify(body)?;
    }
    let body = unpacked(head, body, MAX_INPUT_BYTES)?;
    if body.len() > MAX_INPUT_BYTES {
        return Err(body_too_large(MAX_INPUT_BYTES).into());
    }
    wire.asked(head, &body)
}

fn run(backend: &dyn Backend, asked: &Asked) -> Result<Value, CloudwatchError> {
    match asked.operation.as_str() {
        "DescribeInsightRules" => rules::describe(backend, &asked.input),
        "GetInsightRuleReport" => report::get(backend, &asked.input),
        other => Err(CloudwatchError::unknown_operation(other)),
    }
}

fn unreadable(shared: &Shared, error: &BodyError) -> CloudwatchError {
    match error {
        BodyError::TooLarge => body_too_large(shared.limits.max_body_bytes).into(),
        BodyError::TooSlow => {
            CloudwatchError::new("RequestTimeout", 408, "The body came too slowly.")
        }
        BodyError::ServerFull => CloudwatchError::no_memory(),
        BodyError::Broken => CloudwatchError::malformed("The body is not complete."),
    }
}

#[cfg(test)]
mod tests;
