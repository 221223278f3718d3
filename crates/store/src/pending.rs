//! Transactions that are committed but not yet durable: the committer's queue, and an overlay
//! through which later transactions already see their values.
//!
//! Both are behind one lock, so a write's position in the queue, its ticket and its visibility in
//! the overlay are assigned atomically.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::RandomState;

use crate::numbering::{Known, Missing, Numbering, Unnumbered};
use crate::submission::Completion;
use crate::transaction::{Guards, Newest, Staged, Ticket, WriteSet, size_bytes};

/// A group ends with the transaction that makes it larger than this, which bounds the size of a log
/// record however many writers there are.
pub(crate) const GROUP_BYTES: usize = 16 << 20;

/// A queued transaction.
pub(crate) struct Queued {
    ticket: Ticket,
    bytes: usize,
    /// What to write; empty for a transaction that only waits for earlier ones.
    pub(crate) writes: WriteSet,
    /// Dropped before the outcome is announced.
    pub(crate) guards: Guards,
    /// Receives the outcome.
    pub(crate) done: Arc<Completion>,
}

/// The queue and the overlay.
#[derive(Default)]
pub(crate) struct Pending {
    queue: VecDeque<Queued>,
    overlay: HashMap<Bytes, Newest, RandomState>,
    last_ticket: Ticket,
    /// The ticket range of writes that failed without poisoning the store; later writes cannot see
    /// their values.
    failed: Option<(Ticket, Ticket)>,
    numbering: Numbering,
}

impl Pending {
    /// What has to be [learned](Self::learn) before a transaction with these can be enqueued.
    pub(crate) fn missing(&self, unnumbered: &Unnumbered) -> Option<Missing> {
        self.numbering.missing(unnumbered)
    }

    /// Takes note of numbers and sums in the store.
    pub(crate) fn learn(&mut self, known: Known) {
        self.numbering.learn(known);
    }

    /// Forgets the logs and counters whose names begin with this; nothing of them may be queued.
    pub(crate) fn forget_numbers(&mut self, prefix: &[u8]) {
        self.numbering.forget_prefix(prefix);
    }

    /// Enqueues a transaction and makes its writes visible to later ones.
    pub(crate) fn enqueue(&mut self, staged: Staged) -> Arc<Completion> {
        let Staged { mut writes, unnumbered, guards, .. } = staged;
        self.numbering.number(unnumbered, &mut writes);
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        for (key, value) in &writes {
            self.overlay.insert(key.clone(), Newest { value: value.clone(), ticket });
        }
        let done = Arc::<Completion>::default();
        let bytes = size_bytes(&writes);
        self.queue.push_back(Queued { ticket, bytes, writes, guards, done: Arc::clone(&done) });
        done
    }

    /// The pending value of a key, if a pending transaction writes it.
    pub(crate) fn newest(&self, key: &[u8]) -> Option<&Newest> {
        self.overlay.get(key)
    }

    /// The number of keys with pending values.
    pub(crate) fn keys(&self) -> usize {
        self.overlay.len()
    }

    /// Whether the queue is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Dequeues the next group; the overlay keeps its values until [`Pending::settle`].
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

    /// Takes everything out of the queue.
    pub(crate) fn take_all(&mut self) -> Vec<Queued> {
        self.queue.drain(..).collect()
    }

    /// Records that these writes failed: transactions that have read their values must retry.
    pub(crate) fn remember_failure(&mut self, group: &[Queued], given_up: &[Queued]) {
        let Some(first) = group.iter().chain(given_up).map(|queued| queued.ticket).min() else {
            return;
        };
        let first = self.failed.map_or(first, |(earlier, _)| earlier.min(first));
        self.failed = Some((first, self.last_ticket));
        self.numbering.forget();
    }

    /// Whether the pending write with this ticket may have failed since it was read.
    pub(crate) fn has_failed(&self, seen: Ticket) -> bool {
        self.failed.is_some_and(|(first, last)| first <= seen && seen <= last)
    }

    /// Removes the values of transactions that are now in the engine, or have failed, from the
    /// overlay.
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
