//! Sending requests: a typed input becomes a signed HTTP request, and its answer becomes an output or a failure. The
//! observer is told afterwards. Retries are above this, in [`crate::retry`].

use std::num::NonZeroU32;
use std::time::Instant;

use keyloom_api::batches::{BatchGetItemInput, BatchWriteItemInput, WriteRequest};
use keyloom_api::items::{DeleteItemInput, GetItemInput, PutItemInput, UpdateItemInput};
use keyloom_api::queries::{QueryInput, ScanInput};
use keyloom_api::transactions::{TransactGetItemsInput, TransactWriteItemsInput};
use keyloom_core::Item;
use keyloom_engine::{Clock, SystemClock};

use super::observe::{ClientObserver, Sampled, Sent};
use super::{Inner, Remote, sign};
use crate::backend::{Keyed, RawPage};
use crate::retry::Failure;
use crate::wire::{self, Request};

/// The largest answer: DynamoDB's are at most 16 MB.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// A request with a typed answer.
pub(crate) trait Exchange: Request {
    /// The output, as far as this crate uses it.
    type Answer;

    /// Decodes the body of a successful answer.
    fn decode(body: &[u8]) -> Result<Self::Answer, Failure>;
}

macro_rules! exchange {
    ($($input:ty => $answer:ty, $decode:expr;)+) => {$(
        impl Exchange for $input {
            type Answer = $answer;

            fn decode(body: &[u8]) -> Result<Self::Answer, Failure> {
                $decode(body)
            }
        }
    )+};
}

exchange! {
    GetItemInput => Option<Item>, wire::one_item;
    PutItemInput => Option<Item>, wire::attributes;
    DeleteItemInput => Option<Item>, wire::attributes;
    UpdateItemInput => Option<Item>, wire::attributes;
    QueryInput => RawPage, wire::page;
    ScanInput => RawPage, wire::page;
    BatchGetItemInput => (Keyed<Item>, Keyed<Item>), wire::found_and_left;
    BatchWriteItemInput => Keyed<WriteRequest>, wire::left_writes;
    TransactGetItemsInput => Vec<Option<Item>>, wire::items_in_order;
    TransactWriteItemsInput => (), |_: &[u8]| Ok(());
}

impl Remote {
    /// Sends a typed request once and decodes its answer.
    pub(crate) fn exchange<R: Exchange>(&self, input: &R) -> Result<R::Answer, Failure> {
        let observer = self.inner.observer.as_ref();
        let weight = observer.and_then(ClientObserver::sample);
        // All attempts under one token need the same body, whichever of them is sampled.
        let is_fixed = observer.is_some() && R::OPERATION == TransactWriteItemsInput::OPERATION;
        let body =
            if weight.is_some() || is_fixed { input.body_with_account() } else { input.body() };
        R::decode(&self.send(R::OPERATION.name(), &body, weight)?)
    }

    /// Sends a request that the caller wrote as JSON once.
    pub(crate) fn send_json(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let weight = self.inner.observer.as_ref().and_then(ClientObserver::sample);
        self.send(operation, body, weight)
    }

    fn send(
        &self,
        operation: &str,
        body: &[u8],
        weight: Option<NonZeroU32>,
    ) -> Result<Vec<u8>, Failure> {
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

    /// One HTTP request, signed.
    pub(super) fn post(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let Inner { agent, url, host, region, credentials, .. } = &*self.inner;
        let target = format!("DynamoDB_20120810.{operation}");
        let mut request = agent
            .post(url)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", &target);
        let now_ms = SystemClock.now_ms();
        let credentials = credentials.credentials(now_ms)?;
        for (name, value) in sign::headers(&credentials, region, host, &target, body, now_ms) {
            request = request.header(name, &value);
        }
        let mut response = request.send(body).map_err(|error| no_answer(&error))?;
        let status = response.status().as_u16();
        let answer = response
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER_BYTES)
            .read_to_vec()
            .map_err(|error| Failure::NoAnswer(error.to_string()))?;
        if status == 200 { Ok(answer) } else { Err(wire::error_from(status, &answer).into()) }
    }
}

/// Tells whether any of the request can have reached the endpoint.
fn no_answer(error: &ureq::Error) -> Failure {
    let reason = error.to_string();
    let refused =
        matches!(error, ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused);
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::BadUri(_)
        | ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
            Failure::NotSent(reason)
        }
        _ if refused => Failure::NotSent(reason),
        _ => Failure::NoAnswer(reason),
    }
}
