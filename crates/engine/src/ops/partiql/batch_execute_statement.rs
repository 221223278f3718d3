//! BatchExecuteStatement: independent statements, each with its own result or error.

use keyloom_api::partiql::{
    BatchExecuteStatementInput, BatchExecuteStatementOutput, StatementInput, StatementOutcome,
    Statements,
};
use keyloom_api::{Fields, Operation, parameters};
use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, Units, item_write_units};
use keyloom_core::error::message::partiql as message;
use keyloom_core::error::request;
use keyloom_core::image::Row;
use keyloom_core::image::Stored;
use keyloom_core::partiql::{self, Statement, bind};
use keyloom_core::size::item_size;
use keyloom_core::{Error, Result, Str};

use crate::database::{Database, Inner};
use crate::ops::batches::batch_write_item::add_cost;
use crate::ops::items::get_item;
use crate::partiql::page::shown;
use crate::partiql::select::ItemRead;
use crate::partiql::write::{KeyWording, Writing};
use crate::partiql::{bound, is_read};
use crate::read;
use crate::write::{self, Edit};

use super::execute_statement::table_of;

impl Database {
    /// Runs up to 25 PartiQL statements, each for itself.
    pub fn batch_execute_statement(
        &self,
        input: BatchExecuteStatementInput,
    ) -> Result<BatchExecuteStatementOutput> {
        let run = |database: &Inner, input: BatchExecuteStatementInput| {
            run(database, input.statements.into_iter().map(Ok).collect())
        };
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let (statements, shown) = BatchExecuteStatementInput::decode_each(&fields)?;
    run(database, statements)?.encode(shown)
}

/// A statement that is ready to be run.
enum Planned {
    Read(ItemRead, ReadMode),
    Write(Box<Writing>),
}

impl Planned {
    /// The store key of its item.
    fn item_key(&self) -> Option<Vec<u8>> {
        match self {
            Self::Read(read, _) => read.table.item_key(&read.key).ok(),
            Self::Write(writing) => writing.write.table.item_key(&writing.write.key).ok(),
        }
    }
}

fn run(database: &Inner, statements: Statements) -> Result<BatchExecuteStatementOutput> {
    let parsed: Vec<Result<(StatementInput, partiql::ast::Statement)>> = statements
        .into_iter()
        .map(|statement| {
            let statement = statement?;
            let tree = partiql::parse(&statement.statement)?;
            Ok((statement, tree))
        })
        .collect();
    let mut kinds = parsed.iter().flatten().map(|(_, tree)| is_read(tree));
    if let Some(first) = kinds.next()
        && kinds.any(|kind| kind != first)
    {
        return Err(message::batch_mixed());
    }
    let planned: Vec<Result<Planned, StatementOutcome>> = parsed
        .into_iter()
        .map(|parsed| {
            let (input, tree) = parsed.map_err(StatementOutcome::refused)?;
            plan(database, input, &tree)
        })
        .collect();
    check_distinct(&planned)?;
    let mut accounts = Accounts::default();
    let mut outcomes = Vec::with_capacity(planned.len());
    for planned in planned {
        let outcome = match planned {
            Ok(planned) => execute(database, planned, &mut accounts)?,
            Err(outcome) => outcome,
        };
        if let Err(error) = &outcome.row {
            // The request goes well whatever becomes of its statements.
            database.observer.failed(Some(Operation::BatchExecuteStatement), error);
        }
        outcomes.push(outcome);
    }
    Ok(BatchExecuteStatementOutput { outcomes, consumed_capacity: accounts.settle() })
}

fn plan(
    database: &Inner,
    input: StatementInput,
    tree: &partiql::ast::Statement,
) -> Result<Planned, StatementOutcome> {
    let refused = StatementOutcome::refused;
    if bind::is_exists(tree) {
        return Err(refused(message::exists_outside_transaction()));
    }
    let statement = bound(database, tree, input.parameters).map_err(refused)?;
    let table_name = Str::from(table_of(&statement));
    let table = database
        .catalog
        .table(&table_name)
        .map_err(|error| StatementOutcome { table_name: Some(table_name), row: Err(error) })?;
    let Statement::Select(select) = statement else {
        let writing = Writing::plan(table, statement, KeyWording::Statement);
        return writing
            .map(|writing| Planned::Write(Box::new(writing)))
            .map_err(|error| refused(error.into_error()));
    };
    let read = ItemRead::plan(table, select).map_err(refused)?;
    let read = read.ok_or_else(|| refused(message::batch_read_without_key()))?;
    for attribute in read.table.key().attributes() {
        if let Some(value) = read.key.get(&attribute.name) {
            partiql::keys::check_type(attribute, value).map_err(refused)?;
        }
    }
    read.table.schema.check_key(&read.key).map_err(refused)?;
    let mode = if input.consistent_read { ReadMode::Strong } else { ReadMode::Eventual };
    Ok(Planned::Read(read, mode))
}

/// No two statements may be about one item.
fn check_distinct(planned: &[Result<Planned, StatementOutcome>]) -> Result<()> {
    let mut keys: Vec<Vec<u8>> = planned.iter().flatten().filter_map(Planned::item_key).collect();
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(request::duplicate_keys());
    }
    Ok(())
}

