//! The layout of the database in the store's key space.
//!
//! The first byte of a store key is its type:
//!
//! | byte | then | value |
//! |---|---|---|
//! | `01` | – | the next free keyspace number |
//! | `02` | table name | the table's record, JSON |
//! | `03` | keyspace number | a dropped keyspace whose entries are still being removed |
//! | `04` | client token | a finished transaction, for ten minutes |
//! | `05` | – | the counts of all tables and indexes, JSON; only while the database is closed |
//! | `06` | – | a number above those of all history records |
//! | `07` | keyspace, 0 or 1 | a counter: items or bytes of the keyspace, where several processes count |
//! | `08` | kind, name | the lease and progress of a job; the heartbeat of a server |
//! | `09` | – | the progress of an unfinished copy into this store, JSON; such a store cannot be opened |
//! | `0a` | – | the version in which records are written, in digits; the first if there is none |
//! | `10` | keyspace, key | an item, or an index entry |
//! | `11` | keyspace, key | the version of an item in a global table |
//! | `20` | stream keyspace, shard number, sequence number | a stream record |
//! | `21` | stream keyspace | a stream's description, JSON |
//! | `22` | history keyspace, day, item key, number | an item before a change, or its difference from the item after it; empty if there was none |
//! | `30` | kind, name | other settings and resources, JSON |
//!
//! A keyspace is a table or one of its indexes. An item's key is its partition key and its sort key
//! in the order-preserving codec of `keyloom_core::key`. An index entry's key is the index's hash
//! values, its range values and then the item's own key, so that entries are unique and ties come in
//! the order of the base key. An entry of a vector index lies under the value of its partition
//! attribute, if it has one, and the item's own key; see [`crate::vector`]. Partitions lie in key order, which is what makes reads over a prefix of
//! the partition key possible for the embedded API.

use keyloom_core::schema::{KeyAttribute, KeySchema};
use keyloom_core::{AttributeValue, Item, Result, key};

/// The number of a table's or an index's keyspace.
pub(crate) type Keyspace = u32;

const NEXT_KEYSPACE: u8 = 0x01;
const TABLE: u8 = 0x02;
const DROPPED: u8 = 0x03;
const TOKEN: u8 = 0x04;
const COUNTS: u8 = 0x05;
const HISTORY_CLOCK: u8 = 0x06;
const COUNTER: u8 = 0x07;
const COORDINATION: u8 = 0x08;
const COPYING: u8 = 0x09;
const RECORDS: u8 = 0x0a;
const ENTRY: u8 = 0x10;
const VERSION: u8 = 0x11;
const STREAM_RECORD: u8 = 0x20;
const STREAM: u8 = 0x21;
const HISTORY: u8 = 0x22;
const RESOURCE: u8 = 0x30;

/// The key of the counts that a closed database has left; public for tests alone.
pub const COUNTS_KEY: &[u8] = &[COUNTS];

/// The key of the mark of an unfinished copy.
pub(crate) const COPYING_KEY: &[u8] = &[COPYING];

/// The key of the version in which records are written.
pub(crate) const RECORDS_KEY: &[u8] = &[RECORDS];

/// The first byte of every history record.
pub(crate) const HISTORY_TAG: u8 = HISTORY;

/// The first byte of every item and index entry.
pub(crate) const ENTRY_TAG: u8 = ENTRY;

/// The first byte of every stream record.
pub(crate) const STREAM_RECORD_TAG: u8 = STREAM_RECORD;

/// The first byte of every version.
pub(crate) const VERSION_TAG: u8 = VERSION;

/// The length of the prefix before an entry's key.
pub(crate) const ENTRY_HEADER_BYTES: usize = 1 + size_of::<Keyspace>();

/// The counter of keyspace numbers.
pub(crate) fn next_keyspace() -> Vec<u8> {
    vec![NEXT_KEYSPACE]
}

/// A table's record.
pub(crate) fn table(name: &str) -> Vec<u8> {
    tagged(TABLE, name.as_bytes())
}

/// All tables' records.
pub(crate) fn tables() -> Vec<u8> {
    vec![TABLE]
}

/// A keyspace whose entries wait to be removed.
pub(crate) fn dropped(keyspace: Keyspace) -> Vec<u8> {
    tagged(DROPPED, &keyspace.to_be_bytes())
}

/// All keyspaces that wait to be removed.
pub(crate) fn all_dropped() -> Vec<u8> {
    vec![DROPPED]
}

/// The keyspace number in a key of [`dropped`].
pub(crate) fn dropped_keyspace(key: &[u8]) -> Option<Keyspace> {
    Some(Keyspace::from_be_bytes(key.get(1..5)?.try_into().ok()?))
}

