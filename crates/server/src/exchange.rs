//! One operation from its complete body to its response: all steps that need no network, so that
//! they can run on any thread.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::header::{self, HeaderName};
use hyper::http::request::Parts;
use keyloom_engine::{Call, Error, Reply, WaitingCall};

use crate::access::Identity;
use crate::auth::Admission;
use crate::dispatch::NotRun;
use crate::encoding::{Coding, UnknownCoding, UnpackError};
use crate::operation::Operation;
use crate::response::{Answer, MediaType};
use crate::shared::Shared;

const X_AMZ_TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// A requested operation.
pub(crate) struct Exchange {
    request: Parts,
    pub(crate) operation: Operation,
    pub(crate) media_type: MediaType,
    /// The part of the signature check that needs the body.
    pub(crate) admission: Option<Admission>,
    /// The identity whose policies apply; none for the root user and where no policies apply.
    pub(crate) identity: Option<Arc<Identity>>,
}

/// The result of a non-blocking attempt.
pub(crate) enum Progress {
    /// The request has been answered.
    Answered(Answer),
    /// A write that is not durable yet.
    Waiting(WaitingCall),
    /// Not started: it would block and needs a pool thread.
    NotBegun,
}

impl Exchange {
    pub(crate) fn new(request: Parts, media_type: MediaType) -> Self {
        let operation = Operation::of_target(target(&request));
        Self { request, operation, media_type, admission: None, identity: None }
    }

    /// The request's head, for a fallback handler.
    pub(crate) fn into_request(self) -> Parts {
        self.request
    }

    pub(crate) fn request(&self) -> &Parts {
        &self.request
    }

    /// Whether the body is compressed, or declared so in a coding that is not supported.
    pub(crate) fn is_packed(&self) -> bool {
        content_coding(&self.request) != Ok(None)
    }

    /// Verifies the signature and decompresses the body.
    pub(crate) fn unpack(mut self, body: &[u8], max_bytes: usize) -> Result<(Self, Bytes), Answer> {
        let unpacked = self.verify(body).and_then(|()| unpacked(&self.request, body, max_bytes));
        match unpacked {
            Ok(plain) => {
                let plain = Bytes::from(plain.into_owned());
                self.admission = None;
                self.request.headers.remove(header::CONTENT_ENCODING);
                Ok((self, plain))
            }
            Err(error) => Err(self.refuse(&error)),
        }
    }

    /// Verifies the signature, checks the policies and starts the call without blocking.
    pub(crate) fn begin(&self, shared: &Shared, body: &[u8]) -> Progress {
        let started = Instant::now();
        let progress = match self.verify(body).and_then(|()| self.authorize(shared, body)) {
            Err(error) => Progress::Answered(self.refuse(&error)),
            Ok(()) => match shared.backend.begin(target(&self.request), body) {
                Call::Answered(reply) => Progress::Answered(self.answer(reply)),
                Call::Waiting(call) => Progress::Waiting(call),
                Call::NotBegun => Progress::NotBegun,
            },
        };
        shared.dispatcher.learn(self.operation, started.elapsed());
        progress
    }

    /// Verifies the signature and runs the call, blocking if necessary.
    pub(crate) fn finish(&self, shared: &Shared, body: &[u8]) -> Answer {
        match self.begin(shared, body) {
            Progress::Answered(answer) => answer,
            Progress::Waiting(call) => self.answer(call.wait()),
            // It was verified and authorized before the non-blocking attempt.
            Progress::NotBegun => self.answer(shared.backend.call(target(&self.request), body)),
        }
    }

    /// The response for an engine reply.
    pub(crate) fn answer(&self, reply: Reply) -> Answer {
        let mut answer = Answer::reply(reply, self.media_type);
        answer.accept(self.accepted_coding());
        answer
    }

    /// Verifies the signature against the body.
    fn verify(&self, body: &[u8]) -> Result<(), Error> {
        self.admission.as_ref().map_or(Ok(()), |admission| admission.verify(body))
    }

    /// Whether the policies allow the request.
    fn authorize(&self, shared: &Shared, body: &[u8]) -> Result<(), Error> {
        shared.console.check_operation(&self.request, self.operation.name(), body)?;
        let Some(identity) = &self.identity else { return Ok(()) };
        if self.operation == Operation::Replication {
            let asked = shared.asked(identity, &self.request);
            return asked.check_action("keyloom", "Replicate", "server");
        }
        shared.asked(identity, &self.request).check_operation(target(&self.request), body)
    }

    /// An error response.
    pub(crate) fn refuse(&self, error: &Error) -> Answer {
        Answer::error(error, self.media_type)
    }

    /// The response when the engine panicked, which protects its own state, or when there was no
    /// memory.
    pub(crate) fn not_run(why: &NotRun, media_type: MediaType) -> Answer {
        if *why == NotRun::NoMemory {
            return Answer::unavailable(media_type);
        }
        let text = "The request processing has failed because of an unknown error, exception or \
                    failure.";
        Answer::error(&Error::InternalServer(text.into()), media_type)
    }

    /// The coding that the client wants. Of several headers DynamoDB reads the first.
    fn accepted_coding(&self) -> Option<Coding> {
        let header = self.request.headers.get(header::ACCEPT_ENCODING)?;
        Coding::accepted(header.to_str().ok()?)
    }
}

/// The coding of the body, by its header.
fn content_coding(request: &Parts) -> Result<Option<Coding>, UnknownCoding> {
    let Some(header) = request.headers.get(header::CONTENT_ENCODING) else { return Ok(None) };
    Coding::of_content(header.to_str().map_err(|_| UnknownCoding)?)
}

/// A body without the encoding stated in its header. What cannot be decompressed is an internal error on AWS,
/// which SDKs repeat.
pub(crate) fn unpacked<'b>(
    request: &Parts,
    body: &'b [u8],
    max_bytes: usize,
) -> Result<Cow<'b, [u8]>, Error> {
    let failed = |why: &str| Error::InternalServer(why.into());
    let coding = content_coding(request)
        .map_err(|UnknownCoding| failed("Content-Encoding is neither gzip nor deflate"))?;
    let Some(coding) = coding else { return Ok(Cow::Borrowed(body)) };
    coding.unpack(body, max_bytes).map(Cow::Owned).map_err(|error| match error {
        UnpackError::Malformed => failed("The body is not compressed as Content-Encoding says"),
        UnpackError::TooLarge => body_too_large(max_bytes),
    })
}

/// The error for a body over the limit.
pub(crate) fn body_too_large(max_bytes: usize) -> Error {
    Error::RequestEntityTooLarge(format!(
        "Request size exceeds the limit of {max_bytes} bytes; split the request"
    ))
}

/// The error for a body whose decoded form could never fit into memory.
pub(crate) fn decoded_too_large(decoded_bytes: usize) -> Error {
    Error::RequestEntityTooLarge(format!(
        "The request would take some {} MB when it is decoded, more than the server may use; split \
         the request, or start the server with a larger --memory-limit",
        decoded_bytes >> 20
    ))
}

/// The value of `X-Amz-Target`; empty if missing.
pub(crate) fn target(request: &Parts) -> &str {
    let header = request.headers.get(X_AMZ_TARGET);
    header.and_then(|value| value.to_str().ok()).unwrap_or_default()
}
