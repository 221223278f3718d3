//! Snapshots: read-only transactions at one moment, with scans in pages that are cut by bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::connection::{Link, Pooled};
use super::core::{Core, PATIENCE, STATEMENT_TIMEOUT, closed};
use super::keys::{self, Step};
use super::paging::{self, Page, Wanted};
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

/// What to read in the snapshot.
enum Question {
    Rows(Vec<Bytes>),
    Page(Wanted),
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

    fn ask(&self, question: Question) -> Result<Page, StoreError> {
        let (core, connection) = (&self.core, &self.connection);
        core.run(async move {
            let state = std::mem::replace(&mut *connection.lock(), State::Gone);
            let (pooled, answer) = match state {
                State::Open(pooled) => {
                    let answer = within_time(question.put(core, &pooled.link)).await;
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
        let found: std::collections::HashMap<Bytes, Bytes> = found.entries(0).collect();
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

/// The beginning of a range, without a transaction: one statement sees one moment. It reads the epoch, too, so what was
/// read is of that epoch, and never taken for a later one's.
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
    let question = Question::Page(Wanted { first, last, direction, size });
    let (pooled, page) = ask_first(core, &question, None).await?;
    core.snapshots.put_back(pooled);
    if page.rows().any(|row| keys::node_prefix(keys::ROOT, row).is_some()) {
        return Ok(None);
    }
    let entries = page.entries(keys::ROOT.len()).collect();
    Ok(Some(FirstPage { entries, is_whole: page.is_last }))
}

/// What is fetched at once for a reader who expects this.
fn bounded(expected: Expected) -> Expected {
    Expected {
        entries: expected.entries.clamp(1, LARGEST.entries),
        bytes: expected.bytes.clamp(1, LARGEST.bytes),
    }
}

/// Puts a question, after this statement if there is one, in one round trip. Nothing was read yet, so
/// this may be tried on several connections.
async fn ask_first(
    core: &Core,
    question: &Question,
    before: Option<&str>,
) -> Result<(Pooled, Page), StoreError> {
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
                        futures_util::future::join(begin, question.put(core, &pooled.link)).await;
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
    /// Runs the statement, which reads the epoch, too.
    async fn put(&self, core: &Core, link: &Link) -> Result<Page, Trouble> {
        match self {
            Self::Rows(rows) => paging::rows(core, link, rows).await,
            Self::Page(wanted) => wanted.read(core, link).await,
        }
    }
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
        let page = self.snapshot.ask(Question::Page(Wanted { first, last, direction, size }))?;
        self.size = Expected {
            entries: (size.entries * 4).min(LARGEST.entries),
            bytes: (size.bytes * 4).min(LARGEST.bytes),
        };
        match (page.rows().last(), direction) {
            (None, _) => part.is_read = true,
            (Some(row), Direction::Forward) => part.first = [row, &[0]].concat(),
            (Some(row), Direction::Backward) => part.last = row.to_vec(),
        }
        part.is_read |= page.is_last;
        part.read = page.entries(0).collect();
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
