//! The database without types: items, key conditions and filters by name.
//!
//! ```
//! use keyloom::{Database, Op, TableClient, item};
//!
//! let table = TableClient::new(Database::memory(), "shop");
//! table.create()?;
//! table.put(item! { "pk" => "USER#1", "sk" => "ORDER#2024-12-01#7", "total" => 99 })?;
//! table.put(item! { "pk" => "USER#1", "sk" => "PROFILE" })?;
//! let orders = table.query("USER#1").begins_with("ORDER#2024-12").filter("total", Op::gt(50)).collect()?;
//! assert_eq!(orders.len(), 1);
//! # Ok::<(), keyloom::Error>(())
//! ```

mod condition;
mod read;
mod update;

use keyloom_core::{AttributeValue, Item};
use keyloom_engine::{
    DeleteItemInput, GetItemInput, PutItemInput, ReturnValues, UpdateItemInput, WriteRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use condition::Op;
pub use read::{RawQuery, RawScan};
pub use update::Update;

use crate::backend::{Backend, returning};
use crate::error::{Error, Result};
use crate::expression::Placeholders;
use crate::item::{from_item, to_item};
use crate::retry::Retry;
use crate::table::{get_all, write_all};
use crate::tables;
use crate::wire::Object;

/// One table without types.
#[derive(Clone, Debug)]
pub struct TableClient {
    backend: Backend,
    retry: Retry,
    table: String,
    partition_key: String,
    sort_key: Option<String>,
}

/// A primary key: a partition value, or a pair with the sort value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemKey {
    partition: AttributeValue,
    sort: Option<AttributeValue>,
}

impl<T: Into<AttributeValue>> From<T> for ItemKey {
    fn from(partition: T) -> Self {
        Self { partition: partition.into(), sort: None }
    }
}

impl ItemKey {
    /// A key of partition and sort value.
    pub fn pair(partition: impl Into<AttributeValue>, sort: impl Into<AttributeValue>) -> Self {
        Self { partition: partition.into(), sort: Some(sort.into()) }
    }
}

impl TableClient {
    /// The table of this name, whose keys are called `pk` and `sk`.
    pub fn new(backend: impl Into<Backend>, table: impl Into<String>) -> Self {
        Self {
            backend: backend.into(),
            retry: Retry::default(),
            table: table.into(),
            partition_key: "pk".into(),
            sort_key: Some("sk".into()),
        }
    }

    /// The names of the key attributes.
    #[must_use]
    pub fn with_keys(mut self, partition: impl Into<String>, sort: impl Into<String>) -> Self {
        (self.partition_key, self.sort_key) = (partition.into(), Some(sort.into()));
        self
    }

    /// The name of the key attribute of a table without sort key.
    #[must_use]
    pub fn with_partition_key(mut self, partition: impl Into<String>) -> Self {
        (self.partition_key, self.sort_key) = (partition.into(), None);
        self
    }

    /// Other rules for trying again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Makes the table, with text keys, unless it is there.
    pub fn create(&self) -> Result<()> {
        let mut text = Object::new();
        text.string("TableName", &self.table);
        let keys = [Some(&self.partition_key), self.sort_key.as_ref()];
        let named = || keys.into_iter().flatten().zip(["HASH", "RANGE"]);
        text.list("AttributeDefinitions", named(), |object, (name, _)| {
            object.string("AttributeName", name);
            object.string("AttributeType", "S");
        });
        text.list("KeySchema", named(), |object, (name, kind)| {
            object.string("AttributeName", name);
            object.string("KeyType", kind);
        });
        text.string("BillingMode", "PAY_PER_REQUEST");
        let body = text.finish();
        match self.retry.run("CreateTable", true, |_| self.backend.call("CreateTable", &body)) {
            Ok(_) | Err(Error::Database(keyloom_core::Error::ResourceInUse(_))) => {
                tables::await_active(&self.backend, &self.retry, &self.table)
            }
            Err(error) => Err(error),
        }
    }

