//! Reading a whole stream, all shards in the order of their sequence numbers.

use std::ops::Bound;

use keyloom_core::Result;
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::{Record, Shard, decode_record, registry, retention};

/// Records and bytes of a page, about.
const MAX_RECORDS: usize = 250;
const MAX_BYTES: usize = 2 << 20;

/// Records in order, and the number from which to go on.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) records: Vec<(u64, Record)>,
    pub(crate) next: u64,
    /// Whether there may be more now.
    pub(crate) has_more: bool,
}

/// The records of a stream from a number on; `None` if some of them may be gone.
pub(crate) fn read(database: &Inner, stream: Keyspace, from: u64) -> Result<Option<Changes>> {
    let Some(stream) = registry::find(database.store.as_ref(), stream)? else { return Ok(None) };
    if from < retention::horizon(database.clock.now_ms()) {
        return Ok(None);
    }
    // Asked before the snapshot is taken: everything before this number is in it.
    let stable = database.streams.stable_before().max(from);
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let mut found: Vec<(u64, Bytes)> = Vec::new();
    // What lies beyond it may not be complete.
    let mut complete_before = stable;
    for shard in stream.shards.iter().filter(|shard| shard.end.is_none_or(|end| end > from)) {
        let range = range(stream.keyspace, shard, from, stable);
        if let Some(cut) = read_shard(snapshot.as_ref(), range, &mut found)? {
            complete_before = complete_before.min(cut);
        }
    }
    found.sort_unstable_by_key(|(number, _)| *number);
    found.retain(|(number, _)| *number < complete_before);
    let mut changes =
        Changes { records: Vec::new(), next: complete_before, has_more: complete_before < stable };
    let mut total_bytes = 0;
    for (number, bytes) in found {
        if changes.records.len() == MAX_RECORDS || total_bytes > MAX_BYTES {
            (changes.next, changes.has_more) = (number, true);
            break;
        }
        total_bytes += bytes.len();
        changes.records.push((number, decode_record(&bytes)?));
    }
    Ok(Some(changes))
}

fn range(stream: Keyspace, shard: &Shard, from: u64, stable: u64) -> KeyRange {
    let key = |number| layout::stream_record(stream, shard.number, number).into();
    let end = shard.end.unwrap_or(stable).min(stable).max(from);
    KeyRange { lower: Bound::Included(key(from)), upper: Bound::Excluded(key(end)) }
}

/// Reads a page of a shard; if there is more, the first number that was not read.
fn read_shard(
    snapshot: &dyn Snapshot,
    range: KeyRange,
    found: &mut Vec<(u64, Bytes)>,
) -> Result<Option<u64>> {
    let (mut records, mut bytes) = (0, 0);
    for entry in snapshot.scan(range, Direction::Forward) {
        let (key, value) = entry.map_err(store_error)?;
        let number = layout::sequence_of(&key).unwrap_or_default();
        if records == MAX_RECORDS || bytes > MAX_BYTES {
            return Ok(Some(number));
        }
        (records, bytes) = (records + 1, bytes + value.len());
        found.push((number, value));
    }
    Ok(None)
}
