//! One change to the tables of an endpoint.

use std::time::Duration;

use keyloom_core::Operation;
use serde_json::{Value as Json, json};

use super::difference::Difference;
use super::service::{Refused, Service, UNKNOWN_OPERATION, member};
use crate::progress::Progress;

/// How often a table is asked whether it is ready: for an hour, since a large index takes its time.
const ASKED: u32 = 7200;
const BETWEEN: Duration = Duration::from_millis(500);
const FIRST: Duration = Duration::from_millis(10);

/// A change that loses nothing.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A new table: its CreateTable request.
    Create(Json),
    /// An index more.
    AddIndex {
        /// The name of the table.
        table: String,
        /// The index as CreateTable writes it.
        index: Json,
        /// The types of all key attributes that the table then has.
        attributes: Vec<Json>,
    },
    /// Other settings of a table.
    Settings {
        /// In words, after the table's name.
        what: String,
        /// The UpdateTable request.
        body: Json,
    },
    /// An end to the life of items: the UpdateTimeToLive request.
    TimeToLive(Json),
    /// No end to the life of items: the UpdateTimeToLive request.
    Endless(Json),
}

impl Change {
    /// A new table.
    pub(super) fn create(body: Json) -> Self {
        Self::Create(body)
    }

    /// What the change does, in words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Create(body) => {
                let indexes: Vec<String> = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"]
                    .into_iter()
                    .flat_map(|kind| body.get(kind).and_then(Json::as_array).into_iter().flatten())
                    .map(|index| {
                        format!("`{}`{}", text(member(index, "/IndexName")), provisioned(index))
                    })
                    .collect();
                let name = text(member(body, "/TableName"));
                let table = format!("create table `{name}`{}", provisioned(body));
                if indexes.is_empty() {
                    return table;
                }
                format!("{table} with {}", indexes.join(", "))
            }
            Self::AddIndex { table, index, .. } => {
                let name = text(member(index, "/IndexName"));
                format!("add index `{name}` to table `{table}`{}", provisioned(index))
            }
            Self::Settings { what, body } => {
                format!("change table `{}`: {what}", text(member(body, "/TableName")))
            }
            Self::Endless(body) => format!(
                "no longer let items of table `{}` end at `{}`",
                text(member(body, "/TableName")),
                text(member(body, "/TimeToLiveSpecification/AttributeName"))
            ),
            Self::TimeToLive(body) => format!(
                "let items of table `{}` end at `{}`",
                text(member(body, "/TableName")),
                text(member(body, "/TimeToLiveSpecification/AttributeName"))
            ),
        }
    }

    /// The request that makes the change.
    pub(crate) fn request(&self) -> (Operation, Json) {
        match self {
            Self::Create(body) => (Operation::CreateTable, body.clone()),
            Self::AddIndex { table, index, attributes } => {
                let body = json!({
                    "TableName": table,
                    "AttributeDefinitions": attributes,
                    "GlobalSecondaryIndexUpdates": [{ "Create": index }],
                });
                (Operation::UpdateTable, body)
            }
            Self::Settings { body, .. } => (Operation::UpdateTable, body.clone()),
            Self::TimeToLive(body) | Self::Endless(body) => {
                (Operation::UpdateTimeToLive, body.clone())
            }
        }
    }

    /// Makes a change once more that was refused because the table was being changed; what it would make may be there.
    fn make_again(&self, service: &dyn Service) -> Result<Option<String>, Refused> {
        let (operation, body) = self.request();
        let table = text(member(&body, "/TableName"));
        let there = await_ready(service, table)?;
        let indexes = member(&there, "/GlobalSecondaryIndexes").as_array().into_iter().flatten();
        let name = member(&body, "/GlobalSecondaryIndexUpdates/0/Create/IndexName");
        if indexes.clone().any(|index| member(index, "/IndexName") == name) {
            return Ok(None);
        }
        service.call(operation, &body)?;
        await_ready(service, table)?;
        Ok(None)
    }

    /// Makes the change and waits until the table can be used and changed again. Returns what there is to note.
    pub(crate) fn make(&self, service: &dyn Service) -> Result<Option<String>, Refused> {
        let (operation, body) = self.request();
        match (self, service.call(operation, &body)) {
            (Self::Create(_), Err(refused)) if refused.code == "ResourceInUseException" => {
                as_designed(service, &body, refused)?;
            }
            (Self::TimeToLive(_), Err(refused)) if refused.code == UNKNOWN_OPERATION => {
                return Ok(Some(no_time_to_live(&body)));
            }
            (Self::TimeToLive(_) | Self::Endless(_), answer) => {
                answer.map_err(too_soon)?;
                await_time_to_live(service, text(member(&body, "/TableName")))?;
            }
            // An index that is there already was begun before an interruption.
            (Self::AddIndex { .. }, Err(refused)) if refused.code == "ResourceInUseException" => {
                await_ready(service, text(member(&body, "/TableName")))?;
                return self.make_again(service);
            }
            (_, answer) => {
                answer?;
                await_ready(service, text(member(&body, "/TableName")))?;
            }
        }
        Ok(None)
    }
}