/// A finished transaction under its client token.
pub(crate) fn token(operation: u8, token: &str) -> Vec<u8> {
    let mut key = tagged(TOKEN, &[operation]);
    key.extend_from_slice(token.as_bytes());
    key
}

/// All finished transactions.
pub(crate) fn tokens() -> Vec<u8> {
    vec![TOKEN]
}

/// The counters of a keyspace.
pub(crate) fn counters(keyspace: Keyspace) -> Vec<u8> {
    tagged(COUNTER, &keyspace.to_be_bytes())
}

/// The counter of a keyspace's items, and that of their bytes.
pub(crate) fn item_and_byte_counters(keyspace: Keyspace) -> [Vec<u8>; 2] {
    [0, 1].map(|which| {
        let mut key = counters(keyspace);
        key.push(which);
        key
    })
}

/// The row of a server or of a job.
pub(crate) fn coordination_row(kind: &str, name: &str) -> Vec<u8> {
    let mut key = coordination_rows(kind);
    key.extend_from_slice(name.as_bytes());
    key
}

/// The rows of all servers, or of all jobs.
pub(crate) fn coordination_rows(kind: &str) -> Vec<u8> {
    let mut key = tagged(COORDINATION, kind.as_bytes());
    key.push(0);
    key
}

/// The beginning of every entry of a keyspace.
pub(crate) fn entries(keyspace: Keyspace) -> Vec<u8> {
    tagged(ENTRY, &keyspace.to_be_bytes())
}

/// The beginning of the versions of all items of a keyspace.
pub(crate) fn versions(keyspace: Keyspace) -> Vec<u8> {
    tagged(VERSION, &keyspace.to_be_bytes())
}

/// The version of the item with this store key.
pub(crate) fn version(item: &[u8]) -> Vec<u8> {
    retagged(VERSION, item)
}

/// The store key of the item that has this version.
pub(crate) fn item_of_version(version: &[u8]) -> Vec<u8> {
    retagged(ENTRY, version)
}

/// The same keyspace and key under another tag.
fn retagged(tag: u8, key: &[u8]) -> Vec<u8> {
    tagged(tag, key.get(1..).unwrap_or_default())
}

/// The primary key in the store key of an item, or of its version.
pub(crate) fn item_key_values(schema: &KeySchema, store_key: &[u8]) -> Result<Item> {
    let mut rest = store_key.get(ENTRY_HEADER_BYTES..).unwrap_or_default();
    let value = |attribute: &KeyAttribute| {
        Ok((attribute.name.clone(), key::decode_key_value(attribute.kind, &mut rest)?))
    };
    schema.attributes().map(value).collect()
}

/// The beginning of every record of a stream.
pub(crate) fn stream_records(stream: Keyspace) -> Vec<u8> {
    tagged(STREAM_RECORD, &stream.to_be_bytes())
}

/// The beginning of every record of a shard.
pub(crate) fn shard_records(stream: Keyspace, shard: u32) -> Vec<u8> {
    let mut key = stream_records(stream);
    key.extend_from_slice(&shard.to_be_bytes());
    key
}

