//! What PutItem, UpdateItem and DeleteItem share: a planned write and what they return.

use std::sync::Arc;

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Item;
use keyloom_core::Result;
use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::expr::Projection;

use crate::database::Inner;
use crate::write::{self, Write, Written};
use keyloom_core::image::Stored;

use super::collection::CollectionMetrics;
use super::parameters::{
    self, ReturnConsumedCapacity, ReturnValues, wants_collection_metrics, wants_item_on_failure,
};

/// What a write is asked to return.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteReturns {
    /// Which attributes.
    pub values: ReturnValues,
    /// Whether a failed condition returns the item.
    pub item_on_failure: bool,
    /// What to say of the capacity.
    pub consumed_capacity: ReturnConsumedCapacity,
    /// Whether to say how large the item collection is.
    pub collection_metrics: bool,
}

impl WriteReturns {
    pub(crate) fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Self {
        Self {
            consumed_capacity: ReturnConsumedCapacity::decode(fields, constraints),
            collection_metrics: wants_collection_metrics(fields, constraints),
            values: ReturnValues::decode(fields, constraints),
            item_on_failure: wants_item_on_failure(fields, constraints),
        }
    }
}

/// What a write answers.
#[derive(Clone, Debug, Default)]
pub struct WriteOutput {
    /// The attributes that were asked for, if there are any.
    pub attributes: Option<Item>,
    /// What it cost.
    pub consumed_capacity: ConsumedCapacity,
    pub(crate) collection: Option<CollectionMetrics>,
}

impl WriteOutput {
    /// The answer as JSON.
    pub(crate) fn encode(&self, returns: WriteReturns) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.optional_item("Attributes", self.attributes.as_ref());
        returns.consumed_capacity.write(&mut json, &self.consumed_capacity);
        CollectionMetrics::write(&mut json, self.collection.as_ref());
        json.finish()
    }
}

/// A write of one item that has been checked: what to do, and what to tell of it.
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

    /// [`PlannedWrite::run`] with the answer as JSON.
    pub(crate) fn call(self, database: &Inner) -> Result<Vec<u8>> {
        let returns = self.answer.returns;
        Ok(self.run(database)?.encode(returns))
    }
}

/// What to tell of a write.
pub(crate) struct WriteAnswer {
    /// The table as the request names it.
    pub(crate) table_name: String,
    pub(crate) returns: WriteReturns,
    /// The item collection to measure.
    pub(crate) metrics: Option<CollectionMetrics>,
    /// What an update changes; empty for other writes.
    pub(crate) targets: Projection,
}

impl WriteAnswer {
    /// The answer, once the write is done.
    pub(crate) fn of(self, database: &Inner, mut written: Written) -> Result<WriteOutput> {
        let cost = std::mem::take(&mut written.cost);
        Ok(WriteOutput {
            attributes: returned(written, self.returns.values, &self.targets)?,
            consumed_capacity: parameters::consumed(&self.table_name, cost),
            collection: self.metrics.map(|metrics| metrics.measure(database)).transpose()?,
        })
    }
}

/// The attributes that `ReturnValues` asks for.
pub(crate) fn returned(
    written: Written,
    return_values: ReturnValues,
    targets: &Projection,
) -> Result<Option<Item>> {
    let old = || written.old.clone().map(Stored::into_item).transpose();
    let part = |item: &Item| Some(targets.apply(item)).filter(|part| !part.is_empty());
    Ok(match return_values {
        ReturnValues::None => None,
        ReturnValues::AllOld => old()?,
        ReturnValues::UpdatedOld => old()?.as_ref().and_then(part),
        ReturnValues::AllNew => written.new.map(Arc::unwrap_or_clone),
        ReturnValues::UpdatedNew => written.new.as_deref().and_then(part),
    })
}
