//! The messages between databases of different regions.
//!
//! A message is a target ([`REPLICATION_TARGET`](super::REPLICATION_TARGET) and one of the names below) and a JSON
//! body. Items are in DynamoDB JSON; records that are stored as JSON are sent unchanged.

use keyloom_api::{Fields, JsonWriter};
use keyloom_core::{Error, Item, Result, json};
use serde::{Deserialize, Serialize};

use crate::catalog::TableRecord;

use super::lineage::{Progress, Reached};
use super::{Members, Version};

/// Which regions have the table. The response is the receiver's list of them, and which table it has.
pub(super) const MEMBERS: &str = "Members";
/// Writes to apply. The answer is the receiver's [`Progress`].
pub(super) const APPLY: &str = "Apply";
/// All items have been sent: the table may be used.
pub(super) const READY: &str = "Ready";
/// Which tables the receiver has. The answer is a [`ProbeAnswer`] or null for each, in the same order.
pub(super) const PROBE: &str = "Probe";
/// Settings that all regions share.
pub(super) const SETTINGS: &str = "Settings";

/// The body of [`MEMBERS`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MembersMessage {
    pub(super) from: String,
    pub(super) table: String,
    pub(super) group: String,
    /// The table to create, if the receiver is to have it.
    pub(super) definition: Option<Box<TableRecord>>,
    /// Of which version the definition's settings are.
    #[serde(default)]
    pub(super) settings: Option<Version>,
    pub(super) members: Members,
}

/// The answer to [`MEMBERS`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MembersAnswer {
    pub(super) members: Members,
    /// The receiver's table, if it has it.
    pub(super) table_id: Option<String>,
}

/// The body of [`PROBE`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProbeMessage {
    /// Names and groups.
    pub(super) tables: Vec<(String, String)>,
}

/// The report of a region about a table that it has.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProbeAnswer {
    pub(super) table_id: String,
    pub(super) progress: Progress,
    /// How its former openings ended.
    pub(super) former: Vec<Progress>,
    /// The number at which its current opening began.
    #[serde(default)]
    pub(super) since: Option<u64>,
}

/// The body of [`SETTINGS`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SettingsMessage {
    pub(super) table: String,
    pub(super) group: String,
    pub(super) version: Version,
    pub(super) definition: Box<TableRecord>,
}

/// The answer to [`SETTINGS`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SettingsAnswer {
    /// Whether the receiver has them all; indexes are built one at a time.
    pub(super) is_complete: bool,
}

/// The body of [`READY`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReadyMessage {
    pub(super) from: String,
    pub(super) table: String,
    pub(super) group: String,
}

/// A write as it goes to another region.
#[derive(Debug)]
pub(super) struct SentWrite {
    pub(super) key: Item,
    /// None if it removed the item.
    pub(super) item: Option<Item>,
    pub(super) version: Version,
}

/// The body of [`APPLY`].
#[derive(Debug)]
pub(super) struct ApplyMessage {
    pub(super) from: String,
    pub(super) table: String,
    pub(super) group: String,
    /// The sender's progress.
    pub(super) progress: Progress,
    pub(super) writes: Vec<SentWrite>,
}

impl ApplyMessage {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.string("from", &self.from);
        json.string("table", &self.table);
        json.string("group", &self.group);
        json.string("opening", &self.progress.opening);
        json.list("reached", &self.progress.reached, |json, (shard, next)| {
            json.nested(|json| {
                json.integer("shard", *shard);
                json.integer("next", *next);
            });
        });
        json.list("writes", &self.writes, |json, write| {
            json.nested(|json| {
                json.item("key", &write.key);
                json.optional_item("item", write.item.as_ref());
                json.integer("at", write.version.at);
                json.string("region", &write.version.region);
            });
        });
        json.finish()
    }

    pub(super) fn decode(body: &[u8]) -> Result<Self> {
        let body = json::parse(body)?;
        let fields = Fields::of(&body);
        let text = |name: &str| fields.owned_string(name).ok_or_else(|| missing(name));
        let mut reached = Reached::new();
        for shard in fields.structures("reached").ok_or_else(|| missing("reached"))? {
            let number = |name: &str| shard.integer(name).ok_or_else(|| missing(name));
            let (shard, next) = (number("shard")?.try_into(), number("next")?.try_into());
            reached
                .insert(shard.map_err(|_| missing("shard"))?, next.map_err(|_| missing("next"))?);
        }
        let progress = Progress { opening: text("opening")?, reached };
        let mut writes = Vec::new();
        for write in fields.structures("writes").ok_or_else(|| missing("writes"))? {
            let at = write.integer("at").and_then(|at| u64::try_from(at).ok());
            writes.push(SentWrite {
                key: write.item("key")?.ok_or_else(|| missing("key"))?,
                item: write.item("item")?,
                version: Version {
                    at: at.ok_or_else(|| missing("at"))?,
                    region: write.owned_string("region").ok_or_else(|| missing("region"))?,
                },
            });
        }
        let (from, table, group) = (text("from")?, text("table")?, text("group")?);
        Ok(Self { from, table, group, progress, writes })
    }
}

/// Reads a message that is stored JSON.
pub(super) fn decode<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body)
        .map_err(|error| Error::validation(format!("The replication message is wrong: {error}")))
}

/// Writes a message that is stored JSON.
pub(super) fn encode(message: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(message)
        .map_err(|error| Error::InternalServer(format!("a message cannot be written: {error}")))
}

fn missing(name: &str) -> Error {
    Error::validation(format!("The replication message has no valid '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_come_back() {
        let key: Item = [("pk".into(), "a".into())].into_iter().collect();
        let writes = [Some(key.clone()), None].map(|item| SentWrite {
            key: key.clone(),
            item,
            version: Version { at: u64::MAX >> 1, region: "eu-west-1".into() },
        });
        let message = ApplyMessage {
            from: "us-east-1".into(),
            table: "music".into(),
            group: "g".into(),
            progress: Progress { opening: "o".into(), reached: [(3, u64::MAX >> 1)].into() },
            writes: writes.into(),
        };
        let back = ApplyMessage::decode(&message.encode()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{message:?}"));
        for wrong in ["[]", "{}", r#"{"from":"a","table":"b","group":"c","writes":[{"key":{}}]}"#] {
            assert!(ApplyMessage::decode(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
