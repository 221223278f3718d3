//! Signed requests to S3, with retries of transient failures.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::time::Duration;

use keyloom_api::clock::{Clock, SystemClock};
use keyloom_engine::buckets::{Closing, Failure};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::Agent;

use super::super::provider::Provider;
use super::super::{Endpoint, call_unless, sign, xml};
use crate::error::Result;
use crate::retry::{AttemptError, Retry};

/// A part of an object takes longer than a request for items.
const LEAST_TIMEOUT: Duration = Duration::from_mins(2);
/// A page of a listing or a range of an object is smaller.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// What S3 leaves as it is in queries, and in paths beside the slash.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const IN_PATH: &AsciiSet = &IN_QUERY.remove(b'/');

/// A connection to an endpoint.
pub(super) struct Client {
    agent: Agent,
    url: String,
    host: String,
    region: String,
    credentials: Provider,
    retry: Retry,
}

/// A request to the object store before it is signed.
pub(super) struct Request<'a> {
    pub(super) method: &'static str,
    pub(super) bucket: &'a str,
    /// The object; empty for the bucket itself.
    pub(super) key: &'a str,
    pub(super) query: Vec<(&'static str, &'a str)>,
    pub(super) headers: Vec<(&'static str, Cow<'a, str>)>,
    pub(super) body: &'a [u8],
    /// No answer is waited for when the database is being closed.
    pub(super) closing: Closing,
}

/// An answer without an error.
pub(super) struct Answer {
    pub(super) etag: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

/// Why an attempt brought no answer.
enum Trouble {
    /// The next one may.
    Passing(Failure),
    Lasting(Failure),
}

impl Client {
    pub(super) fn new(endpoint: Endpoint) -> Result<Self> {
        let settled = endpoint.settle()?;
        let agent = Agent::config_builder()
            .timeout_connect(Some(settled.connect_timeout))
            .timeout_global(Some(settled.request_timeout.max(LEAST_TIMEOUT)))
            .http_status_as_error(false)
            .build()
            .new_agent();
        Ok(Self {
            agent,
            url: settled.url.trim_end_matches('/').to_owned(),
            host: settled.host,
            region: settled.region,
            credentials: settled.credentials,
            retry: Retry::default(),
        })
    }

    /// Sends a request, all of which can be sent again.
    pub(super) fn send(&self, request: &Request<'_>) -> Result<Answer, Failure> {
        let mut failed = 0;
        loop {
            match self.attempt(request) {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Lasting(failure)) => return Err(failure),
                Err(Trouble::Passing(failure)) => {
                    failed += 1;
                    if failed >= self.retry.max_attempts || request.closing.is_closing() {
                        return Err(failure);
                    }
                    self.retry.pause(failed);
                }
            }
        }
    }

    fn attempt(&self, request: &Request<'_>) -> Result<Answer, Trouble> {
        let now_ms = SystemClock.now_ms();
        let credentials = self.credentials.credentials(now_ms).map_err(no_credentials)?;
        let (path, query) = request.target();
        let body_hash = sign::hash(request.body);
        let mut headers: Vec<(&str, &str)> =
            request.headers.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        headers.push(("x-amz-content-sha256", &body_hash));
        let unsigned = sign::Unsigned {
            service: "s3",
            method: request.method,
            host: &self.host,
            path: &path,
            query: &query,
            headers: &headers,
            body_hash: &body_hash,
        };
        let signature = sign::headers(&credentials, &self.region, unsigned, now_ms);
        let mark = if query.is_empty() { "" } else { "?" };
        let mut http = ureq::http::Request::builder()
            .method(request.method)
            .uri(format!("{}{path}{mark}{query}", self.url));
        for (name, value) in headers {
            http = http.header(name, value);
        }
        for (name, value) in signature {
            http = http.header(name, value);
        }
        let lasting = |text| Trouble::Lasting(Failure::new("S3InternalServerError", text));
        let http = http.body(request.body.to_vec()).map_err(|error| lasting(error.to_string()))?;
        let (agent, url, closing) = (self.agent.clone(), self.url.clone(), &request.closing);
        call_unless(|| closing.is_closing(), move || exchange(&agent, &url, http))
            .map_err(|error| lasting(format!("no thread can be started: {error}")))?
            .unwrap_or_else(|| Err(Trouble::Lasting(Failure::interrupted())))
    }
}

