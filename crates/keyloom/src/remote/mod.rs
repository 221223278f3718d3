//! Any DynamoDB endpoint: AWS, Keyloom's own server, and others that speak the protocol.
//!
//! A blocking HTTP/1.1 client with a pool of connections, and requests signed with SigV4. It is small on purpose: a cold
//! build takes seconds where the official SDK takes minutes, and a blocking call is what the embedded engine does, too,
//! so one code serves both. Async programs use the `tokio` feature.
//!
//! # Credentials
//!
//! [`Endpoint::credentials`], or the first of these: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` (with
//! `AWS_SESSION_TOKEN`); a web identity (`AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_ROLE_ARN`); the profile of `AWS_PROFILE` in
//! `~/.aws/credentials` and `~/.aws/config`, with keys, `credential_process` or a web identity; a container
//! (`AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`, `…_FULL_URI`); the instance (IMDSv2). Short-lived keys are replaced five
//! minutes before they end. Profiles that sign on or assume a role need a tool: `credential_process = aws configure
//! export-credentials --profile …`.
//!
//! The region is `AWS_REGION`, `AWS_DEFAULT_REGION` or the profile's.

mod config;
mod credentials;
mod date;
mod provider;
mod sign;
mod source;
mod surroundings;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::{Clock, SystemClock};
use ureq::Agent;

pub use config::Endpoint;
pub use credentials::Credentials;

use provider::Provider;
use watch::Watch;

use crate::error::Result;
use crate::retry::{Failure, Retry};
use crate::wire;

/// A connection to an endpoint; cheap to clone, all clones share the pool.
#[derive(Clone)]
pub struct Remote {
    inner: Arc<Inner>,
}

struct Inner {
    agent: Agent,
    url: String,
    host: String,
    region: String,
    credentials: Provider,
    watch: Option<Watch>,
}

/// The largest answer: DynamoDB's are at most 16 MB.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

impl Remote {
    /// Connects to an endpoint. Nothing is sent until the first request.
    pub fn new(endpoint: Endpoint) -> Result<Self> {
        let settled = endpoint.settle()?;
        let agent = Agent::config_builder()
            .timeout_connect(Some(settled.connect_timeout))
            .timeout_global(Some(settled.request_timeout))
            .http_status_as_error(false)
            .max_idle_connections_per_host(64)
            .max_idle_age(Duration::from_secs(20))
            .build()
            .new_agent();
        Ok(Self {
            inner: Arc::new(Inner {
                agent,
                url: settled.url,
                host: settled.host,
                region: settled.region,
                credentials: settled.credentials,
                watch: settled.observer.map(Watch::new),
            }),
        })
    }

    /// Makes a request that this crate has no method for, such as `UpdateTable`, and returns the body of the answer.
    /// It is repeated where no answer came, so it must be one that may be made twice.
    pub fn call(&self, operation: &'static str, body: &[u8]) -> Result<Vec<u8>> {
        Retry::default().run(operation, true, |_| self.state(operation, body))
    }

    /// Sends one request and takes its answer.
    pub(crate) fn send(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let answer = self.post(operation, body);
        if let Some(watch) = &self.inner.watch {
            watch.sent(operation, body, &answer);
        }
        answer
    }

    fn post(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
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

/// Whether anything can have reached the endpoint.
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

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("url", &self.inner.url)
            .field("region", &self.inner.region)
            .finish_non_exhaustive()
    }
}
