//! The streams of a database: their records and shards.
//!
//! A stream is kept for a day after it is disabled or its table is deleted. An open shard receives the records of a
//! range of partition hashes; when it is closed, after some hours or by a split, its children take over the range
//! from the next sequence number on. Writes to the table are blocked while its shards change, so every record of a
//! child is newer than all of its parent's.

use keyloom_core::{Error, Result};
use keyloom_store::{Direction, KeyRange, Snapshot, Store};
use serde::{Deserialize, Serialize};

use crate::catalog::record::{KeyElement, OpenShard, StreamSetting, TableRecord};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;

/// A stream with all its shards, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StreamRecord {
    pub(crate) keyspace: Keyspace,
    pub(crate) table: String,
    pub(crate) label: String,
    pub(crate) view: String,
    pub(crate) key: Vec<KeyElement>,
    pub(crate) created_ms: u64,
    /// When it was switched off, or its table deleted.
    pub(crate) closed_ms: Option<u64>,
    /// Parents before their children.
    pub(crate) shards: Vec<Shard>,
}

/// A shard of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    pub(crate) number: u32,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    /// The first partition hash that is the shard's.
    pub(crate) first_hash: u64,
    /// The last partition hash that is the shard's.
    pub(crate) last_hash: u64,
    /// Every record's sequence number is above this one.
    pub(crate) start: u64,
    /// Every record's sequence number is below this one, if the shard is closed.
    pub(crate) end: Option<u64>,
}

impl StreamRecord {
    /// The stream that a table begins to write to, with one shard.
    pub(crate) fn begin(table: &TableRecord, setting: &StreamSetting, at: Moment) -> Self {
        let mut stream = Self {
            keyspace: setting.keyspace,
            table: table.name.clone(),
            label: setting.label.clone(),
            view: setting.view.clone(),
            key: table.key.clone(),
            created_ms: at.now_ms,
            closed_ms: None,
            shards: Vec::new(),
        };
        stream.open_shard(None, (0, u64::MAX), at);
        stream
    }

    /// Closes the stream: its records stay readable.
    pub(crate) fn close(&mut self, at: Moment) {
        self.closed_ms = Some(at.now_ms);
        for shard in self.shards.iter_mut().filter(|shard| shard.end.is_none()) {
            shard.end = Some(at.boundary);
        }
    }

    /// Closes the open shards that `chosen` picks; each is followed by `children` shards that share
    /// its range.
    pub(crate) fn replace_shards(
        &mut self,
        chosen: impl Fn(&Shard) -> bool,
        children: u64,
        at: Moment,
    ) {
        let mut closed = Vec::new();
        for shard in self.shards.iter_mut().filter(|shard| shard.end.is_none()) {
            if chosen(shard) {
                shard.end = Some(at.boundary);
                closed.push((shard.id.clone(), shard.first_hash, shard.last_hash));
            }
        }
        for (parent, first, last) in closed {
            for range in parts(first, last, children) {
                self.open_shard(Some(parent.clone()), range, at);
            }
        }
    }

    /// The shards that take records, as the table's setting names them.
    pub(crate) fn open_shards(&self) -> Vec<OpenShard> {
        let open = self.shards.iter().filter(|shard| shard.end.is_none());
        let mut open: Vec<OpenShard> = open
            .map(|shard| OpenShard {
                number: shard.number,
                first_hash: shard.first_hash,
                start: shard.start,
            })
            .collect();
        open.sort_by_key(|shard| shard.first_hash);
        open
    }

    fn open_shard(&mut self, parent: Option<String>, range: (u64, u64), at: Moment) {
        let number = self.shards.iter().map(|shard| shard.number + 1).max().unwrap_or(0);
        // The same form as AWS's: a time, and something that tells shards of one time apart.
        let mark = self.keyspace.rotate_left(16) ^ number;
        self.shards.push(Shard {
            number,
            id: format!("shardId-{:020}-{mark:08x}", at.now_ms),
            parent,
            first_hash: range.0,
            last_hash: range.1,
            start: at.boundary,
            end: None,
        });
    }
}

/// When a stream's shards change: by the clock, and in the order of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now_ms: u64,
    pub(crate) boundary: u64,
}

impl Moment {
    /// Now, after all records of a stream; its writers must stand still.
    pub(crate) fn after(database: &Inner, stream: &StreamRecord) -> Result<Self> {
        let snapshot = database.store.snapshot().map_err(store_error)?;
        for shard in stream.shards.iter().filter(|shard| shard.end.is_none()) {
            let next = next_number(snapshot.as_ref(), stream.keyspace, shard)?;
            database.streams.advance_past(next);
        }
        Ok(Self { now_ms: database.clock.now_ms(), boundary: database.streams.number() })
    }
}

