//! PutItem.

use keyloom_core::{Item, Result};

use crate::parameters::item_table;
use crate::{Constraints, Fields, JsonWriter, Malformed, Operation, Request};

use super::{ConditionInput, WriteOutput, WriteReturns};

/// The input of PutItem.
#[derive(Clone, Debug, Default)]
pub struct PutItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item to store.
    pub item: Item,
    /// The condition of the write.
    pub condition: ConditionInput,
    /// What the reply returns.
    pub returns: WriteReturns,
}

impl PutItemInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Item"), "item");
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        let returns = WriteReturns::decode(fields, &mut constraints);
        constraints.finish()?;
        condition.check_parameters(fields)?;
        let item = fields.item("Item")?.unwrap_or_default();
        condition.decode_values(fields)?;
        Ok(Self { table_name: table_name.to_owned(), item, condition, returns })
    }
}

impl Request for PutItemInput {
    type Output = WriteOutput;

    const OPERATION: Operation = Operation::PutItem;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        WriteOutput::decode(body)
    }

    fn write_members(&self, json: &mut JsonWriter) {
        json.string("TableName", &self.table_name);
        json.item("Item", &self.item);
        self.condition.write_members(json, None);
        self.returns.write_members(json);
    }
}
