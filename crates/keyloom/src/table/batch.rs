//! Batches of any size: split into requests, with retries of unprocessed entries.

use std::collections::{HashMap, HashSet};

use keyloom_api::batches::{BatchGetItemInput, BatchWriteItemInput, KeysOfTable, WriteRequest};
use keyloom_core::Item;
use keyloom_core::limits::MAX_ITEM_BYTES;
use keyloom_core::size::item_size;

use crate::backend::{Backend, Keyed};
use crate::design::Design;
use crate::entity::{Entity, EntityKey, EntityModel, entity_model};
use crate::error::{Error, Result, Unprocessed};
use crate::retry::Retry;

use super::Table;

/// The most writes of one request.
const MAX_WRITES: usize = 25;
/// The most keys of one request.
const MAX_KEYS: usize = 100;
/// The most bytes of one request are 16 MB; this leaves room for its JSON form.
const MAX_BYTES: usize = 8 << 20;

/// Puts and deletes, each for itself: some may be done when others fail. Any number, in requests of 25.
///
/// Of several writes of one item, the last one counts.
#[must_use = "nothing is written until `run`"]
pub struct Batch<'t, D> {
    table: &'t Table<D>,
    writes: Vec<Write>,
    failed: Option<Error>,
}

/// A write and the key that it is about.
struct Write {
    table: String,
    key: Item,
    request: WriteRequest,
}

impl<'t, D: Design> Batch<'t, D> {
    pub(super) fn new(table: &'t Table<D>) -> Self {
        Self { table, writes: Vec::new(), failed: None }
    }

    fn with(mut self, write: impl FnOnce() -> Result<Write>) -> Self {
        if self.failed.is_none() {
            match write() {
                Ok(write) => self.writes.push(write),
                Err(error) => self.failed = Some(error),
            }
        }
        self
    }

    /// Writes an item, in place of any with the same key.
    pub fn put<E: Entity<Design = D>>(self, entity: &E) -> Self {
        self.with(|| {
            let model = alone::<E>()?;
            Ok(Write {
                table: model.table().to_owned(),
                key: model.key_item(|name| entity.field(name))?,
                request: WriteRequest::Put(model.item(entity)?),
            })
        })
    }

    /// Writes items, in place of any with the same keys.
    pub fn put_all<'e, E: Entity<Design = D>>(
        self,
        entities: impl IntoIterator<Item = &'e E>,
    ) -> Self {
        entities.into_iter().fold(self, Self::put)
    }

    /// Deletes an item, if it exists.
    pub fn delete<K>(self, key: K) -> Self
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        self.with(|| {
            let model = alone::<K::Entity>()?;
            let key = model.key_item(|name| key.field(name))?;
            let request = WriteRequest::Delete(key.clone());
            Ok(Write { table: model.table().to_owned(), key, request })
        })
    }

    /// Sends all writes. Those left after all attempts are in [`Error::Unprocessed`]; all others are done.
    pub fn run(self) -> Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let writes = self.writes.into_iter().map(|write| (write.table, write.key, write.request));
        let writes = last_of_each(writes);
        write_all(&self.table.backend, &self.table.retry, writes)
    }
}

/// Of several writes of one item, the last: a request must not have two.
pub(crate) fn last_of_each(
    writes: impl IntoIterator<Item = (String, Item, WriteRequest)>,
) -> Keyed<WriteRequest> {
    let mut last: Keyed<WriteRequest> = Vec::new();
    let mut seen = std::collections::HashMap::new();
    for (table, key, request) in writes {
        let label = label(&table, &key);
        let known = seen.get(&label).and_then(|&at: &usize| last.get_mut(at));
        if let Some(slot) = known {
            *slot = (table, request);
        } else {
            seen.insert(label, last.len());
            last.push((table, request));
        }
    }
    last
}

