//! A served database with its statistics.

use std::sync::Arc;

use keyloom_core::observation::Observer;
use keyloom_engine::insights::{Contributions, InsightRule, InsightSpan, NotCounted};
use keyloom_engine::{
    BackupSource, Call, Clock as _, Database, Error, Reply, ServerRow, SystemClock,
};
use keyloom_observe::{Monitor, Report, StatsCollector, prometheus};
use keyloom_server::{Backend, Health};

/// A database and the statistics of its requests.
pub(crate) struct ObservedDatabase {
    pub(crate) database: Database,
    /// None if requests are not to be counted.
    pub(crate) statistics: Option<Arc<StatsCollector>>,
    pub(crate) monitor: Arc<Monitor>,
}

impl ObservedDatabase {
    /// What was collected, with the tables that exist.
    pub(crate) fn report(&self) -> Report {
        let tables = keyloom::Backend::from(&self.database).table_facts();
        Report { tables, ..self.counted() }
    }

    /// What was collected.
    fn counted(&self) -> Report {
        let partitions = self.monitor.partitions().all(SystemClock.now_ms());
        let collected = self.statistics.as_ref().map(|statistics| statistics.snapshot());
        collected.unwrap_or_default().with_partitions(partitions)
    }
}

impl Backend for ObservedDatabase {
    fn database(&self) -> Option<&Database> {
        Some(&self.database)
    }

    fn call(&self, target: &str, body: &[u8]) -> Reply {
        self.database.call(target, body)
    }

    fn begin(&self, target: &str, body: &[u8]) -> Call {
        self.database.begin_call(target, body)
    }

    fn health(&self) -> Health {
        self.database.health()
    }

    fn statistics(&self) -> Option<String> {
        self.statistics.as_ref().map(|_| self.report().to_json())
    }

    fn verify(&self) -> Option<Result<String, Error>> {
        Backend::verify(&self.database)
    }

    fn backup_source(&self) -> Option<Result<BackupSource, Error>> {
        self.database.backup_source()
    }

    /// A fork throttles by itself and collects no statistics.
    fn fork(&self) -> Option<Box<dyn Backend>> {
        let monitor = Arc::new(Monitor::new(self.monitor.throttle().clone()));
        let database = self.database.fork_observed(Arc::clone(&monitor) as Arc<dyn Observer>)?;
        Some(Box::new(Self { database, statistics: None, monitor }))
    }

    fn insight_rules(&self) -> Vec<InsightRule> {
        self.database.insight_rules()
    }

    fn contributors(
        &self,
        rule: &InsightRule,
        span: InsightSpan,
    ) -> Result<Contributions, NotCounted> {
        self.database.contributors(rule, span)
    }

    fn metrics(&self, page: &mut String) {
        prometheus(&self.counted(), page);
        cluster_metrics(&self.database, page);
    }
}

/// Figures about the servers on the same store; none if no other server can be there.
fn cluster_metrics(database: &Database, page: &mut String) {
    let Ok((servers, jobs)) = database.servers_and_jobs() else { return };
    if servers.is_empty() {
        return;
    }
    let now_ms = servers.iter().map(|server| server.seen_ms).max().unwrap_or_default();
    let mut family = |name: &str, figure: &dyn Fn(&ServerRow) -> String| {
        page.extend(["# TYPE ", name, " gauge\n"]);
        for server in &servers {
            let labels = format!("{{server=\"{}\",version=\"{}\"}} ", server.id, server.version);
            page.extend([name, &labels, &figure(server), "\n"]);
        }
    };
    family("keyloom_cluster_server_silent_seconds", &|server| {
        (now_ms.saturating_sub(server.seen_ms) as f64 / 1000.0).to_string()
    });
    family("keyloom_cluster_server_epoch", &|server| server.epoch.to_string());
    family("keyloom_cluster_jobs", &|server| {
        jobs.iter().filter(|job| job.holder == server.id).count().to_string()
    });
}
