//! TransactWriteItems.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, read_units};
use keyloom_core::error::{CancellationCode, CancellationReason, request};
use keyloom_core::expr::{Bindings, Condition, Update};
use keyloom_core::schema::KeyContext;
use keyloom_core::size::item_size;
use keyloom_core::{Error, Item, Result, limits};

use crate::database::{Database, Inner};
use crate::idempotency::{self, Admission, TokenScope};
use crate::read;
use crate::write::{self, Companion, Edit, Failure, Origin, Write};
use keyloom_core::image::Stored;

use super::batch_write_item::add_cost;
use super::collection::{CollectionMetrics, write_collections};
use super::conditional::ConditionInput;
use super::parameters::{
    self, ReturnConsumedCapacity, wants_collection_metrics, wants_item_on_failure,
};

/// What TransactWriteItems is asked.
#[derive(Clone, Debug, Default)]
pub struct TransactWriteItemsInput {
    /// The writes, all or none of which are done.
    pub actions: Vec<TransactAction>,
    /// A token under which the transaction is done only once.
    pub client_request_token: Option<String>,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// Whether to say how large the item collections are.
    pub return_collection_metrics: bool,
}

/// One write of a transaction.
#[derive(Clone, Debug)]
pub struct TransactAction {
    /// The table's name or ARN.
    pub table_name: String,
    /// What is done to the item.
    pub edit: TransactEdit,
    /// When the transaction may be done.
    pub condition: ConditionInput,
    /// Whether a failed condition returns the item.
    pub return_item_on_failure: bool,
}

/// What a transaction does to an item.
#[derive(Clone, Debug)]
pub enum TransactEdit {
    /// Put this item.
    Put(Item),
    /// Update the item with this key by an expression.
    Update(Item, String),
    /// Delete the item with this key.
    Delete(Item),
    /// Only judge the condition on the item with this key.
    Check(Item),
}

/// What TransactWriteItems answers.
#[derive(Debug, Default)]
pub struct TransactWriteItemsOutput {
    /// What it cost, table by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
    pub(crate) collections: Vec<CollectionMetrics>,
}

