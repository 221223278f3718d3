//! Runs requests against the current tables, which other processes may change.
//!
//! The tables in memory may be stale. A write finds out when it commits. All other answers are checked here: every
//! read of the store returns the current epoch, and if it differs from the epoch of the tables that the request used,
//! the tables are reloaded and the request is repeated. An answer that depends on the tables in memory alone, such as
//! "table not found", is confirmed by a read of the store first.

use std::cell::Cell;

use keyloom_core::{Error, Result};

use crate::database::Inner;
use crate::read::asking;
use crate::{layout, store_error};

thread_local! {
    /// Whether the request on this thread has changed anything, or may have.
    static WRITTEN: Cell<bool> = const { Cell::new(false) };
}

/// How often a request is repeated: far more often than tables can change during one.
const MAX_ATTEMPTS: usize = 100;

/// Records that the request on this thread has written, or may have: it must not be repeated.
pub(crate) fn note_written() {
    WRITTEN.set(true);
}

impl Inner {
    /// Runs a request against current tables. `reads` says whether a successful answer was checked by a read of the
    /// store.
    pub(crate) fn on_current_tables<T>(
        &self,
        reads: bool,
        mut answer: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        if !self.store.is_shared() {
            return answer();
        }
        for _ in 0..MAX_ATTEMPTS {
            let epoch = self.catalog.epoch();
            WRITTEN.set(false);
            let answered = answer();
            if WRITTEN.get() || answered.as_ref().is_err_and(is_certain) {
                return answered;
            }
            if !reads || answered.is_err() {
                self.learn_epoch()?;
            }
            if self.store.epoch() == epoch {
                return answered;
            }
            self.catalog.refresh(self.store.as_ref())?;
        }
        Err(Error::InternalServer("the tables are being changed all the time; try again".into()))
    }

    /// [`Self::on_current_tables`] for a request that consumes its input, which is cloned for each attempt.
    pub(crate) fn on_current_tables_with<I: Clone, T>(
        &self,
        input: I,
        answer: impl Fn(&Self, I) -> Result<T>,
    ) -> Result<T> {
        if !self.store.is_shared() {
            return answer(self, input);
        }
        self.on_current_tables(true, || answer(self, input.clone()))
    }

    /// Reads a row so that the store learns the current epoch, which every read returns.
    pub(crate) fn learn_epoch(&self) -> Result<()> {
        asking::refuse_to_wait()?;
        self.store.get(&layout::next_keyspace()).map_err(store_error).map(drop)
    }
}

/// Whether an error does not depend on the tables in memory: the store has decided it, or it is independent of
/// tables.
fn is_certain(error: &Error) -> bool {
    matches!(
        error,
        Error::InternalServer(_)
            | Error::ConditionalCheckFailed { .. }
            | Error::TransactionConflict(_)
            | Error::Serialization(_)
    )
}
