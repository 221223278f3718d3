//! The untyped client: items, key conditions and filters by attribute name.
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
mod key;
mod read;
mod transaction;
mod update;
mod write;

use keyloom_api::items::GetItemInput;
use keyloom_core::Item;
use serde::de::DeserializeOwned;

pub use condition::{Condition, Op};
pub use key::ItemKey;
pub use read::{RawQuery, RawScan};
pub use transaction::RawTransaction;
pub use update::Update;
pub use write::RawBatch;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::expression;
use crate::item::from_item;
use crate::retry::Retry;
use crate::table::get_all;
use crate::tables;
use key::KeyNames;
use keyloom_api::JsonWriter;

/// One table without types.
#[derive(Clone, Debug)]
pub struct TableClient {
    backend: Backend,
    retry: Retry,
    table: String,
    keys: KeyNames,
    indexes: Vec<(String, KeyNames)>,
}

impl TableClient {
    /// The table of this name, whose keys are called `pk` and `sk`.
    pub fn new(backend: impl Into<Backend>, table: impl Into<String>) -> Self {
        Self {
            backend: backend.into(),
            retry: Retry::default(),
            table: table.into(),
            keys: KeyNames::new(["pk"], ["sk"]),
            indexes: Vec::new(),
        }
    }

    /// The names of the key attributes. Keys are texts; `"number:N"` names a number, `"hash:B"` a binary.
    #[must_use]
    pub fn with_keys(mut self, partition: impl AsRef<str>, sort: impl AsRef<str>) -> Self {
        self.keys = KeyNames::new([partition.as_ref()], [sort.as_ref()]);
        self
    }

    /// The name of the key attribute of a table without sort key.
    #[must_use]
    pub fn with_partition_key(mut self, partition: impl AsRef<str>) -> Self {
        self.keys = KeyNames::new([partition.as_ref()], []);
        self
    }

    /// An index and the names of its key attributes: one and one, one and none, or up to four and four.
    ///
    /// ```
    /// use keyloom::{Database, TableClient, item};
    ///
    /// let shop = TableClient::new(Database::memory(), "shop").with_index("StatusIndex", ["gsi1pk"], ["gsi1sk"]);
    /// shop.create()?;
    /// shop.put(item! { "pk" => "USER#1", "sk" => "ORDER#7", "gsi1pk" => "STATUS#PENDING", "gsi1sk" => "ORDER#7" })?;
    /// assert_eq!(shop.query("STATUS#PENDING").index("StatusIndex").collect()?.len(), 1);
    /// # Ok::<(), keyloom::Error>(())
    /// ```
    #[must_use]
    pub fn with_index<const P: usize, const S: usize>(
        mut self,
        name: impl Into<String>,
        partition: [&str; P],
        sort: [&str; S],
    ) -> Self {
        self.indexes.push((name.into(), KeyNames::new(partition, sort)));
        self
    }

    /// Other rules for trying again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// The table's name.
    pub fn table_name(&self) -> &str {
        &self.table
    }

    /// Makes the table with its indexes, unless it is there.
    pub fn create(&self) -> Result<()> {
        let body = self.create_body();
        match self.retry.run("CreateTable", true, |_| self.backend.call("CreateTable", &body)) {
            Ok(_) | Err(Error::Database(keyloom_core::Error::ResourceInUse(_))) => {
                tables::await_active(&self.backend, &self.retry, &self.table)
            }
            Err(error) => Err(error),
        }
    }

    fn create_body(&self) -> Vec<u8> {
        let mut body = JsonWriter::object();
        body.string("TableName", &self.table);
        let mut attributes: Vec<&key::KeyName> = Vec::new();
        for keys in std::iter::once(&self.keys).chain(self.indexes.iter().map(|(_, keys)| keys)) {
            for key in keys.all() {
                if attributes.iter().all(|known| known.name != key.name) {
                    attributes.push(key);
                }
            }
        }
        body.objects("AttributeDefinitions", attributes, |object, key| {
            object.string("AttributeName", &key.name);
            object.string("AttributeType", key.kind);
        });
        self.keys.write_schema(&mut body);
        if !self.indexes.is_empty() {
            body.objects("GlobalSecondaryIndexes", &self.indexes, |object, (name, keys)| {
                object.string("IndexName", name);
                keys.write_schema(object);
                object.structure("Projection", |object| object.string("ProjectionType", "ALL"));
            });
        }
        body.string("BillingMode", "PAY_PER_REQUEST");
        body.finish()
    }

    /// Drops the table with all items; succeeds if there is no such table.
    pub fn drop_table(&self) -> Result<()> {
        tables::drop_table(&self.backend, &self.retry, &self.table)
    }

    /// Any operation as the wire protocol states it: its name and its JSON body. For what this crate has no method for.
    pub fn call(&self, operation: &'static str, body: &str) -> Result<String> {
        let answer =
            self.retry.run(operation, false, |_| self.backend.call(operation, body.as_bytes()))?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// The item with this key, read with eventual consistency, as is DynamoDB's default.
    pub fn get(&self, key: impl Into<ItemKey>) -> Result<Option<Item>> {
        self.find(key.into(), false, &[])
    }

    /// The item with this key, as of the latest write.
    pub fn get_consistent(&self, key: impl Into<ItemKey>) -> Result<Option<Item>> {
        self.find(key.into(), true, &[])
    }

    /// Some attributes of the item with this key. The read costs as much as one of the whole item.
    pub fn get_only(&self, key: impl Into<ItemKey>, paths: &[&str]) -> Result<Option<Item>> {
        self.find(key.into(), false, paths)
    }

    fn find(&self, key: ItemKey, consistent_read: bool, paths: &[&str]) -> Result<Option<Item>> {
        let key = self.key(key)?;
        let projection = expression::projection(paths.iter().copied())?;
        self.retry.run("GetItem", true, |_| {
            self.backend.get_item(GetItemInput {
                table_name: self.table.clone(),
                key: key.clone(),
                consistent_read,
                projection: projection.clone(),
                ..GetItemInput::default()
            })
        })
    }

    /// The item with this key as a struct.
    pub fn get_value<T: DeserializeOwned>(&self, key: impl Into<ItemKey>) -> Result<Option<T>> {
        let wrong = |error| Error::Item { entity: "item", error };
        self.get(key)?.map(|item| from_item(item).map_err(wrong)).transpose()
    }

    /// Any number of items by their keys, in requests of 100; the answers stand in the order of the keys.
    pub fn batch_get<K: Into<ItemKey>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Item>>> {
        let keys = keys.into_iter().map(|key| Ok((self.table.clone(), self.key(key.into())?)));
        get_all(&self.backend, &self.retry, &keys.collect::<Result<Vec<_>>>()?, false)
    }

    /// The items with one partition key.
    pub fn query(&self, partition: impl Into<keyloom_core::AttributeValue>) -> RawQuery<'_> {
        RawQuery::new(self, partition.into())
    }

    /// All items. Reads the whole table: for exports and small tables.
    pub fn scan(&self) -> RawScan<'_> {
        RawScan::new(self)
    }

    fn key(&self, key: ItemKey) -> Result<Item> {
        self.keys.item(key, &self.table)
    }

    /// The names of an index's keys.
    fn index(&self, name: &str) -> Result<&KeyNames> {
        let known = self.indexes.iter().find(|(known, _)| known == name);
        known.map(|(_, keys)| keys).ok_or_else(|| {
            Error::Config(format!(
                "the client of table `{}` knows no index `{name}`: say what its keys are called with TableClient::with_index",
                self.table
            ))
        })
    }
}
