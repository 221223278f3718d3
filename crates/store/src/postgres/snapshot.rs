//! Snapshots: read-only transactions at one moment, with scans in pages that are cut by bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::Pooled;
use super::core::{Core, PATIENCE, STATEMENT_TIMEOUT, closed, epoch_row};
use super::flight::Parameters;
use super::keys::{self, Step};
use super::sql::BEGIN_SNAPSHOT;
use super::trouble::{Trouble, timed_out};
use crate::{Direction, Entries, Expected, FirstPage, Key, KeyRange, Snapshot, StoreError};

/// The first page of a scan and the largest: a scan may want only a few entries.
const FIRST: Expected = Expected { entries: 64, bytes: 64 << 10 };
const LARGEST: Expected = Expected { entries: 8192, bytes: 4 << 20 };

/// A snapshot that owns a connection once it is read.
pub(super) struct PostgresSnapshot {
    core: Arc<Core>,
    /// None before the first read, and while a statement runs.
    connection: Mutex<State>,
}

enum State {
    Unread,
    Open(Pooled),
    /// A statement runs, or has failed: the moment cannot be read again.
    Gone,
}

/// A statement to run in the snapshot.
enum Question {
    Rows(Vec<Bytes>),
    Page { first: Vec<u8>, last: Vec<u8>, direction: Direction, size: Expected },
}

impl PostgresSnapshot {
    /// A snapshot of the moment of its first read.
    pub(super) fn late(core: &Arc<Core>) -> Self {
        Self { core: Arc::clone(core), connection: Mutex::new(State::Unread) }
    }

    /// A snapshot of now.
    pub(super) fn now(core: &Arc<Core>) -> Result<Self, StoreError> {
        let snapshot = Self::late(core);
        snapshot.ask(Question::Rows(Vec::new()))?;
        Ok(snapshot)
    }

    fn ask(&self, question: Question) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let (core, connection) = (&self.core, &self.connection);
        core.run(async move {
            let state = std::mem::replace(&mut *connection.lock(), State::Gone);
            let (pooled, answer) = match state {
                State::Open(pooled) => {
                    let answer = within_time(question.put(core, &pooled)).await;
                    (pooled, answer.map_err(Trouble::into_error)?)
                }
                State::Unread => ask_first(core, &question, Some(BEGIN_SNAPSHOT)).await?,
                State::Gone => return Err(expired()),
            };
            *connection.lock() = State::Open(pooled);
            Ok(answer)
        })
    }

    /// The values of rows, in the same order.
    fn rows(&self, rows: Vec<Bytes>) -> Result<Vec<Option<Bytes>>, StoreError> {
        let found = self.ask(Question::Rows(rows.clone()))?;
        let found: std::collections::HashMap<Bytes, Bytes> = found.into_iter().collect();
        Ok(rows.iter().map(|row| found.get(row).cloned()).collect())
    }

    /// The row of a key; none if a node on the way is missing.
    fn row_of(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let (mut space, mut rest) = (keys::ROOT.to_vec(), key);
        loop {
            match keys::step(&space, rest) {
                Step::Row(row) => return Ok(Some(row)),
                Step::Node(node, after) => {
                    let Some(id) = self.rows(vec![node])?.pop().flatten() else { return Ok(None) };
                    (space, rest) = (keys::space_of(&id), after);
                }
            }
        }
    }
}

impl Drop for PostgresSnapshot {
    fn drop(&mut self) {
        if let State::Open(pooled) = std::mem::replace(&mut *self.connection.lock(), State::Gone) {
            let core = Arc::clone(&self.core);
            self.core.spawn(async move {
                if within_time(async { Ok(pooled.link.client.batch_execute("COMMIT").await?) })
                    .await
                    .is_ok()
                {
                    core.snapshots.put_back(pooled);
                }
            });
        }
    }
}

/// The beginning of a range, without a transaction: one statement sees one moment. The epoch is read
/// after it, so what was read is of that epoch or an earlier one, and never taken for a later one's.
pub(super) async fn first_page(
    core: &Core,
    range: &KeyRange,
    direction: Direction,
    expected: Expected,
) -> Result<Option<FirstPage>, StoreError> {
    if range.is_empty() {
        return Ok(None);
    }
    let (size, (first, last)) = (bounded(expected), keys::rows(keys::ROOT, range));
    let question = Question::Page { first, last, direction, size };
    let (pooled, rows) = ask_first(core, &question, None).await?;
    core.snapshots.put_back(pooled);
    if rows.iter().any(|(row, _)| keys::node_prefix(keys::ROOT, row).is_some()) {
        return Ok(None);
    }
    let is_whole = is_last(&rows, size);
    let strip = |(row, value): (Bytes, Bytes)| (row.slice(keys::ROOT.len()..), value);
    Ok(Some(FirstPage { entries: rows.into_iter().map(strip).collect(), is_whole }))
}

