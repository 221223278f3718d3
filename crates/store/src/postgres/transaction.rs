//! Transactions: reads remember revisions, and the commit checks them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::PostgresStore;
use super::contention::{Locked, Wish};
use super::core::random;
use super::keys::SHORT;
use super::member::{Earlier, Expectation, Member};
use super::order::LookupSince;
use super::reader::Found;
use crate::locks::HeldLocks;
use crate::submission::{Completion, Submission};
use crate::transaction::{Reads, Staged, WriteSet};
use crate::{CommitError, StoreError};

/// The longest value that this store takes: a flight must stay short.
const MAX_VALUE_BYTES: usize = 8 << 20;

/// Numbers of records are signed in the database, and must have room to rise.
const LARGEST_FLOOR: u64 = 1 << 62;

/// Reads whose revisions the commit checks.
pub(super) struct CheckedReads<'a> {
    store: &'a PostgresStore,
    locked: Vec<Bytes>,
    /// Released when the transaction has its place.
    _locks: HeldLocks<'a>,
    reads: RefCell<BTreeMap<Bytes, Read>>,
    /// How many statements the reads took.
    lookups: Cell<usize>,
    /// The undecided transactions whose values were read.
    after: RefCell<Earlier>,
    wish: Option<Wish<'a>>,
    /// The session that has locked what was read, if any.
    session: Cell<u64>,
    /// Whether it began with what a lookup had found, so this may be the thread of a reactor.
    is_primed: Cell<bool>,
}

/// What is known of a key without the database.
enum Known {
    Value(Option<Bytes>),
    Not,
}

/// What was read of a locked key.
pub(super) struct Read {
    value: Option<Bytes>,
    expected: Expectation,
    is_pending: bool,
}

/// What a lookup has found of a transaction's keys before it began.
pub(super) struct Primed {
    pub(super) found: Vec<Option<Found>>,
    pub(super) since: LookupSince,
}

impl<'a> CheckedReads<'a> {
    pub(super) fn new(
        store: &'a PostgresStore,
        keys: &[&[u8]],
        locks: HeldLocks<'a>,
        wish: Option<Wish<'a>>,
    ) -> Self {
        Self {
            store,
            locked: keys.iter().map(|key| Bytes::copy_from_slice(key)).collect(),
            _locks: locks,
            reads: RefCell::default(),
            lookups: Cell::new(0),
            after: RefCell::default(),
            wish,
            session: Cell::new(0),
            is_primed: Cell::new(false),
        }
    }

    /// The value of a key without a lookup: an earlier read, a pending value, or one that is locked.
    fn known(&self, key: &[u8]) -> Known {
        if let Some(read) = self.reads.borrow().get(key) {
            return Known::Value(read.value.clone());
        }
        // Before pending values: those of a session that is over are not its.
        let locked = self.wish.as_ref().and_then(|wish| wish.locked(key));
        if let Some(pending) = self.store.core.order.newest(key) {
            let expected = pending.value.as_ref().map(|_| pending.revision);
            self.after.borrow_mut().push(pending.ticket);
            self.remember(key, pending.value.clone(), expected, true);
            return Known::Value(pending.value);
        }
        // A row that is not there cannot be locked: others may have made it meanwhile.
        let Some(Locked { session, row: Some(row) }) = locked else { return Known::Not };
        if self.session.replace(session) != session {
            self.lookups.set(self.lookups.get().saturating_add(1));
        }
        self.remember(key, Some(row.value.clone()), Some(row.revision), false);
        Known::Value(Some(row.value))
    }

    /// Takes over what was found, or what this process has written since. Pending values come first, as always.
    pub(super) fn prime(&self, keys: &[&[u8]], primed: Primed) {
        self.is_primed.set(true);
        self.lookups.set(1);
        for (key, found) in keys.iter().zip(primed.found) {
            if self.store.core.order.newest(key).is_some() {
                continue;
            }
            let (value, expected) = if let Some(decided) = primed.since.decided(key) {
                let expected = decided.value.as_ref().map(|_| decided.revision);
                (decided.value, expected)
            } else {
                let revision = found.as_ref().map(|found| found.revision);
                (found.map(|found| found.value), revision)
            };
            self.remember(key, value, expected, false);
        }
        if keys.len() > 1 {
            // They may be of several moments.
            self.lookups.set(2);
        }
    }

    fn remember(&self, key: &[u8], value: Option<Bytes>, expected: Expectation, is_pending: bool) {
        if self.locked.iter().any(|locked| locked == key) {
            let read = Read { value, expected, is_pending };
            self.reads.borrow_mut().insert(Bytes::copy_from_slice(key), read);
        } else if is_pending {
            // Nothing checks it at the commit, but nobody may act on it before it is durable.
            self.lookups.set(usize::MAX);
        }
    }

