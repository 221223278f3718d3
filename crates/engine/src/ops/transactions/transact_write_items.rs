//! TransactWriteItems.

use keyloom_api::transactions::{
    TransactAction, TransactEdit, TransactWriteItemsInput, TransactWriteItemsOutput,
};
use keyloom_api::{Fields, parameters};
use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, read_units};
use keyloom_core::error::{CancellationReason, request};
use keyloom_core::hash::fnv1a_128;
use keyloom_core::image::Stored;
use keyloom_core::schema::KeyContext;
use keyloom_core::{Result, limits};

use crate::database::{Database, Inner};
use crate::idempotency::{self, Admission, HeldToken, TokenScope};
use crate::ops::batches::batch_write_item::add_cost;
use crate::ops::items::collection::CollectionMetrics;
use crate::read;
use crate::write::{self, Failure, OneOrMore, Write};

impl Database {
    /// Writes up to 100 items, all or none.
    pub fn transact_write_items(
        &self,
        input: TransactWriteItemsInput,
    ) -> Result<TransactWriteItemsOutput> {
        // The token stands for these writes and no others, as it does on the wire.
        let print = input.client_request_token.as_ref().map(|_| format!("{:?}", input.actions));
        let fingerprint = print.map_or(0, |print| fnv1a_128(print.as_bytes()));
        let run = |database: &Inner, input| run(database, input, fingerprint);
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = TransactWriteItemsInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    // Only a token is compared with what it stood for.
    let told = fields.raw("TransactItems").filter(|_| input.client_request_token.is_some());
    let fingerprint = told.map_or(0, idempotency::fingerprint);
    Ok(run(database, input, fingerprint)?.encode(shown))
}

/// The write, or why it cannot be one. The outer error concerns the whole request.
fn plan(database: &Inner, action: &TransactAction) -> Result<Result<Write>> {
    let (update, condition) = action.expressions()?;
    let table = database.catalog.table(&action.table_name)?;
    let (given, is_put) = match &action.edit {
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
    let given = given.clone();
    let write = match (&action.edit, update) {
        (TransactEdit::Put(_), _) => Write::put(table, given, condition),
        (TransactEdit::Delete(_), _) => Write::delete(table, given, condition),
        (TransactEdit::Update(..), Some(update)) => Write::update(table, given, condition, update),
        _ => Write::check(table, given, condition),
    };
    write.map(Ok)
}

fn run(
    database: &Inner,
    input: TransactWriteItemsInput,
    fingerprint: u128,
) -> Result<TransactWriteItemsOutput> {
    let planned = input
        .actions
        .iter()
        .map(|action| plan(database, action))
        .collect::<Result<Vec<Result<Write>>>>()?;
    if input.actions.iter().map(TransactAction::payload).sum::<usize>()
        > limits::MAX_TRANSACTION_BYTES
    {
        return Err(request::transaction_too_large());
    }
    check_distinct(planned.iter().flatten().map(|write| &write.store_key))?;
    let writes = all_or_cancelled(planned)?;
    let names: Vec<&str> = input.actions.iter().map(|action| action.table_name.as_str()).collect();
    let token = input.client_request_token.as_deref();
    let token = token.map(|token| (TokenScope::TransactWrite, token, fingerprint));
    let token = match begin(database, token, &writes, &names)? {
        Begun::New(token) => token,
        Begun::Done(consumed_capacity) => {
            return Ok(TransactWriteItemsOutput { consumed_capacity, ..Default::default() });
        }
    };
    let return_items: Vec<bool> =
        input.actions.iter().map(|action| action.return_item_on_failure).collect();
    let wanted = input.return_collection_metrics;
    let metrics: Vec<_> =
        writes.iter().map(|write| CollectionMetrics::wanted(wanted, write)).collect();
    let costs = commit(database, writes, &names, token.as_ref(), &return_items)?;
    let mut collections = Vec::new();
    for metrics in metrics {
        CollectionMetrics::add(&mut collections, metrics);
    }
    let collections = CollectionMetrics::measure_all(collections, database)?;
    Ok(TransactWriteItemsOutput { consumed_capacity: costs, collections })
}

/// A transaction that has been checked against its client token.
pub(crate) enum Begun<'a> {
    /// It runs, and holds its token from this time in milliseconds, if it has one.
    New(Option<(HeldToken<'a>, u64)>),
    /// It was done before: what its repetition costs.
    Done(Vec<ConsumedCapacity>),
}

/// Takes the client token of a transaction: its scope, its text and the fingerprint of the request.
pub(crate) fn begin<'a>(
    database: &'a Inner,
    token: Option<(TokenScope, &str, u128)>,
    writes: &[Write],
    names: &[&str],
) -> Result<Begun<'a>> {
    let Some((scope, token, fingerprint)) = token else { return Ok(Begun::New(None)) };
    let now_ms = database.clock.now_ms();
    match database.tokens.admit(database.store.as_ref(), now_ms, scope, token, fingerprint)? {
        Admission::New(held) => Ok(Begun::New(Some((held, now_ms)))),
        Admission::Done => {
            let keys: Vec<_> = writes.iter().map(|write| &write.store_key).collect();
            replay_costs(database, &keys, names).map(Begun::Done)
        }
    }
}

/// Does the writes of a transaction and accounts for them, table by table.
pub(crate) fn commit(
    database: &Inner,
    writes: Vec<Write>,
    names: &[&str],
    token: Option<&(HeldToken<'_>, u64)>,
    return_items: &[bool],
) -> Result<Vec<ConsumedCapacity>> {
    let mut costs = Vec::new();
    let kept = token.map(|_| writes.iter().map(|write| write.store_key.clone()).collect());
    let keys: Vec<Vec<u8>> = kept.unwrap_or_default();
    let Some(writes) = OneOrMore::of(writes) else { return Ok(costs) };
    let companion = token.map(|(token, now_ms)| token.companion(*now_ms));
    let written = match (write::all(database, writes, companion), token) {
        (Ok(written), _) => written,
        (Err(Failure::Repeated(record)), Some((token, _))) => {
            token.check(&record)?;
            return replay_costs(database, &keys.iter().collect::<Vec<_>>(), names);
        }
        (Err(failure), _) => return Err(failure.into_cancellation(return_items)),
    };
    for (name, written) in names.iter().zip(written) {
        add_cost(&mut costs, transactional(parameters::consumed(name, written.cost)));
    }
    Ok(costs)
}

/// The plan of each action, or a cancellation that says which action is invalid.
pub(crate) fn all_or_cancelled<T>(planned: Vec<Result<T>>) -> Result<Vec<T>> {
    if planned.iter().all(Result::is_ok) {
        return planned.into_iter().collect();
    }
    let reasons = planned.into_iter().map(|planned| match planned {
        Ok(_) => CancellationReason::default(),
        Err(error) => write::reason_of(&error),
    });
    Err(write::cancelled(reasons.collect()))
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

/// The cost in a transaction: double on the table, the same on its indexes.
fn transactional(mut cost: ConsumedCapacity) -> ConsumedCapacity {
    cost.table = Arm::transactional_write(cost.table.total.transactional());
    for arm in cost.local.values_mut().chain(cost.global.values_mut()) {
        *arm = Arm::transactional_write(arm.total);
    }
    cost
}

/// What a transaction costs that was done before: reads of its items.
fn replay_costs(
    database: &Inner,
    keys: &[&Vec<u8>],
    names: &[&str],
) -> Result<Vec<ConsumedCapacity>> {
    let mut costs = Vec::new();
    for (key, name) in keys.iter().zip(names) {
        let stored = read::lookup(database, key)?;
        let size = stored.as_ref().map_or(Ok(0), Stored::size_bytes)?;
        let mut cost = ConsumedCapacity::new(*name);
        cost.add_table(Arm::transactional_read(read_units(size, ReadMode::Transactional)));
        add_cost(&mut costs, cost);
    }
    Ok(costs)
}