impl Database {
    /// Writes up to 100 items, all or none.
    pub fn transact_write_items(
        &self,
        input: TransactWriteItemsInput,
    ) -> Result<TransactWriteItemsOutput> {
        // The token stands for these writes and no others, as it does on the wire.
        let print = input.client_request_token.as_ref().map(|_| format!("{:?}", input.actions));
        let fingerprint = print.map_or(0, |print| idempotency::fingerprint_of(print.as_bytes()));
        run(self.inner(), input, fingerprint)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = TransactWriteItemsInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    let fingerprint = fields.raw("TransactItems").map_or(0, idempotency::fingerprint);
    let output = run(database, input, fingerprint)?;
    let mut json = JsonWriter::object();
    shown.write_list(&mut json, &output.consumed_capacity);
    write_collections(&mut json, &output.collections);
    Ok(json.finish())
}

impl TransactWriteItemsInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let list = fields.structures("TransactItems");
        let mut constraints = Constraints::new();
        constraints.required(list.is_some(), "transactItems");
        let list = list.unwrap_or_default();
        if fields.has("TransactItems") {
            check_count(&mut constraints, list.len());
        }
        let token = fields.owned_string("ClientRequestToken");
        if let Some(token) = &token {
            let maximum = limits::MAX_CLIENT_TOKEN_CHARS;
            constraints.length(token, "clientRequestToken", 1, maximum);
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        let return_collection_metrics = wants_collection_metrics(fields, &mut constraints);
        let mut actions = Vec::with_capacity(list.len());
        for (position, element) in list.iter().enumerate() {
            actions.push(TransactAction::decode(element, &mut constraints, position)?);
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

/// The number of actions of a transaction.
pub(crate) fn check_count(constraints: &mut Constraints, count: usize) {
    // AWS prints the whole list here, as its Java classes do; the number says as much.
    let shown = if count == 0 { "[]".to_owned() } else { format!("[{count} items]") };
    let maximum = limits::MAX_TRANSACTION_ACTIONS;
    constraints.count(count, &shown, "transactItems", 1, maximum);
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
                    let update = action.owned_string("UpdateExpression");
                    let path = format!("{path}.updateExpression");
                    constraints.required(update.is_some(), &path);
                    TransactEdit::Update(key, update.unwrap_or_default())
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
    fn expressions(&self) -> Result<(Option<Update>, Option<Condition>)> {
        let ConditionInput { names, values, expression, .. } = &self.condition;
        let mut bindings = Bindings::new(names.clone(), values.clone())?;
        let update = match &self.edit {
            TransactEdit::Update(_, text) => Some(bindings.update(text)?),
            _ => None,
        };
        let condition = expression.as_ref().map(|text| bindings.condition(text)).transpose()?;
        bindings.finish()?;
        Ok((update, condition))
    }

    /// The write, or why it cannot be one. The outer error concerns the whole request.
    fn plan(&self, database: &Inner) -> Result<Result<Write>> {
        let (update, condition) = self.expressions()?;
        let table = database.catalog.table(&self.table_name)?;
        let (given, is_put) = match &self.edit {
            TransactEdit::Put(item) => (item, true),
            TransactEdit::Update(key, _) | TransactEdit::Delete(key) | TransactEdit::Check(key) => {
                (key, false)
            }
        };
        // A key of the wrong shape cancels the transaction; an empty or too long one, and an item
        // that is too large, refuse the request.
        let fits = table.key().has_types_of(given) && (is_put || given.len() == table.key().len());
        let checked = if is_put {
            table.schema.check_item(given, KeyContext::Put)
        } else {
            table.schema.check_key(given)
        };
        if let Err(error) = checked {
            let own_key = table.key().attributes().try_for_each(|attribute| {
                given
                    .get(&attribute.name)
                    .map_or(Ok(()), |value| table.key().check_value(&attribute.name, value))
            });
            return if fits && own_key.is_err() { Err(error) } else { Ok(Err(error)) };
        }
        if is_put && item_size(given) > limits::MAX_ITEM_BYTES {
            return Err(request::item_too_large());
        }
        if let Some(update) = &update {
            let keys = table.key().attributes().map(|attribute| attribute.name.as_str());
            update.check_excludes_keys(keys)?;
        }
        let key = table.schema.key_of(given)?;
        let edit = match (&self.edit, update) {
            (TransactEdit::Put(item), _) => Edit::Put(item.clone().into()),
            (TransactEdit::Delete(_), _) => Edit::Delete,
            (TransactEdit::Update(..), Some(update)) => Edit::Update(update),
            _ => Edit::Check,
        };
        Ok(Ok(Write { table, key, condition, edit, origin: Origin::User }))
    }

    /// The size that counts towards a transaction's limit.
    fn payload(&self) -> usize {
        match &self.edit {
            TransactEdit::Put(item) => item_size(item),
            TransactEdit::Update(key, _) => {
                let values = self.condition.values.iter().flatten();
                item_size(key)
                    + values.map(|(_, value)| keyloom_core::size::value_size(value)).sum::<usize>()
            }
            TransactEdit::Delete(_) | TransactEdit::Check(_) => 0,
        }
    }
}

fn run(
    database: &Inner,
    input: TransactWriteItemsInput,
    fingerprint: u128,
) -> Result<TransactWriteItemsOutput> {
    let planned = input
        .actions
        .iter()
        .map(|action| action.plan(database))
        .collect::<Result<Vec<Result<Write>>>>()?;
    if input.actions.iter().map(TransactAction::payload).sum::<usize>()
        > limits::MAX_TRANSACTION_BYTES
    {
        return Err(request::transaction_too_large());
    }
    let keys = planned.iter().flatten().map(|write| write.table.item_key(&write.key));
    check_distinct(keys.collect::<Result<Vec<_>>>()?.iter())?;
    let writes = all_or_cancelled(planned)?;
    let names: Vec<&str> = input.actions.iter().map(|action| action.table_name.as_str()).collect();
    let now_ms = database.clock.now_ms();
    let token = match &input.client_request_token {
        None => None,
        Some(token) => {
            let scope = TokenScope::TransactWrite;
            let store = database.store.as_ref();
            match database.tokens.admit(store, now_ms, scope, token, fingerprint)? {
                Admission::New(held) => Some(held),
                Admission::Done => {
                    let consumed_capacity = replay_costs(database, &writes, &names)?;
                    return Ok(TransactWriteItemsOutput {
                        consumed_capacity,
                        ..Default::default()
                    });
                }
            }
        }
    };
    let companion = token.as_ref().map(|token| token.companion(now_ms));
    let return_items: Vec<bool> =
        input.actions.iter().map(|action| action.return_item_on_failure).collect();
    let wanted = input.return_collection_metrics;
    let metrics: Vec<_> = writes
        .iter()
        .map(|write| CollectionMetrics::wanted(wanted, &write.table, &write.key))
        .collect();
    let costs = commit(database, writes, &names, companion, &return_items)?;
    let mut output = TransactWriteItemsOutput { consumed_capacity: costs, ..Default::default() };
    for metrics in metrics {
        CollectionMetrics::add(&mut output.collections, metrics);
    }
    for collection in &mut output.collections {
        *collection = collection.clone().measure(database)?;
    }
    Ok(output)
}

/// Does the writes of a transaction and accounts for them, table by table.
pub(crate) fn commit(
    database: &Inner,
    writes: Vec<Write>,
    names: &[&str],
    companion: Option<Companion>,
    return_items: &[bool],
) -> Result<Vec<ConsumedCapacity>> {
    let written = write::all(database, writes, companion).map_err(|failure| match failure {
        Failure::Error(error) => error,
        Failure::Refused(refusals) => {
            Error::TransactionCanceled(write::cancellation(refusals, return_items))
        }
        Failure::Throttled(refusals) => Error::TransactionCanceled(throttle_reasons(&refusals)),
        Failure::Conflict(conflicts) => Error::TransactionCanceled(conflict_reasons(&conflicts)),
    })?;
    let mut costs = Vec::new();
    for (name, written) in names.iter().zip(written) {
        add_cost(&mut costs, transactional(parameters::consumed(name, written.cost)));
    }
    Ok(costs)
}

/// What was planned for each action, or a cancellation that says which action could not be.
pub(crate) fn all_or_cancelled<T>(planned: Vec<Result<T>>) -> Result<Vec<T>> {
    if planned.iter().all(Result::is_ok) {
        return planned.into_iter().collect();
    }
    let reasons = planned.into_iter().map(|planned| match planned {
        Ok(_) => CancellationReason::default(),
        Err(error) => reason_of(&error),
    });
    Err(Error::TransactionCanceled(reasons.collect()))
}

/// No two actions may touch one item.
pub(crate) fn check_distinct<'a>(keys: impl Iterator<Item = &'a Vec<u8>>) -> Result<()> {
    let mut keys: Vec<&Vec<u8>> = keys.collect();
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(request::transaction_repeats_item());
    }
    Ok(())
}

fn throttle_reasons(refusals: &[Option<Error>]) -> Vec<CancellationReason> {
    refusals.iter().map(|refusal| refusal.as_ref().map(reason_of).unwrap_or_default()).collect()
}

fn reason_of(error: &Error) -> CancellationReason {
    CancellationReason {
        code: request::cancellation_code(error),
        message: Some(error.message()),
        item: None,
    }
}

fn conflict_reasons(conflicts: &[bool]) -> Vec<CancellationReason> {
    conflicts
        .iter()
        .map(|&conflict| {
            if !conflict {
                CancellationReason::default()
            } else {
                CancellationReason {
                    code: CancellationCode::TransactionConflict,
                    message: Some(request::transaction_conflict().message()),
                    item: None,
                }
            }
        })
        .collect()
}

/// The cost in a transaction: double on the table, the same on its indexes.
fn transactional(mut cost: ConsumedCapacity) -> ConsumedCapacity {
    cost.table = Arm::transactional_write(cost.table.total.transactional());
    for arm in cost.local.values_mut().chain(cost.global.values_mut()) {
        *arm = Arm::transactional_write(arm.total);
    }
    cost
}

/// What a transaction costs that was done before: reads of its items.
pub(crate) fn replay_costs(
    database: &Inner,
    writes: &[Write],
    names: &[&str],
) -> Result<Vec<ConsumedCapacity>> {
    let mut costs = Vec::new();
    for (write, name) in writes.iter().zip(names) {
        let stored = read::lookup(database, &write.table.item_key(&write.key)?)?;
        let size = stored.as_ref().map_or(Ok(0), Stored::size_bytes)?;
        let mut cost = ConsumedCapacity::new(*name);
        cost.add_table(Arm::transactional_read(read_units(size, ReadMode::Transactional)));
        add_cost(&mut costs, cost);
    }
    Ok(costs)
}

fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}