/// What is fetched at once for a reader who expects this.
fn bounded(expected: Expected) -> Expected {
    Expected {
        entries: expected.entries.clamp(1, LARGEST.entries),
        bytes: expected.bytes.clamp(1, LARGEST.bytes),
    }
}

/// Whether a page was cut by neither limit.
fn is_last(rows: &[(Bytes, Bytes)], size: Expected) -> bool {
    let bytes: usize = rows.iter().map(|(row, value)| row.len() + value.len()).sum();
    rows.len() < size.entries && bytes < size.bytes
}

/// Puts a question, after this statement if there is one, in one round trip. Nothing was read yet, so
/// this may be tried on several connections.
async fn ask_first(
    core: &Core,
    question: &Question,
    before: Option<&str>,
) -> Result<(Pooled, Vec<(Bytes, Bytes)>), StoreError> {
    let mut pauses = super::connection::Pauses::within(PATIENCE);
    loop {
        let pooled = core.snapshots.take(&core.connector, PATIENCE).await;
        let begun = match pooled {
            Ok(pooled) => {
                let begun = within_time(async {
                    let begin = async {
                        match before {
                            Some(sql) => Ok(pooled.link.client.batch_execute(sql).await?),
                            None => Ok(()),
                        }
                    };
                    let (begun, answer) =
                        futures_util::future::join(begin, question.put(core, &pooled)).await;
                    begun.and(answer)
                });
                begun.await.map(|answer| (pooled, answer))
            }
            Err(trouble) => Err(trouble),
        };
        match begun {
            Ok(begun) => return Ok(begun),
            Err(trouble) if trouble.is_passing() && pauses.pause().await => {}
            Err(trouble) => return Err(trouble.into_error()),
        }
    }
}

async fn within_time<T>(work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    tokio::time::timeout(STATEMENT_TIMEOUT, work).await.unwrap_or_else(|_| Err(timed_out()))
}

fn expired() -> StoreError {
    StoreError::Unreachable {
        cause: "the snapshot's connection is gone, and its moment with it; read from a new one"
            .into(),
    }
}

impl Question {
    /// Runs the statement, with the epoch beside it.
    async fn put(&self, core: &Core, pooled: &Pooled) -> Result<Vec<(Bytes, Bytes)>, Trouble> {
        let epoch = [epoch_row()];
        let wanted: Vec<&[u8]> = match self {
            Self::Rows(rows) => rows.iter().map(AsRef::as_ref).chain(epoch).collect(),
            Self::Page { .. } => epoch.to_vec(),
        };
        let rows: Parameters<'_> = vec![(&wanted, Type::BYTEA_ARRAY)];
        let rows = pooled.link.query(&core.sql.read, &rows);
        let found = match self {
            Self::Rows(_) => rows.await?,
            Self::Page { first, last, direction, size } => {
                let sql = match direction {
                    Direction::Forward => &core.sql.forward,
                    Direction::Backward => &core.sql.backward,
                };
                let (most, bytes) = (size.entries as i64, size.bytes as i64);
                let page: Parameters<'_> = vec![
                    (first, Type::BYTEA),
                    (last, Type::BYTEA),
                    (&most, Type::INT8),
                    (&bytes, Type::INT8),
                ];
                let page = pooled.link.query(sql, &page);
                // In this order: outside of a transaction the epoch must not be older than the page.
                let (page, rows) = futures_util::future::join(page, rows).await;
                for row in rows? {
                    core.meet_row(row.try_get(2)?).map_err(Trouble::Failed)?;
                }
                return entries(&page?, 1);
            }
        };
        let mut found = entries(&found, 2)?;
        if let Some(epoch) = found.iter().position(|(key, _)| key == epoch_row()) {
            let (_, value) = found.swap_remove(epoch);
            core.meet_row(&value).map_err(Trouble::Failed)?;
        }
        Ok(found)
    }
}

