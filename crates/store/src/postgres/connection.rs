//! Connections to the database, and small pools of them.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio_postgres::{AsyncMessage, Client};

use super::options::PostgresOptions;
use super::sql;
use super::tls::Tls;
use super::trouble::{Trouble, timed_out};
use crate::StoreError;

/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The first and the longest pause between two attempts.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// One connection.
pub(super) struct Link {
    pub(super) client: Arc<Client>,
    /// How many notices the server has sent.
    notices: Arc<AtomicU64>,
    driver: AbortHandle,
    /// The statement that begins a flight on this server.
    pub(super) begin: &'static str,
}

impl Link {
    /// How many notices the server has sent so far.
    pub(super) fn notices(&self) -> u64 {
        self.notices.load(Ordering::Acquire)
    }

    /// Cuts the connection without waiting for answers.
    pub(super) fn abandon(self) {
        self.driver.abort();
    }
}

/// Makes connections.
pub(super) struct Connector {
    options: PostgresOptions,
    tls: Tls,
}

impl Connector {
    pub(super) fn new(options: PostgresOptions) -> Result<Self, StoreError> {
        let tls = Tls::new(options.verification, options.root_certificate.as_deref())?;
        Ok(Self { options, tls })
    }

    /// The database without credentials.
    pub(super) fn place(&self) -> String {
        self.options.place()
    }

    /// Connects, once.
    pub(super) async fn connect(&self) -> Result<Link, Trouble> {
        let connecting = self.options.config.connect(self.tls.clone());
        let (client, mut connection) =
            tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.map_err(|_| timed_out())??;
        let notices = Arc::new(AtomicU64::new(0));
        let is_cockroach = connection.parameter("crdb_version").is_some();
        let counted = Arc::clone(&notices);
        let driver = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if matches!(message, AsyncMessage::Notice(_)) {
                    counted.fetch_add(1, Ordering::AcqRel);
                }
            }
        });
        let begin = if is_cockroach { sql::BEGIN } else { sql::BEGIN_IN_ORDER };
        Ok(Link { client: Arc::new(client), notices, driver: driver.abort_handle(), begin })
    }

    /// Connects, trying again for so long while the database may come back.
    pub(super) async fn connect_within(&self, patience: Duration) -> Result<Link, Trouble> {
        let mut pauses = Pauses::within(patience);
        loop {
            match self.connect().await {
                Err(trouble) if trouble.is_passing() && pauses.pause().await => {}
                connected => return connected,
            }
        }
    }
}

/// Growing pauses between attempts, until a deadline.
pub(super) struct Pauses {
    end: Instant,
    next: Duration,
}

impl Pauses {
    pub(super) fn within(patience: Duration) -> Self {
        Self { end: Instant::now() + patience, next: FIRST_PAUSE }
    }

    /// Waits before the next attempt; false if there is no time left for one.
    pub(super) async fn pause(&mut self) -> bool {
        if Instant::now() + self.next > self.end {
            return false;
        }
        tokio::time::sleep(self.next).await;
        self.next = LONGEST_PAUSE.min(self.next * 2);
        true
    }
}

/// Idle connections, and a bound on those in use.
pub(super) struct Pool {
    idle: Mutex<Vec<Link>>,
    permits: Arc<Semaphore>,
}

/// A connection of a pool. It returns there only if [`Pooled::put_back`] is called.
pub(super) struct Pooled {
    pub(super) link: Link,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(connections: usize) -> Self {
        Self { idle: Mutex::default(), permits: Arc::new(Semaphore::new(connections)) }
    }

    /// An idle connection or a new one; waits while all are in use.
    pub(super) async fn take(
        &self,
        connector: &Connector,
        patience: Duration,
    ) -> Result<Pooled, Trouble> {
        let permit = tokio::time::timeout(patience, Arc::clone(&self.permits).acquire_owned());
        let permit = permit.await.ok().and_then(Result::ok);
        let permit =
            permit.ok_or_else(|| Trouble::Busy("all its connections are in use".into()))?;
        let idle = self.idle.lock().pop().filter(|link| !link.client.is_closed());
        let link = match idle {
            Some(link) => link,
            None => connector.connect_within(patience).await?,
        };
        Ok(Pooled { link, _permit: permit })
    }

    /// Keeps a connection for the next user. It must not be inside a transaction.
    pub(super) fn put_back(&self, pooled: Pooled) {
        if !pooled.link.client.is_closed() {
            self.idle.lock().push(pooled.link);
        }
    }
}
