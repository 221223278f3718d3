//! What can be said of the servers on a shared store without being one of them.

use std::time::{Duration, Instant};

use keyloom_core::Result;
use keyloom_store::{Direction, KeyRange, LaneStatus, PostgresOptions, PostgresStore, Store as _};

use crate::office::{self, JobRow, ServerRow};
use crate::{layout, store_error};

/// The servers on a store, and how they and the database are.
#[derive(Clone, Debug)]
pub struct ClusterStatus {
    /// The newest epoch of the tables.
    pub epoch: u64,
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
fn tables(store: &PostgresStore) -> Result<usize> {
    let snapshot = store.late_snapshot().map_err(store_error)?;
    let mut records = snapshot.scan(KeyRange::prefix(&layout::tables()), Direction::Forward);
    records.try_fold(0, |count, record| record.map(|_| count + 1)).map_err(store_error)
}

impl ClusterStatus {
    /// Asks the database.
    pub fn of(url: &str) -> Result<Self> {
        let store = PostgresOptions::from_url(url).and_then(PostgresStore::connect);
        let store = store.map_err(store_error)?;
        let asked = Instant::now();
        store.get(&layout::next_keyspace()).map_err(store_error)?;
        let round_trip = asked.elapsed();
        Ok(Self {
            tables: tables(&store)?,
            epoch: store.epoch(),
            round_trip,
            now_ms: store.now_ms().unwrap_or_default(),
            servers: office::servers(&store)?,
            jobs: office::jobs(&store)?,
            lanes: store.lanes().map_err(store_error)?,
        })
    }

    /// For how long nothing was heard of a server.
    pub fn silent_ms(&self, server: &ServerRow) -> u64 {
        self.now_ms.saturating_sub(server.seen_ms)
    }

    /// Whether a server counts as alive.
    pub fn is_alive(&self, server: &ServerRow) -> bool {
        office::is_fresh(server, self.now_ms)
    }
}
