//! Stored records of everything but tables: backups, exports, global tables, stream policies.
//!
//! Each is a JSON document under its kind and name. Records that several requests may change concurrently are updated
//! in a [`Change`], so that no update is lost; a record with a single owner is simply stored.

use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, Direction, KeyRange};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::catalog::Change;
use crate::database::Inner;
use crate::layout;
use crate::store_error;

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

/// Stores a record that only one process changes.
pub(crate) fn put(database: &Inner, kind: &str, name: &str, record: &impl Serialize) -> Result<()> {
    let (key, value) = encode(kind, name, record)?;
    write(database, &key, Some(value))
}

/// Forgets a record that only one process changes.
pub(crate) fn delete(database: &Inner, kind: &str, name: &str) -> Result<()> {
    write(database, &layout::resource(kind, name).into(), None)
}

/// Stores a record, or forgets it, at the end of a change.
pub(crate) fn commit(
    change: &Change<'_>,
    kind: &str,
    name: &str,
    record: Option<&impl Serialize>,
) -> Result<()> {
    let value = record.map(|record| encode(kind, name, record)).transpose()?;
    change.commit(layout::resource(kind, name), value.map(|(_, value)| value.to_vec()))
}

/// A record as it is stored: its key and its value.
pub(crate) fn encode(kind: &str, name: &str, record: &impl Serialize) -> Result<(Bytes, Bytes)> {
    let value = serde_json::to_vec(record)
        .map_err(|error| Error::InternalServer(format!("a record cannot be stored: {error}")))?;
    Ok((layout::resource(kind, name).into(), value.into()))
}

fn write(database: &Inner, key: &Bytes, value: Option<Bytes>) -> Result<()> {
    loop {
        let mut transaction = database.store.begin(&[key]).map_err(store_error)?;
        match &value {
            Some(value) => transaction.put(key.clone(), value.clone()),
            None => transaction.delete(key.clone()),
        }
        if crate::commit_known(database.store.as_ref(), transaction, key, value.as_deref())? {
            return Ok(());
        }
    }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::InternalServer(format!("a record cannot be read: {error}")))
}
