//! Transactions of the untyped client: writes, or reads, of several items as one.

use keyloom_api::transactions::{TransactEdit, TransactGet, TransactGetItemsInput};
use keyloom_core::Item;

use crate::error::{Error, Result};
use crate::table::step::{Refused, Step, run_together};

use super::write::condition_input;
use super::{Condition, ItemKey, Op, TableClient, Update};

impl TableClient {
    /// Up to 100 writes, all or none.
    ///
    /// ```
    /// use keyloom::{Database, Op, TableClient, Update, item};
    ///
    /// let bank = TableClient::new(Database::memory(), "bank").with_partition_key("account");
    /// bank.create()?;
    /// bank.batch_put([item! { "account" => "ann", "cents" => 500 }, item! { "account" => "bob", "cents" => 0 }])?;
    /// let pay = |cents: i64| {
    ///     bank.transaction()
    ///         .update_where("ann", Update::new().add("cents", -cents), ("cents", Op::ge(cents)))
    ///         .update("bob", Update::new().add("cents", cents))
    ///         .commit()
    /// };
    /// pay(300)?;
    /// assert!(pay(300).is_err());
    /// let both = bank.transact_get(["ann", "bob"])?;
    /// assert_eq!(both[1].as_ref().and_then(|bob| bob.get("cents")), Some(&300.into()));
    /// # Ok::<(), keyloom::Error>(())
    /// ```
    pub fn transaction(&self) -> RawTransaction<'_> {
        RawTransaction { table: self, steps: Vec::new(), token: None, failed: None }
    }

    /// Up to 100 items by their keys, all as of one moment; the answers stand in the order of the keys.
    pub fn transact_get<K: Into<ItemKey>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Item>>> {
        let get = |key: K| {
            Ok(TransactGet {
                table_name: self.table.clone(),
                key: self.key(key.into())?,
                projection: keyloom_api::items::ProjectionInput::default(),
            })
        };
        let gets: Vec<TransactGet> = keys.into_iter().map(get).collect::<Result<_>>()?;
        self.retry.run("TransactGetItems", true, |_| {
            self.backend.transact_get(TransactGetItemsInput {
                gets: gets.clone(),
                ..TransactGetItemsInput::default()
            })
        })
    }
}

/// Writes that are done together or not at all.
#[must_use = "nothing is written until `commit`"]
pub struct RawTransaction<'t> {
    table: &'t TableClient,
    steps: Vec<Step>,
    token: Option<String>,
    failed: Option<Error>,
}

impl<'t> RawTransaction<'t> {
    fn with(
        mut self,
        edit: impl FnOnce(&TableClient) -> Result<TransactEdit>,
        condition: Option<Condition>,
    ) -> Self {
        let step = edit(self.table).and_then(|edit| {
            let condition = condition_input(condition.as_ref())?;
            Ok(Step::new(&self.table.table, edit, condition, Refused::Plain))
        });
        match step {
            Ok(step) => self.steps.push(step),
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
        self
    }

    /// What follows is about another table of the same database.
    pub fn table(mut self, other: &'t TableClient) -> Self {
        self.table = other;
        self
    }

    /// A name under which the transaction is done only once within ten minutes, however often it is sent.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Writes an item, in place of any with the same key.
    pub fn put(self, item: Item) -> Self {
        self.with(|_| Ok(TransactEdit::Put(item)), None)
    }

    /// Writes an item, unless one with the same key exists: then the transaction is cancelled.
    pub fn put_if_absent(self, item: Item) -> Self {
        let absent = Condition::when(self.table.keys.leading(), Op::Missing);
        self.put_where(item, absent)
    }

    /// Writes an item, if the one with the same key satisfies the condition.
    pub fn put_where(self, item: Item, condition: impl Into<Condition>) -> Self {
        self.with(|_| Ok(TransactEdit::Put(item)), Some(condition.into()))
    }

    /// Changes an item, or makes one.
    pub fn update(self, key: impl Into<ItemKey>, update: Update) -> Self {
        self.update_if(key.into(), update, None)
    }

    /// Changes an item, if it satisfies the condition.
    pub fn update_where(
        self,
        key: impl Into<ItemKey>,
        update: Update,
        condition: impl Into<Condition>,
    ) -> Self {
        self.update_if(key.into(), update, Some(condition.into()))
    }

    fn update_if(self, key: ItemKey, update: Update, condition: Option<Condition>) -> Self {
        let edit = |table: &TableClient| {
            let update = update.into_expression()?;
            Ok(TransactEdit::Update(table.key(key)?, update.unwrap_or_else(|| "".into())))
        };
        self.with(edit, condition)
    }

    /// Deletes an item, if it exists.
    pub fn delete(self, key: impl Into<ItemKey>) -> Self {
        self.with(|table| Ok(TransactEdit::Delete(table.key(key.into())?)), None)
    }

    /// Deletes an item, if it satisfies the condition.
    pub fn delete_where(self, key: impl Into<ItemKey>, condition: impl Into<Condition>) -> Self {
        let edit = |table: &TableClient| Ok(TransactEdit::Delete(table.key(key.into())?));
        self.with(edit, Some(condition.into()))
    }

    /// Demands that an item satisfies the condition, and leaves it as it is.
    pub fn check(self, key: impl Into<ItemKey>, condition: impl Into<Condition>) -> Self {
        let edit = |table: &TableClient| Ok(TransactEdit::Check(table.key(key.into())?));
        self.with(edit, Some(condition.into()))
    }

    /// Does all of it, or nothing. A failed condition is a `TransactionCanceledException` whose reasons stand in the order
    /// of the writes.
    pub fn commit(self) -> Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None if self.steps.is_empty() => Ok(()),
            None => run_together(&self.table.backend, &self.table.retry, self.steps, self.token),
        }
    }
}
