//! What all connections of a server share.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::sync::{Semaphore, watch};

use crate::auth::Auth;
use keyloom_engine::Health;

use crate::backend::Backend;
use crate::clients::Clients;
use crate::config::Config;
use crate::dispatch::Dispatcher;
use crate::health::LastHealth;
use crate::limits::Limits;
use crate::memory::Memory;
use crate::metrics::{Metrics, single};
use crate::visitor::{Visitors, host_of};

/// The request head: a presigned URL and a few dozen headers fit with room to spare.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Requests under way at once on one HTTP/2 connection.
pub(crate) const MAX_STREAMS: u32 = 128;
/// What a client may send on an HTTP/2 connection before somebody takes it. Every connection may make
/// the server hold that much, so it is no larger than round trips in a data centre ask for.
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 256 << 10;
/// The same for one request.
const STREAM_WINDOW_BYTES: u32 = 128 << 10;

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// Taking requests.
    Serving,
    /// Finishing those under way.
    Draining,
    /// Dropping what is left.
    Aborting,
}

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) auth: Auth,
    pub(crate) limits: Limits,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) metrics: Metrics,
    pub(crate) http: auto::Builder<TokioExecutor>,
    pub(crate) lifecycle: watch::Sender<Lifecycle>,
    pub(crate) memory: Arc<Memory>,
    /// Who may ask, and who may read the metrics at an address of their own.
    pub(crate) visitors: Visitors,
    pub(crate) metrics_visitors: Visitors,
    /// The health of the backend at the last check.
    pub(crate) health: LastHealth,
    pub(crate) clients: Arc<Clients>,
    /// The right to make a backup: one at a time.
    pub(crate) backups: Arc<Semaphore>,
    /// The answer to `GET /`.
    pub(crate) healthy: Bytes,
}

impl Shared {
    pub(crate) fn new(config: &Config, backend: Box<dyn Backend>) -> Self {
        let auth = match config.credentials.as_slice() {
            [] => Auth::Open,
            some => Auth::Signed { credentials: some.to_vec(), clock: Arc::clone(&config.clock) },
        };
        Self {
            backend,
            auth,
            limits: config.limits.clone(),
            dispatcher: Dispatcher::new(config.dispatch.clone(), &config.limits),
            metrics: Metrics::default(),
            http: http(&config.limits),
            lifecycle: watch::Sender::new(Lifecycle::Serving),
            memory: Arc::new(Memory::new(config.limits.memory_bytes)),
            visitors: visitors(config, config.address, !config.credentials.is_empty()),
            metrics_visitors: visitors(
                config,
                config.metrics_address.unwrap_or(config.address),
                false,
            ),
            health: LastHealth::default(),
            clients: Arc::new(Clients::new(config.limits.max_connections_per_client)),
            backups: Arc::new(Semaphore::new(1)),
            // The space at the end is DynamoDB's.
            healthy: format!("healthy: dynamodb.{}.amazonaws.com ", config.region).into(),
        }
    }
}

impl Shared {
    /// Appends to `GET /metrics` how the server is now.
    pub(crate) fn render_state(&self, page: &mut String) {
        let (memory, limit) = (&self.memory, self.limits.memory_bytes);
        let is_ready = self.health.update(self.backend.health()) == Health::Ready;
        for (name, kind, help, value) in [
            (
                "keyloom_store_writable",
                "gauge",
                "Whether writes are taken: 0 when the store refuses them, see /health.",
                u64::from(is_ready),
            ),
            ("keyloom_memory_limit_bytes", "gauge", "What clients may use.", limit as u64),
            (
                "keyloom_memory_used_bytes",
                "gauge",
                "What is reserved for connections, requests and answers.",
                memory.used_bytes() as u64,
            ),
            (
                "keyloom_memory_refusals_total",
                "counter",
                "How often there was no memory for a request.",
                memory.refused(),
            ),
        ] {
            single(page, name, kind, help, &value);
        }
    }
}

/// Only who listens on a loopback address is asked by its names: others have any.
fn visitors(config: &Config, address: SocketAddr, are_signed: bool) -> Visitors {
    let is_loopback = address.ip().to_canonical().is_loopback();
    let hosts = is_loopback.then(|| config.advertised.iter().map(|one| host_of(one)).collect());
    Visitors::new(config.cors.clone(), hosts, are_signed)
}

fn http(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        // A client may close its sending side and still wait for the answer.
        .half_close(true)
        // hyper's own time-out cannot tell an idle connection from a slow one and sets a timer
        // for each request: `connection` watches instead.
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD_BYTES);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.idle_timeout)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    http
}