/// The model of an entity that a batch can write.
fn alone<E: Entity>() -> Result<&'static EntityModel> {
    let model = entity_model::<E>()?;
    if model.has_companions() {
        return Err(Error::Design(format!(
            "`{}` has unique fields or counts, which need a transaction: use `put`, `create` or `transaction`",
            E::NAME
        )));
    }
    if model.is_resharded() {
        return Err(Error::Design(format!(
            "items of `{}` may be in `earlier` shards, which a batch cannot know: use `put`, or `Table::reshard` and leave `earlier` out",
            E::NAME
        )));
    }
    Ok(model)
}

/// Writes everything, each request for itself; the keys are distinct.
pub(crate) fn write_all(
    backend: &Backend,
    retry: &Retry,
    writes: Keyed<WriteRequest>,
) -> Result<()> {
    let mut waiting = std::collections::VecDeque::from(writes);
    // How many writes the request before left.
    let mut again = 0;
    let mut idle = 0;
    while !waiting.is_empty() {
        let mut bytes = 0;
        let fits = waiting.iter().take(MAX_WRITES).take_while(|write| {
            let first = bytes == 0;
            bytes += item_size(item_of(&write.1));
            first || bytes <= MAX_BYTES
        });
        let count = fits.count();
        let chunk: Vec<_> = waiting.drain(..count).collect();
        let input =
            BatchWriteItemInput { requests: chunk.clone(), ..BatchWriteItemInput::default() };
        let sent =
            retry.run_after(again > 0, "BatchWriteItem", |_| backend.batch_write(input.clone()));
        let left = match sent {
            Ok(left) => left,
            Err(error) => {
                chunk.into_iter().rev().for_each(|write| waiting.push_front(write));
                return Err(unwritten(waiting, retry.max_attempts, error));
            }
        };
        idle = if left.len() == count { idle + 1 } else { 0 };
        let stuck = idle >= retry.max_attempts.max(1);
        again = left.len();
        left.into_iter().rev().for_each(|write| waiting.push_front(write));
        if stuck {
            return Err(Error::Unprocessed(Box::new(unprocessed(waiting, idle, None))));
        }
        if again > 0 {
            retry.pause(idle.max(1));
        }
    }
    Ok(())
}

/// The item of a put, the key of a delete.
fn item_of(request: &WriteRequest) -> &Item {
    match request {
        WriteRequest::Put(item) | WriteRequest::Delete(item) => item,
    }
}

/// After a refused request, all writes not sent before it are unprocessed; if it is the first, the error is returned.
fn unwritten(
    waiting: impl IntoIterator<Item = (String, WriteRequest)>,
    attempts: u32,
    error: Error,
) -> Error {
    Error::Unprocessed(Box::new(unprocessed(waiting, attempts, Some(error.to_string()))))
}

fn unprocessed(
    waiting: impl IntoIterator<Item = (String, WriteRequest)>,
    attempts: u32,
    cause: Option<String>,
) -> Unprocessed {
    let mut left = Unprocessed { attempts, cause, ..Unprocessed::default() };
    for (table, request) in waiting {
        match request {
            WriteRequest::Put(item) => left.puts.push((table, item)),
            WriteRequest::Delete(key) => left.deletes.push((table, key)),
        }
    }
    left
}

