//! What was observed: here, or by the server that the console stands before.

use std::collections::BTreeMap;
use std::time::Duration;

use keyloom::TableClient;
use keyloom_design::cost::Prices;
use keyloom_observe::{Judge, RecommendationEngine, Report};
use keyloom_server::{ConsoleReply, ConsoleRequest};
use serde_json::{Value as Json, json};

use super::{Answer, DesignConsole, Refusal, usable};
use crate::admin::{Keys, Question};
use crate::observed::ObservedDatabase;

const PATIENCE: Duration = Duration::from_secs(30);
/// Where `keyloom migrate` keeps its states.
const MIGRATIONS: &str = "keyloom_migrations";

/// Where statistics come from.
pub(crate) enum Observed {
    /// This process serves the database.
    Here(ObservedDatabase),
    /// A `keyloom serve` at this endpoint, which may be anything else.
    There { endpoint: String, keys: Keys },
    /// Nobody observes: it is AWS.
    Nobody,
}

impl Observed {
    /// Whether there can be statistics.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::Here(database) => database.statistics.is_some(),
            Self::There { .. } => true,
            Self::Nobody => false,
        }
    }

    /// Whether other servers may share the store.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Here(database)
            if database.database.servers_and_jobs().is_ok_and(|(servers, _)| !servers.is_empty()))
    }

    /// The statistics, with the heat.
    pub(super) fn report(&self) -> Result<Report, Refusal> {
        match self {
            Self::Here(database) if database.statistics.is_some() => Ok(database.recording()),
            Self::Here(_) => Err(Refusal::missing(
                "There are no statistics: the server was started with --stats off",
            )),
            Self::There { endpoint, keys } => {
                let path = "/keyloom/stats/heat";
                let question = Question { endpoint, method: "GET", path, patience: Some(PATIENCE) };
                let missing =
                    "has no statistics: it was started with --stats off, or it is not keyloom";
                let text = question.ask(keys, missing)?;
                Report::from_json(&text).map_err(Refusal::missing)
            }
            Self::Nobody => Err(Refusal::missing(
                "There are no statistics: only `keyloom serve` and programs that observe themselves have them",
            )),
        }
    }

    /// The statistics as JSON, as `GET /keyloom/stats` has them.
    pub(crate) fn json(&self, with_heat: bool) -> Option<String> {
        let mut report = self.report().ok()?;
        if !with_heat {
            report.heat.clear();
        }
        Some(report.to_json())
    }
}

impl DesignConsole {
    /// A recording that was sent, or else what is observed now.
    pub(super) fn recorded(&self, request: &ConsoleRequest<'_>) -> Result<Report, Refusal> {
        if request.body.is_empty() {
            return self.observed.report();
        }
        let text = std::str::from_utf8(request.body)
            .map_err(|_| Refusal::wrong("The recording is not a text"))?;
        Report::from_json(text).map_err(Refusal::wrong)
    }

    /// Findings about what was observed, by the design that is named, or the first.
    pub(super) fn doctor(&self, request: &ConsoleRequest<'_>) -> Answer {
        let mut report = self.recorded(request)?;
        report.heat.clear();
        let named = request.parameter("design");
        let first = || self.designs.first().map(|file| file.name.clone());
        let design = match named.map(std::borrow::Cow::into_owned).or_else(first) {
            Some(name) => Some(self.usable(&name)?),
            None => None,
        };
        let design = design.as_deref().map(usable).transpose()?;
        let prices = Prices::default();
        let findings = RecommendationEngine::new(Judge::new(&report, design, &prices)).diagnose();
        Ok(ConsoleReply::json(&json!({ "report": report, "findings": findings })))
    }

    /// The states of migrations, as they are stored: at most those of one page.
    pub(super) fn migrations(&self) -> Answer {
        let client = TableClient::new(self.backend.clone(), "");
        let answer = client.call("Scan", &json!({ "TableName": MIGRATIONS }).to_string());
        let rows = match answer {
            Ok(text) => serde_json::from_str::<Json>(&text).unwrap_or_default(),
            Err(keyloom::Error::Database(keyloom_core::Error::ResourceNotFound(_))) => json!({}),
            Err(error) => return Err(error.into()),
        };
        let rows = rows.get("Items").and_then(Json::as_array).cloned().unwrap_or_default();
        let rows: Vec<Json> = rows.iter().map(plain).collect();
        Ok(ConsoleReply::json(&json!(rows)))
    }

    /// The servers on the same store, and who does which job.
    pub(super) fn cluster(&self) -> Answer {
        let Observed::Here(here) = &self.observed else {
            return Err(Refusal::missing(
                "Only `keyloom serve --store` knows the servers beside it",
            ));
        };
        let (servers, jobs) = here
            .database
            .servers_and_jobs()
            .map_err(|error| Refusal::new(500, error.code(), error.message()))?;
        let now_ms = servers.iter().map(|server| server.seen_ms).max().unwrap_or_default();
        let epoch = servers.iter().map(|server| server.epoch).max().unwrap_or_default();
        let servers = servers.iter().map(|server| {
            json!({
                "id": server.id, "endpoint": server.endpoint, "version": server.version,
                "started_ms": server.started_ms,
                "silent_ms": now_ms.saturating_sub(server.seen_ms),
                "epochs_behind": epoch.saturating_sub(server.epoch),
            })
        });
        let jobs = jobs
            .iter()
            .map(|job| json!({ "name": job.name, "holder": job.holder, "since_ms": job.since_ms }));
        Ok(ConsoleReply::json(&json!({
            "epoch": epoch,
            "servers": servers.collect::<Vec<_>>(),
            "jobs": jobs.collect::<Vec<_>>(),
        })))
    }
}

/// An item of DynamoDB JSON with its values as plain JSON.
fn plain(item: &Json) -> Json {
    let Some(members) = item.as_object() else { return Json::Null };
    let value = |value: &Json| -> Json {
        let Some((kind, inner)) = value.as_object().and_then(|it| it.iter().next()) else {
            return Json::Null;
        };
        match (kind.as_str(), inner) {
            ("M", Json::Object(_)) => plain(inner),
            ("L", Json::Array(list)) => list
                .iter()
                .map(|it| plain(&json!({ "it": it })).get("it").cloned().unwrap_or_default())
                .collect(),
            ("N", Json::String(text)) => {
                serde_json::from_str(text).unwrap_or_else(|_| inner.clone())
            }
            ("NULL", _) => Json::Null,
            _ => inner.clone(),
        }
    };
    let named: BTreeMap<&String, Json> =
        members.iter().map(|(name, it)| (name, value(it))).collect();
    json!(named)
}
