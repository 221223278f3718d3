//! Lookups: readers that wait at the same time share one statement.
//!
//! A reader never joins a statement that was already sent: its answer could be older than the
//! question. Every statement reads the epoch's row, too.
//!
//! A statement costs the database as much as several rows do, so while one is under way the next lookups wait for it,
//! unless they are many or it takes longer than usual.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
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

/// So many lookups do not wait for a statement under way.
const EARLY: usize = 32;

/// A statement that takes so many times as long as usual, and this much longer, is no longer waited for.
const OVERDUE: u32 = 2;
const COST: Duration = Duration::from_micros(300);

/// A row that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) revision: Revision,
    pub(super) value: Bytes,
}

type Answer = Result<Vec<Option<Found>>, StoreError>;

struct Lookup {
    rows: Vec<Bytes>,
    answer: oneshot::Sender<Answer>,
}

/// Takes lookups and answers them.
pub(super) struct Reader {
    core: Arc<Core>,
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Lookup>,
    /// How many statements are under way, and when the last of them was sent.
    flying: usize,
    sent: Option<Instant>,
    /// How long a statement takes, on average.
    usual: Duration,
}

/// What a task may do now.
enum Turn {
    Ask(Vec<Lookup>),
    /// Nothing before this much time has passed: a statement under way will be back soon, and its task takes all that
    /// wait by then.
    Wait(Duration),
    /// Nothing, until it is woken.
    Rest,
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
        let (state, arrived) = (Mutex::default(), Notify::new());
        let reader = Arc::new(Self { core: Arc::clone(core), state, arrived });
        for _ in 0..CONNECTIONS {
            core.spawn(Arc::clone(&reader).serve());
        }
        reader
    }

    /// Wakes the tasks, so that they see that the store is closed.
    pub(super) fn wake(&self) {
        self.arrived.notify_waiters();
        self.arrived.notify_one();
    }

    /// Asks for rows; they will be in the same order, from one snapshot.
    pub(super) fn ask(&self, rows: Vec<Bytes>) -> oneshot::Receiver<Answer> {
        let (answer, received) = oneshot::channel();
        let mut state = self.state.lock();
        state.waiting.push_back(Lookup { rows, answer });
        // Else somebody is on the way to it.
        let is_needed = match state.waiting.len() {
            1 => state.flying == 0,
            waiting => waiting == EARLY,
        };
        drop(state);
        if is_needed {
            self.arrived.notify_one();
        }
        received
    }

    /// The rows, in the same order, from one snapshot.
    pub(super) fn rows(&self, rows: Vec<Bytes>) -> Answer {
        self.core.run(self.ask(rows)).unwrap_or_else(|_| Err(closed()))
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

    async fn serve(self: Arc<Self>) {
        let (core, mut link) = (&self.core, None);
        while !core.closing.load(Ordering::Acquire) {
            let lookups = match self.turn() {
                Turn::Ask(lookups) => lookups,
                Turn::Wait(wait) => {
                    let _ = tokio::time::timeout(wait, self.arrived.notified()).await;
                    continue;
                }
                Turn::Rest => {
                    self.arrived.notified().await;
                    continue;
                }
            };
            let sent = Instant::now();
            let answers = read(core, &mut link, &lookups).await;
            self.land(sent.elapsed());
            match answers {
                Ok(answers) => {
                    for (lookup, answer) in lookups.into_iter().zip(answers) {
                        // The reader may have gone.
                        let _ = lookup.answer.send(Ok(answer));
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

    /// What a task may do. One that asks must [land](Self::land).
    fn turn(&self) -> Turn {
        let mut state = self.state.lock();
        if state.flying > 0 && state.waiting.len() < EARLY {
            let since = state.sent.map(|sent| sent.elapsed()).unwrap_or_default();
            let overdue = (state.usual * OVERDUE + COST).saturating_sub(since);
            if !overdue.is_zero() {
                return Turn::Wait(overdue);
            }
        }
        if state.waiting.is_empty() {
            return if state.flying > 0 { Turn::Wait(COST) } else { Turn::Rest };
        }
        let mut rows = 0;
        let fits = |lookup: &&Lookup| {
            let room = rows < SHARED_ROWS;
            rows += lookup.rows.len();
            room
        };
        let count = state.waiting.iter().take(SHARED).take_while(fits).count();
        let lookups = state.waiting.drain(..count).collect();
        state.flying += 1;
        state.sent = Some(Instant::now());
        drop(state);
        // It watches that this one does not take too long.
        self.arrived.notify_one();
        Turn::Ask(lookups)
    }

    /// A statement is back.
    fn land(&self, took: Duration) {
        let mut state = self.state.lock();
        state.flying -= 1;
        state.usual = if state.usual.is_zero() { took } else { (state.usual * 7 + took) / 8 };
    }
}

/// Answers lookups in one statement, again on another connection while that breaks.
async fn read(
    core: &Core,
    link: &mut Option<Link>,
    lookups: &[Lookup],
) -> Result<Vec<Vec<Option<Found>>>, StoreError> {
    let mut pauses = Pauses::within(PATIENCE);
    loop {
        let trouble = match once(core, link, lookups).await {
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
    lookups: &[Lookup],
) -> Result<Vec<Vec<Option<Found>>>, Trouble> {
    if link.as_ref().is_none_or(|link| link.client.is_closed()) {
        let mut connected = core.connector.connect().await?;
        let prepared = connected.prepare(&core.lookups);
        tokio::time::timeout(STATEMENT_TIMEOUT, prepared).await.map_err(|_| timed_out())??;
        *link = Some(connected);
    }
    let Some(link) = link else { return Err(timed_out()) };
    let wanted = lookups.iter().flat_map(|lookup| &lookup.rows).map(AsRef::as_ref);
    let wanted: Vec<&[u8]> = wanted.chain([epoch_row()]).collect();
    let parameters: Parameters<'_> = vec![(&wanted, Type::BYTEA_ARRAY)];
    let answer = link.query(&core.sql.read, &parameters);
    let answer =
        tokio::time::timeout(STATEMENT_TIMEOUT, answer).await.map_err(|_| timed_out())??;
    let mut found: HashMap<&[u8], Found, RandomState> = HashMap::default();
    found.reserve(answer.len());
    for row in &answer {
        let (key, value): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(2)?);
        if key == epoch_row() {
            core.meet_row(value).map_err(Trouble::Failed)?;
        } else {
            let value = Bytes::copy_from_slice(value);
            found.insert(key, Found { revision: row.try_get(1)?, value });
        }
    }
    let of =
        |lookup: &Lookup| lookup.rows.iter().map(|row| found.get(row.as_ref()).cloned()).collect();
    Ok(lookups.iter().map(of).collect())
}
