//! The tables of a database.
//!
//! Requests take an immutable [`Table`] version from here without a lock. Changes of tables run one
//! at a time: they wait for the table's writers, store the new record and publish a new version.

mod insight;
mod place;
pub(crate) mod record;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use keyloom_core::error::request;
use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, Direction, KeyRange, Store};
use parking_lot::{Mutex, MutexGuard, RwLockWriteGuard};
use serde::Serialize;

pub(crate) use insight::Insight;
pub(crate) use place::{Home, Place, table_name};
use record::Status;
pub(crate) use record::TableRecord;
pub(crate) use table::{Index, Shared, Stats, Table, VectorIndex};

use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::StreamRecord;

/// All tables by name.
#[derive(Debug)]
pub(crate) struct Catalog {
    tables: ArcSwap<BTreeMap<String, Arc<Table>>>,
    /// Held by the one change that is being made.
    changing: Mutex<()>,
    home: Home,
}

impl Catalog {
    /// Reads the tables from the store.
    pub(crate) fn load(store: &dyn Store, home: Home) -> Result<Self> {
        let mut tables = BTreeMap::new();
        let snapshot = store.snapshot().map_err(store_error)?;
        for entry in snapshot.scan(KeyRange::prefix(&layout::tables()), Direction::Forward) {
            let (_, value) = entry.map_err(store_error)?;
            let record: TableRecord = serde_json::from_slice(&value).map_err(|error| {
                Error::InternalServer(format!("a table's record cannot be read: {error}"))
            })?;
            tables.insert(record.name.clone(), Arc::new(Table::new(record, None)));
        }
        Ok(Self { tables: ArcSwap::from_pointee(tables), changing: Mutex::new(()), home })
    }

    /// The table that a data operation names. It is not there before it has been filled.
    pub(crate) fn table(&self, name_or_arn: &str) -> Result<Arc<Table>> {
        let is_filled =
            |table: &Arc<Table>| !matches!(table.record.status, Status::Creating | Status::Failed);
        let table = self.find(name_or_arn).filter(is_filled);
        table.ok_or_else(|| self.absence(name_or_arn, |_| request::resource_not_found()))
    }

    /// The table that a control operation names.
    pub(crate) fn described_table(&self, name_or_arn: &str) -> Result<Arc<Table>> {
        self.find(name_or_arn).ok_or_else(|| self.absence(name_or_arn, request::table_not_found))
    }

    /// Why there is no table of this name or ARN.
    fn absence(&self, name_or_arn: &str, not_found: impl FnOnce(&str) -> Error) -> Error {
        match self.home.place(name_or_arn) {
            Place::OtherRegion => request::arn_of_other_region(name_or_arn),
            Place::OtherAccount | Place::Here(_) => not_found(table_name(name_or_arn)),
        }
    }

    /// The table of this name or ARN, if there is one.
    pub(crate) fn find(&self, name_or_arn: &str) -> Option<Arc<Table>> {
        self.tables.load().get(self.named(name_or_arn)?).cloned()
    }

    /// The name of the table that a name or an ARN means; none if that is in another region or account.
    pub(crate) fn named<'a>(&self, name_or_arn: &'a str) -> Option<&'a str> {
        match self.home.place(name_or_arn) {
            Place::Here(name) => Some(name),
            Place::OtherRegion | Place::OtherAccount => None,
        }
    }

    /// Where the table of a name or an ARN is.
    pub(crate) fn place<'a>(&self, name_or_arn: &'a str) -> Place<'a> {
        self.home.place(name_or_arn)
    }

    /// All tables in name order.
    pub(crate) fn all(&self) -> Arc<BTreeMap<String, Arc<Table>>> {
        self.tables.load_full()
    }

    /// Begins a change of the catalog; others wait until it is dropped.
    pub(crate) fn change<'a>(&'a self, store: &'a dyn Store) -> Change<'a> {
        let exclusive = self.changing.lock();
        Change { catalog: self, store, _exclusive: exclusive }
    }

    fn publish(&self, edit: impl FnOnce(&mut BTreeMap<String, Arc<Table>>)) {
        let mut tables = BTreeMap::clone(&self.tables.load());
        edit(&mut tables);
        self.tables.store(Arc::new(tables));
    }
}

/// The exclusive right to change the catalog.
pub(crate) struct Change<'a> {
    catalog: &'a Catalog,
    store: &'a dyn Store,
    _exclusive: MutexGuard<'a, ()>,
}

