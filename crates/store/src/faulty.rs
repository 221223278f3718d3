//! A store that injects commit failures, for tests of code above a store.
//!
//! The stores of this crate never return *conflict*, and *unknown* only when a disk fails. A
//! distributed store may return both at any time, so callers must handle them.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::{CommitError, Exclusive, Store, StoreError, Submission, Transaction, Wrapped, Wrapper};

/// The injected outcome of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The operation succeeds.
    None,
    /// Fails with a conflict; nothing is written.
    Conflict,
    /// Fails as if the epoch were over; nothing is written.
    Stale,
    /// Is written, but reported as unknown.
    UnknownWritten,
    /// Is not written, and reported as unknown.
    UnknownLost,
    /// Is submitted but not written; waiting for it reports unknown.
    UnknownLate,
}

/// Wraps a store and injects the planned commit failures.
///
/// ```
/// use keyloom_store::{CommitError, Fault, FaultyStore, MemoryStore, Store};
///
/// let store = FaultyStore::new(MemoryStore::new());
/// store.plan([Fault::Conflict]);
/// let mut tx = store.begin(&[b"key"])?;
/// tx.put("key".into(), "value".into());
/// assert!(matches!(tx.commit(), Err(CommitError::Conflict)));
/// assert_eq!(store.get(b"key")?, None);
/// # Ok::<(), keyloom_store::StoreError>(())
/// ```
pub type FaultyStore<S> = Wrapped<S, Faults>;

/// The outcomes of the next commits, one each; commits beyond the plan succeed.
#[derive(Debug, Default)]
pub struct Faults(Mutex<VecDeque<Fault>>);

impl Faults {
    /// Queues the outcomes of further commits.
    pub fn plan(&self, faults: impl IntoIterator<Item = Fault>) {
        self.0.lock().extend(faults);
    }

    /// The outcome of the next commit.
    fn next(&self) -> Fault {
        self.0.lock().pop_front().unwrap_or(Fault::None)
    }
}

impl<S: Store> Wrapper<S> for Faults {
    fn submit(
        &self,
        _: &S,
        transaction: Box<dyn Transaction + '_>,
    ) -> Result<Submission, CommitError> {
        match self.next() {
            Fault::None => transaction.submit(),
            Fault::Conflict => Err(CommitError::Conflict),
            Fault::Stale => Err(CommitError::Stale),
            Fault::UnknownWritten => {
                transaction.commit()?;
                Err(CommitError::Unknown(planned()))
            }
            Fault::UnknownLost => Err(CommitError::Unknown(planned())),
            Fault::UnknownLate => Ok(Submission::decided(Err(CommitError::Unknown(planned())))),
        }
    }

    fn commit(&self, _: &S, change: Box<dyn Exclusive + '_>) -> Result<u64, CommitError> {
        match self.next() {
            Fault::None => change.commit(),
            Fault::Conflict => Err(CommitError::Conflict),
            Fault::Stale => Err(CommitError::Stale),
            Fault::UnknownWritten => {
                change.commit()?;
                Err(CommitError::Unknown(planned()))
            }
            Fault::UnknownLost | Fault::UnknownLate => Err(CommitError::Unknown(planned())),
        }
    }
}

fn planned() -> StoreError {
    StoreError::Engine { action: "commit".into(), detail: "this failure was planned".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    fn put(store: &dyn Store, key: &'static str) -> Result<(), CommitError> {
        let mut transaction = store.begin(&[key.as_bytes()]).unwrap();
        transaction.put(key.into(), "value".into());
        transaction.commit()
    }

    #[test]
    fn each_commit_has_its_planned_outcome() {
        let store = FaultyStore::new(MemoryStore::new());
        store.plan([Fault::Conflict, Fault::UnknownWritten, Fault::None, Fault::UnknownLost]);
        store.plan([Fault::UnknownLate]);
        assert!(matches!(put(&store, "a"), Err(CommitError::Conflict)));
        assert!(matches!(put(&store, "b"), Err(CommitError::Unknown(_))));
        assert!(put(&store, "c").is_ok());
        assert!(matches!(put(&store, "d"), Err(CommitError::Unknown(_))));
        assert!(matches!(put(&store, "e"), Err(CommitError::Unknown(_))));
        assert!(put(&store, "f").is_ok());
        let present = store.get_many(&[b"a", b"b", b"c", b"d", b"e", b"f"]).unwrap();
        let present: Vec<bool> = present.iter().map(Option::is_some).collect();
        assert_eq!(present, [false, true, true, false, false, true]);
    }

    #[test]
    fn delete_prefix_retries_after_a_conflict() {
        let store = FaultyStore::new(MemoryStore::new());
        for key in ["t/1", "t/2", "t/3"] {
            put(&store, key).unwrap();
        }
        store.plan([Fault::None, Fault::Conflict, Fault::Conflict]);
        store.delete_prefix(b"t/", 1).unwrap();
        assert_eq!(store.verify().unwrap().entries, 0);
        put(&store, "t/4").unwrap();
        store.plan([Fault::UnknownLost]);
        assert!(store.delete_prefix(b"t/", 1).is_err());
    }
}
