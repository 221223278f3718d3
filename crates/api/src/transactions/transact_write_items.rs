//! TransactWriteItems.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::expr::{Condition, Update};
use keyloom_core::size::{item_size, value_size};
use keyloom_core::{Item, Result, limits};

use crate::collection::write_collections;
use crate::items::{ConditionInput, write_item_on_failure};
use crate::json::answer::document;
use crate::parameters::{ReturnConsumedCapacity, wants_collection_metrics, wants_item_on_failure};
use crate::{
    Constraints, Expression, Fields, ItemCollectionMetrics, JsonWriter, Malformed, Operation,
    Request,
};

use super::transact_items;

/// The input of TransactWriteItems.
#[derive(Clone, Debug, Default)]
pub struct TransactWriteItemsInput {
    /// The writes, all or none of which are done.
    pub actions: Vec<TransactAction>,
    /// An idempotency token: retries with the same token commit once.
    pub client_request_token: Option<String>,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// Whether the reply states the sizes of the item collections.
    pub return_collection_metrics: bool,
}

impl TransactWriteItemsInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let mut constraints = Constraints::new();
        let list = transact_items(fields, &mut constraints);
        let mut actions = Vec::with_capacity(list.len());
        for (position, element) in list.iter().enumerate() {
            actions.push(TransactAction::decode(element, &mut constraints, position)?);
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        let return_collection_metrics = wants_collection_metrics(fields, &mut constraints);
        let token = fields.owned_string("ClientRequestToken");
        if let Some(token) = &token {
            let maximum = limits::MAX_CLIENT_TOKEN_CHARS;
            constraints.length(token, "clientRequestToken", 1, maximum);
        }
        constraints.finish()?;
        Ok(Self {
            actions,
            client_request_token: token,
            return_consumed_capacity,
            return_collection_metrics,
        })
    }
}

/// One write of a transaction.
#[derive(Clone, Debug)]
pub struct TransactAction {
    /// The table's name or ARN.
    pub table_name: String,
    /// The edit of the item.
    pub edit: TransactEdit,
    /// The condition under which the transaction commits.
    pub condition: ConditionInput,
    /// Whether a failed condition returns the item.
    pub return_item_on_failure: bool,
}

/// An edit of one item in a transaction.
#[derive(Clone, Debug)]
pub enum TransactEdit {
    /// Puts this item, replacing any with the same key.
    Put(Item),
    /// Updates the item with this key.
    Update(Item, Expression<Update>),
    /// Deletes the item with this key.
    Delete(Item),
    /// Only judge the condition on the item with this key.
    Check(Item),
}

impl TransactAction {
    fn decode(fields: &Fields<'_>, constraints: &mut Constraints, position: usize) -> Result<Self> {
        let mut found = Vec::new();
        for kind in ["ConditionCheck", "Put", "Delete", "Update"] {
            if let Some(action) = fields.structure(kind) {
                found.push((kind, action));
            }
        }
        let (kind, action) = match found.as_slice() {
            [(kind, action)] => (*kind, action),
            [] => return Err(request::transact_item_empty()),
            _ => return Err(request::transact_item_ambiguous()),
        };
        let path = format!("transactItems.{}.member.{}", position + 1, lower_first(kind));
        let table_name = action.string("TableName");
        constraints.table_name_at(table_name, &format!("{path}.tableName"));
        let mut condition = ConditionInput::decode(action, constraints)?;
        condition.decode_values(action)?;
        let item = |name: &str| action.item(name);
        let edit = if kind == "Put" {
            constraints.required(action.has("Item"), &format!("{path}.item"));
            TransactEdit::Put(item("Item")?.unwrap_or_default())
        } else {
            constraints.required(action.has("Key"), &format!("{path}.key"));
            let key = item("Key")?.unwrap_or_default();
            match kind {
                "Update" => {
                    let update = action.string("UpdateExpression");
                    let path = format!("{path}.updateExpression");
                    constraints.required(update.is_some(), &path);
                    TransactEdit::Update(key, update.unwrap_or_default().into())
                }
                "Delete" => TransactEdit::Delete(key),
                _ => {
                    let path = format!("{path}.conditionExpression");
                    constraints.required(condition.expression.is_some(), &path);
                    TransactEdit::Check(key)
                }
            }
        };
        Ok(Self {
            table_name: table_name.unwrap_or_default().to_owned(),
            edit,
            condition,
            return_item_on_failure: wants_item_on_failure(action, constraints),
        })
    }

    /// The parsed expressions, in the order in which AWS reads them.
    pub fn expressions(&self) -> Result<(Option<Update>, Option<Condition>)> {
        let update = match &self.edit {
            TransactEdit::Update(_, update) => Some(update),
            _ => None,
        };
        self.condition.clone().bind(update)
    }

    /// The size that counts towards a transaction's limit.
    pub fn payload(&self) -> usize {
        match &self.edit {
            TransactEdit::Put(item) => item_size(item),
            TransactEdit::Update(key, _) => {
                let values = self.condition.values.iter().flatten();
                item_size(key) + values.map(|(_, value)| value_size(value)).sum::<usize>()
            }
            TransactEdit::Delete(_) | TransactEdit::Check(_) => 0,
        }
    }
}

fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

/// The output of TransactWriteItems.
#[derive(Debug, Default)]
pub struct TransactWriteItemsOutput {
    /// The consumed capacity, by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
    /// The item collections that were touched, if that was asked for.
    pub collections: Vec<ItemCollectionMetrics>,
}

impl TransactWriteItemsOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Vec<u8> {
        let mut json = JsonWriter::object();
        shown.write_list(&mut json, &self.consumed_capacity);
        write_collections(&mut json, &self.collections);
        json.finish()
    }
}

impl Request for TransactWriteItemsInput {
    type Output = TransactWriteItemsOutput;

    const OPERATION: Operation = Operation::TransactWriteItems;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        document(body)?;
        Ok(TransactWriteItemsOutput::default())
    }

    fn write_members(&self, json: &mut JsonWriter) {
        json.list("TransactItems", &self.actions, |json, action| {
            json.nested(|json| action.write(json));
        });
        json.optional_string("ClientRequestToken", self.client_request_token.as_deref());
    }
}

impl TransactAction {
    fn write(&self, json: &mut JsonWriter) {
        let (name, member, item, update) = match &self.edit {
            TransactEdit::Put(item) => ("Put", "Item", item, None),
            TransactEdit::Update(key, update) => ("Update", "Key", key, Some(update)),
            TransactEdit::Delete(key) => ("Delete", "Key", key, None),
            TransactEdit::Check(key) => ("ConditionCheck", "Key", key, None),
        };
        json.structure(name, |json| {
            json.string("TableName", &self.table_name);
            json.item(member, item);
            self.condition.write_members(json, update);
            write_item_on_failure(json, self.return_item_on_failure);
        });
    }
}
