//! The contenders that run in this process.

mod dynoxide;
mod keyloom;
mod raw_store;

pub(crate) use dynoxide::{DynoxideJson, DynoxideTyped, call as dynoxide_call};
pub(crate) use keyloom::{KeyloomJson, KeyloomTyped};
pub(crate) use raw_store::RawStore;

use anyhow::Result;

use crate::workload::{Call, Workload};

/// Calls that are made by their number.
pub(crate) type Ready<'e> = Box<dyn Fn(usize) -> Result<()> + 'e>;

/// A database, or a limit, in this process.
pub(crate) trait Embedded {
    /// Makes a request whose answer does not matter, in JSON.
    fn ask(&self, target: &str, body: &str) -> Result<()>;

    /// Makes and fills the tables.
    fn prepare(&self, workload: &Workload) -> Result<()> {
        for (_, body) in Workload::tables() {
            self.ask("CreateTable", &body)?;
        }
        workload.batches().try_for_each(|body| self.ask("BatchWriteItem", &body))
    }

    /// Turns calls into what this contender takes, or into nothing if it has no such call.
    fn ready(&self, calls: &[Call]) -> Result<Option<Ready<'_>>>;
}

/// The `n`th of some prepared calls, beginning anew at the end.
fn pick<T>(prepared: &[T], n: usize) -> Result<&T> {
    let place = n % prepared.len().max(1);
    prepared.get(place).ok_or_else(|| anyhow::anyhow!("there are no calls"))
}