/// Reads everything; the answers stand in the order of the keys, none for those that do not exist.
pub(crate) fn get_all(
    backend: &Backend,
    retry: &Retry,
    keys: &[(String, Item)],
    consistent: bool,
) -> Result<Vec<Option<Item>>> {
    let mut distinct: Vec<(String, Item)> = Vec::new();
    let mut seen = HashSet::new();
    for (table, key) in keys {
        if seen.insert(label(table, key)) {
            distinct.push((table.clone(), key.clone()));
        }
    }
    // Each table has its own key attributes.
    let mut names: HashMap<&str, Vec<&str>> = HashMap::new();
    for (table, key) in keys {
        let of_table = names.entry(table).or_default();
        if of_table.is_empty() {
            of_table.extend(key.keys().map(keyloom_core::Str::as_str));
        }
    }
    let found = get_distinct(backend, retry, distinct, consistent)?;
    let mut by_key: HashMap<String, Item> = HashMap::new();
    for (table, item) in found {
        let own = names.get(table.as_str()).map(Vec::as_slice).unwrap_or_default();
        let key: Item = item
            .iter()
            .filter(|(name, _)| own.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        by_key.insert(label(&table, &key), item);
    }
    Ok(keys.iter().map(|(table, key)| by_key.get(&label(table, key)).cloned()).collect())
}

/// Reads one item for each of `places`, which says under how many of the next keys it may be, its present one first.
///
/// The reads of a batch are not of one moment: an item that moves meanwhile is perhaps in none of the places when they are
/// read. Moves only go home, so it is there.
pub(crate) fn get_placed(
    backend: &Backend,
    retry: &Retry,
    keys: &[(String, Item)],
    places: &[usize],
    consistent: bool,
) -> Result<Vec<Option<Item>>> {
    let mut candidates = get_all(backend, retry, keys, consistent)?.into_iter();
    let mut found = Vec::with_capacity(places.len());
    let (mut homes, mut missing) = (Vec::new(), Vec::new());
    let mut first = 0;
    for count in places {
        found.push(candidates.by_ref().take(*count).fold(None, Option::or));
        if *count > 1 && found.last().is_some_and(Option::is_none) {
            homes.extend(keys.get(first).cloned());
            missing.push(found.len() - 1);
        }
        first += count;
    }
    if !homes.is_empty() {
        for (at, item) in missing.into_iter().zip(get_all(backend, retry, &homes, true)?) {
            if let Some(slot) = found.get_mut(at) {
                *slot = item;
            }
        }
    }
    Ok(found)
}

fn label(table: &str, key: &Item) -> String {
    format!("{table}/{key:?}")
}

fn get_distinct(
    backend: &Backend,
    retry: &Retry,
    keys: Keyed<Item>,
    consistent: bool,
) -> Result<Keyed<Item>> {
    let mut waiting = std::collections::VecDeque::from(keys);
    let mut found: Keyed<Item> = Vec::with_capacity(waiting.len());
    // Whether the request before was refused some of its keys, rather than having no room for them.
    let mut was_refused = false;
    let mut idle = 0;
    while !waiting.is_empty() {
        let count = waiting.len().min(MAX_KEYS);
        let chunk: Vec<_> = waiting.drain(..count).collect();
        let input = get_input(&chunk, consistent);
        let (more, left) =
            retry.run_after(was_refused, "BatchGetItem", |_| backend.batch_get(input.clone()))?;
        idle = if left.len() == count { idle + 1 } else { 0 };
        let sizes = || more.iter().map(|(_, item)| item_size(item)).sum();
        was_refused = !left.is_empty() && had_room(sizes());
        let is_left = !left.is_empty();
        found.extend(more);
        left.into_iter().rev().for_each(|key| waiting.push_front(key));
        if idle >= retry.max_attempts.max(1) {
            let gets = waiting.into_iter().collect();
            let left = Unprocessed { attempts: idle, gets, ..Unprocessed::default() };
            return Err(Error::Unprocessed(Box::new(left)));
        }
        if is_left && idle > 0 {
            retry.pause(idle);
        }
    }
    Ok(found)
}

/// Whether an answer to a BatchGetItem with so many bytes of items had room for one more item, whatever its size: a batch
/// gets at most 1 MB of one partition. Keys that it left all the same were refused for lack of throughput.
pub(crate) fn had_room(bytes: usize) -> bool {
    bytes + MAX_ITEM_BYTES <= 1 << 20
}

fn get_input(keys: &[(String, Item)], consistent: bool) -> BatchGetItemInput {
    let mut tables: Vec<KeysOfTable> = Vec::new();
    for (table, key) in keys {
        match tables.iter_mut().find(|known| known.table_name == *table) {
            Some(known) => known.keys.push(key.clone()),
            None => tables.push(KeysOfTable {
                table_name: table.clone(),
                keys: vec![key.clone()],
                consistent_read: consistent,
                ..KeysOfTable::default()
            }),
        }
    }
    BatchGetItemInput { tables, ..BatchGetItemInput::default() }
}
