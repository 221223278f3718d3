//! Deploying: what an endpoint has, compared with a design, and the changes that lead from one to the other.
//!
//! 1. [`service`]: requests to an endpoint.
//! 2. [`difference`]: a table that is there, compared with the one that is wanted.
//! 3. [`change`]: the requests of each change, in an order that DynamoDB takes: one index at a time.

mod change;
mod difference;
mod service;
#[cfg(test)]
mod tests;

use keyloom_core::Operation;
use keyloom_design::emit::{Capacity, capacity_of, create_table, time_to_live};
use keyloom_design::model::Table;
use keyloom_design::{CheckReport, Design};
use serde_json::{Value as Json, json};

pub(crate) use self::change::Change;
use self::difference::{Difference, Lifetime};
pub(crate) use self::service::{Refused, Service};
use self::service::{UNKNOWN_OPERATION, member};

/// What there is to do.
#[derive(Debug, Default)]
pub(crate) struct Deployment {
    /// What to do, in order.
    pub(crate) changes: Vec<Change>,
    /// What cannot be done without losing something; then nothing is done.
    pub(crate) refusals: Vec<String>,
    /// What differs and is left as it is.
    pub(crate) notes: Vec<String>,
    /// Tables that are as designed.
    pub(crate) settled: Vec<String>,
}

impl Deployment {
    /// Whether anything at the endpoint is not as designed.
    pub(crate) fn differs(&self) -> bool {
        !(self.changes.is_empty() && self.refusals.is_empty() && self.notes.is_empty())
    }
}

/// Compares the tables of a checked design with those of an endpoint.
pub(crate) fn prepare(
    report: &CheckReport,
    design: &Design,
    service: &dyn Service,
) -> Result<Deployment, Refused> {
    let mut deployment = Deployment::default();
    for table in design.tables() {
        let wanted = table_request(report, table);
        let lives = time_to_live(table);
        let Some(there) = described(service, &table.name)? else {
            deployment.changes.push(Change::create(wanted));
            deployment.changes.extend(lives.map(Change::TimeToLive));
            continue;
        };
        let mut difference = Difference::between(&there, &wanted);
        difference.compare_time_to_live(&lifetime(service, &table.name)?, lives);
        if difference.is_empty() {
            deployment.settled.push(table.name.clone());
        }
        deployment.changes.append(&mut difference.changes);
        deployment.refusals.append(&mut difference.refusals);
        deployment.notes.append(&mut difference.notes);
    }
    Ok(deployment)
}

/// The CreateTable request of a table; a provisioned one has the units that the declared rates ask for.
pub(crate) fn table_request(report: &CheckReport, table: &Table) -> Json {
    let mut request = create_table(table);
    let provision = |entry: &mut Json, index: usize| {
        if let Some(throughput) = entry.get_mut("ProvisionedThroughput") {
            let Capacity { read, write } = capacity_of(report, table, index);
            *throughput = json!({ "ReadCapacityUnits": read, "WriteCapacityUnits": write });
        }
    };
    provision(&mut request, 0);
    let global = request.get_mut("GlobalSecondaryIndexes").and_then(Json::as_array_mut);
    for entry in global.into_iter().flatten() {
        let name = member(entry, "/IndexName").as_str();
        let index = table.indexes.iter().position(|index| index.name.as_deref() == name);
        if let Some(index) = index {
            provision(entry, index);
        }
    }
    request
}

/// The description of a table, unless there is none of that name.
fn described(service: &dyn Service, name: &str) -> Result<Option<Json>, Refused> {
    match service.call(Operation::DescribeTable, &json!({ "TableName": name })) {
        Ok(answer) => Ok(answer.get("Table").cloned()),
        Err(refused) if refused.code == "ResourceNotFoundException" => Ok(None),
        Err(refused) => Err(refused),
    }
}

/// When the items of a table end.
fn lifetime(service: &dyn Service, name: &str) -> Result<Lifetime, Refused> {
    let answer = match service.call(Operation::DescribeTimeToLive, &json!({ "TableName": name })) {
        Err(refused) if refused.code == UNKNOWN_OPERATION => return Ok(Lifetime::Unknown),
        answer => answer?,
    };
    let description = member(&answer, "/TimeToLiveDescription");
    let on =
        member(description, "/TimeToLiveStatus").as_str().is_some_and(|s| s.starts_with("ENABL"));
    let attribute = member(description, "/AttributeName").as_str().filter(|_| on);
    Ok(attribute.map_or(Lifetime::Endless, |name| Lifetime::Until(name.to_owned())))
}
