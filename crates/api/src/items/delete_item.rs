//! DeleteItem.

use keyloom_core::{Item, Result};

use crate::parameters::item_table;
use crate::{Constraints, Fields, JsonWriter, Malformed, Operation, Request};

use super::{ConditionInput, WriteOutput, WriteReturns};

/// The input of DeleteItem.
#[derive(Clone, Debug, Default)]
pub struct DeleteItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item's primary key.
    pub key: Item,
    /// The condition of the write.
    pub condition: ConditionInput,
    /// What the reply returns.
    pub returns: WriteReturns,
}

impl DeleteItemInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        let returns = WriteReturns::decode(fields, &mut constraints);
        constraints.finish()?;
        condition.check_parameters(fields)?;
        let key = fields.item("Key")?.unwrap_or_default();
        condition.decode_values(fields)?;
        Ok(Self { table_name: table_name.to_owned(), key, condition, returns })
    }
}

impl Request for DeleteItemInput {
    type Output = WriteOutput;

    const OPERATION: Operation = Operation::DeleteItem;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        WriteOutput::decode(body)
    }

    fn write_members(&self, json: &mut JsonWriter) {
        json.string("TableName", &self.table_name);
        json.item("Key", &self.key);
        self.condition.write_members(json, None);
        self.returns.write_members(json);
    }
}
