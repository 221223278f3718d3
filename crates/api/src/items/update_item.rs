//! UpdateItem.

use keyloom_core::expr::{ExpressionKind, Parameters, Update};
use keyloom_core::legacy::AttributeUpdate;
use keyloom_core::{Item, Result, Str};

use crate::parameters::item_table;
use crate::{Constraints, Expression, Fields, JsonWriter, Malformed, Operation, Request};

use super::{ConditionInput, WriteOutput, WriteReturns};

/// The input of UpdateItem.
#[derive(Clone, Debug, Default)]
pub struct UpdateItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item's primary key.
    pub key: Item,
    /// `UpdateExpression`.
    pub update: Option<Expression<Update>>,
    /// The legacy `AttributeUpdates`.
    pub attribute_updates: Option<Vec<(Str, AttributeUpdate)>>,
    /// The condition of the write; its names and values serve the update, too.
    pub condition: ConditionInput,
    /// What the reply returns.
    pub returns: WriteReturns,
}

impl UpdateItemInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let attribute_updates = super::legacy::attribute_updates(fields, &mut constraints)?;
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        let returns = WriteReturns::decode(fields, &mut constraints);
        let update = fields.string("UpdateExpression").map(Expression::from);
        constraints.finish()?;
        let [expected, operator] = condition.legacy_parameters();
        Parameters {
            expressions: &[
                (ExpressionKind::Update, update.is_some()),
                (ExpressionKind::Condition, condition.expression.is_some()),
            ],
            legacy: &[("AttributeUpdates", attribute_updates.is_some()), expected, operator],
            names: condition.names.is_some(),
            values: fields.has("ExpressionAttributeValues"),
        }
        .check()?;
        let key = fields.item("Key")?.unwrap_or_default();
        condition.decode_values(fields)?;
        Ok(Self {
            table_name: table_name.to_owned(),
            key,
            update,
            attribute_updates,
            condition,
            returns,
        })
    }
}

impl Request for UpdateItemInput {
    type Output = WriteOutput;

    const OPERATION: Operation = Operation::UpdateItem;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        WriteOutput::decode(body)
    }

    fn write_members(&self, json: &mut JsonWriter) {
        json.string("TableName", &self.table_name);
        json.item("Key", &self.key);
        self.condition.write_members(json, self.update.as_ref());
        self.returns.write_members(json);
    }
}
