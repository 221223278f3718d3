//! TransactGetItems.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::image::Row;
use keyloom_core::{Item, Result};

use crate::items::ProjectionInput;
use crate::json::answer::{document, elements, object, row};
use crate::parameters::ReturnConsumedCapacity;
use crate::{Constraints, Fields, JsonWriter, Malformed, Operation, Request};

use super::transact_items;

/// The input of TransactGetItems.
#[derive(Clone, Debug, Default)]
pub struct TransactGetItemsInput {
    /// The items to get, all as of one moment.
    pub gets: Vec<TransactGet>,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

impl TransactGetItemsInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let mut constraints = Constraints::new();
        let list = transact_items(fields, &mut constraints);
        let mut gets = Vec::with_capacity(list.len());
        for (position, element) in list.iter().enumerate() {
            let path = format!("transactItems.{}.member.get", position + 1);
            let get = element.structure("Get");
            constraints.required(get.is_some(), &path);
            let Some(get) = get else { continue };
            let table_name = get.string("TableName");
            constraints.table_name_at(table_name, &format!("{path}.tableName"));
            constraints.required(get.has("Key"), &format!("{path}.key"));
            gets.push(TransactGet {
                table_name: table_name.unwrap_or_default().to_owned(),
                key: get.item("Key")?.unwrap_or_default(),
                projection: ProjectionInput::decode(&get, &mut constraints),
            });
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        constraints.finish()?;
        Ok(Self { gets, return_consumed_capacity })
    }
}

/// One item to get.
#[derive(Clone, Debug, Default)]
pub struct TransactGet {
    /// The table's name or ARN.
    pub table_name: String,
    /// The primary key.
    pub key: Item,
    /// Which attributes to return.
    pub projection: ProjectionInput,
}

/// The output of TransactGetItems.
#[derive(Debug, Default)]
pub struct TransactGetItemsOutput {
    /// The items in the order of the request.
    pub responses: Vec<Option<Row>>,
    /// The consumed capacity, by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
}

impl TransactGetItemsOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        let mut json = JsonWriter::object();
        shown.write_list(&mut json, &self.consumed_capacity);
        json.optional_rows("Responses", &self.responses)?;
        Ok(json.finish())
    }

    /// The items in the order of the request; none for one that does not exist.
    pub fn into_items(self) -> Result<Vec<Option<Item>>> {
        self.responses.into_iter().map(|row| row.map(Row::into_item).transpose()).collect()
    }
}

impl Request for TransactGetItemsInput {
    type Output = TransactGetItemsOutput;

    const OPERATION: Operation = Operation::TransactGetItems;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        let document = document(body)?;
        let responses = elements(object(&document)?, "Responses")?.iter();
        let responses = responses.map(|one| object(one)?.get("Item").map(row).transpose());
        let responses = responses.collect::<Result<_, _>>()?;
        Ok(TransactGetItemsOutput { responses, ..TransactGetItemsOutput::default() })
    }

    fn write_members(&self, json: &mut JsonWriter) {
        json.list("TransactItems", &self.gets, |json, get| {
            json.nested(|json| {
                json.structure("Get", |json| {
                    json.string("TableName", &get.table_name);
                    json.item("Key", &get.key);
                    get.projection.write_members(json);
                });
            });
        });
    }
}
