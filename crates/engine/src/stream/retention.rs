//! Retention of records, shards and streams.
//!
//! Records are kept for 24 hours. Sequence numbers are based on the clock, so the number of 24 hours ago is the
//! limit: records before it are not returned, whether or not they have been removed yet. A shard receives records for
//! some hours, then a child replaces it; it is removed with its last record. A disabled stream is removed after 24
//! hours.

use std::ops::Bound;

use keyloom_core::error::stream as message;
use keyloom_core::{Result, limits};
use keyloom_store::{CommitError, Direction, KeyRange};

use crate::catalog::Alongside;
use crate::database::Inner;
use crate::layout;
use crate::store_error;

use super::{Moment, NUMBERS_PER_MS, Shard, StreamRecord, registry};

/// How long a shard takes records, as on AWS.
const SHARD_LIFE_MS: u64 = 4 * 60 * 60 * 1000;
const RETENTION_MS: u64 = limits::STREAM_RETENTION_SECONDS * 1000;
/// Records that are removed per transaction.
const CHUNK: usize = 1000;

/// The sequence number before which all records are gone.
pub(crate) fn horizon(now_ms: u64) -> u64 {
    now_ms.saturating_sub(RETENTION_MS).saturating_mul(NUMBERS_PER_MS)
}

impl StreamRecord {
    /// Whether the stream is gone.
    pub(crate) fn is_gone(&self, now_ms: u64) -> bool {
        self.closed_ms.is_some_and(|closed_ms| now_ms.saturating_sub(closed_ms) >= RETENTION_MS)
    }

    /// The shards that are left, parents before children.
    pub(crate) fn live_shards(&self, now_ms: u64) -> impl Iterator<Item = &Shard> {
        let horizon = horizon(now_ms);
        self.shards.iter().filter(move |shard| shard.end.is_none_or(|end| end > horizon))
    }
}

/// Removes what is too old and lets children follow old shards.
pub(crate) fn run(database: &Inner) -> Result<()> {
    let now_ms = database.clock.now_ms();
    for stream in registry::all(database.store.as_ref())? {
        if stream.is_gone(now_ms) {
            let change = database.change()?;
            change.put_stream(stream.keyspace, None)?;
            continue;
        }
        for shard in &stream.shards {
            trim(database, &stream, shard, horizon(now_ms))?;
        }
        if stream.live_shards(now_ms).count() < stream.shards.len() {
            forget_shards(database, &stream, now_ms)?;
        }
        let born_before = now_ms.saturating_sub(SHARD_LIFE_MS).saturating_mul(NUMBERS_PER_MS);
        let is_old = |shard: &Shard| shard.end.is_none() && shard.start < born_before;
        if stream.closed_ms.is_none() && stream.shards.iter().any(is_old) {
            rotate(database, &stream, is_old)?;
        }
    }
    Ok(())
}

/// Splits every open shard of a table's stream in two.
pub(crate) fn split(database: &Inner, table_name: &str) -> Result<()> {
    reshard(database, table_name, |stream, at| stream.replace_shards(|_| true, 2, at))
}

/// Replaces old shards that have records by one child each. An empty shard may go on as it is.
fn rotate(database: &Inner, stream: &StreamRecord, is_old: impl Fn(&Shard) -> bool) -> Result<()> {
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let mut full = Vec::new();
    for shard in stream.shards.iter().filter(|shard| is_old(shard)) {
        let records = KeyRange::prefix(&layout::shard_records(stream.keyspace, shard.number));
        if snapshot
            .scan(records, Direction::Forward)
            .next()
            .transpose()
            .map_err(store_error)?
            .is_some()
        {
            full.push(shard.number);
        }
    }
    if full.is_empty() {
        return Ok(());
    }
    reshard(database, &stream.table, |current, at| {
        if current.keyspace == stream.keyspace {
            current.replace_shards(|shard| full.contains(&shard.number), 1, at);
        }
    })
}

/// Changes the shards of a table's stream while none of its writers is under way.
fn reshard(
    database: &Inner,
    table_name: &str,
    edit: impl FnOnce(&mut StreamRecord, Moment),
) -> Result<()> {
    let change = database.change()?;
    let table = database.catalog.described_table(table_name)?;
    let no_stream = || message::no_stream(table.name());
    let mut record = table.record.clone();
    let setting = record.stream.as_mut().filter(|stream| stream.enabled);
    let setting = setting.ok_or_else(no_stream)?;
    let stream = registry::find(database.store.as_ref(), setting.keyspace)?;
    let mut stream = stream.ok_or_else(no_stream)?;
    let now = Moment::after(database, &stream)?;
    edit(&mut stream, now);
    setting.shards = stream.open_shards();
    change.put(record, Alongside { streams: vec![stream], ..Alongside::default() })?;
    Ok(())
}

/// Removes the records of a shard that are before the horizon.
fn trim(database: &Inner, stream: &StreamRecord, shard: &Shard, horizon: u64) -> Result<()> {
    let first = layout::shard_records(stream.keyspace, shard.number);
    let border = layout::stream_record(stream.keyspace, shard.number, horizon);
    let mut range =
        KeyRange { lower: Bound::Included(first.into()), upper: Bound::Excluded(border.into()) };
    loop {
        let snapshot = database.store.snapshot().map_err(store_error)?;
        let keys: Vec<_> = snapshot
            .scan(range.clone(), Direction::Forward)
            .take(CHUNK)
            .map(|entry| entry.map(|(key, _)| key.into_bytes()))
            .collect::<Result<_, _>>()
            .map_err(store_error)?;
        let Some(last) = keys.last().cloned() else { return Ok(()) };
        let mut transaction = database.store.begin(&[]).map_err(store_error)?;
        for key in keys {
            transaction.delete(key);
        }
        match transaction.commit() {
            Ok(()) => range.lower = Bound::Excluded(last),
            Err(CommitError::Conflict | CommitError::Stale) => {}
            Err(error) => return Err(crate::commit_error(error)),
        }
    }
}

/// Drops shards whose records are all gone from the stream's list.
fn forget_shards(database: &Inner, stream: &StreamRecord, now_ms: u64) -> Result<()> {
    let change = database.change()?;
    // Read again under the lock: the stream may have been changed since it was listed.
    if let Some(mut stream) = registry::find(database.store.as_ref(), stream.keyspace)? {
        stream.shards = stream.live_shards(now_ms).cloned().collect();
        change.put_stream(stream.keyspace, Some(&stream))?;
    }
    Ok(())
}
