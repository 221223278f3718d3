//! A served database with its statistics.

use std::sync::Arc;

use keyloom_core::observation::Observer;
use keyloom_engine::insights::{Contributions, InsightRule, InsightSpan, NotCounted};
use keyloom_engine::{
    BackupSource, Call, Clock as _, ClusterStatus, Database, Error, JobRow, LaneStatus, Reply,
    ServerRow, SystemClock,
};
use keyloom_observe::{Monitor, Report, StatsCollector, prometheus};
use keyloom_server::{Backend, Console, Health};
use serde_json::{Value, json};

use crate::console::DesignConsole;

/// A database and the statistics of its requests. Clones share both.
#[derive(Clone)]
pub(crate) struct ObservedDatabase {
    pub(crate) database: Database,
    /// None if requests are not to be counted.
    pub(crate) statistics: Option<Arc<StatsCollector>>,
    pub(crate) monitor: Arc<Monitor>,
    /// Answers the console, if it is served.
    pub(crate) console: Option<Arc<DesignConsole>>,
}

impl ObservedDatabase {
    /// What was collected, with the tables that exist.
    pub(crate) fn report(&self) -> Report {
        let tables = keyloom::Backend::from(&self.database).table_facts();
        Report { tables, ..self.counted() }
    }

    /// The same with the load over time and key space.
    pub(crate) fn recording(&self) -> Report {
        let heat = self.statistics.as_ref().map(|statistics| statistics.heat(|_, _| true));
        Report { heat: heat.unwrap_or_default(), ..self.report() }
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

    fn statistics(&self, with_heat: bool) -> Option<String> {
        let report = || if with_heat { self.recording() } else { self.report() };
        self.statistics.as_ref().map(|_| report().to_json())
    }

    fn verify(&self) -> Option<Result<String, Error>> {
        Backend::verify(&self.database)
    }

    fn backup_source(&self) -> Option<Result<BackupSource, Error>> {
        self.database.backup_source()
    }

    /// A fork throttles by itself; it collects no statistics and has no console.
    fn fork(&self) -> Option<Box<dyn Backend>> {
        let monitor = Arc::new(Monitor::new(self.monitor.throttle().clone()));
        let database = self.database.fork_observed(Arc::clone(&monitor) as Arc<dyn Observer>)?;
        Some(Box::new(Self { database, statistics: None, monitor, console: None }))
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

    fn console(&self) -> Option<&dyn Console> {
        self.console.as_deref().map(|console| console as &dyn Console)
    }

    fn metrics(&self, page: &mut String) {
        prometheus(&self.counted(), page);
        cluster_metrics(&self.database, page);
    }
}

/// Figures about the servers on the same store; none if no other server can be there.
fn cluster_metrics(database: &Database, page: &mut String) {
    let Ok(Some(status)) = database.cluster_status() else { return };
    let mut family = |name: &str, kind: &str, figures: Vec<(String, String)>| {
        page.extend(["# TYPE ", name, " ", kind, "\n"]);
        for (labels, figure) in figures {
            page.extend([name, &labels, " ", &figure, "\n"]);
        }
    };
    let seconds = |ms: u64| (ms as f64 / 1000.0).to_string();
    let of_servers = |figure: &dyn Fn(&ServerRow) -> String| {
        let labelled = |server: &ServerRow| {
            (format!("{{server=\"{}\",version=\"{}\"}}", server.id, server.version), figure(server))
        };
        status.servers.iter().map(labelled).collect::<Vec<_>>()
    };
    let alive = status.servers.iter().filter(|server| status.is_alive(server)).count();
    family("keyloom_cluster_servers_alive", "gauge", vec![(String::new(), alive.to_string())]);
    let round_trip = status.round_trip.as_secs_f64().to_string();
    family("keyloom_cluster_round_trip_seconds", "gauge", vec![(String::new(), round_trip)]);
    family("keyloom_cluster_epoch", "gauge", vec![(String::new(), status.epoch.to_string())]);
    family(
        "keyloom_cluster_server_silent_seconds",
        "gauge",
        of_servers(&|server| seconds(status.silent_ms(server))),
    );
    family(
        "keyloom_cluster_server_epochs_behind",
        "gauge",
        of_servers(&|server| status.epochs_behind(server).to_string()),
    );
    family(
        "keyloom_cluster_jobs",
        "gauge",
        of_servers(&|server| {
            status.jobs.iter().filter(|job| job.holder == server.id).count().to_string()
        }),
    );
    let job = |job: &JobRow| {
        let labels = format!("{{job={:?},server=\"{}\"}}", job.name, job.holder);
        (labels, seconds(status.now_ms.saturating_sub(job.since_ms)))
    };
    family("keyloom_cluster_job_seconds", "gauge", status.jobs.iter().map(job).collect());
    let of_lanes = |figure: &dyn Fn(&LaneStatus) -> String| {
        let labelled = |lane: &LaneStatus| {
            (format!("{{lane=\"{}\",about={:?}}}", lane.id, lane.about), figure(lane))
        };
        status.lanes.iter().map(labelled).collect::<Vec<_>>()
    };
    let flights = of_lanes(&|lane| lane.flights.to_string());
    family("keyloom_cluster_lane_flights_total", "counter", flights);
    let silent = of_lanes(&|lane| seconds(lane.silent_ms.unsigned_abs()));
    family("keyloom_cluster_lane_silent_seconds", "gauge", silent);
}

/// The servers on a store as JSON.
pub(crate) fn cluster_json(status: &ClusterStatus) -> Value {
    let servers = status.servers.iter().map(|server| {
        json!({"id": server.id, "endpoint": server.endpoint, "version": server.version,
            "started_ms": server.started_ms, "silent_ms": status.silent_ms(server),
            "alive": status.is_alive(server), "records": server.records,
            "epochs_behind": status.epochs_behind(server)})
    });
    let jobs = status
        .jobs
        .iter()
        .map(|job| json!({"name": job.name, "holder": job.holder, "since_ms": job.since_ms}));
    let lanes = status.lanes.iter().map(|lane| {
        json!({"id": lane.id.to_string(), "about": lane.about, "flights": lane.flights,
            "silent_ms": lane.silent_ms})
    });
    json!({
        "reachable": true,
        "round_trip_us": status.round_trip.as_micros() as u64,
        "tables": status.tables,
        "epoch": status.epoch,
        "records": status.records,
        "servers": servers.collect::<Vec<_>>(),
        "jobs": jobs.collect::<Vec<_>>(),
        "lanes": lanes.collect::<Vec<_>>(),
    })
}
