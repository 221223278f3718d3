//! Submitted transactions and the order in which later ones see them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::RandomState;
use parking_lot::{Condvar, Mutex};

use crate::CommitError;
use crate::numbering::Append;
use crate::submission::{Commit, Completion, Submission};
use crate::transaction::{Guards, Ticket, WriteSet};

/// The revision of a row: 63 random bits, since revisions that count up come back after a row was
/// deleted and made again.
pub(super) type Revision = i64;

/// What a row must be at the commit: absent, or of this revision.
pub(super) type Expectation = Option<Revision>;

/// A submitted transaction.
pub(super) struct Member {
    pub(super) ticket: Ticket,
    /// The revision of everything it writes.
    pub(super) revision: Revision,
    /// Rows it depends on.
    pub(super) reads: BTreeMap<Bytes, Expectation>,
    /// Rows it writes; none deletes.
    pub(super) writes: BTreeMap<Bytes, Option<Bytes>>,
    /// The keys of these rows.
    pub(super) keys: Vec<Bytes>,
    pub(super) appends: Vec<Append>,
    pub(super) adds: BTreeMap<Bytes, i64>,
    pub(super) epoch: Option<u64>,
    /// Behind a lock only so that a member can be lent to another thread.
    pub(super) guards: Mutex<Guards>,
    pub(super) done: Arc<Completion>,
}

impl Member {
    /// Whether it changes nothing: it only checks what was read.
    pub(super) fn only_checks(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty() && self.adds.is_empty()
    }

    /// The bytes that it sends.
    pub(super) fn bytes(&self) -> usize {
        let writes = self.writes.iter();
        let writes = writes.map(|(row, value)| row.len() + value.as_ref().map_or(0, Bytes::len));
        let appends = self.appends.iter().map(|append| append.log.len() + append.record.len());
        writes.chain(appends).sum()
    }
}

/// A value that is submitted and not yet decided.
#[derive(Debug, Clone)]
pub(super) struct PendingValue {
    pub(super) value: Option<Bytes>,
    pub(super) revision: Revision,
    pub(super) ticket: Ticket,
}

/// What is submitted and not yet decided.
#[derive(Default)]
pub(super) struct Order {
    state: Mutex<State>,
    decided: Condvar,
}

#[derive(Default)]
struct State {
    overlay: HashMap<Bytes, PendingValue, RandomState>,
    undecided: BTreeSet<Ticket>,
    last: Ticket,
}

impl Order {
    /// The pending value of a key.
    pub(super) fn newest(&self, key: &[u8]) -> Option<PendingValue> {
        self.state.lock().overlay.get(key).cloned()
    }

    /// Gives a transaction its place: `enqueue` hands it to its lane, and later transactions see
    /// these values.
    pub(super) fn place(
        &self,
        mut member: Member,
        values: WriteSet,
        enqueue: impl FnOnce(Member),
    ) -> Submission {
        let mut state = self.state.lock();
        let ticket = state.last + 1;
        (member.ticket, member.keys) = (ticket, values.keys().cloned().collect());
        let (revision, done) = (member.revision, Arc::clone(&member.done));
        enqueue(member);
        state.last = ticket;
        state.undecided.insert(ticket);
        for (key, value) in values {
            state.overlay.insert(key, PendingValue { value, revision, ticket });
        }
        Submission::pending(done, Arc::new(Driven))
    }

    /// Announces the outcome of transactions.
    pub(super) fn finish(&self, members: Vec<Member>, outcome: &Result<(), CommitError>) {
        let mut state = self.state.lock();
        for member in &members {
            state.undecided.remove(&member.ticket);
            for key in &member.keys {
                if state.overlay.get(key).is_some_and(|value| value.ticket == member.ticket) {
                    state.overlay.remove(key);
                }
            }
        }
        drop(state);
        self.decided.notify_all();
        for member in members {
            drop(member.guards);
            if let Some(task) = member.done.finish(outcome.clone()) {
                // A waker may panic, for example when its executor has shut down.
                let _ = catch_unwind(AssertUnwindSafe(|| task.wake()));
            }
        }
    }

    /// Waits until everything submitted before is decided.
    pub(super) fn settle(&self) {
        let mut state = self.state.lock();
        let last = state.last;
        while state.undecided.first().is_some_and(|first| *first <= last) {
            self.decided.wait(&mut state);
        }
    }
}

/// Lanes have tasks of their own, so nobody has to lead.
struct Driven;

impl Commit for Driven {
    fn is_busy(&self) -> bool {
        true
    }

    fn lead(&self) {}

    fn call(&self) {}
}
