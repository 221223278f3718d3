//! GetRecords.

use keyloom_core::size::item_size;
use keyloom_core::{Item, Result, limits};

use crate::{Constraints, Fields, JsonWriter};

use super::sequence_number;

/// The input of GetRecords.
#[derive(Clone, Copy, Debug)]
pub struct GetRecordsInput<'a> {
    /// Where to read, as GetShardIterator or the page before gave it out.
    pub shard_iterator: &'a str,
    /// How many records to return at most.
    pub limit: usize,
}

impl<'a> GetRecordsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let iterator = fields.string("ShardIterator");
        let limit = fields.integer("Limit");
        let mut constraints = Constraints::new();
        constraints.required(iterator.is_some(), "shardIterator");
        if let Some(iterator) = iterator {
            constraints.length(iterator, "shardIterator", 1, 2048);
        }
        constraints.range(limit, "limit", 1, limits::MAX_STREAM_RECORDS as i64);
        constraints.finish()?;
        Ok(Self {
            shard_iterator: iterator.unwrap_or_default(),
            limit: limit.map_or(limits::MAX_STREAM_RECORDS, |limit| limit as usize),
        })
    }
}

/// The output of GetRecords.
#[derive(Clone, Debug)]
pub struct GetRecordsOutput<'a> {
    /// The records of this page.
    pub records: Vec<StreamRecord<'a>>,
    /// Where their changes were made.
    pub region: &'a str,
    /// What they show.
    pub view_type: &'a str,
    /// Where the next page begins; none at the end of a closed shard.
    pub next_shard_iterator: Option<String>,
}

/// The record of a change of an item.
#[derive(Clone, Debug)]
pub struct StreamRecord<'a> {
    /// Unique, and the same whenever the record is read.
    pub event_id: String,
    /// `INSERT`, `MODIFY` or `REMOVE`.
    pub event_name: &'static str,
    /// When the change was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// Its place in the stream.
    pub sequence_number: u64,
    /// The item's key and, as far as the view shows them, the item before and after.
    pub images: StreamImages<'a>,
    /// Whether the item was removed because it had expired.
    pub is_by_time_to_live: bool,
}

/// What a record shows of the item.
#[derive(Clone, Copy, Debug)]
pub struct StreamImages<'a> {
    /// The item's key.
    pub keys: &'a Item,
    /// The item before the change.
    pub old: Option<&'a Item>,
    /// The item after the change.
    pub new: Option<&'a Item>,
}

impl StreamImages<'_> {
    /// The size of what is shown.
    pub fn size_bytes(&self) -> usize {
        [Some(self.keys), self.old, self.new].into_iter().flatten().map(item_size).sum()
    }
}

impl GetRecordsOutput<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.objects("Records", &self.records, |json, record| self.write(json, record));
        json.optional_string("NextShardIterator", self.next_shard_iterator.as_deref());
        json.finish()
    }

    fn write(&self, json: &mut JsonWriter, record: &StreamRecord<'_>) {
        json.string("eventID", &record.event_id);
        json.string("eventName", record.event_name);
        json.string("eventVersion", "1.1");
        json.string("eventSource", "aws:dynamodb");
        json.string("awsRegion", self.region);
        let images = &record.images;
        json.structure("dynamodb", |json| {
            json.integer("ApproximateCreationDateTime", record.created_ms / 1000);
            json.item("Keys", images.keys);
            json.optional_item("NewImage", images.new);
            json.optional_item("OldImage", images.old);
            json.string("SequenceNumber", &sequence_number(record.sequence_number));
            json.integer("SizeBytes", images.size_bytes() as i64);
            json.string("StreamViewType", self.view_type);
        });
        if record.is_by_time_to_live {
            json.structure("userIdentity", |json| {
                // AWS writes the names like this; the API model, and so some SDKs, like that.
                for (principal, kind) in [("principalId", "type"), ("PrincipalId", "Type")] {
                    json.string(principal, "dynamodb.amazonaws.com");
                    json.string(kind, "Service");
                }
            });
        }
    }
}
