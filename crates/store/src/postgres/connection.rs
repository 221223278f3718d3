//! Connections to the database, and small pools of them.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Error, Row, RowStream, Statement};

use super::directness::is_direct;
use super::flight::Parameters;
use super::options::PostgresOptions;
use super::sql::{self, Prepared};
use super::tls::Tls;
use super::trouble::{Trouble, timed_out};
use crate::StoreError;

/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The first and the longest pause between two attempts.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A connection to the PostgreSQL server.
pub(super) struct Link {
    pub(super) client: Arc<Client>,
    /// How many notices the server has sent.
    notices: Arc<AtomicU64>,
    driver: AbortHandle,
    /// The statement that begins a flight on this server.
    pub(super) begin: &'static str,
    /// Whether nobody else uses the session.
    is_direct: bool,
    /// What the session has prepared, by its text. Planning costs the server more than a small statement itself.
    prepared: HashMap<String, Statement>,
}

impl Link {
    /// How many notices the server has sent so far.
    pub(super) fn notices(&self) -> u64 {
        self.notices.load(Ordering::Acquire)
    }

    /// Has the server prepare statements, in one round trip; nothing behind a pooler.
    pub(super) async fn prepare(&mut self, statements: &[Prepared]) -> Result<(), Trouble> {
        if self.is_direct && self.prepared.is_empty() {
            let client = &self.client;
            let prepare = |(text, types): &'_ Prepared| {
                let (text, types) = (text.clone(), types.clone());
                async move { client.prepare_typed(&text, &types).await.map(|made| (text, made)) }
            };
            self.prepared =
                try_join_all(statements.iter().map(prepare)).await?.into_iter().collect();
        }
        Ok(())
    }

    /// The rows of a statement, which is prepared or not.
    pub(super) async fn query(
        &self,
        sql: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Error> {
        match self.prepared.get(sql) {
            Some(prepared) => self.client.query(prepared, &values(parameters)).await,
            None => self.client.query_typed(sql, parameters).await,
        }
    }

    /// The same, one row after the other as they come.
    pub(super) async fn rows(
        &self,
        sql: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<RowStream, Error> {
        if let Some(prepared) = self.prepared.get(sql) {
            return self
                .client
                .query_raw(prepared, parameters.iter().map(|(value, _)| *value))
                .await;
        }
        let typed = parameters.iter().map(|(value, kind)| (*value, kind.clone()));
        self.client.query_typed_raw(sql, typed).await
    }

    /// Executes a statement, which is prepared or not.
    pub(super) async fn execute(&self, sql: &str, parameters: Parameters<'_>) -> Result<(), Error> {
        let executed = match self.prepared.get(sql) {
            Some(prepared) => self.client.execute(prepared, &values(&parameters)).await,
            None => self.client.execute_typed(sql, &parameters).await,
        };
        executed.map(drop)
    }

    /// Commits a transaction. A warning with COMMIT says that a standby did not confirm it, which is as good as no
    /// answer.
    pub(super) async fn commit(&self) -> Result<(), Trouble> {
        let notices = self.notices();
        self.client.batch_execute("COMMIT").await?;
        if self.notices() != notices {
            return Err(Trouble::Lost("the server sent a warning while it committed".into()));
        }
        Ok(())
    }

    /// Finds out whether the session is ours alone, and then makes its settings once and for all.
    async fn settle(&mut self) -> Result<(), Trouble> {
        self.is_direct = is_direct(&self.client).await?;
        if self.is_direct {
            self.client.batch_execute(sql::SETTINGS).await?;
            self.begin = sql::BEGIN_SETTLED;
        }
        Ok(())
    }

    /// Cuts the connection without waiting for answers.
    pub(super) fn abandon(self) {
        self.driver.abort();
    }
}

/// Parameters without their types, which a prepared statement knows.
fn values<'a>(parameters: &[(&'a (dyn ToSql + Sync), Type)]) -> Vec<&'a (dyn ToSql + Sync)> {
    parameters.iter().map(|(value, _)| *value).collect()
}

/// Makes connections to the PostgreSQL server.
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

    /// The schema of the store's tables.
    pub(super) fn schema(&self) -> &str {
        &self.options.schema
    }

    /// Makes one attempt to connect.
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
        let mut link = Link {
            client: Arc::new(client),
            notices,
            driver: driver.abort_handle(),
            begin: if is_cockroach { sql::BEGIN } else { sql::BEGIN_IN_ORDER },
            is_direct: false,
            prepared: HashMap::new(),
        };
        if !is_cockroach {
            let settled = tokio::time::timeout(CONNECT_TIMEOUT, link.settle());
            settled.await.map_err(|_| timed_out())??;
        }
        Ok(link)
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
    /// What its connections prepare.
    statements: Vec<Prepared>,
}

/// A connection of a pool. It returns there only if [`Pooled::put_back`] is called.
pub(super) struct Pooled {
    pub(super) link: Link,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(connections: usize, statements: Vec<Prepared>) -> Self {
        let permits = Arc::new(Semaphore::new(connections));
        Self { idle: Mutex::default(), permits, statements }
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
        let link = if let Some(link) = idle {
            link
        } else {
            let mut link = connector.connect_within(patience).await?;
            // One that goes silent here would hold its permit for ever.
            let prepared = tokio::time::timeout(CONNECT_TIMEOUT, link.prepare(&self.statements));
            let Ok(prepared) = prepared.await else {
                link.abandon();
                return Err(timed_out());
            };
            prepared?;
            link
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
