//! The listening socket and the lifecycle of the server.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use keyloom_engine::Health;

use crate::admission::{Admission, ConnectionSlot};
use crate::backend::Backend;
use crate::config::{Config, StartError};
use crate::connection;
use crate::health;
use crate::request::ListenerKind;
use crate::running::RunningServer;
use crate::shared::{Lifecycle, Shared};
use crate::tls::TlsFiles;

/// Length of the kernel's queue of pending connections.
const BACKLOG: i32 = 4096;
/// File descriptors left to the database and the process.
const SPARE_FILES: u64 = 256;
/// How long after the start [`Config::settled`] is called.
const SETTLING: Duration = Duration::from_secs(1);
/// Delay after a failed accept, typically caused by a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server that listens but does not serve yet.
pub struct Server {
    config: Config,
    listener: StdListener,
    address: SocketAddr,
    /// For metrics and health only.
    metrics: Option<(StdListener, SocketAddr)>,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens, so that clients can connect; [`run`](Self::run) starts serving them.
    pub fn bind(config: Config, backend: impl Backend) -> Result<Self, StartError> {
        let shared = Shared::new(&config, Box::new(backend));
        Self::listening(config, shared)
    }

    pub(crate) fn listening(config: Config, shared: Shared) -> Result<Self, StartError> {
        config.check()?;
        let tls = config.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
        let (listener, address) = listen(config.address)?;
        let metrics = config.metrics_address.map(listen).transpose()?;
        Ok(Self { config, listener, address, metrics, tls, shared: Arc::new(shared) })
    }

    /// Binds and serves on its own threads, for synchronous programs.
    pub fn start(config: Config, backend: impl Backend) -> Result<RunningServer, StartError> {
        RunningServer::start(Self::bind(config, backend)?)
    }

    /// The address it listens on; the port is the real one even if the configuration says 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The separate address for metrics, if configured.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|(_, address)| *address)
    }

    /// The endpoint to give to an SDK.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Serves until `shutdown` resolves, then drains: no new connections, open requests are
    /// answered, idle connections closed. Must run on a multi-threaded tokio runtime. Returns the
    /// backend's health at the end.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<Health, StartError> {
        let Self { config, listener, address, metrics, tls, shared } = self;
        let listener = to_tokio(listener, address)?;
        let metrics = metrics.map(|(listener, address)| to_tokio(listener, address)).transpose()?;
        tokio::spawn(health::poll(Arc::clone(&shared)));
        tokio::spawn(async move {
            sleep(SETTLING).await;
            (config.settled)();
        });
        let limit = connection_limit(config.limits.max_connections);
        let admission = Admission::new(limit);
        tokio::select! {
            biased;
            () = shutdown => {}
            () = accept_all(&listener, &shared, ListenerKind::Endpoint, tls.as_ref(), &admission) => {}
            () = accept_metrics(metrics.as_ref(), &shared, &admission) => {}
        }
        drop((listener, metrics));
        let all_closed = || admission.connections.acquire_many(limit);
        shared.lifecycle.send_replace(Lifecycle::Draining);
        if timeout(config.limits.shutdown_grace, all_closed()).await.is_err() {
            shared.lifecycle.send_replace(Lifecycle::Aborting);
            let _ = all_closed().await;
        }
        Ok(shared.backend.health())
    }

    /// Serves on its own threads until the process is asked to terminate (Ctrl-C or SIGTERM).
    pub fn run_until_terminated(self) -> Result<Health, StartError> {
        let runtime = self.runtime()?;
        runtime.block_on(self.run(termination()))
    }

    /// A runtime of the configured size.
    pub(crate) fn runtime(&self) -> Result<Runtime, StartError> {
        let mut builder = Builder::new_multi_thread();
        if let Some(workers) = self.config.workers {
            builder.worker_threads(workers.max(1));
        }
        builder
            .max_blocking_threads(self.config.dispatch.pool_threads.max(1))
            .thread_name("keyloom-server")
            .enable_all()
            .build()
            .map_err(StartError::Runtime)
    }
}

/// Resolves when the process is asked to terminate: Ctrl-C, or SIGTERM where that exists.
pub async fn termination() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => _ = signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

/// Listens, and returns the actual address.
fn listen(address: SocketAddr) -> Result<(StdListener, SocketAddr), StartError> {
    let listening = socket(address).and_then(|listener| {
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    });
    listening.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => StartError::AddressInUse(address),
        _ => StartError::Listen(address, error),
    })
}

/// A listening socket with a backlog for thousands of clients at once.
fn socket(address: SocketAddr) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // On Windows this option would let two servers share the port.
    if cfg!(unix) {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn to_tokio(listener: StdListener, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::from_std(listener).map_err(|error| StartError::Listen(address, error))
}

/// The configured number of connections, or as many as the process may open files.
fn connection_limit(asked: u32) -> u32 {
    let wanted = u64::from(asked) + SPARE_FILES;
    let files = rlimit::increase_nofile_limit(wanted).unwrap_or(wanted);
    let possible = files.saturating_sub(SPARE_FILES).max(16);
    asked.min(u32::try_from(possible).unwrap_or(u32::MAX)).max(1)
}

/// Accepts connections forever, each on its own task.
async fn accept_all(
    listener: &TcpListener,
    shared: &Arc<Shared>,
    kind: ListenerKind,
    tls: Option<&TlsAcceptor>,
    admission: &Admission,
) {
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let admitted = admission.admit(shared, stream, client, tls.is_some()).await;
        let Some((stream, slot)) = admitted else { continue };
        // Responses are written whole: delaying them to merge them with later ones gains nothing.
        let _ = stream.set_nodelay(true);
        shared.metrics.connections_total.add(1);
        let shared = Arc::clone(shared);
        match tls.cloned() {
            None => tokio::spawn(plain(shared, stream, kind, slot)),
            Some(acceptor) => tokio::spawn(encrypted(shared, stream, acceptor, slot)),
        };
    }
}

/// Same for the metrics listener; waits forever if there is none.
async fn accept_metrics(
    listener: Option<&TcpListener>,
    shared: &Arc<Shared>,
    admission: &Admission,
) {
    match listener {
        Some(listener) => {
            accept_all(listener, shared, ListenerKind::Metrics, None, admission).await;
        }
        None => std::future::pending().await,
    }
}

async fn plain(shared: Arc<Shared>, stream: TcpStream, kind: ListenerKind, slot: ConnectionSlot) {
    let _open = shared.metrics.connections.enter();
    let activity = Arc::clone(&slot.activity);
    connection::serve(Arc::clone(&shared), activity, kind, stream).await;
}

async fn encrypted(
    shared: Arc<Shared>,
    stream: TcpStream,
    acceptor: TlsAcceptor,
    slot: ConnectionSlot,
) {
    let _open = shared.metrics.connections.enter();
    let mut lifecycle = shared.lifecycle.subscribe();
    let handshake = timeout(shared.limits.handshake_timeout, acceptor.accept(stream));
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = slot.activity.evicted.notified() => {
            shared.metrics.connections_evicted.add(1);
            return;
        }
        _ = lifecycle.wait_for(|state| *state != Lifecycle::Serving) => return,
    };
    match shaken {
        Ok(Ok(stream)) => {
            let activity = Arc::clone(&slot.activity);
            let kind = ListenerKind::Endpoint;
            connection::serve(Arc::clone(&shared), activity, kind, stream).await;
        }
        // Not TLS, or no common version: no response is possible.
        Ok(Err(_)) => {}
        Err(_) => shared.metrics.connections_timed_out.add(1),
    }
}
