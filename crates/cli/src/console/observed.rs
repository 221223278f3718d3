//! What was observed: here, or by the server that the console stands before.

use std::time::Duration;

use keyloom::migrate::{Migration, Recorded};
use keyloom_design::cost::Prices;
use keyloom_engine::{Clock as _, SystemClock};
use keyloom_observe::{Judge, RecommendationEngine, Report};
use keyloom_server::{ConsoleReply, ConsoleRequest};
use serde_json::{Value as Json, json};

use super::{Answer, DesignConsole, Refusal, usable};
use crate::admin::{Keys, Question};
use crate::commands::migrate::status_json;
use crate::observed::{ObservedDatabase, cluster_json};

const PATIENCE: Duration = Duration::from_secs(30);
/// For the question that a page waits for when it opens.
const GLANCE: Duration = Duration::from_secs(3);

/// Where statistics come from.
pub(crate) enum Observed {
    /// This process serves the database.
    Here(ObservedDatabase),
    /// A `keyloom serve` at this endpoint, which may be anything else.
    There { endpoint: String, keys: Keys },
    /// No observer: AWS.
    Nobody,
}

impl Observed {
    /// Whether there can be statistics.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::Here(database) => database.statistics.is_some(),
            Self::There { endpoint, keys } => is_keyloom(endpoint, keys),
            Self::Nobody => false,
        }
    }

    /// Whether other servers may share the store.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Here(here) if here.database.is_shared())
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
                let strange = |_| Refusal::missing(format_args!("{endpoint} {missing}"));
                Report::from_json(&text).map_err(strange)
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

/// Whether the statistics of a `keyloom serve` are at an endpoint; other servers answer something else there, or nothing.
fn is_keyloom(endpoint: &str, keys: &Keys) -> bool {
    let question =
        Question { endpoint, method: "GET", path: "/keyloom/stats", patience: Some(GLANCE) };
    question.ask(keys, "has none").is_ok_and(|text| Report::from_json(&text).is_ok())
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

    /// How far the migrations of the database are, as `keyloom migrate status` says it.
    pub(super) fn migrations(&self) -> Answer {
        let one = |recorded: &Recorded| {
            let mut document = status_json(&recorded.status);
            if let Json::Object(members) = &mut document {
                members.insert("id".to_owned(), json!(recorded.id));
                members.insert("now_ms".to_owned(), json!(SystemClock.now_ms()));
            }
            document
        };
        let all = Migration::recorded(self.backend.clone())?;
        Ok(ConsoleReply::json(&all.iter().map(one).collect()))
    }

    /// The servers on the same store, and who does which job.
    pub(super) fn cluster(&self) -> Answer {
        let Observed::Here(here) = &self.observed else {
            return Err(Refusal::missing(
                "Only `keyloom serve --store` knows the servers beside it",
            ));
        };
        let status = here
            .database
            .cluster_status()
            .map_err(|error| Refusal::new(500, error.code(), error.message()))?;
        let alone = || Refusal::missing("No other server can share this store");
        Ok(ConsoleReply::json(&cluster_json(&status.ok_or_else(alone)?)))
    }
}
