//! The latch that a failed write or sync closes for good.
//!
//! After a failed sync nobody knows which pages reached the disk, and a second sync may report
//! success for pages that the kernel has dropped. So the store stops writing. Reads go on: they
//! only see what was durable before.

use std::sync::{Arc, OnceLock};

use crate::StoreError;

/// Shared by everything that writes for one store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Poison(Arc<OnceLock<Arc<str>>>);

impl Poison {
    /// Closes the latch; the first cause wins.
    pub(crate) fn set(&self, cause: &impl ToString) {
        // A later cause is a consequence of the first one.
        let _ = self.0.set(cause.to_string().into());
    }

    /// Fails with the cause once the latch is closed.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.0.get() {
            None => Ok(()),
            Some(cause) => Err(StoreError::Poisoned { cause: Arc::clone(cause) }),
        }
    }
}