/// DynamoDB changes a time to live once an hour.
fn too_soon(refused: Refused) -> Refused {
    if !refused.message.contains("modified multiple times") {
        return refused;
    }
    let message =
        format!("{}; run the command again in an hour, it goes on from here", refused.message);
    Refused { message, ..refused }
}

/// The units that a table or an index is to have, in words.
fn provisioned(entry: &Json) -> String {
    let units = |kind: &str| member(entry, &format!("/ProvisionedThroughput/{kind}")).as_u64();
    match (units("ReadCapacityUnits"), units("WriteCapacityUnits")) {
        (Some(read), Some(write)) => format!(" ({read} read and {write} write units a second)"),
        _ => String::new(),
    }
}

/// What there is to say where an endpoint never ends an item's life; reads of designs do not depend on it.
pub(super) fn no_time_to_live(body: &Json) -> String {
    format!(
        "the endpoint has no time to live: items of table `{}` do not end at `{}`",
        text(member(body, "/TableName")),
        text(member(body, "/TimeToLiveSpecification/AttributeName"))
    )
}

/// A table that is there already was made by a request whose answer was lost, or by another program: it has to be the
/// one that was wanted.
fn as_designed(service: &dyn Service, wanted: &Json, refused: Refused) -> Result<(), Refused> {
    let table = text(member(wanted, "/TableName"));
    let there = await_ready(service, table)?;
    if Difference::between(&there, wanted).is_empty() {
        return Ok(());
    }
    let message = format!(
        "table `{table}` was made by somebody else meanwhile, and not as designed; run the command again"
    );
    Err(Refused { message, ..refused })
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_default()
}

/// Waits until the table and all its indexes are active, for only then DynamoDB takes the next change. Returns the
/// table's description.
fn await_ready(service: &dyn Service, table: &str) -> Result<Json, Refused> {
    let mut bar: Option<Progress> = None;
    let mut wait = FIRST;
    for _ in 0..ASKED {
        let answer = service.call(Operation::DescribeTable, &json!({ "TableName": table }))?;
        let described = member(&answer, "/Table");
        let mut indexes =
            member(described, "/GlobalSecondaryIndexes").as_array().into_iter().flatten();
        let building = indexes.find(|index| member(index, "/IndexStatus") != "ACTIVE");
        if text(member(described, "/TableStatus")) == "ACTIVE" && building.is_none() {
            return Ok(described.clone());
        }
        if let Some(index) = building {
            let count = |of: &Json| member(of, "/ItemCount").as_u64().unwrap_or(0) as usize;
            let what = || format!("index {}", text(member(index, "/IndexName")));
            let total = count(described).max(count(index));
            bar.get_or_insert_with(|| Progress::new(what(), total)).at(count(index));
        }
        std::thread::sleep(wait);
        wait = (wait * 2).min(BETWEEN);
    }
    Err(Refused {
        code: String::new(),
        operation: Operation::DescribeTable,
        message: format!(
            "table `{table}` is still not active after an hour; run the command again later"
        ),
    })
}

/// Waits until a time to live is on or off: while it is changed, it cannot be changed again.
fn await_time_to_live(service: &dyn Service, table: &str) -> Result<(), Refused> {
    for _ in 0..ASKED {
        let answer =
            match service.call(Operation::DescribeTimeToLive, &json!({ "TableName": table })) {
                Err(refused) if refused.code == UNKNOWN_OPERATION => return Ok(()),
                answer => answer?,
            };
        if !text(member(&answer, "/TimeToLiveDescription/TimeToLiveStatus")).ends_with("ING") {
            return Ok(());
        }
        std::thread::sleep(BETWEEN);
    }
    Ok(())
}
