//! Streams in a migration: enabling them, reading their shards and records.

use keyloom_api::{Fields, JsonWriter};
use keyloom_core::json::{self, Json};
use keyloom_core::{Error as Refusal, Item};

use super::service::{Service, gone};
use crate::error::{Error, Result};

const BOTH_IMAGES: &str = "NEW_AND_OLD_IMAGES";

/// A shard as its stream lists it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What tells it apart.
    pub id: String,
    /// The shard that it goes on from.
    pub parent: Option<String>,
    /// The number of its first record.
    pub first: String,
    /// Whether it gets no more records.
    pub is_closed: bool,
}

/// Where to begin in a shard.
pub(crate) enum Start<'a> {
    /// With what comes from now on.
    Latest,
    /// With the oldest record that is kept.
    Oldest,
    /// At this number.
    At(&'a str),
    /// Behind this number.
    After(&'a str),
}

/// One change of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The sequence number of the record.
    pub sequence: String,
    /// When it was made, in seconds since 1970.
    pub created_s: f64,
    /// The item's key.
    pub keys: Item,
    /// The item before, if there was one and the stream has it.
    pub old: Option<Item>,
    /// The item after, if there is one and the stream has it.
    pub new: Option<Item>,
}

/// Some records of a shard.
#[derive(Debug)]
pub struct Records {
    /// The records of this page.
    pub records: Vec<Record>,
    /// Where to go on; none at the end of the shard.
    pub next: Option<String>,
}

