//! Requests on current tables, where other processes may change them.
//!
//! The tables in memory may be out of date. A write finds out when it commits. Whatever else a request answers is
//! checked here: the store has told the epoch with everything that was read, and if that is not the epoch of the
//! tables that the request went by, they are read again and the request is repeated. An answer that rests on the
//! tables in memory alone, such as that a table does not exist, is not believed before something was read.

use std::cell::Cell;

use keyloom_core::{Error, Result};

use crate::database::Inner;
use crate::{layout, store_error};

thread_local! {
    /// Whether the request on this thread has changed anything, or may have.
    static WRITTEN: Cell<bool> = const { Cell::new(false) };
}

/// How often a request is repeated: far more often than tables can change during one.
const MAX_ATTEMPTS: usize = 100;

/// Says that the request on this thread has changed something, or may have: it must not be repeated.
pub(crate) fn note_written() {
    WRITTEN.set(true);
}

impl Inner {
    /// Answers a request on current tables. `reads` says whether a success rests on something that was read.
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

    /// [`Self::on_current_tables`] for a request that its answer uses up.
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

    /// Has the store find out the epoch, which comes with everything that is read.
    pub(crate) fn learn_epoch(&self) -> Result<()> {
        self.store.get(&layout::next_keyspace()).map_err(store_error).map(drop)
    }
}

/// Whether an error is so whatever the tables are: the store has checked it, or it has nothing to do with them.
fn is_certain(error: &Error) -> bool {
    matches!(
        error,
        Error::InternalServer(_)
            | Error::ConditionalCheckFailed { .. }
            | Error::TransactionConflict(_)
            | Error::Serialization(_)
    )
}
