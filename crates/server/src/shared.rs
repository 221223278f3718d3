//! State shared by all connections of a server.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::sync::{Semaphore, watch};

use crate::access::{Asked, Identity};
use crate::auth::Auth;
use keyloom_engine::Health;

use crate::backend::Backend;
use crate::clients::Clients;
use crate::config::Config;
use crate::console::ConsoleOptions;
use crate::dispatch::Dispatcher;
use crate::forks::Forks;
use crate::health::HealthMonitor;
use crate::limits::Limits;
use crate::memory::Memory;
use crate::metrics::{Metrics, single};
use crate::open_connections::OpenConnections;
use crate::origin::{OriginPolicy, host_of};

/// The maximum request head: a presigned URL and a few dozen headers fit easily.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Concurrent requests on one HTTP/2 connection.
pub(crate) const MAX_STREAMS: u32 = 128;
/// The HTTP/2 receive window of a connection. Every connection may make the server buffer that
/// much, so it is no larger than round trips in a data centre require.
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 256 << 10;
/// The receive window of one request.
const STREAM_WINDOW_BYTES: u32 = 128 << 10;

/// Tables that the console's pages export at a time: each takes a thread.
pub(crate) const MAX_EXPORTS: usize = 4;

/// The lifecycle of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// Accepting requests.
    Serving,
    /// Finishing open requests.
    Draining,
    /// Dropping the rest.
    Aborting,
}

/// State shared by all connections of a server.
pub(crate) struct Shared {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) auth: Auth,
    pub(crate) limits: Limits,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) metrics: Metrics,
    pub(crate) http: auto::Builder<TokioExecutor>,
    pub(crate) lifecycle: watch::Sender<Lifecycle>,
    pub(crate) memory: Arc<Memory>,
    /// The origins and hosts accepted at the endpoint, and at the metrics listener.
    pub(crate) origins: OriginPolicy,
    pub(crate) metrics_origins: OriginPolicy,
    /// The backend's health at the last poll.
    pub(crate) health: HealthMonitor,
    pub(crate) clients: Arc<Clients>,
    pub(crate) connections: Arc<OpenConnections>,
    /// Allows one backup at a time.
    pub(crate) backups: Arc<Semaphore>,
    /// Allows so many exports of the console at a time.
    pub(crate) exports: Arc<Semaphore>,
    pub(crate) forks: Forks,
    /// The body of the response to `GET /`.
    pub(crate) healthy: Bytes,
    pub(crate) console: ConsoleOptions,
    /// The region in ARNs of the server's own actions.
    pub(crate) region: String,
    /// Whether requests must be signed for that region, if they are signed.
    pub(crate) checks_region: bool,
}

impl Shared {
    pub(crate) fn new(config: &Config, backend: Box<dyn Backend>) -> Self {
        let auth = if config.is_signed() {
            Auth::Signed {
                credentials: config.credentials.clone(),
                identities: config.identities.iter().cloned().map(Arc::new).collect(),
                clock: Arc::clone(&config.clock),
            }
        } else {
            Auth::Open
        };
        Self {
            backend,
            auth,
            limits: config.limits.clone(),
            dispatcher: Dispatcher::new(config.dispatch.clone(), &config.limits),
            metrics: Metrics::default(),
            http: http(&config.limits),
            lifecycle: watch::Sender::new(Lifecycle::Serving),
            memory: Arc::new(Memory::new(config.limits.memory_bytes, config.purge)),
            origins: origins(config, config.address, config.is_signed()),
            metrics_origins: origins(
                config,
                config.metrics_address.unwrap_or(config.address),
                false,
            ),
            health: HealthMonitor::default(),
            connections: Arc::default(),
            clients: Arc::new(Clients::new(config.limits.max_connections_per_client)),
            backups: Arc::new(Semaphore::new(1)),
            exports: Arc::new(Semaphore::new(MAX_EXPORTS)),
            forks: Forks::new(config),
            // The trailing space is DynamoDB's.
            healthy: format!("healthy: dynamodb.{}.amazonaws.com ", config.region).into(),
            console: config.console.clone(),
            region: config.region.clone(),
            checks_region: config.is_one_of_several_regions,
        }
    }
}

impl Shared {
    /// A request of an identity, to be judged by policies.
    pub(crate) fn asked<'a>(&'a self, identity: &'a Identity, head: &'a Parts) -> Asked<'a> {
        Asked {
            identity,
            head,
            database: self.backend.database(),
            region: &self.region,
            now_ms: self.auth.now_ms(),
        }
    }

    /// Appends the server's current state to `GET /metrics`.
    pub(crate) fn render_state(&self, page: &mut String) {
        let (memory, limit) = (&self.memory, self.limits.memory_bytes);
        let is_ready = self.health.update(self.backend.health()) == Health::Ready;
        for (name, kind, help, value) in [
            (
                "keyloom_store_writable",
                "gauge",
                "Whether writes are accepted: 0 when the store refuses them, see /health.",
                u64::from(is_ready),
            ),
            ("keyloom_memory_limit_bytes", "gauge", "Memory limit for clients.", limit as u64),
            (
                "keyloom_memory_used_bytes",
                "gauge",
                "Memory reserved for connections, requests and responses.",
                memory.used_bytes() as u64,
            ),
            (
                "keyloom_memory_refusals_total",
                "counter",
                "Refused memory reservations.",
                memory.refused(),
            ),
        ] {
            single(page, name, kind, help, &value);
        }
    }
}

/// Hosts are checked only on a loopback address: others have any name.
fn origins(config: &Config, address: SocketAddr, are_signed: bool) -> OriginPolicy {
    let is_loopback = address.ip().to_canonical().is_loopback();
    let hosts = is_loopback.then(|| config.advertised.iter().map(|one| host_of(one)).collect());
    OriginPolicy::new(config.cors.clone(), hosts, are_signed)
}

fn http(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        // A client may close its sending side and still wait for the response.
        .half_close(true)
        // hyper's own timeout cannot distinguish an idle connection from a slow one and sets a
        // timer for each request: `connection` polls instead.
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