/// Reads a member of an answer.
pub(super) fn read<T>(body: &[u8], read: impl FnOnce(&Fields<'_>) -> Option<T>) -> Result<T> {
    let malformed =
        || Error::Migration("the endpoint gave an answer that cannot be understood".into());
    let json = json::parse(body).map_err(|_| malformed())?;
    read(&Fields::of(&json)).ok_or_else(malformed)
}

pub(super) fn body(write: impl FnOnce(&mut JsonWriter)) -> Vec<u8> {
    let mut body = JsonWriter::object();
    write(&mut body);
    body.finish()
}

/// The stream of a table with both images, if it is on; one with other images is refused.
pub(super) fn with_both_images(service: &Service, table: &str) -> Result<Option<String>> {
    match find(service, table)? {
        Some((view, arn)) if view == BOTH_IMAGES => Ok(Some(arn)),
        Some((view, _)) => Err(Error::Migration(format!(
            "the stream of table `{table}` has {view}, and a migration needs {BOTH_IMAGES}: \
             turn the stream off, if nothing reads it, and run this again"
        ))),
        None => Ok(None),
    }
}

/// The stream of a table, turned on with both images if it has none.
pub(super) fn ensure(service: &Service, table: &str) -> Result<String> {
    if let Some(arn) = with_both_images(service, table)? {
        return Ok(arn);
    }
    let on = body(|body| {
        body.string("TableName", table);
        body.structure("StreamSpecification", |stream| {
            stream.boolean("StreamEnabled", true);
            stream.string("StreamViewType", BOTH_IMAGES);
        });
    });
    service.call("UpdateTable", &on)?;
    crate::tables::await_active(&service.backend, &service.retry, table)?;
    match find(service, table)? {
        Some((_, arn)) => Ok(arn),
        None => Err(Error::Migration(format!(
            "table `{table}` has no stream although it was turned on: the endpoint has none, and what programs change \
             while items are copied would be lost"
        ))),
    }
}

/// Turns the stream of a table off; one that is off is fine.
pub(super) fn turn_off(service: &Service, table: &str) -> Result<()> {
    let off = body(|body| {
        body.string("TableName", table);
        body.structure("StreamSpecification", |stream| stream.boolean("StreamEnabled", false));
    });
    match service.call("UpdateTable", &off) {
        Ok(_) => crate::tables::await_active(&service.backend, &service.retry, table),
        Err(Error::Database(Refusal::Validation(_) | Refusal::ResourceNotFound(_))) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The view and the ARN of a table's stream, if it is on.
pub(crate) fn describe(service: &Service, table: &str) -> Result<Option<(String, String)>> {
    let answer = service.call("DescribeTable", &body(|body| body.string("TableName", table)))?;
    read(&answer, |fields| {
        let table = fields.structure("Table")?;
        let stream = table.structure("StreamSpecification");
        let view = stream.filter(|stream| stream.boolean("StreamEnabled") == Some(true));
        let view = view.and_then(|stream| stream.owned_string("StreamViewType"));
        Some(view.zip(table.owned_string("LatestStreamArn")))
    })
}

/// The same for a table of the migration, which must be there.
pub(super) fn find(service: &Service, table: &str) -> Result<Option<(String, String)>> {
    describe(service, table).map_err(|error| gone(&[table], error))
}

/// How many items a table has, by its last count; zero if it is not there.
pub(super) fn item_count(service: &Service, table: &str) -> Result<u64> {
    match service.call("DescribeTable", &body(|body| body.string("TableName", table))) {
        Ok(answer) => read(&answer, |fields| fields.structure("Table")?.integer("ItemCount"))
            .map(i64::cast_unsigned),
        Err(Error::Database(Refusal::ResourceNotFound(_))) => Ok(0),
        Err(error) => Err(error),
    }
}

/// The shards of a stream.
pub(crate) fn shards(service: &Service, arn: &str) -> Result<Vec<Listed>> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let request = body(|body| {
            body.string("StreamArn", arn);
            body.optional_string("ExclusiveStartShardId", after.as_deref());
        });
        let answer = service.call("DescribeStream", &request)?;
        after = read(&answer, |fields| {
            let stream = fields.structure("StreamDescription")?;
            for shard in stream.structures("Shards").unwrap_or_default() {
                let range = shard.structure("SequenceNumberRange")?;
                all.push(Listed {
                    id: shard.owned_string("ShardId")?,
                    parent: shard.owned_string("ParentShardId"),
                    first: range.owned_string("StartingSequenceNumber").unwrap_or_default(),
                    is_closed: range.has("EndingSequenceNumber"),
                });
            }
            Some(stream.owned_string("LastEvaluatedShardId"))
        })?;
        if after.is_none() {
            return Ok(all);
        }
    }
}

/// An iterator of a shard.
pub(crate) fn iterator(
    service: &Service,
    arn: &str,
    shard: &str,
    start: &Start<'_>,
) -> Result<String> {
    let (kind, number) = match start {
        Start::Latest => ("LATEST", None),
        Start::Oldest => ("TRIM_HORIZON", None),
        Start::At(number) => ("AT_SEQUENCE_NUMBER", Some(*number)),
        Start::After(number) => ("AFTER_SEQUENCE_NUMBER", Some(*number)),
    };
    let request = body(|body| {
        body.string("StreamArn", arn);
        body.string("ShardId", shard);
        body.string("ShardIteratorType", kind);
        body.optional_string("SequenceNumber", number);
    });
    let answer = service.call("GetShardIterator", &request)?;
    read(&answer, |fields| fields.owned_string("ShardIterator"))
}

/// The records at an iterator.
pub(crate) fn records(service: &Service, iterator: &str) -> Result<Records> {
    let request = body(|body| body.string("ShardIterator", iterator));
    let answer = service.call("GetRecords", &request)?;
    read(&answer, |fields| {
        let listed = fields.structures("Records").unwrap_or_default();
        let records = listed.iter().map(record).collect::<Option<Vec<_>>>()?;
        Some(Records { records, next: fields.owned_string("NextShardIterator") })
    })
}

fn record(fields: &Fields<'_>) -> Option<Record> {
    let change = fields.structure("dynamodb")?;
    let image = |name: &str| -> Option<Option<Item>> {
        match change.raw(name) {
            None | Some(Json::Null) => Some(None),
            Some(image) => json::item_from(image).ok().map(Some),
        }
    };
    Some(Record {
        sequence: change.owned_string("SequenceNumber")?,
        created_s: change.decimal("ApproximateCreationDateTime").unwrap_or(0.0),
        keys: image("Keys")??,
        old: image("OldImage")?,
        new: image("NewImage")?,
    })
}
