//! What PutItem, UpdateItem and DeleteItem share: what they return.

use keyloom_core::Item;
use keyloom_core::capacity::ConsumedCapacity;

use crate::json::answer::{document, item, object};
use crate::parameters::{
    ReturnConsumedCapacity, ReturnValues, wants_collection_metrics, wants_item_on_failure,
};
use crate::{Constraints, Fields, ItemCollectionMetrics, JsonWriter, Malformed};

/// What the reply to a write returns.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteReturns {
    /// Which attributes the reply returns.
    pub values: ReturnValues,
    /// Whether a failed condition returns the item.
    pub item_on_failure: bool,
    /// How much of the consumed capacity the reply states.
    pub consumed_capacity: ReturnConsumedCapacity,
    /// Whether the reply states the size of the item collection.
    pub collection_metrics: bool,
}

impl WriteReturns {
    /// Decodes the parameters.
    pub fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Self {
        Self {
            values: ReturnValues::decode(fields, constraints),
            consumed_capacity: ReturnConsumedCapacity::decode(fields, constraints),
            collection_metrics: wants_collection_metrics(fields, constraints),
            item_on_failure: wants_item_on_failure(fields, constraints),
        }
    }

    /// Writes the parameters of the request, without those for capacity and metrics.
    pub(crate) fn write_members(self, json: &mut JsonWriter) {
        json.optional_string("ReturnValues", self.values.name());
        write_item_on_failure(json, self.item_on_failure);
    }
}

/// Writes that a failed condition returns the item, if it does.
pub(crate) fn write_item_on_failure(json: &mut JsonWriter, wanted: bool) {
    if wanted {
        json.string("ReturnValuesOnConditionCheckFailure", "ALL_OLD");
    }
}

/// The output of a write of one item.
#[derive(Clone, Debug, Default)]
pub struct WriteOutput {
    /// The attributes that were asked for, if there are any.
    pub attributes: Option<Item>,
    /// The consumed capacity.
    pub consumed_capacity: ConsumedCapacity,
    /// The item collection that was touched, if that was asked for.
    pub collection: Option<ItemCollectionMetrics>,
}

impl WriteOutput {
    /// The reply's body.
    pub fn encode(&self, returns: WriteReturns) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.optional_item("Attributes", self.attributes.as_ref());
        returns.consumed_capacity.write(&mut json, &self.consumed_capacity);
        ItemCollectionMetrics::write(&mut json, self.collection.as_ref());
        json.finish()
    }

    /// Decodes the body of a successful reply.
    pub(crate) fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let document = document(body)?;
        let attributes = object(&document)?.get("Attributes").map(item).transpose()?;
        Ok(Self { attributes, ..Self::default() })
    }
}
