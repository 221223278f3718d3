//! ExecuteTransaction: all statements are executed, or none.

use keyloom_api::Fields;
use keyloom_api::partiql::{ExecuteTransactionInput, ExecuteTransactionOutput, StatementInput};
use keyloom_core::capacity::{Arm, ConsumedCapacity};
use keyloom_core::error::message::partiql as message;
use keyloom_core::error::{CancellationCode, request};
use keyloom_core::hash::fnv1a_128;
use keyloom_core::partiql::ast;
use keyloom_core::partiql::{self, Statement, bind};
use keyloom_core::{Error, Result, limits};

use crate::database::{Database, Inner};
use crate::idempotency::{self, TokenScope};
use crate::ops::batches::batch_write_item::add_cost;
use crate::ops::transactions::transact_get_items;
use crate::ops::transactions::transact_write_items::{
    Begun, all_or_cancelled, begin, check_distinct, commit,
};
use crate::partiql::page::shown;
use crate::partiql::select::ItemRead;
use crate::partiql::write::{KeyWording, Outcome, Refused, Writing};
use crate::partiql::{bound, is_read};
use crate::write::Write;

use super::execute_statement::table_of;

impl Database {
    /// Runs up to 100 PartiQL statements, all or none.
    pub fn execute_transaction(
        &self,
        input: ExecuteTransactionInput,
    ) -> Result<ExecuteTransactionOutput> {
        let statements = input.statements.iter().map(|input| (&input.statement, &input.parameters));
        let print = format!("{:?}", statements.collect::<Vec<_>>());
        run(self.inner(), &input, fnv1a_128(print.as_bytes()))
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ExecuteTransactionInput::decode(&fields)?;
    // Identifies the statements under the client's token.
    let told = fields.raw("TransactStatements").filter(|_| input.client_request_token.is_some());
    let fingerprint = told.map_or(0, idempotency::fingerprint);
    run(database, &input, fingerprint)?.encode(input.return_consumed_capacity)
}

fn run(
    database: &Inner,
    input: &ExecuteTransactionInput,
    fingerprint: u128,
) -> Result<ExecuteTransactionOutput> {
    let mut trees = Vec::with_capacity(input.statements.len());
    for (position, input) in input.statements.iter().enumerate() {
        let tree = partiql::parse(&input.statement);
        trees.push(tree.map_err(|error| message::in_transaction(position, &error))?);
    }
    let reads = trees.iter().filter(|tree| is_read(tree)).count();
    if reads != 0 && reads != trees.len() {
        return Err(message::transaction_mixed());
    }
    if reads != 0 {
        read_all(database, input, &trees)
    } else {
        write_all(database, input, &trees, fingerprint)
    }
}

/// The meaning of a statement; its position is in front of what is wrong with it.
fn bound_at(
    database: &Inner,
    position: usize,
    tree: &ast::Statement,
    input: &StatementInput,
) -> Result<Statement> {
    let is_statement = !matches!(tree, ast::Statement::Expression(_)) || bind::is_exists(tree);
    let statement = if is_statement {
        bound(database, tree, input.parameters.clone())
    } else {
        Err(message::transaction_operation())
    };
    statement.map_err(|error| message::in_transaction(position, &error))
}

fn read_all(
    database: &Inner,
    input: &ExecuteTransactionInput,
    trees: &[ast::Statement],
) -> Result<ExecuteTransactionOutput> {
    let mut planned: Vec<Result<ItemRead>> = Vec::with_capacity(trees.len());
    for (position, (tree, input)) in trees.iter().zip(&input.statements).enumerate() {
        let statement = bound_at(database, position, tree, input)?;
        let at = |error: Error| message::in_transaction(position, &error);
        let Statement::Select(select) = statement else {
            return Err(at(message::transaction_operation()));
        };
        let Ok(table) = database.catalog.table(&select.table) else {
            planned.push(Err(request::resource_not_found()));
            continue;
        };
        if select.index.is_some() {
            return Err(at(message::transaction_read_on_index()));
        }
        let read = ItemRead::plan(table, select).map_err(at)?;
        let read = read.ok_or_else(|| at(message::transaction_read_without_key()))?;
        planned.push(read.table.schema.check_key(&read.key).map(|()| read));
    }
    let reads = all_or_cancelled(planned)?;
    let keys = reads.iter().map(|read| read.table.item_key(&read.key));
    let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
    check_distinct(keys.iter())?;
    let mut output = ExecuteTransactionOutput::default();
    let is_projected = reads.iter().any(|read| read.columns.is_some());
    let tables = reads.iter().map(|read| read.table.as_ref());
    let lookups = tables.zip(keys.iter().map(Vec::as_slice)).collect();
    for (read, (stored, units)) in
        reads.iter().zip(transact_get_items::lookup_all(database, lookups, is_projected)?)
    {
        let mut cost = ConsumedCapacity::new(read.table_name.clone());
        cost.add_table(Arm::transactional_read(units));
        add_cost(&mut output.consumed_capacity, cost);
        let row = stored.map(|stored| shown(stored, read.columns.as_deref())).transpose()?;
        output.responses.push(row);
    }
    Ok(output)
}

fn write_all(
    database: &Inner,
    input: &ExecuteTransactionInput,
    trees: &[ast::Statement],
    fingerprint: u128,
) -> Result<ExecuteTransactionOutput> {
    let (writes, outcomes) = plan_writes(database, &input.statements, trees)?;
    let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.table_name.as_str()).collect();
    let token = input.client_request_token.as_deref();
    let token = token.map(|token| (TokenScope::ExecuteTransaction, token, fingerprint));
    let token = match begin(database, token, &writes, &names)? {
        Begun::New(token) => token,
        Begun::Done(consumed_capacity) => {
            return Ok(ExecuteTransactionOutput { responses: Vec::new(), consumed_capacity });
        }
    };
    let return_items: Vec<bool> =
        input.statements.iter().map(|statement| statement.return_item_on_failure).collect();
    let consumed_capacity = commit(database, writes, &names, token.as_ref(), &return_items)
        .map_err(|error| with_duplicates(error, &outcomes))?;
    Ok(ExecuteTransactionOutput { responses: Vec::new(), consumed_capacity })
}

