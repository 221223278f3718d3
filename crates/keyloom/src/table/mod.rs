//! The typed client of a table.
//!
//! Reads, and single writes without companions, are one request each. Everything else is built of [`step::Step`]s: a
//! write, its condition and the error if that fails. Several steps form one transaction.

mod batch;
mod companion;
mod patch;
mod read;
mod reshard;
pub(crate) mod step;
mod tally;
mod transaction;
mod write;

use std::marker::PhantomData;
use std::sync::Arc;

use keyloom_api::clock::{Clock, SystemClock};

pub use batch::Batch;
#[cfg(feature = "remote")]
pub(crate) use batch::had_room;
pub(crate) use batch::{get_all, get_placed, last_of_each, write_all};
pub use patch::Patch;
pub use tally::{Tallied, Tally};
pub use transaction::Transaction;
pub(crate) use write::Becomes;

use crate::backend::Backend;
use crate::design::{Design, model};
use crate::error::Result;
use crate::query::{Access, Query, Seal};
use crate::retry::Retry;
use crate::tables;
use step::Step;

/// The tables of a design in one database. Cheap to clone.
///
/// Every operation takes and gives the design's own types; items of other designs do not compile.
pub struct Table<D> {
    pub(crate) backend: Backend,
    pub(crate) retry: Retry,
    show_expired: bool,
    pub(crate) cursor_seal: Seal,
    /// An additional condition of every write while a migration runs.
    fence: Option<Arc<Step>>,
    design: PhantomData<fn() -> D>,
}

impl<D> Clone for Table<D> {
    fn clone(&self) -> Self {
        Self {
            backend: self.backend.clone(),
            retry: self.retry.clone(),
            show_expired: self.show_expired,
            cursor_seal: self.cursor_seal.clone(),
            fence: self.fence.clone(),
            design: PhantomData,
        }
    }
}

impl<D: Design> Table<D> {
    /// Opens the design's tables. Those that an embedded database does not have are made; those of an endpoint must
    /// exist, or be made by [`Table::create_tables`].
    pub fn open(backend: impl Into<Backend>) -> Result<Self> {
        let table = Self {
            backend: backend.into(),
            retry: Retry::default(),
            show_expired: false,
            cursor_seal: Seal::default(),
            fence: None,
            design: PhantomData,
        };
        let model = model::<D>()?;
        if table.backend.is_embedded() {
            tables::create_missing(&table.backend, &table.retry, model.design())?;
        }
        Ok(table)
    }

    /// Makes the tables that are not there and waits until they can be used.
    pub fn create_tables(&self) -> Result<()> {
        tables::create_missing(&self.backend, &self.retry, model::<D>()?.design())
    }

    /// Drops the design's tables with all their items.
    pub fn drop_tables(&self) -> Result<()> {
        for table in model::<D>()?.design().tables() {
            tables::drop_table(&self.backend, &self.retry, &table.name)?;
        }
        Ok(())
    }

    /// The same tables with other rules for trying again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// The same tables, also showing items whose time to live has passed. DynamoDB removes them hours later; by default
    /// reads leave them out.
    #[must_use]
    pub fn with_expired(mut self) -> Self {
        self.show_expired = true;
        self
    }

    /// The same tables with signed cursors: those that were not made under the same key are refused. Without a key a
    /// cursor has a checksum, and cannot lead out of its query all the same.
    #[cfg(feature = "signing")]
    #[must_use]
    pub fn with_cursor_key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.cursor_seal = self.cursor_seal.keyed(key.as_ref());
        self
    }

    /// The same tables, whose cursors are not those of tables of other scopes.
    #[must_use]
    pub(crate) fn with_cursor_scope(mut self, scope: &str) -> Self {
        self.cursor_seal = self.cursor_seal.scoped(scope);
        self
    }

    /// The design that the types stand for, as planner, linter and statistics read it.
    pub fn design(&self) -> Result<&'static keyloom_design::Design> {
        Ok(model::<D>()?.design())
    }

    /// Where requests go.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Queries an access pattern of the design. No request is sent until the result is read.
    pub fn query<A: Access<Design = D>>(&self, access: A) -> Query<'_, D, A> {
        Query::new(self, access)
    }

    /// Puts and deletes of any number, chunked, each for itself.
    pub fn batch(&self) -> Batch<'_, D> {
        Batch::new(self)
    }

    /// Up to 100 writes, all or none.
    pub fn transaction(&self) -> Transaction<'_, D> {
        Transaction::new(self)
    }

    /// The same tables; puts, creates, updates, deletes and transactions demand this, too, or do nothing.
    #[must_use]
    pub(crate) fn with_fence(mut self, fence: Option<Step>) -> Self {
        self.fence = fence.map(Arc::new);
        self
    }

    /// Whether a write of one item must be a transaction.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fence.is_some()
    }

    /// Does all steps or none.
    pub(crate) fn run_steps(&self, mut steps: Vec<Step>) -> Result<()> {
        if let Some(fence) = self.fence.as_ref().filter(|_| !steps.is_empty()) {
            steps.push((**fence).clone());
        }
        step::run(&self.backend, &self.retry, steps)
    }

    pub(crate) fn hides_expired(&self) -> bool {
        !self.show_expired
    }
}

pub(crate) fn now_seconds() -> u64 {
    SystemClock.now_ms() / 1000
}

impl<D> std::fmt::Debug for Table<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("backend", &self.backend).finish_non_exhaustive()
    }
}
