//! A database behind a server, with whoever watches it.

use std::sync::Arc;

use keyloom_core::IndexKind;
use keyloom_engine::{Call, Clock as _, Database, Reply, SystemClock};
use keyloom_observe::report::{IndexFacts, Kind, TableFacts};
use keyloom_observe::{Monitor, Report, StatsCollector, prometheus};
use keyloom_server::Backend;

/// A database and the statistics of its requests.
pub(crate) struct Watched {
    pub(crate) database: Database,
    /// None if requests are not to be counted.
    pub(crate) statistics: Option<Arc<StatsCollector>>,
    pub(crate) monitor: Arc<Monitor>,
}

impl Watched {
    /// What was collected, with the tables that exist.
    pub(crate) fn report(&self) -> Report {
        Report { tables: tables(&self.database), ..self.counted() }
    }

    /// What was collected.
    fn counted(&self) -> Report {
        let partitions = self.monitor.partitions().all(SystemClock.now_ms());
        let collected = self.statistics.as_ref().map(|statistics| statistics.snapshot());
        collected.unwrap_or_default().with_partitions(partitions)
    }
}

impl Backend for Watched {
    fn call(&self, target: &str, body: &[u8]) -> Reply {
        self.database.call(target, body)
    }

    fn begin(&self, target: &str, body: &[u8]) -> Call {
        self.database.begin_call(target, body)
    }

    fn statistics(&self) -> Option<String> {
        self.statistics.as_ref().map(|_| self.report().to_json())
    }

    fn metrics(&self, page: &mut String) {
        prometheus(&self.counted(), page);
    }
}

fn tables(database: &Database) -> Vec<TableFacts> {
    let index = |index: &keyloom_engine::IndexFacts| IndexFacts {
        name: index.schema.name.to_string(),
        kind: match index.schema.kind {
            IndexKind::Global => Kind::Global,
            IndexKind::Local => Kind::Local,
        },
        items: index.items,
        bytes: index.size_bytes,
    };
    let tables = database.tables();
    let facts = tables.iter().map(|table| TableFacts {
        name: table.name.clone(),
        items: table.items,
        bytes: table.size_bytes,
        created_ms: table.created_ms,
        indexes: table.indexes.iter().map(index).collect(),
    });
    facts.collect()
}