fn exchange(
    agent: &Agent,
    url: &str,
    http: ureq::http::Request<Vec<u8>>,
) -> Result<Answer, Trouble> {
    let silent = |error: ureq::Error| {
        let text = format!("The S3 endpoint {url} does not answer: {error}");
        Trouble::Passing(Failure::new("S3InternalServerError", text))
    };
    let mut response = agent.run(http).map_err(silent)?;
    let status = response.status().as_u16();
    let etag = response.headers().get("etag").and_then(|tag| tag.to_str().ok());
    let etag = etag.map(str::to_owned);
    let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES);
    let body = body.read_to_vec().map_err(silent)?;
    // Completing an upload may fail after its status has been sent.
    let is_error = !(200..300).contains(&status) || is_late_error(&body);
    if is_error { Err(trouble(status, &body)) } else { Ok(Answer { etag, body }) }
}

impl Request<'_> {
    /// The path and the query, as they are sent and signed.
    fn target(&self) -> (String, String) {
        let slash = if self.key.is_empty() { "" } else { "/" };
        let path = format!("/{}{slash}{}", self.bucket, utf8_percent_encode(self.key, IN_PATH));
        let mut parameters = self.query.clone();
        parameters.sort_unstable();
        let mut query = String::new();
        for (name, value) in parameters {
            let and = if query.is_empty() { "" } else { "&" };
            // Writing to a string cannot fail.
            let _ = write!(query, "{and}{name}={}", utf8_percent_encode(value, IN_QUERY));
        }
        (path, query)
    }
}

fn is_late_error(body: &[u8]) -> bool {
    let start = body.get(..200.min(body.len())).unwrap_or_default();
    let text = String::from_utf8_lossy(start);
    text.starts_with("<?xml") && text.contains("<Error>")
}

/// What an answer with an error means.
fn trouble(status: u16, body: &[u8]) -> Trouble {
    let text = String::from_utf8_lossy(body);
    let code = xml::text_of(&text, "Code").unwrap_or_default();
    let message = xml::text_of(&text, "Message").unwrap_or_default();
    let name = match (code.as_str(), status) {
        ("NoSuchBucket", _) => "S3NoSuchBucket",
        ("NoSuchKey", _) => "S3NoSuchKey",
        ("KMS.NotFoundException", _) => "KmsNotFoundException",
        (_, 401 | 403) => "S3AccessDenied",
        _ => "S3InternalServerError",
    };
    let failure = Failure::new(
        name,
        format!("{message} (Service: Amazon S3; Status Code: {status}; Error Code: {code})"),
    );
    let is_passing = status >= 500
        || status == 429
        || status < 300
        || matches!(code.as_str(), "SlowDown" | "RequestTimeout" | "InternalError");
    if is_passing { Trouble::Passing(failure) } else { Trouble::Lasting(failure) }
}

fn no_credentials(reason: AttemptError) -> Trouble {
    match reason {
        AttemptError::Local(error) => {
            Trouble::Lasting(Failure::new("S3AccessDenied", format!("Not signed: {error}")))
        }
        AttemptError::NotSent(reason) | AttemptError::NoAnswer(reason) => {
            Trouble::Passing(Failure::new("S3AccessDenied", format!("Not signed: {reason}")))
        }
        AttemptError::Refused(refusal) => {
            let text = format!("Not signed: {}", refusal.message());
            Trouble::Lasting(Failure::new("S3AccessDenied", text))
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.url)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_parameters_are_escaped_once() {
        let request = Request {
            method: "GET",
            bucket: "b",
            key: "a b/ü+%2F~.txt",
            query: vec![("prefix", "x/y z"), ("list-type", "2"), ("uploads", "")],
            headers: Vec::new(),
            body: &[],
            closing: Closing::NEVER,
        };
        let (path, query) = request.target();
        assert_eq!(path, "/b/a%20b/%C3%BC%2B%252F~.txt");
        assert_eq!(query, "list-type=2&prefix=x%2Fy%20z&uploads=");
    }

    #[test]
    fn errors_are_sorted_by_whether_another_attempt_helps() {
        let answer = |status, code: &str| {
            let body = format!(
                "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>m</Message></Error>"
            );
            match trouble(status, body.as_bytes()) {
                Trouble::Passing(failure) => (true, failure.code),
                Trouble::Lasting(failure) => (false, failure.code),
            }
        };
        for (status, code, expected) in [
            (404, "NoSuchBucket", (false, "S3NoSuchBucket")),
            (403, "SignatureDoesNotMatch", (false, "S3AccessDenied")),
            (400, "KMS.NotFoundException", (false, "KmsNotFoundException")),
            (503, "SlowDown", (true, "S3InternalServerError")),
            (400, "RequestTimeout", (true, "S3InternalServerError")),
            (200, "InternalError", (true, "S3InternalServerError")),
            (412, "PreconditionFailed", (false, "S3InternalServerError")),
        ] {
            assert_eq!(answer(status, code), (expected.0, expected.1.to_owned()), "{code}");
        }
    }
}
