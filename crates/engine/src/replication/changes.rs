//! Reads a whole stream: the records of all shards, in order per item.

use std::collections::BTreeMap;
use std::ops::Bound;

use keyloom_core::Result;
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};
use serde::{Deserialize, Serialize};

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::{Record, StreamRecord, decode_record, number_at, registry, retention};

/// Records and bytes of a page, about.
const MAX_RECORDS: usize = 250;
const MAX_BYTES: usize = 2 << 20;

/// No record comes with a number that is older than this: its write would have been under way for as long.
const SETTLED_AFTER_MS: u64 = 60 * 60 * 1000;

/// How far a stream was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Read {
    /// All records below this number.
    next: u64,
    /// And of these shards those below these numbers.
    #[serde(default)]
    shards: BTreeMap<u32, u64>,
}

/// Records in order, and how far they go.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) records: Vec<(u64, Record)>,
    pub(super) read: Read,
    /// Whether there may be more now.
    pub(super) has_more: bool,
}

impl Read {
    /// All records below a number.
    pub(super) fn before(next: u64) -> Self {
        Self { next, shards: BTreeMap::new() }
    }

    /// All records that exist now.
    pub(super) fn until_now(database: &Inner, stream: Keyspace) -> Result<Self> {
        let snapshot = database.store.snapshot().map_err(store_error)?;
        let mut read = Self::before(number_at(settled_ms(database)));
        if let Some(stream) = registry::find(database.store.as_ref(), stream)? {
            for shard in &stream.shards {
                let next = registry::next_number(snapshot.as_ref(), stream.keyspace, shard)?;
                read.shards.insert(shard.number, next);
            }
        }
        Ok(read)
    }

    fn of_shard(&self, shard: u32) -> u64 {
        self.shards.get(&shard).copied().unwrap_or_default().max(self.next)
    }

    /// Whether unread records may have been trimmed.
    fn is_trimmed(&self, horizon: u64) -> bool {
        self.next < horizon
    }
}

fn settled_ms(database: &Inner) -> u64 {
    database.clock.now_ms().saturating_sub(SETTLED_AFTER_MS)
}

/// The unread records of a stream; `None` if some of them may have been trimmed.
pub(super) fn read(database: &Inner, stream: Keyspace, from: &Read) -> Result<Option<Changes>> {
    let Some(stream) = registry::find(database.store.as_ref(), stream)? else { return Ok(None) };
    if from.is_trimmed(retention::horizon(database.clock.now_ms())) {
        return Ok(None);
    }
    let settled = number_at(settled_ms(database));
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let Found { records, complete_before } = read_shards(snapshot.as_ref(), &stream, from)?;
    let mut changes =
        Changes { records: Vec::new(), read: from.clone(), has_more: complete_before < u64::MAX };
    let mut total_bytes = 0;
    for (number, shard, bytes) in records.into_iter().filter(|found| found.0 < complete_before) {
        if changes.records.len() == MAX_RECORDS || total_bytes > MAX_BYTES {
            changes.has_more = true;
            break;
        }
        total_bytes += bytes.len();
        changes.read.shards.insert(shard, number.saturating_add(1));
        changes.records.push((number, decode_record(&bytes)?));
    }
    if !changes.has_more {
        changes.read.next = from.next.max(settled);
    }
    let next = changes.read.next;
    changes.read.shards.retain(|_, number| *number > next);
    Ok(Some(changes))
}

/// A page of each shard in the order of the numbers, which is that of the changes of each item.
struct Found {
    /// Each with its number and its shard.
    records: Vec<(u64, u32, Bytes)>,
    /// The number up to which all records were read.
    complete_before: u64,
}

fn read_shards(snapshot: &dyn Snapshot, stream: &StreamRecord, from: &Read) -> Result<Found> {
    let mut found = Found { records: Vec::new(), complete_before: u64::MAX };
    for shard in &stream.shards {
        let first = from.of_shard(shard.number);
        if shard.end.is_some_and(|end| end <= first) {
            continue;
        }
        let key = |number| layout::stream_record(stream.keyspace, shard.number, number).into();
        let range = KeyRange {
            lower: Bound::Included(key(first)),
            upper: Bound::Excluded(key(shard.end.unwrap_or(u64::MAX))),
        };
        let (mut records, mut bytes) = (0, 0);
        for entry in snapshot.scan(range, Direction::Forward) {
            let (key, value) = entry.map_err(store_error)?;
            let number = layout::sequence_of(&key).unwrap_or_default();
            if records == MAX_RECORDS || bytes > MAX_BYTES {
                found.complete_before = found.complete_before.min(number);
                break;
            }
            (records, bytes) = (records + 1, bytes + value.len());
            found.records.push((number, shard.number, value));
        }
    }
    found.records.sort_unstable_by_key(|(number, shard, _)| (*number, *shard));
    Ok(found)
}
