//! What all connections of a server share.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::sync::watch;

use crate::auth::Auth;
use crate::backend::Backend;
use crate::config::Config;
use crate::dispatch::Dispatcher;
use crate::limits::Limits;
use crate::metrics::Metrics;

/// The request head: a presigned URL and a few dozen headers fit with room to spare.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Requests under way at once on one HTTP/2 connection.
const MAX_STREAMS: u32 = 256;

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
    /// Bytes of request bodies held now.
    pub(crate) buffered_bytes: AtomicUsize,
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
            dispatcher: Dispatcher::new(config.dispatch.clone(), config.limits.max_in_flight),
            metrics: Metrics::default(),
            http: http(&config.limits),
            lifecycle: watch::Sender::new(Lifecycle::Serving),
            buffered_bytes: AtomicUsize::new(0),
            // The space at the end is DynamoDB's.
            healthy: format!("healthy: dynamodb.{}.amazonaws.com ", config.region).into(),
        }
    }
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
        // DynamoDB bodies are read whole: a window of their size spares round trips.
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20);
    http
}