/// Keys and values of rows, all in one piece of memory.
fn entries(rows: &[Row], value: usize) -> Result<Vec<(Bytes, Bytes)>, Trouble> {
    let mut bytes = Vec::with_capacity(rows.iter().map(Row::raw_size_bytes).sum());
    let mut places = Vec::with_capacity(rows.len());
    for row in rows {
        let (key, value): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(value)?);
        let first = bytes.len();
        bytes.extend_from_slice(key);
        places.push((first, bytes.len(), bytes.len() + value.len()));
        bytes.extend_from_slice(value);
    }
    let bytes = Bytes::from(bytes);
    let entry = |(first, middle, last)| (bytes.slice(first..middle), bytes.slice(middle..last));
    Ok(places.into_iter().map(entry).collect())
}

impl Snapshot for PostgresSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.get_many(&[key])?.pop().flatten())
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let rows = keys.iter().map(|key| self.row_of(key)).collect::<Result<Vec<_>, _>>()?;
        let mut found = self.rows(rows.iter().flatten().cloned().collect())?.into_iter();
        Ok(rows.iter().map(|row| row.as_ref().and_then(|_| found.next().flatten())).collect())
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        self.page(range, direction, FIRST)
    }

    fn page(&self, range: KeyRange, direction: Direction, expected: Expected) -> Entries<'_> {
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        let size = bounded(expected);
        let root = Part::new(keys::ROOT.to_vec(), Vec::new(), range);
        Box::new(Scan { snapshot: self, parts: vec![root], direction, size, failed: false })
    }
}

/// A scan: the part of the root space, and of each node that it is inside of.
struct Scan<'a> {
    snapshot: &'a PostgresSnapshot,
    parts: Vec<Part>,
    direction: Direction,
    /// The next page's.
    size: Expected,
    failed: bool,
}

/// A range of one space.
struct Part {
    space: Vec<u8>,
    /// What stands in front of the space's keys.
    prefix: Vec<u8>,
    range: KeyRange,
    /// The rows that are still to be read.
    first: Vec<u8>,
    last: Vec<u8>,
    /// Rows that were read and not yet returned.
    read: VecDeque<(Bytes, Bytes)>,
    is_read: bool,
}

impl Part {
    fn new(space: Vec<u8>, prefix: Vec<u8>, range: KeyRange) -> Self {
        let (first, last) = keys::rows(&space, &range);
        Self { space, prefix, range, first, last, read: VecDeque::new(), is_read: false }
    }
}

impl Scan<'_> {
    fn fill(&mut self) -> Result<(), StoreError> {
        let Some(part) = self.parts.last_mut() else { return Ok(()) };
        let (first, last) = (part.first.clone(), part.last.clone());
        let (direction, size) = (self.direction, self.size);
        let rows = self.snapshot.ask(Question::Page { first, last, direction, size })?;
        self.size = Expected {
            entries: (size.entries * 4).min(LARGEST.entries),
            bytes: (size.bytes * 4).min(LARGEST.bytes),
        };
        match (rows.last(), direction) {
            (None, _) => part.is_read = true,
            (Some((row, _)), Direction::Forward) => part.first = [row, &[0][..]].concat(),
            (Some((row, _)), Direction::Backward) => part.last = row.to_vec(),
        }
        part.is_read |= is_last(&rows, size);
        part.read = rows.into();
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<(Bytes, Bytes)>, StoreError> {
        loop {
            let Some(part) = self.parts.last_mut() else { return Ok(None) };
            let Some((row, value)) = part.read.pop_front() else {
                if part.is_read {
                    self.parts.pop();
                } else {
                    self.fill()?;
                }
                continue;
            };
            let Some(inside) = row.strip_prefix(part.space.as_slice()) else {
                return Err(closed());
            };
            if let Some(node) = keys::node_prefix(&part.space, &row) {
                let range = keys::under_node(&part.range, node);
                let prefix = [&part.prefix, node].concat();
                if !range.is_empty() {
                    let under = Part::new(keys::space_of(&value), prefix, range);
                    self.parts.push(under);
                }
                continue;
            }
            let key = if part.prefix.is_empty() {
                row.slice(part.space.len()..)
            } else {
                [&part.prefix, inside].concat().into()
            };
            return Ok(Some((key, value)));
        }
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Result<(Key<'a>, Bytes), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let entry = self.advance();
        self.failed = entry.is_err();
        entry.map(|entry| entry.map(|(key, value)| (Key::Own(key), value))).transpose()
    }
}
