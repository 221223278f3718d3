//! Contended keys, which are locked before they are read.
//!
//! Who writes what it has read is usually right to be optimistic. A key that several servers write
//! all the time is the exception: each flight would find that another was faster. Once a key has met a
//! conflict, a transaction that begins with it makes a *wish*. A lane opens a *session* for the
//! wishes there are: it locks their rows in the database, lets the transactions read and submit one
//! after the other, and writes what the last of them has left. Only speed depends on this: what is
//! written is checked like everything else.
//!
//! A key stays contended while sessions find that others have written it in between.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::keys;
use super::member::{Expectation, Member};
use super::reader::Found;

/// How long a key is contended after others have written it in between.
const CONTENDED: Duration = Duration::from_secs(1);

/// How many contended keys are remembered.
const REMEMBERED: usize = 4096;

/// How many sessions are open at once; each occupies a lane.
const SESSIONS: usize = 2;

/// How many transactions and rows a session is opened for.
const SESSION: usize = 64;
const SESSION_ROWS: usize = 256;

/// How long a session waits for its next transaction, and how long it is open at most: the database
/// has its rows locked.
const QUIET: Duration = Duration::from_millis(4);
const LONGEST: Duration = Duration::from_millis(20);

/// How long a transaction waits for a session before it reads optimistically.
const PATIENCE: Duration = Duration::from_secs(2);

type Number = u64;

/// The contended keys of a store, and who waits for them.
#[derive(Default)]
pub(super) struct Contention {
    /// How many keys are contended: usually none, and then nothing else is looked at.
    count: AtomicUsize,
    state: Mutex<State>,
    /// A session has been opened.
    opened: Condvar,
}

#[derive(Default)]
struct State {
    contended: HashMap<Bytes, Contended>,
    /// The rows of wishes that no session was opened for, in the order of their arrival.
    wishes: BTreeMap<Number, Vec<Bytes>>,
    sessions: BTreeMap<Number, Session>,
    last: Number,
}

struct Contended {
    until: Instant,
    /// As our last session has left it.
    left: Option<Expectation>,
}

#[derive(Default)]
struct Session {
    rows: BTreeSet<Bytes>,
    /// What the rows hold, while the session is open.
    found: Option<HashMap<Bytes, Found>>,
    /// The wishes it was opened for and that are not over, with their rows.
    wishes: BTreeMap<Number, Vec<Bytes>>,
    members: Vec<Member>,
    /// Tells the lane that a wish is over.
    progress: Arc<Notify>,
}

/// A session that a lane is to open.
pub(super) struct Called {
    pub(super) number: Number,
    pub(super) rows: BTreeSet<Bytes>,
    progress: Arc<Notify>,
}

/// A row as a session has locked it.
pub(super) struct Locked {
    pub(super) session: Number,
    pub(super) row: Option<Found>,
}

impl Contention {
    /// Notes that these rows were changed by others.
    pub(super) fn meet<'a>(&self, rows: impl Iterator<Item = &'a Bytes>) {
        let mut state = self.state.lock();
        let now = Instant::now();
        for row in rows {
            if let Some(contended) = state.contended.get_mut(row) {
                contended.until = now + CONTENDED;
            } else if state.contended.len() < REMEMBERED {
                let contended = Contended { until: now + CONTENDED, left: None };
                state.contended.insert(row.clone(), contended);
            }
        }
        self.count.store(state.contended.len(), Ordering::Release);
    }

    /// Whether one of these keys is contended.
    pub(super) fn is_contended(&self, keys: &[&[u8]]) -> bool {
        if self.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let (state, now) = (self.state.lock(), Instant::now());
        let mut rows = keys.iter().filter_map(|key| keys::short_row(key));
        rows.any(|row| state.contended.get(&row).is_some_and(|contended| contended.until > now))
    }

    /// The wish of a transaction for those of its keys that are contended; none if none is.
    pub(super) fn wish(&self, keys: &[&[u8]]) -> Option<Wish<'_>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let now = Instant::now();
        state.contended.retain(|_, contended| contended.until > now);
        self.count.store(state.contended.len(), Ordering::Release);
        let rows = keys.iter().filter_map(|key| keys::short_row(key));
        let rows: Vec<Bytes> = rows.filter(|row| state.contended.contains_key(row)).collect();
        if rows.is_empty() {
            return None;
        }
        let number = state.next();
        state.wishes.insert(number, rows.clone());
        Some(Wish { contention: self, number, rows })
    }

    /// A session for the wishes that wait, if one may be opened.
    pub(super) fn call(&self) -> Option<Called> {
        let mut state = self.state.lock();
        if state.wishes.is_empty() || state.sessions.len() >= SESSIONS {
            return None;
        }
        let taken: HashSet<Bytes> =
            state.sessions.values().flat_map(|session| session.rows.iter().cloned()).collect();
        let mut session = Session::default();
        let is_free = |_: &Number, rows: &mut Vec<Bytes>| {
            let has_room = session.wishes.len() < SESSION && session.rows.len() < SESSION_ROWS;
            let is_free = has_room && rows.iter().all(|row| !taken.contains(row));
            if is_free {
                session.rows.extend(rows.iter().cloned());
            }
            is_free
        };
        session.wishes = state.wishes.extract_if(.., is_free).collect();
        if session.wishes.is_empty() {
            return None;
        }
        let number = state.next();
        let called =
            Called { number, rows: session.rows.clone(), progress: Arc::clone(&session.progress) };
        state.sessions.insert(number, session);
        Some(called)
    }

    /// The rows of a session are locked and hold this. Wishes that came while other servers had them
    /// locked are taken in.
    pub(super) fn open(&self, called: &Called, found: HashMap<Bytes, Found>) {
        let mut state = self.state.lock();
        let now = Instant::now();
        state.adopt(called.number);
        for row in &called.rows {
            let revision = found.get(row).map(|found| found.revision);
            if let Some(contended) = state.contended.get_mut(row)
                && contended.left != Some(revision)
            {
                contended.until = now + CONTENDED;
            }
        }
        if let Some(session) = state.sessions.get_mut(&called.number) {
            session.found = Some(found);
        }
        drop(state);
        self.opened.notify_all();
    }

    /// Waits for the transactions of a session and takes what they have submitted; none can submit
    /// to it any more.
    pub(super) async fn gather(&self, called: &Called) -> Vec<Member> {
        let end = Instant::now() + LONGEST;
        loop {
            let now = Instant::now();
            let wait = QUIET.min(end.saturating_duration_since(now));
            if wait.is_zero() || self.is_complete(called.number) {
                break;
            }
            if tokio::time::timeout(wait, called.progress.notified()).await.is_err() {
                break;
            }
        }
        let mut state = self.state.lock();
        let Some(session) = state.sessions.get_mut(&called.number) else { return Vec::new() };
        session.found = None;
        std::mem::take(&mut session.members)
    }

    fn is_complete(&self, number: Number) -> bool {
        let state = self.state.lock();
        let session = state.sessions.get(&number);
        session.is_none_or(|session| session.wishes.is_empty() || session.members.len() >= SESSION)
    }

    /// A session is over and has left its rows like this, or has not been opened. Wishes that are
    /// not fulfilled wait for the next.
    pub(super) fn close(&self, called: &Called, left: HashMap<Bytes, Expectation>) {
        let mut state = self.state.lock();
        if let Some(session) = state.sessions.remove(&called.number) {
            state.wishes.extend(session.wishes);
        }
        for (row, left) in left {
            if let Some(contended) = state.contended.get_mut(&row) {
                contended.left = Some(left);
            }
        }
    }
}

