//! Plans INSERT, UPDATE and DELETE: from a statement to the one item it changes.

use std::sync::Arc;

use keyloom_api::parameters::ReturnValues;
use keyloom_core::error::message::{partiql as message, schema as schema_message};
use keyloom_core::expr::{Change, Condition, Path, Projection, SetValue};
use keyloom_core::partiql::ast::ReturningScope;
use keyloom_core::partiql::keys::{OneItem, one_item};
use keyloom_core::partiql::{Delete, Insert, Select, Statement, Update};
use keyloom_core::schema::KeyContext;
use keyloom_core::size::{item_size, value_size};
use keyloom_core::{Error, Item, Result, Str};

use crate::catalog::Table;
use crate::ops::items::write::returned;
use crate::write::{Edit, Write, Written};

/// A write that is ready to be done.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) write: Write,
    pub(crate) outcome: Outcome,
}

/// How the outcome of a write is reported.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The table as the statement calls it.
    pub(crate) table_name: Str,
    pub(crate) is_insert: bool,
    returns: ReturnValues,
    targets: Option<Projection>,
}

impl Outcome {
    /// The row that `RETURNING` selects.
    pub(crate) fn row(&self, written: Written) -> Result<Option<Item>> {
        returned(written, self.returns, self.targets.as_ref())
    }

    /// The error in the words of the statement: an insert fails because the item exists.
    pub(crate) fn error(&self, error: Error) -> Error {
        match error {
            Error::ConditionalCheckFailed { .. } if self.is_insert => message::duplicate_item(),
            other => other,
        }
    }
}

/// Why a statement cannot become a write. A transaction reports each case in its own way.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The statement itself is wrong.
    Statement(Error),
    /// Its key does not fit the table.
    Key(Error),
    /// The statement's write is invalid.
    Write(Error),
}

impl Refused {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Statement(error) | Self::Key(error) | Self::Write(error) => error,
        }
    }
}

/// In which words a condition that names no item is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyWording {
    /// Those of PartiQL.
    Statement,
    /// Those of the transaction that the statement becomes a part of.
    Transaction,
}

impl Writing {
    /// The write that a statement describes.
    pub(crate) fn plan(
        table: Arc<Table>,
        statement: Statement,
        wording: KeyWording,
    ) -> Result<Self, Refused> {
        match statement {
            Statement::Insert(insert) => Self::insert(table, insert),
            Statement::Update(update) => Self::update(table, update, wording),
            Statement::Delete(delete) => Self::delete(table, delete, wording),
            Statement::Exists(select) => Self::exists(table, select),
            Statement::Select(_) => Err(Refused::Statement(message::transaction_operation())),
        }
    }

    fn insert(table: Arc<Table>, insert: Insert) -> Result<Self, Refused> {
        let Insert { table: table_name, item } = insert;
        table.schema.check_item(&item, KeyContext::Put).map_err(Refused::Key)?;
        let condition = Some(Condition::NotExists(hash_path(&table)));
        Self::of(table_name, Write::put(table, item, condition))
    }

    fn update(table: Arc<Table>, update: Update, wording: KeyWording) -> Result<Self, Refused> {
        let Update { table: table_name, update, condition, returning } = update;
        let found = located(&table, condition, wording).map_err(Refused::Key)?;
        let exists = Condition::Exists(hash_path(&table));
        let condition = match found.rest {
            Some(rest) => Condition::And(vec![exists, rest]),
            None => exists,
        };
        let returns = match returning {
            None => ReturnValues::None,
            Some(ReturningScope::AllOld) => ReturnValues::AllOld,
            Some(ReturningScope::AllNew) => ReturnValues::AllNew,
            Some(ReturningScope::ModifiedOld) => ReturnValues::UpdatedOld,
            Some(ReturningScope::ModifiedNew) => ReturnValues::UpdatedNew,
        };
        let targets = returns.shows_changes().then(|| update.targets());
        let write = Write::update(table, found.key, Some(condition), update);
        let mut writing = Self::of(table_name, write)?;
        writing.outcome = Outcome { returns, targets, ..writing.outcome };
        Ok(writing)
    }

    fn delete(table: Arc<Table>, delete: Delete, wording: KeyWording) -> Result<Self, Refused> {
        let Delete { table: table_name, condition, returning } = delete;
        let found = located(&table, condition, wording).map_err(Refused::Key)?;
        // An item that does not exist is deleted, whatever the condition says.
        let absent = Condition::NotExists(hash_path(&table));
        let condition = found.rest.map(|rest| Condition::Or(vec![absent, rest]));
        let mut writing = Self::of(table_name, Write::delete(table, found.key, condition))?;
        if returning {
            writing.outcome.returns = ReturnValues::AllOld;
        }
        Ok(writing)
    }

    fn exists(table: Arc<Table>, select: Select) -> Result<Self, Refused> {
        let refused = || Refused::Statement(message::exists_condition());
        if select.index.is_some() {
            return Err(Refused::Statement(message::exists_on_index()));
        }
        let found = one_item(select.condition, table.key()).ok_or_else(refused)?;
        let rest = found.rest.ok_or_else(refused)?;
        table.schema.check_key(&found.key).map_err(Refused::Key)?;
        let condition = Condition::And(vec![Condition::Exists(hash_path(&table)), rest]);
        Self::of(select.table, Write::check(table, found.key, Some(condition)))
    }

    /// A planned write that returns nothing of its item.
    fn of(table_name: Str, write: Result<Write>) -> Result<Self, Refused> {
        let write = write.map_err(Refused::Write)?;
        let outcome = Outcome {
            table_name,
            is_insert: matches!(write.edit, Edit::Put(_)),
            returns: ReturnValues::None,
            targets: None,
        };
        Ok(Self { write, outcome })
    }

    /// The size that counts towards a transaction's limit.
    pub(crate) fn payload(&self) -> usize {
        match &self.write.edit {
            Edit::Put(item) => item_size(item),
            Edit::Update(update) => {
                let values = update.actions().iter().map(|action| match &action.change {
                    Change::Set(SetValue::Value(value))
                    | Change::Add(value)
                    | Change::Delete(value) => value_size(value),
                    _ => 0,
                });
                item_size(&self.write.key) + values.sum::<usize>()
            }
            Edit::Delete | Edit::Check => 0,
        }
    }
}

/// An item exists if it has its partition key.
fn hash_path(table: &Table) -> Path {
    let hash = table.key().hash.first().map(|attribute| attribute.name.clone());
    Path::attribute(hash.unwrap_or_default())
}

fn located(table: &Table, condition: Option<Condition>, wording: KeyWording) -> Result<OneItem> {
    let found = one_item(condition, table.key());
    let found = match wording {
        KeyWording::Statement => {
            let found = found.ok_or_else(message::key_incomplete)?;
            found.check(table.key())?;
            found
        }
        KeyWording::Transaction => {
            let found = found.filter(|found| found.repeated.is_none());
            found.ok_or_else(schema_message::key_mismatch)?
        }
    };
    table.schema.check_key(&found.key)?;
    Ok(found)
}
