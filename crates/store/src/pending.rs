//! Transactions that are committed but not yet durable: the queue to the committer, and an
//! overlay through which younger transactions already see their values.
//!
//! Both live behind one lock, so a write's place in the queue, its ticket and its appearance in
//! the overlay are one step.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::RandomState;

use crate::submission::Completion;
use crate::transaction::{Kept, Newest, Ticket, WriteSet, size_bytes};

/// A group is cut off behind the transaction that makes it larger than this, so that one record
/// of the log stays within reason however many writers there are.
pub(crate) const GROUP_BYTES: usize = 16 << 20;

/// A transaction in the queue.
pub(crate) struct Queued {
    ticket: Ticket,
    bytes: usize,
    /// What to write; empty for one that only waits for its elders.
    pub(crate) writes: WriteSet,
    /// What to drop before anybody is told.
    pub(crate) kept: Kept,
    /// Whom to tell.
    pub(crate) done: Arc<Completion>,
}

/// The queue and the overlay.
#[derive(Default)]
pub(crate) struct Pending {
    queue: VecDeque<Queued>,
    overlay: HashMap<Bytes, Newest, RandomState>,
    last_ticket: Ticket,
    /// From the first to the last write that failed while the store lives on; no younger write can see
    /// a value of theirs.
    failed: Option<(Ticket, Ticket)>,
}

impl Pending {
    /// Appends a transaction and shows its writes to younger ones.
    pub(crate) fn enqueue(&mut self, writes: WriteSet, kept: Kept) -> Arc<Completion> {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        for (key, value) in &writes {
            self.overlay.insert(key.clone(), Newest { value: value.clone(), ticket });
        }
        let done = Arc::<Completion>::default();
        let bytes = size_bytes(&writes);
        self.queue.push_back(Queued { ticket, bytes, writes, kept, done: Arc::clone(&done) });
        done
    }

    /// The pending value of a key, if a pending transaction writes it.
    pub(crate) fn newest(&self, key: &[u8]) -> Option<&Newest> {
        self.overlay.get(key)
    }

    /// How many keys have pending values.
    pub(crate) fn keys(&self) -> usize {
        self.overlay.len()
    }

    /// Whether nobody waits in the queue.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes the next group off the queue; the overlay keeps its values until
    /// [`Pending::settle`].
    pub(crate) fn take_group(&mut self) -> Vec<Queued> {
        let mut bytes = 0;
        let fits = |queued: &&Queued| {
            let room = bytes < GROUP_BYTES;
            bytes += queued.bytes;
            room
        };
        let count = self.queue.iter().take_while(fits).count();
        self.queue.drain(..count).collect()
    }

    /// Takes everything off the queue.
    pub(crate) fn take_all(&mut self) -> Vec<Queued> {
        self.queue.drain(..).collect()
    }

    /// Notes that these were not written: who has read their values must try again.
    pub(crate) fn remember_failure(&mut self, group: &[Queued], given_up: &[Queued]) {
        let Some(first) = group.iter().chain(given_up).map(|queued| queued.ticket).min() else {
            return;
        };
        let first = self.failed.map_or(first, |(earlier, _)| earlier.min(first));
        self.failed = Some((first, self.last_ticket));
    }

    /// Whether the pending write with this ticket may have failed since it was read.
    pub(crate) fn has_failed(&self, seen: Ticket) -> bool {
        self.failed.is_some_and(|(first, last)| first <= seen && seen <= last)
    }

    /// Forgets the values of transactions that are in the engine now, or nowhere.
    pub(crate) fn settle(&mut self, group: &[Queued]) {
        for queued in group {
            for key in queued.writes.keys() {
                if self.overlay.get(key).is_some_and(|newest| newest.ticket == queued.ticket) {
                    self.overlay.remove(key);
                }
            }
        }
    }
}
