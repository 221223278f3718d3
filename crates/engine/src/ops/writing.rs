//! What PutItem, UpdateItem and DeleteItem share: what they return.

use keyloom_core::Item;
use keyloom_core::Result;
use keyloom_core::capacity::ConsumedCapacity;

use crate::wire::{Constraints, Fields, JsonWriter};

use super::collection::CollectionMetrics;
use super::parameters::{
    ReturnConsumedCapacity, ReturnValues, wants_collection_metrics, wants_item_on_failure,
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
    pub(crate) fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Result<Self> {
        Ok(Self {
            consumed_capacity: ReturnConsumedCapacity::decode(fields, constraints)?,
            collection_metrics: wants_collection_metrics(fields, constraints)?,
            values: ReturnValues::decode(fields, constraints)?,
            item_on_failure: wants_item_on_failure(fields, constraints)?,
        })
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