    /// Any operation as the wire protocol states it: its name and its JSON body. For what this crate has no method for.
    pub fn call(&self, operation: &'static str, body: &str) -> Result<String> {
        let answer =
            self.retry.run(operation, false, |_| self.backend.call(operation, body.as_bytes()))?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Writes an item, in place of any with the same key.
    pub fn put(&self, item: Item) -> Result<()> {
        self.put_where(item, &[]).map(drop)
    }

    /// Writes a struct as an item, its keys included.
    pub fn put_value<T: Serialize>(&self, value: &T) -> Result<()> {
        self.put(to_item(value).map_err(|error| self.wrong(error))?)
    }

    /// Writes an item unless one with the same key exists; says whether it did.
    pub fn put_if_absent(&self, item: Item) -> Result<bool> {
        match self.put_where(item, &[(&self.partition_key, Op::Missing)]) {
            Ok(_) => Ok(true),
            Err(error) if error.is_condition_failed() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes an item if the one with the same key satisfies all conditions, and returns that one.
    pub fn put_where(&self, item: Item, conditions: &[(&str, Op)]) -> Result<Option<Item>> {
        let mut placeholders = Placeholders::default();
        let expression = condition::all(&mut placeholders, conditions);
        let condition = placeholders.condition(expression);
        let repeatable = condition.expression.is_none();
        self.retry.run("PutItem", repeatable, |_| {
            self.backend.put_item(PutItemInput {
                table_name: self.table.clone(),
                item: item.clone(),
                condition: condition.clone(),
                returns: returning(ReturnValues::AllOld),
            })
        })
    }

    /// The item with this key.
    pub fn get(&self, key: impl Into<ItemKey>) -> Result<Option<Item>> {
        let key = self.key(key.into())?;
        self.retry.run("GetItem", true, |_| {
            self.backend.get_item(GetItemInput {
                table_name: self.table.clone(),
                key: key.clone(),
                ..GetItemInput::default()
            })
        })
    }

    /// The item with this key as a struct.
    pub fn get_value<T: DeserializeOwned>(&self, key: impl Into<ItemKey>) -> Result<Option<T>> {
        let item = self.get(key)?;
        item.map(|item| from_item(item).map_err(|error| self.wrong(error))).transpose()
    }

    /// Changes an item, or makes one, and returns it as it is then.
    pub fn update(&self, key: impl Into<ItemKey>, update: Update) -> Result<Item> {
        self.update_where(key, update, &[])
    }

    /// Changes an item if it satisfies all conditions, and returns it as it is then.
    pub fn update_where(
        &self,
        key: impl Into<ItemKey>,
        update: Update,
        conditions: &[(&str, Op)],
    ) -> Result<Item> {
        let key = self.key(key.into())?;
        let repeatable = update.is_repeatable() && conditions.is_empty();
        let mut placeholders = Placeholders::default();
        let text = update.into_expression(&mut placeholders);
        let expression = condition::all(&mut placeholders, conditions);
        let condition = placeholders.condition(expression);
        let item = self.retry.run("UpdateItem", repeatable, |_| {
            self.backend.update_item(UpdateItemInput {
                table_name: self.table.clone(),
                key: key.clone(),
                update: (!text.is_empty()).then(|| text.clone()),
                condition: condition.clone(),
                returns: returning(ReturnValues::AllNew),
                ..UpdateItemInput::default()
            })
        })?;
        Ok(item.unwrap_or_default())
    }

    /// Deletes an item and returns it, if there was one.
    pub fn delete(&self, key: impl Into<ItemKey>) -> Result<Option<Item>> {
        let key = self.key(key.into())?;
        self.retry.run("DeleteItem", true, |_| {
            self.backend.delete_item(DeleteItemInput {
                table_name: self.table.clone(),
                key: key.clone(),
                returns: returning(ReturnValues::AllOld),
                ..DeleteItemInput::default()
            })
        })
    }

    /// The items with one partition key.
    pub fn query(&self, partition: impl Into<AttributeValue>) -> RawQuery<'_> {
        RawQuery::new(self, partition.into())
    }

    /// All items. Reads the whole table: for exports and small tables.
    pub fn scan(&self) -> RawScan<'_> {
        RawScan::new(self)
    }

    /// Writes any number of items, in requests of 25.
    pub fn batch_put(&self, items: impl IntoIterator<Item = Item>) -> Result<()> {
        let put = |item| (self.table.clone(), WriteRequest::Put(item));
        write_all(&self.backend, &self.retry, items.into_iter().map(put).collect())
    }

    /// Deletes any number of items, in requests of 25.
    pub fn batch_delete<K: Into<ItemKey>>(&self, keys: impl IntoIterator<Item = K>) -> Result<()> {
        let delete = |key: K| Ok((self.table.clone(), WriteRequest::Delete(self.key(key.into())?)));
        let writes = keys.into_iter().map(delete).collect::<Result<_>>()?;
        write_all(&self.backend, &self.retry, writes)
    }

    /// Any number of items by their keys, in requests of 100; the answers stand in the order of the keys.
    pub fn batch_get<K: Into<ItemKey>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Item>>> {
        let keys = keys.into_iter().map(|key| Ok((self.table.clone(), self.key(key.into())?)));
        get_all(&self.backend, &self.retry, &keys.collect::<Result<Vec<_>>>()?, false)
    }

    fn key(&self, key: ItemKey) -> Result<Item> {
        let mut item = Item::new();
        item.insert(self.partition_key.as_str(), key.partition);
        match (&self.sort_key, key.sort) {
            (Some(name), Some(value)) => drop(item.insert(name.as_str(), value)),
            (None, None) => {}
            (Some(name), None) => {
                return Err(Error::Config(format!(
                    "the key of table `{}` needs a value for `{name}`: use ItemKey::pair",
                    self.table
                )));
            }
            (None, Some(_)) => {
                return Err(Error::Config(format!("table `{}` has no sort key", self.table)));
            }
        }
        Ok(item)
    }

    fn wrong(&self, error: crate::ItemError) -> Error {
        let _ = &self.table;
        Error::Item { entity: "item", error }
    }
}
