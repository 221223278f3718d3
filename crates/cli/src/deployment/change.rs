//! One change to the tables of an endpoint.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::difference::Difference;
use super::service::{Refused, Service, UNKNOWN_OPERATION, member};

/// How often a table is asked whether it is ready: for an hour, since a large index takes its time.
const ASKED: u32 = 7200;
const BETWEEN: Duration = Duration::from_millis(500);

/// A change that loses nothing.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A new table: its CreateTable request.
    Create(Json),
    /// An index more.
    AddIndex {
        /// The table.
        table: String,
        /// The index as CreateTable writes it.
        index: Json,
        /// The types of all key attributes that the table then has.
        attributes: Vec<Json>,
    },
    /// A stream: the UpdateTable request.
    Stream(Json),
    /// An end to the life of items: the UpdateTimeToLive request.
    TimeToLive(Json),
}

impl Change {
    /// A new table.
    pub(super) fn create(body: Json) -> Self {
        Self::Create(body)
    }

    /// In words.
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
            Self::Stream(body) => {
                format!("turn on the stream of table `{}`", text(member(body, "/TableName")))
            }
            Self::TimeToLive(body) => format!(
                "let items of table `{}` end at `{}`",
                text(member(body, "/TableName")),
                text(member(body, "/TimeToLiveSpecification/AttributeName"))
            ),
        }
    }

    /// The request that makes the change.
    pub(crate) fn request(&self) -> (&'static str, Json) {
        match self {
            Self::Create(body) => ("CreateTable", body.clone()),
            Self::AddIndex { table, index, attributes } => {
                let body = json!({
                    "TableName": table,
                    "AttributeDefinitions": attributes,
                    "GlobalSecondaryIndexUpdates": [{ "Create": index }],
                });
                ("UpdateTable", body)
            }
            Self::Stream(body) => ("UpdateTable", body.clone()),
            Self::TimeToLive(body) => ("UpdateTimeToLive", body.clone()),
        }
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
            (Self::TimeToLive(_), answer) => drop(answer?),
            (_, answer) => {
                answer?;
                await_ready(service, text(member(&body, "/TableName")))?;
            }
        }
        Ok(None)
    }
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

/// A table that is there already was made by a request whose answer was lost, or by somebody else: it has to be the
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
    for _ in 0..ASKED {
        let answer = service.call("DescribeTable", &json!({ "TableName": table }))?;
        let described = member(&answer, "/Table");
        let indexes = member(described, "/GlobalSecondaryIndexes").as_array().into_iter().flatten();
        let mut states = indexes.map(|index| text(member(index, "/IndexStatus")));
        if text(member(described, "/TableStatus")) == "ACTIVE"
            && states.all(|state| state == "ACTIVE")
        {
            return Ok(described.clone());
        }
        std::thread::sleep(BETWEEN);
    }
    Err(Refused {
        code: String::new(),
        operation: "DescribeTable",
        message: format!(
            "table `{table}` is still not active after an hour; run the command again later"
        ),
    })
}
