//! Sends requests: a typed input becomes a signed HTTP request, and the response becomes an output or a failure. The
//! observer is notified afterwards. Retries are one level up, in [`crate::retry`].

use std::num::NonZeroU32;
use std::time::Instant;

use keyloom_api::clock::{Clock, SystemClock};
use keyloom_api::error::error_from;
use keyloom_api::transactions::TransactWriteItemsInput;
use keyloom_api::{JsonWriter, Request};

use keyloom_core::operation::Service;

use super::observe::{ClientObserver, Sampled, Sent};
use super::{Inner, Remote, sign};
use crate::backend::target;
use crate::retry::AttemptError;

const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// The largest answer: DynamoDB's are at most 16 MB.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

impl Remote {
    /// Sends a typed request once and decodes its answer.
    pub(crate) fn exchange<R: Request>(&self, input: &R) -> Result<R::Output, AttemptError> {
        let observer = self.inner.observer.as_ref();
        let weight = observer.and_then(ClientObserver::sample);
        // All attempts under one token need the same body, whichever of them is sampled.
        let is_fixed = observer.is_some() && R::OPERATION == TransactWriteItemsInput::OPERATION;
        let body =
            if weight.is_some() || is_fixed { input.body_with_account() } else { input.body() };
        let answer = self.send(R::OPERATION.name(), &body, weight)?;
        R::decode_reply(&answer).map_err(|malformed| AttemptError::NoAnswer(malformed.to_string()))
    }

    /// Sends a request that the caller wrote as JSON once.
    pub(crate) fn send_json(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, AttemptError> {
        let weight = self.inner.observer.as_ref().and_then(ClientObserver::sample);
        self.send(operation, body, weight)
    }

    fn send(
        &self,
        operation: &str,
        body: &[u8],
        weight: Option<NonZeroU32>,
    ) -> Result<Vec<u8>, AttemptError> {
        let Some(observer) = &self.inner.observer else { return self.post(operation, body) };
        let began = Instant::now();
        let answer = self.post(operation, body);
        let sent = Sent { operation, body, answer: &answer };
        observer.note(sent);
        if let Some(weight) = weight {
            let latency = began.elapsed();
            Sampled { remote: self, observer, sent, weight, latency }.observe();
        }
        answer
    }

    /// The answer of DescribeTable. The program did not ask for this, so its errors are not reported to the observer.
    pub(super) fn describe(&self, table: &str) -> Option<Vec<u8>> {
        let mut body = JsonWriter::object();
        body.string("TableName", table);
        self.post("DescribeTable", &body.finish()).ok()
    }

    /// One HTTP request, signed.
    pub(super) fn post(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, AttemptError> {
        self.post_target(&target(operation), body)
    }

    /// The same for any target.
    pub(super) fn post_target(&self, target: &str, body: &[u8]) -> Result<Vec<u8>, AttemptError> {
        let Inner { agent, url, host, streams, region, credentials, .. } = &*self.inner;
        let streams = streams.as_ref().filter(|_| target.starts_with(Service::Streams.prefix()));
        let (url, host) = streams.map_or((url, host), |(url, host)| (url, host));
        let mut request =
            agent.post(url).header("content-type", CONTENT_TYPE).header("x-amz-target", target);
        let now_ms = SystemClock.now_ms();
        let credentials = credentials.credentials(now_ms)?;
        let unsigned = sign::Unsigned {
            service: "dynamodb",
            method: "POST",
            host,
            path: "/",
            query: "",
            headers: &[("content-type", CONTENT_TYPE), ("x-amz-target", target)],
            body_hash: &sign::hash(body),
        };
        for (name, value) in sign::headers(&credentials, region, unsigned, now_ms) {
            request = request.header(name, &value);
        }
        let mut response = request.send(body).map_err(|error| no_answer(&error))?;
        let status = response.status().as_u16();
        let answer = response
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER_BYTES)
            .read_to_vec()
            .map_err(|error| AttemptError::NoAnswer(error.to_string()))?;
        if status == 200 { Ok(answer) } else { Err(error_from(status, &answer).into()) }
    }
}

/// Whether any part of the request may have reached the endpoint.
fn no_answer(error: &ureq::Error) -> AttemptError {
    let reason = error.to_string();
    let refused =
        matches!(error, ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused);
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::BadUri(_)
        | ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
            AttemptError::NotSent(reason)
        }
        _ if refused => AttemptError::NotSent(reason),
        _ => AttemptError::NoAnswer(reason),
    }
}