impl Change<'_> {
    /// Takes `count` keyspace numbers that were never used before and returns the first.
    pub(crate) fn allocate_keyspaces(&self, count: u32) -> Result<Keyspace> {
        let counter = layout::next_keyspace();
        let mut transaction = self.store.begin(&[&counter]).map_err(store_error)?;
        let stored = transaction.get(&counter).map_err(store_error)?;
        let first = stored
            .and_then(|bytes| Some(Keyspace::from_be_bytes(bytes.as_ref().try_into().ok()?)))
            .unwrap_or(1);
        let next = first.checked_add(count).ok_or_else(|| {
            Error::LimitExceeded("the database has used up its keyspace numbers".into())
        })?;
        transaction.put(counter.into(), next.to_be_bytes().to_vec().into());
        transaction.commit().map_err(crate::commit_error)?;
        Ok(first)
    }

    /// Stores and publishes a new table, or a new version of one. `alongside` is called while no
    /// write of the table is under way, and says what else belongs into the same commit.
    pub(crate) fn put(
        &self,
        record: TableRecord,
        alongside: impl FnOnce() -> Result<Alongside>,
    ) -> Result<Arc<Table>> {
        let name = record.name.clone();
        self.put_made(&name, || Ok((record, alongside()?)))
    }

    /// Like [`Change::put`]; the record too is made while no write of the table is under way.
    pub(crate) fn put_made(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<(TableRecord, Alongside)>,
    ) -> Result<Arc<Table>> {
        let previous = self.catalog.find(name);
        let shared = previous.as_ref().map(|table| Arc::clone(&table.shared));
        let _alone = shared.as_ref().map(|shared| self.alone_with(shared)).transpose()?;
        let (record, alongside) = make()?;
        let table = Arc::new(Table::new(record, previous.as_deref()));
        self.write(name, Some(encode(&table.record)?), &alongside)?;
        self.catalog.publish(|tables| {
            tables.insert(name.to_owned(), Arc::clone(&table));
        });
        Ok(table)
    }

    /// Waits until no write of a table is under way, and lets none begin: not even one that is
    /// submitted and not yet seen by reads.
    fn alone_with<'a>(&self, shared: &'a Shared) -> Result<RwLockWriteGuard<'a, ()>> {
        let alone = shared.gate.write();
        self.store.settle().map_err(store_error)?;
        Ok(alone)
    }

    /// Stores a stream that belongs to no table any more, or forgets it.
    pub(crate) fn put_stream(
        &self,
        keyspace: Keyspace,
        stream: Option<&StreamRecord>,
    ) -> Result<()> {
        let key = layout::stream(keyspace);
        let mut transaction = self.store.begin(&[&key]).map_err(store_error)?;
        if let Some(stream) = stream {
            transaction.put(key.into(), encode(stream)?.into());
        } else {
            transaction.delete(key.into());
            transaction.put(layout::dropped(keyspace).into(), Bytes::new());
        }
        transaction.commit().map_err(crate::commit_error)
    }

    /// Removes a table and notes its keyspaces for removal in the background. `alongside` is called
    /// as by [`Change::put`].
    pub(crate) fn remove(
        &self,
        table: &Table,
        alongside: impl FnOnce() -> Result<Alongside>,
    ) -> Result<()> {
        let _alone = self.alone_with(&table.shared)?;
        let record = &table.record;
        let mut alongside = alongside()?;
        if !alongside.keeps_items {
            alongside.dropped.push(record.keyspace);
        }
        alongside.dropped.extend(table.recovery.map(|recovery| recovery.keyspace));
        alongside.dropped.extend(record.indexes.iter().map(|index| index.keyspace));
        alongside.dropped.extend(record.vector_indexes.iter().map(|index| index.keyspace));
        self.write(&record.name, None, &alongside)?;
        self.catalog.publish(|tables| {
            tables.remove(&record.name);
        });
        Ok(())
    }

    fn write(&self, name: &str, record: Option<Vec<u8>>, alongside: &Alongside) -> Result<()> {
        let key = layout::table(name);
        let mut transaction = self.store.begin(&[&key]).map_err(store_error)?;
        match record.clone() {
            Some(record) => transaction.put(key.clone().into(), record.into()),
            None => transaction.delete(key.clone().into()),
        }
        for keyspace in &alongside.dropped {
            transaction.put(layout::dropped(*keyspace).into(), Bytes::new());
        }
        for stream in &alongside.streams {
            let value = encode(stream)?;
            transaction.put(layout::stream(stream.keyspace).into(), value.into());
        }
        for (key, value) in &alongside.resources {
            transaction.put(key.clone(), value.clone());
        }
        crate::commit_known(self.store, transaction, &key, record.as_deref())
    }
}

/// What is stored in the same commit as a table's record.
#[derive(Debug, Default)]
pub(crate) struct Alongside {
    /// Keyspaces whose entries are to be removed in the background.
    pub(crate) dropped: Vec<Keyspace>,
    /// Streams that begin, change or end.
    pub(crate) streams: Vec<StreamRecord>,
    /// Whether the items of a table that is removed stay: a backup has taken them over.
    pub(crate) keeps_items: bool,
    /// Records of other resources, as [`crate::resource::encode`] makes them.
    pub(crate) resources: Vec<(Bytes, Bytes)>,
}

fn encode(record: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(record)
        .map_err(|error| Error::InternalServer(format!("a record cannot be stored: {error}")))
}