impl State {
    fn next(&mut self) -> Number {
        self.last += 1;
        self.last
    }

    /// Moves the wishes that need no further rows to a session, as far as it has room.
    fn adopt(&mut self, number: Number) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        let mut room = SESSION.saturating_sub(session.wishes.len());
        let fits = |_: &Number, rows: &mut Vec<Bytes>| {
            let fits = room > 0 && rows.iter().all(|row| session.rows.contains(row));
            room -= usize::from(fits);
            fits
        };
        let adopted: Vec<_> = self.wishes.extract_if(.., fits).collect();
        session.wishes.extend(adopted);
    }

    /// The open session that has all these rows locked.
    fn session(&mut self, rows: &[Bytes]) -> Option<(Number, &mut Session)> {
        let has_all = |session: &Session| {
            session.found.is_some() && rows.iter().all(|row| session.rows.contains(row))
        };
        let mut sessions = self.sessions.iter_mut();
        sessions.find(|(_, session)| has_all(session)).map(|(number, session)| (*number, session))
    }
}

/// A transaction's wish for contended keys. It is over when this is dropped.
pub(super) struct Wish<'a> {
    contention: &'a Contention,
    number: Number,
    rows: Vec<Bytes>,
}

impl Wish<'_> {
    /// What a session has found at a key, once one is open; none if it is not one of the contended
    /// keys, or if no session could be opened.
    pub(super) fn locked(&self, key: &[u8]) -> Option<Locked> {
        let row = keys::short_row(key).filter(|row| self.rows.contains(row))?;
        let end = Instant::now() + PATIENCE;
        let mut state = self.contention.state.lock();
        loop {
            if let Some((number, session)) = state.session(&self.rows) {
                let found = session.found.as_ref()?;
                return Some(Locked { session: number, row: found.get(&row).cloned() });
            }
            if self.contention.opened.wait_until(&mut state, end).timed_out() {
                return None;
            }
        }
    }

    /// Submits to the session; returns the member if it is over already.
    pub(super) fn submit(&self, member: Member) -> Option<Member> {
        let mut state = self.contention.state.lock();
        match state.session(&self.rows) {
            Some((_, session)) => {
                session.members.push(member);
                None
            }
            None => Some(member),
        }
    }
}

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        let mut state = self.contention.state.lock();
        state.wishes.remove(&self.number);
        for session in state.sessions.values_mut() {
            if session.wishes.remove(&self.number).is_some() {
                session.progress.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_the_rows_are_waited_for_shares_the_session() {
        let contention = Contention::default();
        let row = |key: &[u8]| keys::short_row(key).unwrap();
        contention.meet([row(b"a"), row(b"b")].iter());
        let early = contention.wish(&[b"a"]).unwrap();
        let called = contention.call().unwrap();
        let late = contention.wish(&[b"a", b"c"]).unwrap();
        let other = contention.wish(&[b"b"]).unwrap();
        contention.open(&called, HashMap::new());
        drop(early);
        assert!(!contention.is_complete(called.number), "the late one is waited for");
        drop(late);
        assert!(contention.is_complete(called.number));
        contention.close(&called, HashMap::new());
        let next = contention.call().unwrap();
        assert_eq!(next.rows, [row(b"b")].into());
        drop(other);
    }
}
