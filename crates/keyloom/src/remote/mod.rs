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

mod abandon;
mod config;
mod credentials;
mod date;
mod observe;
mod provider;
#[cfg(feature = "embedded")]
mod s3;
mod send;
mod sign;
mod source;
mod surroundings;
mod xml;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;

pub use abandon::call_unless;
pub use config::Endpoint;
pub use credentials::Credentials;
#[cfg(feature = "embedded")]
pub use s3::S3Buckets;

use observe::ClientObserver;
use provider::Provider;

use crate::error::Result;
use crate::retry::Retry;

/// A connection to an endpoint; cheap to clone, all clones share the pool.
#[derive(Clone)]
pub struct Remote {
    inner: Arc<Inner>,
}

struct Inner {
    agent: Agent,
    url: String,
    host: String,
    /// URL and host of the streams' service, where that is another one.
    streams: Option<(String, String)>,
    region: String,
    credentials: Provider,
    observer: Option<ClientObserver>,
}

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
                streams: settled.streams,
                region: settled.region,
                credentials: settled.credentials,
                observer: settled.observer.map(ClientObserver::new),
            }),
        })
    }

    /// Sends a request that this crate has no method for, such as `UpdateTable`, and returns the body of the answer. It is
    /// retried when no answer came, so it must be idempotent.
    pub fn call(&self, operation: &'static str, body: &[u8]) -> Result<Vec<u8>> {
        Retry::default().run(operation, true, |_| self.send_json(operation, body))
    }

    /// Sends a request to any target (the `X-Amz-Target` header) once, and returns the body of the answer.
    pub fn call_target(&self, target: &str, body: &[u8]) -> Result<Vec<u8>> {
        Retry::never().run("request", false, |_| self.post_target(target, body))
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
