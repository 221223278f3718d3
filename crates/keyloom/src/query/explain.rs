//! Explains how a query would be executed, without executing it.

use std::fmt;

use keyloom_api::Request;
use keyloom_design::plan::{Proofs, ReadKind, Verdict};

use super::request::{get_input, query_input};
use super::runner::{Planned, Settings};

/// The plan of a query and its exact first requests.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The access pattern.
    pub pattern: String,
    /// How it is read.
    pub verdict: Verdict,
    /// The index; none for the table itself.
    pub index: Option<String>,
    /// What is proven about the answer.
    pub proofs: Proofs,
    /// The first requests: operation and JSON body.
    pub requests: Vec<(&'static str, String)>,
    /// Why a second step fetches the items themselves, if one does.
    pub second_step: Option<String>,
    /// Why other indexes were not taken.
    pub rejected: Vec<String>,
}

impl Explanation {
    pub(super) fn new(planned: &Planned<'_>, settings: Settings) -> Self {
        let text = |body: Vec<u8>| String::from_utf8_lossy(&body).into_owned();
        let requests = planned.reads.iter().map(|read| match read.kind {
            ReadKind::Get => ("GetItem", text(get_input(read, settings.consistent).body())),
            ReadKind::Query => {
                let limit = settings.limit_of(read);
                ("Query", text(query_input(read, limit, settings.consistent, None).body()))
            }
        });
        let plan = planned.plan;
        let requests: Vec<(&'static str, String)> = if plan.verdict == Verdict::Batch {
            let batches = keyloom_design::plan::requests(planned.pattern, plan, &planned.inputs);
            let batches = batches.unwrap_or_default().into_iter();
            batches.map(|request| ("BatchGetItem", request.body.to_string())).collect()
        } else {
            requests.collect()
        };
        Self {
            pattern: planned.pattern.name.clone(),
            verdict: plan.verdict,
            index: plan.index_name().map(str::to_owned),
            proofs: plan.proofs,
            requests,
            second_step: plan.hydrate.as_ref().map(|hydrate| hydrate.reason.clone()),
            rejected: plan
                .rejected
                .iter()
                .map(|rejected| format!("{}: {}", rejected.index, rejected.reason))
                .collect(),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = self.index.as_deref().unwrap_or("table");
        writeln!(f, "{}: {} on {index}", self.pattern, self.verdict.as_str())?;
        for (operation, body) in &self.requests {
            writeln!(f, "  {operation} {body}")?;
        }
        if let Some(reason) = &self.second_step {
            writeln!(f, "  then: {reason}")?;
        }
        let Proofs { rows, order, limit, purity, coverage, consistency } = &self.proofs;
        let all = [
            ("rows", rows),
            ("order", order),
            ("limit", limit),
            ("purity", purity),
            ("coverage", coverage),
            ("consistency", consistency),
        ];
        let proofs: Vec<String> =
            all.iter().map(|(name, proof)| format!("{name} {}", proof.as_str())).collect();
        writeln!(f, "  {}", proofs.join(", "))?;
        self.rejected.iter().try_for_each(|reason| writeln!(f, "  not {reason}"))
    }
}
