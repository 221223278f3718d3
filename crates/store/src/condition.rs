//! Whether the store accepts writes.
//!
//! After a failed sync it is unknown which pages reached the disk, and a second sync may report
//! success for pages that the kernel has dropped. So the store refuses writes for good: it is
//! *poisoned*. A full disk is recoverable: as long as the end of the log is known, the store
//! refuses writes only until there is space again. Reads continue in both cases and see what was
//! durable before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{Health, StoreError};

/// The write condition of one store, shared by everything that writes to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Condition(Arc<State>);

#[derive(Debug, Default)]
struct State {
    poisoned: OnceLock<Arc<str>>,
    /// Copy of `full.is_some()`, so that writers can check it without a lock.
    is_full: AtomicBool,
    full: Mutex<Option<Arc<str>>>,
}

impl Condition {
    /// Refuses all writes from now on; the first cause is kept.
    pub(crate) fn poison(&self, cause: &impl ToString) {
        // A later cause is a consequence of the first one.
        let _ = self.0.poisoned.set(cause.to_string().into());
    }

    /// Refuses writes until [`Condition::has_space`].
    pub(crate) fn is_full(&self, cause: &impl ToString) {
        self.0.full.lock().get_or_insert_with(|| cause.to_string().into());
        self.0.is_full.store(true, Ordering::Release);
    }

    /// Accepts writes again, unless the store is poisoned.
    pub(crate) fn has_space(&self) {
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

    /// The condition as reported to users.
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
        condition.has_space();
        assert_eq!(condition.health(), Health::Ready);
        condition.poison(&"the disk is on fire");
        condition.has_space();
        assert!(matches!(condition.check(), Err(StoreError::Poisoned { .. })));
        assert!(matches!(condition.health(), Health::ReadOnly { restart_needed: true, .. }));
    }
}