/// One record of a stream.
pub(crate) fn stream_record(stream: Keyspace, shard: u32, sequence: u64) -> Vec<u8> {
    let mut key = shard_records(stream, shard);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// The sequence number in a key of [`stream_record`].
pub(crate) fn sequence_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// A stream's description.
pub(crate) fn stream(stream: Keyspace) -> Vec<u8> {
    tagged(STREAM, &stream.to_be_bytes())
}

/// All streams' descriptions.
pub(crate) fn streams() -> Vec<u8> {
    vec![STREAM]
}

/// A number above those of all history records.
pub(crate) fn history_clock() -> Vec<u8> {
    vec![HISTORY_CLOCK]
}

/// The beginning of every record of a history.
pub(crate) fn history(history: Keyspace) -> Vec<u8> {
    tagged(HISTORY, &history.to_be_bytes())
}

/// The beginning of every record of one day of a history.
pub(crate) fn history_day(history: Keyspace, day: u32) -> Vec<u8> {
    let mut key = self::history(history);
    key.extend_from_slice(&day.to_be_bytes());
    key
}

/// The record of a change of an item, whose key in the table's keyspace this is.
pub(crate) fn history_record(history: Keyspace, day: u32, item_key: &[u8], number: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(HISTORY_HEADER_BYTES + item_key.len() + size_of::<u64>());
    key.push(HISTORY);
    key.extend_from_slice(&history.to_be_bytes());
    key.extend_from_slice(&day.to_be_bytes());
    key.extend_from_slice(item_key);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// How many bytes stand in front of the item key in a history record's key.
pub(crate) const HISTORY_HEADER_BYTES: usize = ENTRY_HEADER_BYTES + size_of::<u32>();

/// The day in a key of [`history_record`].
pub(crate) fn day_of(key: &[u8]) -> Option<u32> {
    key.get(ENTRY_HEADER_BYTES..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// A named setting or resource, such as a backup's description.
pub(crate) fn resource(kind: &str, name: &str) -> Vec<u8> {
    let mut key = resources(kind);
    key.extend_from_slice(name.as_bytes());
    key
}

/// All resources of a kind.
pub(crate) fn resources(kind: &str) -> Vec<u8> {
    let mut key = tagged(RESOURCE, kind.as_bytes());
    key.push(0);
    key
}

/// What a key stands for, if it is no entry, no stream record and no history record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning<'a> {
    NextKeyspace,
    Table,
    Dropped(Keyspace),
    Token,
    Counts,
    HistoryClock,
    Counter,
    Coordination,
    Records,
    Stream(Keyspace),
    /// A resource of this kind.
    Resource(&'a str),
}

/// What a key stands for; none if it is no such key.
pub(crate) fn meaning(key: &[u8]) -> Option<Meaning<'_>> {
    let (tag, rest) = key.split_first()?;
    let keyspace = || Some(Keyspace::from_be_bytes(rest.try_into().ok()?));
    match *tag {
        NEXT_KEYSPACE if rest.is_empty() => Some(Meaning::NextKeyspace),
        TABLE if !rest.is_empty() => Some(Meaning::Table),
        DROPPED => keyspace().map(Meaning::Dropped),
        TOKEN if !rest.is_empty() => Some(Meaning::Token),
        COUNTS if rest.is_empty() => Some(Meaning::Counts),
        HISTORY_CLOCK if rest.is_empty() => Some(Meaning::HistoryClock),
        COORDINATION if !rest.is_empty() => Some(Meaning::Coordination),
        RECORDS if rest.is_empty() => Some(Meaning::Records),
        COUNTER if rest.len() == size_of::<Keyspace>() + 1 => Some(Meaning::Counter),
        STREAM => keyspace().map(Meaning::Stream),
        RESOURCE => {
            let end = rest.iter().position(|byte| *byte == 0)?;
            std::str::from_utf8(rest.get(..end)?).ok().map(Meaning::Resource)
        }
        _ => None,
    }
}

/// The beginning that a key shares with those of its range: the keyspace's, or the kind's.
pub(crate) fn range_of(key: &[u8]) -> &[u8] {
    let length = if key.first().is_some_and(|tag| (ENTRY..RESOURCE).contains(tag)) {
        ENTRY_HEADER_BYTES
    } else {
        1
    };
    key.get(..length).unwrap_or(key)
}

/// The keyspace number in the key of an entry, a stream record or a history record.
pub(crate) fn keyspace_of(key: &[u8]) -> Option<Keyspace> {
    Some(Keyspace::from_be_bytes(key.get(1..ENTRY_HEADER_BYTES)?.try_into().ok()?))
}

/// The shard number and the sequence number in a key of [`stream_record`].
pub(crate) fn shard_and_sequence(key: &[u8]) -> Option<(u32, u64)> {
    let (shard, sequence) = key.get(ENTRY_HEADER_BYTES..)?.split_first_chunk()?;
    Some((u32::from_be_bytes(*shard), u64::from_be_bytes(sequence.try_into().ok()?)))
}

/// The store key of an item: its keyspace, partition key and sort key.
pub(crate) fn item(keyspace: Keyspace, schema: &KeySchema, item: &Item) -> Result<Vec<u8>> {
    let mut bytes = entries(keyspace);
    schema.encode(item, &mut bytes)?;
    Ok(bytes)
}

/// The store key of an item's entry in an index, which the item must belong to.
pub(crate) fn index_entry(
    keyspace: Keyspace,
    index: &KeySchema,
    base: &KeySchema,
    item: &Item,
) -> Result<Vec<u8>> {
    let mut bytes = entries(keyspace);
    index.encode(item, &mut bytes)?;
    base.encode(item, &mut bytes)?;
    Ok(bytes)
}

/// The beginning of every entry whose hash values are these.
pub(crate) fn partition<'a>(
    keyspace: Keyspace,
    hash: impl IntoIterator<Item = &'a AttributeValue>,
) -> Result<Vec<u8>> {
    let mut bytes = entries(keyspace);
    for value in hash {
        key::encode_key_value(value, &mut bytes)?;
    }
    Ok(bytes)
}

fn tagged(tag: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + rest.len() + 64);
    key.push(tag);
    key.extend_from_slice(rest);
    key
}
