//! Reports on a program's use of a database.

#[cfg(feature = "embedded")]
use keyloom_core::IndexKind;
#[cfg(feature = "embedded")]
use keyloom_engine::Database;
use keyloom_observe::report::TableFacts;
#[cfg(feature = "embedded")]
use keyloom_observe::report::{IndexFacts, Kind};
use keyloom_observe::{Report, StatsCollector};

use super::Backend;

impl Backend {
    /// What was collected of the requests to this database, with the tables that are there: all of an embedded one,
    /// those of an endpoint that requests were made to. Others may use an endpoint, too, so its report is one of
    /// [a single program](Report::of_one_program). Detectors judge it, and `keyloom doctor --file` reads its JSON.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use keyloom::observe::{StatsCollector, StatsOptions};
    /// use keyloom::{Backend, Database, Options, TableClient, item};
    ///
    /// let statistics = Arc::new(StatsCollector::new(StatsOptions::default()));
    /// let options = Options { observer: Some(statistics.clone()), ..Options::default() };
    /// let backend = Backend::from(Database::memory_with(options));
    /// let shop = TableClient::new(backend.clone(), "shop");
    /// shop.create()?;
    /// shop.put(item! { "pk" => "USER#1", "sk" => "PROFILE" })?;
    ///
    /// let report = backend.report(&statistics);
    /// assert_eq!((report.requests, report.tables.len()), (1, 1));
    /// let recording = report.to_json(); // for `keyloom doctor --file recording.json`
    /// # assert!(recording.starts_with('{'));
    /// # Ok::<(), keyloom::Error>(())
    /// ```
    pub fn report(&self, statistics: &StatsCollector) -> Report {
        let of_one_program = !self.is_embedded();
        Report { tables: self.table_facts(), of_one_program, ..statistics.snapshot() }
    }

    /// The tables that are there, as reports show them.
    pub fn table_facts(&self) -> Vec<TableFacts> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded(database) => embedded(database),
            #[cfg(feature = "remote")]
            Self::Remote(remote) => remote.table_facts(),
        }
    }
}

#[cfg(feature = "embedded")]
fn embedded(database: &Database) -> Vec<TableFacts> {
    let index = |index: &keyloom_engine::IndexFacts| IndexFacts {
        name: index.schema.name.to_string(),
        kind: match index.schema.kind {
            _ if index.is_vector => Kind::Vector,
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
        overdue_s: table.overdue_s.unwrap_or(0),
        indexes: table.indexes.iter().map(index).collect(),
    });
    facts.collect()
}
