//! Records of other things than tables: backups, exports, global tables, policies of streams.
//!
//! Each is a JSON document under its kind and name. Whoever changes one holds the catalog's change
//! lock, so that two requests do not overwrite each other.

use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, Direction, KeyRange};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::{commit_known, store_error};

/// The record of this kind and name.
pub(crate) fn get<T: DeserializeOwned>(
    database: &Inner,
    kind: &str,
    name: &str,
) -> Result<Option<T>> {
    let stored = database.store.get(&layout::resource(kind, name)).map_err(store_error)?;
    stored.as_deref().map(decode).transpose()
}

/// All records of a kind, in the order of their names.
pub(crate) fn all<T: DeserializeOwned>(database: &Inner, kind: &str) -> Result<Vec<T>> {
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let entries = snapshot.scan(KeyRange::prefix(&layout::resources(kind)), Direction::Forward);
    entries.map(|entry| decode(&entry.map_err(store_error)?.1)).collect()
}

/// Stores a record.
pub(crate) fn put(database: &Inner, kind: &str, name: &str, record: &impl Serialize) -> Result<()> {
    write(database, encode(kind, name, record)?, None)
}

/// Stores a record and has the entries of a keyspace that it no longer uses removed in the background.
pub(crate) fn put_without(
    database: &Inner,
    kind: &str,
    name: &str,
    record: &impl Serialize,
    dropped: Keyspace,
) -> Result<()> {
    write(database, encode(kind, name, record)?, Some(dropped))
}

/// A record as it is stored: its key and its value.
pub(crate) fn encode(kind: &str, name: &str, record: &impl Serialize) -> Result<(Bytes, Bytes)> {
    let value = serde_json::to_vec(record)
        .map_err(|error| Error::InternalServer(format!("a record cannot be stored: {error}")))?;
    Ok((layout::resource(kind, name).into(), value.into()))
}

fn write(database: &Inner, (key, value): (Bytes, Bytes), dropped: Option<Keyspace>) -> Result<()> {
    let mut transaction = database.store.begin(&[&key]).map_err(store_error)?;
    transaction.put(key.clone(), value.clone());
    if let Some(keyspace) = dropped {
        transaction.put(layout::dropped(keyspace).into(), Bytes::new());
    }
    commit_known(database.store.as_ref(), transaction, &key, Some(&value))
}

/// Forgets a record.
pub(crate) fn delete(database: &Inner, kind: &str, name: &str) -> Result<()> {
    forget(database, kind, name, None)
}

/// Forgets a record and has the entries of its keyspace removed in the background.
pub(crate) fn delete_with_entries(
    database: &Inner,
    kind: &str,
    name: &str,
    keyspace: Keyspace,
) -> Result<()> {
    forget(database, kind, name, Some(keyspace))
}

fn forget(database: &Inner, kind: &str, name: &str, entries: Option<Keyspace>) -> Result<()> {
    let key = layout::resource(kind, name);
    let mut transaction = database.store.begin(&[&key]).map_err(store_error)?;
    transaction.delete(key.clone().into());
    if let Some(keyspace) = entries {
        transaction.put(layout::dropped(keyspace).into(), Bytes::new());
    }
    commit_known(database.store.as_ref(), transaction, &key, None)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::InternalServer(format!("a record cannot be read: {error}")))
}
