//! Shared by PutItem, UpdateItem and DeleteItem: runs the planned write and builds the output.

use std::sync::Arc;

use keyloom_api::items::{WriteOutput, WriteReturns};
use keyloom_api::parameters::{self, ReturnValues};
use keyloom_core::Item;
use keyloom_core::Result;
use keyloom_core::expr::Projection;
use keyloom_core::image::Stored;

use crate::database::Inner;
use crate::write::{self, Write, Written};

use super::collection::CollectionMetrics;

/// A checked write of one item: the write itself, and what the response includes.
pub(crate) struct PlannedWrite {
    pub(crate) write: Write,
    pub(crate) answer: WriteAnswer,
}

impl PlannedWrite {
    /// Writes and waits until it is durable.
    pub(crate) fn run(self, database: &Inner) -> Result<WriteOutput> {
        let Self { write, answer } = self;
        let written = write::one(database, write, answer.returns.item_on_failure)?;
        answer.of(database, written)
    }

    /// Whether all that it reads before it is submitted is the item that it writes.
    pub(crate) fn needs_one_lookup(&self) -> bool {
        let table = &self.write.table;
        // Indexes that are filled are looked at, so is the history of the item.
        self.answer.metrics.is_none()
            && table.filling().next().is_none()
            && table.recovery.is_none()
    }

    /// [`PlannedWrite::run`] with the answer as JSON.
    pub(crate) fn call(self, database: &Inner) -> Result<Vec<u8>> {
        let returns = self.answer.returns;
        Ok(self.run(database)?.encode(returns))
    }
}

/// What the response to a write includes.
pub(crate) struct WriteAnswer {
    /// The table as the request names it.
    pub(crate) table_name: String,
    pub(crate) returns: WriteReturns,
    /// The item collection to measure.
    pub(crate) metrics: Option<CollectionMetrics>,
    /// What an update changes, if the answer has to tell.
    pub(crate) targets: Option<Projection>,
}

impl WriteAnswer {
    /// The answer, once the write is done.
    pub(crate) fn of(self, database: &Inner, mut written: Written) -> Result<WriteOutput> {
        let cost = std::mem::take(&mut written.cost);
        Ok(WriteOutput {
            attributes: returned(written, self.returns.values, self.targets.as_ref())?,
            consumed_capacity: parameters::consumed(&self.table_name, cost),
            collection: self.metrics.map(|metrics| metrics.measure(database)).transpose()?,
        })
    }
}

/// The attributes that `ReturnValues` selects.
pub(crate) fn returned(
    written: Written,
    return_values: ReturnValues,
    targets: Option<&Projection>,
) -> Result<Option<Item>> {
    let old = || written.old.clone().map(Stored::into_item).transpose();
    let part = |item: &Item| Some(targets?.apply(item)).filter(|part| !part.is_empty());
    Ok(match return_values {
        ReturnValues::None => None,
        ReturnValues::AllOld => old()?,
        ReturnValues::UpdatedOld => old()?.as_ref().and_then(part),
        ReturnValues::AllNew => written.new.map(Arc::unwrap_or_clone),
        ReturnValues::UpdatedNew => written.new.as_deref().and_then(part),
    })
}
