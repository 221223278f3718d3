//! GetItem.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::image::Row;
use keyloom_core::{Item, Result};

use crate::json::answer::{document, object, row};
use crate::parameters::{ReturnConsumedCapacity, item_table};
use crate::{Constraints, Fields, JsonWriter, Malformed, Operation, Request};

use super::ProjectionInput;

/// The input of GetItem.
#[derive(Clone, Debug, Default)]
pub struct GetItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item's primary key.
    pub key: Item,
    /// Whether the read is strongly consistent. All reads here are; it only costs more.
    pub consistent_read: bool,
    /// Which attributes to return.
    pub projection: ProjectionInput,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

impl GetItemInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let projection = ProjectionInput::decode(fields, &mut constraints);
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        constraints.finish()?;
        projection.check_parameters()?;
        Ok(Self {
            table_name: table_name.to_owned(),
            key: fields.item("Key")?.unwrap_or_default(),
            consistent_read: fields.boolean("ConsistentRead").unwrap_or(false),
            projection,
            return_consumed_capacity,
        })
    }
}

impl Request for GetItemInput {
    type Output = GetItemOutput;

    const OPERATION: Operation = Operation::GetItem;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        let document = document(body)?;
        let row = object(&document)?.get("Item").map(row).transpose()?;
        Ok(GetItemOutput { row, ..GetItemOutput::default() })
    }

    fn write_members(&self, json: &mut JsonWriter) {
        json.string("TableName", &self.table_name);
        json.item("Key", &self.key);
        json.flag("ConsistentRead", self.consistent_read);
        self.projection.write_members(json);
    }
}

/// The output of GetItem.
#[derive(Debug, Default)]
pub struct GetItemOutput {
    /// The item, if it exists.
    pub row: Option<Row>,
    /// The consumed capacity.
    pub consumed_capacity: ConsumedCapacity,
}

impl GetItemOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        let mut json =
            JsonWriter::object_of(self.row.as_ref().map_or(0, Row::estimated_json_bytes));
        if let Some(row) = &self.row {
            json.row("Item", row)?;
        }
        shown.write(&mut json, &self.consumed_capacity);
        Ok(json.finish())
    }

    /// The item, if it exists.
    pub fn into_item(self) -> Result<Option<Item>> {
        self.row.map(Row::into_item).transpose()
    }
}
