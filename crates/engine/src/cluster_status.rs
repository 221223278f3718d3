//! Status of the servers on a shared store: which are alive, which jobs they run, and the state of the database.

use std::time::{Duration, Instant};

use keyloom_core::Result;
use keyloom_store::{Direction, KeyRange, LaneStatus, Store};

use crate::coordination::{self, JobRow, ServerRow};
use crate::records::Records;
use crate::{layout, store_error};

/// The servers on a store, and how they and the database are.
#[derive(Clone, Debug)]
pub struct ClusterStatus {
    /// The newest epoch of the tables.
    pub epoch: u64,
    /// The version in which records are written.
    pub records: u32,
    /// How long the database takes to answer.
    pub round_trip: Duration,
    /// The database's clock, in milliseconds since 1970.
    pub now_ms: u64,
    /// How many tables there are.
    pub tables: usize,
    /// The servers that are there, or were until a short time ago.
    pub servers: Vec<ServerRow>,
    /// What is being done, and by whom.
    pub jobs: Vec<JobRow>,
    /// The connections that commit.
    pub lanes: Vec<LaneStatus>,
}

/// How many tables there are.
fn tables(store: &dyn Store) -> Result<usize> {
    let snapshot = store.late_snapshot().map_err(store_error)?;
    let mut records = snapshot.scan(KeyRange::prefix(&layout::tables()), Direction::Forward);
    records.try_fold(0, |count, record| record.map(|_| count + 1)).map_err(store_error)
}

impl ClusterStatus {
    /// Asks the database at this URL, without being a server on it and without creating one there.
    #[cfg(feature = "postgres")]
    pub fn of(url: &str) -> Result<Self> {
        use keyloom_store::{PostgresOptions, PostgresStore};
        let options = PostgresOptions::from_url(url).map(PostgresOptions::must_exist);
        let store = options.and_then(PostgresStore::connect);
        Self::on(&store.map_err(store_error)?)
    }

    pub(crate) fn on(store: &dyn Store) -> Result<Self> {
        // The first one makes a connection, too.
        store.get(layout::RECORDS_KEY).map_err(store_error)?;
        let asked = Instant::now();
        let version = store.get(layout::RECORDS_KEY).map_err(store_error)?;
        let round_trip = asked.elapsed();
        let records = Records::new(u32::MAX);
        records.meet(version.as_deref())?;
        Ok(Self {
            tables: tables(store)?,
            servers: coordination::servers(store)?,
            jobs: coordination::jobs(store)?,
            lanes: store.lanes().map_err(store_error)?,
            epoch: store.epoch(),
            records: records.written(),
            round_trip,
            now_ms: store.now_ms().unwrap_or_default(),
        })
    }

    /// For how long nothing was heard of a server.
    pub fn silent_ms(&self, server: &ServerRow) -> u64 {
        self.now_ms.saturating_sub(server.seen_ms)
    }

    /// How many changes of the tables a server had not heard of when it was last heard; it hears of them before it
    /// answers anything.
    pub fn epochs_behind(&self, server: &ServerRow) -> u64 {
        self.epoch.saturating_sub(server.epoch)
    }

    /// Whether a server counts as alive.
    pub fn is_alive(&self, server: &ServerRow) -> bool {
        coordination::is_fresh(server, self.now_ms)
    }
}