fn execute(
    database: &Inner,
    planned: Planned,
    accounts: &mut Accounts,
) -> Result<StatementOutcome> {
    match planned {
        Planned::Read(read, mode) => {
            let key = read.table.item_key(&read.key)?;
            let is_projected = read.columns.is_some();
            let found = get_item::observed_lookup(database, &read.table, &key, mode, is_projected);
            let (stored, units) = match found {
                Ok(found) => found,
                Err(error @ Error::InternalServer(_)) => return Err(error),
                // Refused for lack of throughput: only this statement.
                Err(error) => {
                    return Ok(StatementOutcome {
                        table_name: Some(read.table_name),
                        row: Err(error),
                    });
                }
            };
            let mut cost = ConsumedCapacity::new(read.table_name.clone());
            cost.add_table(Arm::new(units));
            accounts.succeeded(cost);
            let row = stored.map(|stored| shown(stored, read.columns.as_deref())).transpose();
            Ok(StatementOutcome { table_name: Some(read.table_name), row })
        }
        Planned::Write(writing) => {
            let Writing { write, outcome } = *writing;
            let item_key = write.store_key.clone();
            let new_size = match &write.edit {
                Edit::Put(item) => Some(item_size(item)),
                _ => None,
            };
            let row = match write::one(database, write, false) {
                Ok(mut written) => {
                    let cost = std::mem::take(&mut written.cost);
                    accounts.succeeded(parameters::consumed(&outcome.table_name, cost));
                    outcome.row(written).map(|item| item.map(Row::Item))
                }
                // Refused before it ran: nothing is charged.
                Err(error) if is_throttled(&error) => Err(outcome.error(error)),
                Err(error) => {
                    // What failed is charged like what it tried, by the item that is there.
                    let stored = read::lookup(database, &item_key)?;
                    let size = stored.as_ref().map(Stored::size_bytes).transpose()?;
                    accounts.failed(&outcome.table_name, item_write_units(size, new_size));
                    Err(outcome.error(error))
                }
            };
            Ok(StatementOutcome { table_name: Some(outcome.table_name), row })
        }
    }
}

fn is_throttled(error: &Error) -> bool {
    matches!(
        error,
        Error::ProvisionedThroughputExceeded(_)
            | Error::Throttling(_)
            | Error::RequestLimitExceeded(_)
    )
}

/// What the statements of a batch cost.
#[derive(Default)]
struct Accounts {
    succeeded: Vec<ConsumedCapacity>,
    failed: Vec<(Str, Units)>,
}

impl Accounts {
    fn succeeded(&mut self, cost: ConsumedCapacity) {
        add_cost(&mut self.succeeded, cost);
    }

    fn failed(&mut self, table_name: &Str, units: Units) {
        self.failed.push((table_name.clone(), units));
    }

    /// One account per table. Failures count only towards the total, and only if another statement succeeded.
    fn settle(self) -> Vec<ConsumedCapacity> {
        let mut accounts = self.succeeded;
        for (table_name, units) in self.failed {
            if let Some(account) = accounts.iter_mut().find(|a| a.table_name == table_name) {
                account.unattributed += units;
            }
        }
        accounts
    }
}