fn plan_writes(
    database: &Inner,
    inputs: &[StatementInput],
    trees: &[ast::Statement],
) -> Result<(Vec<Write>, Vec<Outcome>)> {
    let mut planned: Vec<Result<Writing>> = Vec::with_capacity(trees.len());
    for (position, (tree, input)) in trees.iter().zip(inputs).enumerate() {
        let statement = bound_at(database, position, tree, input)?;
        let at = |error: Error| message::in_transaction(position, &error);
        let Ok(table) = database.catalog.table(table_of(&statement)) else {
            planned.push(Err(request::resource_not_found()));
            continue;
        };
        let returns = match &statement {
            Statement::Update(update) => update.returning.is_some(),
            Statement::Delete(delete) => delete.returning,
            _ => false,
        };
        if returns {
            return Err(at(message::transaction_returning()));
        }
        planned.push(match Writing::plan(table, statement, KeyWording::Transaction) {
            Ok(writing) => Ok(writing),
            Err(Refused::Key(error)) => Err(error),
            Err(Refused::Statement(error)) => return Err(at(error)),
            Err(Refused::Write(error)) => return Err(error),
        });
    }
    let writings = all_or_cancelled(planned)?;
    if writings.iter().map(Writing::payload).sum::<usize>() > limits::MAX_TRANSACTION_BYTES {
        return Err(request::transaction_too_large());
    }
    check_distinct(writings.iter().map(|writing| &writing.write.store_key))?;
    Ok(writings.into_iter().map(|writing| (writing.write, writing.outcome)).unzip())
}

/// An insert of a transaction fails because its item exists, not because of a condition.
fn with_duplicates(error: Error, outcomes: &[Outcome]) -> Error {
    let Error::TransactionCanceled(mut reasons) = error else { return error };
    for (reason, outcome) in reasons.iter_mut().zip(outcomes) {
        if outcome.is_insert && reason.code == CancellationCode::ConditionalCheckFailed {
            reason.code = CancellationCode::DuplicateItem;
            reason.message = Some(message::duplicate_item().message());
            reason.item = None;
        }
    }
    Error::TransactionCanceled(reasons)
}
