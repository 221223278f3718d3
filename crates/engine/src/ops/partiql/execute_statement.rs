//! ExecuteStatement.

use keyloom_api::partiql::{ExecuteStatementInput, ExecuteStatementOutput, StatementInput};
use keyloom_api::{Fields, parameters};
use keyloom_core::Result;
use keyloom_core::error::message::partiql as message;
use keyloom_core::image::Row;
use keyloom_core::partiql::{self, Select, Statement, bind};

use crate::database::{Database, Inner};
use crate::partiql::position::{self, Position};
use crate::partiql::select::Reading;
use crate::partiql::write::{KeyWording, Refused, Writing};
use crate::partiql::{bound, is_read};
use crate::write;

impl Database {
    /// Runs a PartiQL statement.
    ///
    /// ```
    /// use keyloom_engine::{Database, ExecuteStatementInput, StatementInput};
    /// # let database = Database::memory();
    /// # database.call("DynamoDB_20120810.CreateTable", br#"{"TableName":"music",
    /// #   "BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"artist","KeyType":"HASH"}],
    /// #   "AttributeDefinitions":[{"AttributeName":"artist","AttributeType":"S"}]}"#);
    /// let run = |statement: &str| {
    ///     let statement = StatementInput::new(statement);
    ///     database.execute_statement(ExecuteStatementInput { statement, ..Default::default() })
    /// };
    /// run("INSERT INTO music VALUE {'artist': 'Acme Band', 'albums': 2}")?;
    /// let items = run("SELECT albums FROM music WHERE artist = 'Acme Band'")?.into_items()?;
    /// assert_eq!(items[0].get("albums"), Some(&2.into()));
    /// # Ok::<(), keyloom_engine::Error>(())
    /// ```
    pub fn execute_statement(
        &self,
        input: ExecuteStatementInput,
    ) -> Result<ExecuteStatementOutput> {
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ExecuteStatementInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    run(database, input)?.encode(shown)
}

fn run(database: &Inner, mut input: ExecuteStatementInput) -> Result<ExecuteStatementOutput> {
    let StatementInput { statement: text, parameters, .. } = &mut input.statement;
    let tree = partiql::parse(text)?;
    if bind::is_exists(&tree) {
        return Err(message::exists_outside_transaction());
    }
    // Only reads give out tokens.
    let fingerprint = if is_read(&tree) { position::fingerprint(text, parameters) } else { 0 };
    match bound(database, &tree, std::mem::take(parameters))? {
        Statement::Select(select) => read(database, &input, select, fingerprint),
        // A token of a write would have to come from another statement.
        _ if input.next_token.is_some() => Err(message::next_token_mismatch()),
        statement => write(database, &input, statement),
    }
}

fn read(
    database: &Inner,
    input: &ExecuteStatementInput,
    select: Select,
    fingerprint: u64,
) -> Result<ExecuteStatementOutput> {
    let reading = Reading::plan(database, select, input.statement.consistent_read)?;
    let token = input.next_token.as_deref();
    let start = token.map(|token| Position::decode(token, fingerprint)).transpose()?;
    let page = reading.run(database, input.limit, start)?;
    Ok(ExecuteStatementOutput {
        rows: page.rows,
        next_token: page.next.as_ref().map(|next| next.encode(fingerprint)),
        last_evaluated_key: page.next.and_then(|next| next.after),
        consumed_capacity: page.consumed,
    })
}

fn write(
    database: &Inner,
    input: &ExecuteStatementInput,
    statement: Statement,
) -> Result<ExecuteStatementOutput> {
    let table = database.catalog.table(table_of(&statement))?;
    let writing =
        Writing::plan(table, statement, KeyWording::Statement).map_err(Refused::into_error)?;
    let Writing { write, outcome } = writing;
    let mut written = write::one(database, write, input.statement.return_item_on_failure)
        .map_err(|error| outcome.error(error))?;
    let cost = std::mem::take(&mut written.cost);
    let row = outcome.row(written)?;
    Ok(ExecuteStatementOutput {
        rows: row.into_iter().map(Row::Item).collect(),
        consumed_capacity: parameters::consumed(&outcome.table_name, cost),
        ..ExecuteStatementOutput::default()
    })
}

/// The table that a statement names.
pub(crate) fn table_of(statement: &Statement) -> &str {
    match statement {
        Statement::Select(select) | Statement::Exists(select) => &select.table,
        Statement::Insert(insert) => &insert.table,
        Statement::Update(update) => &update.table,
        Statement::Delete(delete) => &delete.table,
    }
}
