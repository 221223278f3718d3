//! Whether the store accepts writes.
//!
//! After a failed sync nobody knows which pages reached the disk, and a second sync may report
//! success for pages that the kernel has dropped. So the store stops writing for good: it is
//! *poisoned*. A disk without room is another matter: as long as the end of the log is known, the store
//! only refuses writes until there is room again. Reads go on in both cases: they see what was durable
//! before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{Health, StoreError};

/// Shared by everything that writes for one store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Condition(Arc<State>);

#[derive(Debug, Default)]
struct State {
    poisoned: OnceLock<Arc<str>>,
    /// Copy of `full.is_some()`, so that writers need no lock.
    is_full: AtomicBool,
    full: Mutex<Option<Arc<str>>>,
}

impl Condition {
    /// Refuses all writes from now on; the first cause wins.
    pub(crate) fn poison(&self, cause: &impl ToString) {
        // A later cause is a consequence of the first one.
        let _ = self.0.poisoned.set(cause.to_string().into());
    }

    /// Refuses writes until [`Condition::has_room`].
    pub(crate) fn is_full(&self, cause: &impl ToString) {
        self.0.full.lock().get_or_insert_with(|| cause.to_string().into());
        self.0.is_full.store(true, Ordering::Release);
    }

    /// Accepts writes again, unless the store is poisoned.
    pub(crate) fn has_room(&self) {
        *self.0.full.lock() = None;
        self.0.is_full.store(false, Ordering::Release);
    }

    /// Fails with the reason if writes are refused.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.check_not_poisoned()?;
        if !self.0.is_full.load(Ordering::Acquire) {
            return Ok(());
        }
        self.0.full.lock().clone().map_or(Ok(()), |cause| Err(StoreError::Full { cause }))
    }

    /// Fails with the cause if the store is poisoned.
    pub(crate) fn check_not_poisoned(&self) -> Result<(), StoreError> {
        match self.0.poisoned.get() {
            None => Ok(()),
            Some(cause) => Err(StoreError::Poisoned { cause: Arc::clone(cause) }),
        }
    }

    /// What to tell people.
    pub(crate) fn health(&self) -> Health {
        match self.check() {
            Ok(()) => Health::Ready,
            Err(error) => Health::ReadOnly {
                restart_needed: !matches!(error, StoreError::Full { .. }),
                reason: error.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_passes_and_a_failed_one_does_not() {
        let condition = Condition::default();
        assert_eq!(condition.health(), Health::Ready);
        condition.is_full(&"no space left");
        assert!(matches!(condition.check(), Err(StoreError::Full { .. })));
        assert!(matches!(condition.health(), Health::ReadOnly { restart_needed: false, .. }));
        condition.has_room();
        assert_eq!(condition.health(), Health::Ready);
        condition.poison(&"the disk is on fire");
        condition.has_room();
        assert!(matches!(condition.check(), Err(StoreError::Poisoned { .. })));
        assert!(matches!(condition.health(), Health::ReadOnly { restart_needed: true, .. }));
    }
}
