//! ExecuteStatement.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::message::partiql as message;
use keyloom_core::partiql::{self, Select, Statement, bind};
use keyloom_core::{Item, Result};

use crate::database::{Database, Inner};
use crate::partiql::position::{self, Position};
use crate::partiql::select::Reading;
use crate::partiql::write::{KeyWording, Refused, Writing};
use crate::partiql::{StatementInput, bound, is_read};
use crate::write;
use keyloom_core::image::Row;

use super::parameters::{self, ReturnConsumedCapacity};

/// The longest `NextToken`, as the API model has it.
const MAX_TOKEN_CHARS: usize = 32_768;

/// What ExecuteStatement is asked.
#[derive(Clone, Debug, Default)]
pub struct ExecuteStatementInput {
    /// The statement with its parameters.
    pub statement: StatementInput,
    /// How many entries a read evaluates at most.
    pub limit: Option<usize>,
    /// Where a read goes on.
    pub next_token: Option<String>,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

/// What ExecuteStatement answers.
#[derive(Debug, Default)]
pub struct ExecuteStatementOutput {
    rows: Vec<Row>,
    /// Where the next page goes on; none if there is no more.
    pub next_token: Option<String>,
    /// The last key that was read, if there is more.
    pub last_evaluated_key: Option<Item>,
    /// What it cost.
    pub consumed_capacity: ConsumedCapacity,
}

impl ExecuteStatementOutput {
    /// The rows, decoded.
    pub fn into_items(self) -> Result<Vec<Item>> {
        self.rows.into_iter().map(Row::into_item).collect()
    }
}

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
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ExecuteStatementInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    let output = run(database, input)?;
    let mut json = JsonWriter::object();
    let mut outcome = Ok(());
    json.list("Items", &output.rows, |json, row| {
        if outcome.is_ok() {
            outcome = row.write_json(json.buffer());
        }
    });
    outcome?;
    json.optional_string("NextToken", output.next_token.as_deref());
    json.optional_item("LastEvaluatedKey", output.last_evaluated_key.as_ref());
    shown.write(&mut json, &output.consumed_capacity);
    Ok(json.finish())
}

impl ExecuteStatementInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let mut constraints = Constraints::new();
        let mut statement = StatementInput::decode(fields, &mut constraints, "");
        let limit = fields.integer("Limit");
        constraints.range(limit, "limit", 1, i64::MAX);
        let next_token = fields.owned_string("NextToken");
        if let Some(token) = &next_token {
            constraints.length(token, "nextToken", 1, MAX_TOKEN_CHARS);
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        constraints.finish()?;
        statement.decode_parameters(fields)??;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        Ok(Self { statement, limit, next_token, return_consumed_capacity })
    }
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
