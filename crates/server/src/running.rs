//! A server on its own threads.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::config::StartError;
use crate::serve::Server;

/// A server on its own threads. Dropping it shuts it down.
pub struct RunningServer {
    address: SocketAddr,
    url: String,
    metrics_address: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RunningServer {
    pub(crate) fn start(server: Server) -> Result<Self, StartError> {
        let runtime = server.runtime()?;
        let (address, url) = (server.local_addr(), server.url());
        let metrics_address = server.metrics_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            // A closed channel means that the handle was dropped, which also shuts down.
            let served = runtime.block_on(server.run(async { _ = stopped.await }));
            debug_assert!(served.is_ok(), "{served:?}");
        };
        let thread = thread::Builder::new().name("keyloom-server".into()).spawn(run);
        let thread = Some(thread.map_err(StartError::Runtime)?);
        Ok(Self { address, url, metrics_address, stop: Some(stop), thread })
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The separate address for metrics, if configured.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// The endpoint to give to an SDK.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Shuts down: finishes open requests, and returns when the last one is answered.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread has already reported a panic.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop();
    }
}