/// The least number that the next record of a shard can have.
pub(crate) fn next_number(snapshot: &dyn Snapshot, stream: Keyspace, shard: &Shard) -> Result<u64> {
    let records = KeyRange::prefix(&layout::shard_records(stream, shard.number));
    let last = snapshot.scan(records, Direction::Backward).next().transpose();
    let last = last.map_err(store_error)?.and_then(|(key, _)| layout::sequence_of(&key));
    Ok(last.unwrap_or(shard.start).saturating_add(1))
}

/// Cuts a range of hashes into `count` parts of nearly equal size.
fn parts(first: u64, last: u64, count: u64) -> impl Iterator<Item = (u64, u64)> {
    let count = count.clamp(1, (last - first).saturating_add(1));
    let size = u128::from(last - first) + 1;
    let cut = move |part: u64| first + (size * u128::from(part) / u128::from(count)) as u64;
    (0..count).map(move |part| {
        let end = if part + 1 == count { last } else { cut(part + 1) - 1 };
        (cut(part), end)
    })
}

/// The shard that takes a record; the hash is asked for only if it matters.
pub(crate) fn shard_of(setting: &StreamSetting, hash: impl FnOnce() -> u64) -> OpenShard {
    let shard = match setting.shards.as_slice() {
        [] => None,
        [only] => Some(only),
        several => {
            let hash = hash();
            let after = several.partition_point(|shard| shard.first_hash <= hash);
            several.get(after.saturating_sub(1))
        }
    };
    shard.copied().unwrap_or(OpenShard { number: 0, first_hash: 0, start: 0 })
}

/// The stream in a keyspace.
pub(crate) fn find(store: &dyn Store, keyspace: Keyspace) -> Result<Option<StreamRecord>> {
    let stored = store.get(&layout::stream(keyspace)).map_err(store_error)?;
    stored.as_deref().map(decode).transpose()
}

/// All streams, the oldest first.
pub(crate) fn all(store: &dyn Store) -> Result<Vec<StreamRecord>> {
    let snapshot = store.snapshot().map_err(store_error)?;
    let entries = snapshot.scan(KeyRange::prefix(&layout::streams()), Direction::Forward);
    entries.map(|entry| decode(&entry.map_err(store_error)?.1)).collect()
}

fn decode(bytes: &[u8]) -> Result<StreamRecord> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::InternalServer(format!("a stream's record cannot be read: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> StreamRecord {
        StreamRecord {
            keyspace: 7,
            table: "music".into(),
            label: "now".into(),
            view: "KEYS_ONLY".into(),
            key: Vec::new(),
            created_ms: 0,
            closed_ms: None,
            shards: Vec::new(),
        }
    }

    #[test]
    fn children_share_the_range_of_their_parent() {
        let mut stream = stream();
        stream.open_shard(None, (0, u64::MAX), Moment { now_ms: 1, boundary: 10 });
        for (round, open) in [(2, 2), (3, 4)] {
            stream.replace_shards(|_| true, 2, Moment { now_ms: round, boundary: round * 10 });
            assert_eq!(stream.open_shards().len(), open);
        }
        let mut open: Vec<&Shard> = stream.shards.iter().filter(|s| s.end.is_none()).collect();
        open.sort_by_key(|shard| shard.first_hash);
        assert_eq!((open[0].first_hash, open[3].last_hash), (0, u64::MAX));
        for pair in open.windows(2) {
            assert_eq!(pair[0].last_hash + 1, pair[1].first_hash);
        }
        let ids: std::collections::BTreeSet<&str> =
            stream.shards.iter().map(|shard| shard.id.as_str()).collect();
        assert_eq!(ids.len(), stream.shards.len());
        assert!(ids.iter().all(|id| (28..=65).contains(&id.len())));
    }

    #[test]
    fn a_record_goes_to_the_shard_of_its_hash() {
        let shard = |number, first_hash| OpenShard { number, first_hash, start: 0 };
        let mut setting = StreamSetting {
            keyspace: 1,
            enabled: true,
            view: String::new(),
            label: String::new(),
            shards: vec![shard(3, 0)],
        };
        assert_eq!(shard_of(&setting, || unreachable!("one shard takes all")).number, 3);
        setting.shards = vec![shard(5, 0), shard(4, 100), shard(6, 200)];
        for (hash, number) in [(0, 5), (99, 5), (100, 4), (199, 4), (200, 6), (u64::MAX, 6)] {
            assert_eq!(shard_of(&setting, || hash).number, number, "{hash}");
        }
    }
}
