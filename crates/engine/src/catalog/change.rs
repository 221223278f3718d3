//! Catalog changes (tables and their dependent records), serialized across all processes that share the store.
//!
//! A change wraps an exclusive transaction of the store. While it is open there are no other writes, the tables in
//! memory are those in the store, and plain reads see all earlier writes. It ends with a single commit, or is rolled
//! back when it is dropped.

use std::cell::RefCell;
use std::sync::Arc;

use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, CommitError, Exclusive, KeyRange, Store};
use parking_lot::MutexGuard;
use serde::Serialize;

use super::{Catalog, Table, TableRecord, note_written};
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::StreamRecord;

/// The exclusive right to change the catalog.
pub(crate) struct Change<'a> {
    catalog: &'a Catalog,
    store: &'a dyn Store,
    /// None when it is committed.
    exclusive: RefCell<Option<Box<dyn Exclusive + 'a>>>,
    /// Released last, so that waiting requests see the new tables.
    _changing: MutexGuard<'a, ()>,
}

impl Catalog {
    /// Begins a change of the catalog; others wait until it is dropped. The caller must hold no transaction, and
    /// begin none before the change is committed.
    pub(crate) fn change<'a>(&'a self, store: &'a dyn Store) -> Result<Change<'a>> {
        let changing = self.changing.lock();
        let exclusive = store.exclusive().map_err(store_error)?;
        if self.epoch() != exclusive.epoch() {
            let version = exclusive.get(layout::RECORDS_KEY).map_err(store_error)?;
            self.records.meet(version.as_deref())?;
            let records =
                exclusive.scan(KeyRange::prefix(&layout::tables())).map_err(store_error)?;
            self.install(records.into_iter().map(|(_, record)| Ok(record)))?;
            self.epoch.store(exclusive.epoch(), std::sync::atomic::Ordering::Release);
        }
        let exclusive = RefCell::new(Some(exclusive));
        Ok(Change { catalog: self, store, exclusive, _changing: changing })
    }
}

impl Change<'_> {
    /// Takes `count` keyspace numbers that were never used before and returns the first.
    pub(crate) fn allocate_keyspaces(&self, count: u32) -> Result<Keyspace> {
        let mut exclusive = self.exclusive.borrow_mut();
        let exclusive = exclusive.as_mut().ok_or_else(ended)?;
        let counter = layout::next_keyspace();
        let stored = exclusive.get(&counter).map_err(store_error)?;
        let first = stored
            .and_then(|bytes| Some(Keyspace::from_be_bytes(bytes.as_ref().try_into().ok()?)))
            .unwrap_or(1);
        let next = first.checked_add(count).ok_or_else(|| {
            Error::LimitExceeded("the database has used up its keyspace numbers".into())
        })?;
        exclusive.put(counter.into(), next.to_be_bytes().to_vec().into());
        Ok(first)
    }

    /// Stores and publishes a new table, or a new version of one, with what else belongs into the same commit.
    pub(crate) fn put(&self, mut record: TableRecord, alongside: Alongside) -> Result<Arc<Table>> {
        record.version = self.catalog.records.written();
        let name = record.name.clone();
        let previous = self.catalog.find(&name);
        let table = Arc::new(Table::new(record, previous.as_deref()));
        self.stage(layout::table(&name), Some(encode(&table.record)?))?;
        self.stage_alongside(&alongside)?;
        let epoch = self.commit_epoch(&layout::table(&name), Some(&encode(&table.record)?))?;
        self.catalog.publish(epoch, |tables| {
            tables.insert(name, Arc::clone(&table));
        });
        Ok(table)
    }

    /// Removes a table and notes its keyspaces for removal in the background.
    pub(crate) fn remove(&self, table: &Table, mut alongside: Alongside) -> Result<()> {
        let record = &table.record;
        if !alongside.keeps_items {
            alongside.dropped.push(record.keyspace);
        }
        alongside.dropped.extend(table.recovery.map(|recovery| recovery.keyspace));
        alongside.dropped.extend(record.indexes.iter().map(|index| index.keyspace));
        alongside.dropped.extend(record.vector_indexes.iter().map(|index| index.keyspace));
        self.stage(layout::table(&record.name), None)?;
        self.stage_alongside(&alongside)?;
        let epoch = self.commit_epoch(&layout::table(&record.name), None)?;
        self.catalog.publish(epoch, |tables| {
            tables.remove(&record.name);
        });
        Ok(())
    }

    /// Stores a stream that belongs to no table any more, or forgets it.
    pub(crate) fn put_stream(
        &self,
        keyspace: Keyspace,
        stream: Option<&StreamRecord>,
    ) -> Result<()> {
        if stream.is_none() {
            self.drop_entries(keyspace)?;
        }
        self.commit(layout::stream(keyspace), stream.map(encode).transpose()?)
    }

    /// Has the entries of a keyspace removed in the background.
    pub(crate) fn drop_entries(&self, keyspace: Keyspace) -> Result<()> {
        self.stage(layout::dropped(keyspace), Some(Vec::new()))
    }

    /// Sets or removes one more key and commits everything.
    pub(crate) fn commit(&self, key: Vec<u8>, value: Option<Vec<u8>>) -> Result<()> {
        self.stage(key.clone(), value.clone())?;
        let epoch = self.commit_epoch(&key, value.as_deref())?;
        self.catalog.publish(epoch, |_| ());
        Ok(())
    }

    /// Sets or removes a key when the change is committed.
    pub(crate) fn stage(&self, key: Vec<u8>, value: Option<Vec<u8>>) -> Result<()> {
        let mut exclusive = self.exclusive.borrow_mut();
        let exclusive = exclusive.as_mut().ok_or_else(ended)?;
        match value {
            Some(value) => exclusive.put(key.into(), value.into()),
            None => exclusive.delete(key.into()),
        }
        Ok(())
    }

    fn stage_alongside(&self, alongside: &Alongside) -> Result<()> {
        for keyspace in &alongside.dropped {
            self.drop_entries(*keyspace)?;
        }
        for stream in &alongside.streams {
            self.stage(layout::stream(stream.keyspace), Some(encode(stream)?))?;
        }
        for (key, value) in &alongside.resources {
            self.stage(key.to_vec(), Some(value.to_vec()))?;
        }
        Ok(())
    }

    /// Commits; the epoch that begins. If the outcome is unknown, `key` is read back: the reply and the state in
    /// memory must agree with what is stored.
    fn commit_epoch(&self, key: &[u8], value: Option<&[u8]>) -> Result<u64> {
        let exclusive = self.exclusive.borrow_mut().take().ok_or_else(ended)?;
        note_written();
        let error = match exclusive.commit() {
            Ok(epoch) => return Ok(epoch),
            Err(error) => error,
        };
        let store = self.store;
        if matches!(error, CommitError::Unknown(_)) {
            let found = store.settle().and_then(|()| store.get(key)).map_err(store_error)?;
            if found.as_deref() == value {
                self.catalog.reload(store)?;
                return Ok(self.catalog.epoch());
            }
        }
        // The tables in memory may be of an epoch that is over.
        self.catalog.reload(store)?;
        Err(crate::commit_error(error))
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

fn ended() -> Error {
    Error::InternalServer("a change of tables was committed twice; this is a bug".into())
}