    /// Does what waits for the database. If this is the thread of a reactor, another one takes over its tasks meanwhile.
    /// Transactions begin with a lookup so that this is rare.
    fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let reactor = Handle::try_current().map(|handle| handle.runtime_flavor());
        if self.is_primed.get() && matches!(reactor, Ok(RuntimeFlavor::MultiThread)) {
            return tokio::task::block_in_place(work);
        }
        work()
    }

    /// Gives the transaction its place in the order and releases the locks.
    fn place(self, staged: Staged) -> Result<Submission, CommitError> {
        let is_long = |key: &Bytes| key.len() > SHORT;
        let looks_up = staged.writes.keys().any(is_long) || self.reads.borrow().keys().any(is_long);
        let make = || member(self.store, staged, &self.reads.borrow());
        let made = if looks_up { self.aside(make) } else { make() };
        let (mut member, values) = made.map_err(CommitError::Failed)?;
        member.after = self.after.take();
        let submit = |member| match &self.wish {
            Some(wish) => wish.submit(member),
            None => Some(member),
        };
        Ok(self.store.core.order.place(member, values, submit))
    }
}

/// The member that checks what was read and writes what is staged, and the values it makes.
pub(super) fn member(
    store: &PostgresStore,
    staged: Staged,
    reads: &BTreeMap<Bytes, Read>,
) -> Result<(Member, WriteSet), StoreError> {
    let mut member = Member {
        ticket: 0,
        after: Earlier::new(),
        revision: random()?,
        reads: BTreeMap::new(),
        writes: BTreeMap::new(),
        keys: Vec::new(),
        appends: staged.unnumbered.appends,
        adds: staged.unnumbered.adds,
        epoch: staged.epoch,
        guards: staged.guards.into(),
        done: Arc::<Completion>::default(),
    };
    for (key, read) in reads {
        let (row, nodes) = store.reader.place_to_write(&store.core, key)?;
        member.reads.insert(row, read.expected);
        member.reads.extend(nodes.into_iter().map(|(node, at)| (node, Some(at))));
    }
    for (key, value) in &staged.writes {
        let (row, nodes) = store.reader.place_to_write(&store.core, key)?;
        member.writes.insert(row, value.clone());
        member.reads.extend(nodes.into_iter().map(|(node, at)| (node, Some(at))));
    }
    Ok((member, staged.writes))
}

/// The limits of every store, and those of this one.
pub(super) fn check_limits(staged: &Staged) -> Result<(), StoreError> {
    staged.check_limits()?;
    let longest = staged.writes.values().flatten().map(Bytes::len).max().unwrap_or(0);
    if longest > MAX_VALUE_BYTES {
        let detail = format!(
            "a value has {longest} bytes; the limit of a PostgreSQL store is {MAX_VALUE_BYTES}"
        );
        return Err(StoreError::Limit { detail });
    }
    for append in &staged.unnumbered.appends {
        let key = append.log.len() + size_of::<u64>();
        if key > SHORT || append.floor > LARGEST_FLOOR {
            let detail = format!(
                "a record of a log has a key of {key} bytes and a number from {}; the limits of a \
                 PostgreSQL store are {SHORT} and {LARGEST_FLOOR}",
                append.floor
            );
            return Err(StoreError::Limit { detail });
        }
    }
    Ok(())
}

impl Reads for CheckedReads<'_> {
    fn newest(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let known: Vec<Known> = keys.iter().map(|key| self.known(key)).collect();
        let pairs = keys.iter().zip(&known);
        let unknown: Vec<&[u8]> =
            pairs.filter(|(_, known)| matches!(known, Known::Not)).map(|(key, _)| *key).collect();
        let mut found = Vec::new().into_iter();
        if !unknown.is_empty() {
            self.lookups.set(self.lookups.get().saturating_add(1));
            let rows = self.aside(|| self.store.reader.keys(&unknown))?;
            for (key, row) in unknown.iter().zip(&rows) {
                let value = row.as_ref().map(|row| row.value.clone());
                self.remember(key, value, row.as_ref().map(|row| row.revision), false);
            }
            found = rows.into_iter();
        }
        let value = |known| match known {
            Known::Value(value) => value,
            Known::Not => found.next().flatten().map(|row| row.value),
        };
        Ok(known.into_iter().map(value).collect())
    }

    fn epoch(&self) -> u64 {
        self.store.core.epoch()
    }

    fn check_limits(&self, staged: &Staged) -> Result<(), StoreError> {
        check_limits(staged)
    }

    fn submit(self, staged: Staged) -> Result<Submission, CommitError> {
        self.place(staged)
    }

    fn submit_read(self, staged: Staged) -> Result<Submission, CommitError> {
        let rests_on_pending = self.reads.borrow().values().any(|read| read.is_pending);
        let rests_on_session = self.session.get() != 0;
        if self.lookups.get() <= 1 && !rests_on_pending && !rests_on_session {
            // One statement has read it all: it was so at that moment, durably. What a session has read was so when it
            // was opened, and whether its locks still hold is known at the commit.
            return Ok(Submission::durable());
        }
        // Joins a flight that checks it.
        self.place(staged)
    }
}
