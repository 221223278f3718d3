//! Submitted transactions.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::numbering::Append;
use crate::submission::Completion;
use crate::transaction::{Guards, Ticket};

/// The revision of a row: 63 random bits, since revisions that count up come back after a row was
/// deleted and made again.
pub(super) type Revision = i64;

/// What a row must be at the commit: absent, or of this revision.
pub(super) type Expectation = Option<Revision>;

/// Transactions that another one comes after.
pub(super) type Earlier = SmallVec<[Ticket; 2]>;

/// A submitted transaction.
pub(super) struct Member {
    pub(super) ticket: Ticket,
    /// Those whose values it has read or overwrites, and that were undecided then: it commits with
    /// them or after them.
    pub(super) after: Earlier,
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
