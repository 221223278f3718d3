//! Lookups: readers that wait at the same time share one statement.
//!
//! A reader never joins a statement that was already sent: its answer could be older than the
//! question. Every statement reads the epoch's row, too.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_postgres::types::Type;

use super::connection::{Link, Pauses};
use super::core::{Core, PATIENCE, STATEMENT_TIMEOUT, closed, epoch_row};
use super::flight::Parameters;
use super::keys::{self, Step};
use super::member::Revision;
use super::trouble::{Trouble, timed_out};
use crate::StoreError;

/// How many statements run at the same time.
pub(super) const CONNECTIONS: usize = 3;

/// How many lookups and rows one statement takes at most.
const SHARED: usize = 64;
const SHARED_ROWS: usize = 1000;

/// A row that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) revision: Revision,
    pub(super) value: Bytes,
}

type Answer = Result<Vec<Option<Found>>, StoreError>;

struct Lookup {
    rows: Vec<Bytes>,
    answer: SyncSender<Answer>,
}

/// The lookups that wait.
#[derive(Default)]
pub(super) struct Reader {
    waiting: Mutex<VecDeque<Lookup>>,
    arrived: Notify,
}

/// Where a key is.
enum Place {
    /// Its row, and the nodes on the way, which must stay as they are.
    Row { row: Bytes, nodes: Vec<(Bytes, Revision)> },
    /// This node is missing, so the key cannot be there.
    Missing(Bytes),
}

impl Reader {
    /// Starts the readers' tasks.
    pub(super) fn start(core: &Arc<Core>) -> Arc<Self> {
        let reader = Arc::new(Self::default());
        for _ in 0..CONNECTIONS {
            core.spawn(Arc::clone(&reader).serve(Arc::clone(core)));
        }
        reader
    }

    /// Wakes the tasks, so that they see that the store is closed.
    pub(super) fn wake(&self) {
        self.arrived.notify_waiters();
    }

    /// The rows, in the same order, from one snapshot.
    pub(super) fn rows(&self, rows: Vec<Bytes>) -> Answer {
        let (answer, received) = sync_channel(1);
        self.waiting.lock().push_back(Lookup { rows, answer });
        self.arrived.notify_one();
        received.recv().unwrap_or_else(|_| Err(closed()))
    }

    /// The rows of these keys, in the same order, from one snapshot.
    pub(super) fn keys(&self, keys: &[&[u8]]) -> Answer {
        if keys.iter().all(|key| key.len() <= keys::SHORT) {
            let rows = keys.iter().map(|key| [keys::ROOT, key].concat().into());
            return self.rows(rows.collect());
        }
        let mut rows = Vec::new();
        for key in keys {
            rows.push(match self.place(key)? {
                Place::Row { row, .. } => Some(row),
                Place::Missing(_) => None,
            });
        }
        let mut found = self.rows(rows.iter().flatten().cloned().collect())?.into_iter();
        Ok(rows.iter().map(|row| row.as_ref().and_then(|_| found.next().flatten())).collect())
    }

    /// Where a key is.
    fn place(&self, key: &[u8]) -> Result<Place, StoreError> {
        let (mut space, mut rest, mut nodes) = (keys::ROOT.to_vec(), key, Vec::new());
        loop {
            match keys::step(&space, rest) {
                Step::Row(row) => return Ok(Place::Row { row, nodes }),
                Step::Node(node, after) => {
                    let found = self.rows(vec![node.clone()])?.pop().flatten();
                    let Some(found) = found else { return Ok(Place::Missing(node)) };
                    nodes.push((node, found.revision));
                    (space, rest) = (keys::space_of(&found.value), after);
                }
            }
        }
    }

    /// Where a key's row is and the nodes on the way, which are made if they are missing.
    pub(super) fn place_to_write(
        &self,
        core: &Core,
        key: &[u8],
    ) -> Result<(Bytes, Vec<(Bytes, Revision)>), StoreError> {
        loop {
            match self.place(key)? {
                Place::Row { row, nodes } => return Ok((row, nodes)),
                Place::Missing(node) => {
                    core.run(core.make_node(node))?;
                }
            }
        }
    }

    async fn serve(self: Arc<Self>, core: Arc<Core>) {
        let mut link = None;
        while !core.closing.load(Ordering::Acquire) {
            let lookups = self.take();
            if lookups.is_empty() {
                self.arrived.notified().await;
                continue;
            }
            let mut rows: Vec<Bytes> =
                lookups.iter().flat_map(|lookup| &lookup.rows).cloned().collect();
            rows.push(Bytes::from_static(epoch_row()));
            match read(&core, &mut link, rows).await {
                Ok(found) => {
                    for lookup in lookups {
                        let rows = lookup.rows.iter().map(|row| found.get(row).cloned());
                        // The reader may have gone.
                        let _ = lookup.answer.send(Ok(rows.collect()));
                    }
                }
                Err(error) => {
                    for lookup in lookups {
                        let _ = lookup.answer.send(Err(error.clone()));
                    }
                }
            }
        }
    }

    fn take(&self) -> Vec<Lookup> {
        let mut waiting = self.waiting.lock();
        let mut rows = 0;
        let fits = |lookup: &&Lookup| {
            let room = rows < SHARED_ROWS;
            rows += lookup.rows.len();
            room
        };
        let count = waiting.iter().take(SHARED).take_while(fits).count();
        waiting.drain(..count).collect()
    }
}

/// Reads rows in one statement, again on another connection while that breaks.
async fn read(
    core: &Core,
    link: &mut Option<Link>,
    rows: Vec<Bytes>,
) -> Result<HashMap<Bytes, Found>, StoreError> {
    let wanted: Vec<&[u8]> = rows.iter().map(AsRef::as_ref).collect();
    let mut pauses = Pauses::within(PATIENCE);
    loop {
        let trouble = match once(core, link, &wanted).await {
            Ok(found) => {
                core.is_well();
                return Ok(found);
            }
            Err(trouble) => trouble,
        };
        *link = None;
        core.is_ill(&trouble);
        if !trouble.is_passing() || !pauses.pause().await {
            return Err(trouble.into_error());
        }
    }
}

async fn once(
    core: &Core,
    link: &mut Option<Link>,
    rows: &[&[u8]],
) -> Result<HashMap<Bytes, Found>, Trouble> {
    if link.as_ref().is_none_or(|link| link.client.is_closed()) {
        *link = Some(core.connector.connect().await?);
    }
    let Some(link) = link else { return Err(timed_out()) };
    let parameters: Parameters<'_> = vec![(&rows, Type::BYTEA_ARRAY)];
    let answer = link.client.query_typed(&core.sql.read, &parameters);
    let answer =
        tokio::time::timeout(STATEMENT_TIMEOUT, answer).await.map_err(|_| timed_out())??;
    let mut found = HashMap::with_capacity(answer.len());
    for row in answer {
        let key: &[u8] = row.try_get(0)?;
        let value: &[u8] = row.try_get(2)?;
        if key == epoch_row() {
            core.meet_row(value).map_err(Trouble::Failed)?;
        } else {
            let value = Bytes::copy_from_slice(value);
            found.insert(Bytes::copy_from_slice(key), Found { revision: row.try_get(1)?, value });
        }
    }
    Ok(found)
}
