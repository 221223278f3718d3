//! The effect of a write on one item: new image, index entries, stream record, history record, consumed capacity.

use std::borrow::Cow;
use std::sync::Arc;

use keyloom_core::capacity::{
    Arm, ConsumedCapacity, IndexChange, Units, item_write_units, write_units,
};
use keyloom_core::error::request;
use keyloom_core::schema::IndexKind;
use keyloom_core::size::item_size;
use keyloom_core::{Item, Result, image, limits};
use keyloom_store::{Bytes, Store, Transaction};

use crate::catalog::record::Status;
use crate::catalog::{Index, Table};
use crate::counting;
use crate::database::Inner;
use crate::history;
use crate::layout;
use crate::read;
use crate::replication::{self, Version};
use crate::store_error;
use crate::stream::{self, ItemChange};
use crate::ttl;
use keyloom_core::image::Stored;

use super::vector::{self, VectorEdit};
use super::{Edit, Refusal, Write, Written};

/// The consequences of one write, before they are committed.
#[derive(Debug)]
pub(crate) struct Effect {
    old: Option<Stored>,
    new: Option<Arc<Item>>,
    /// The new image; `None` if the item is removed or stays as it is.
    new_bytes: Option<Bytes>,
    changed: bool,
    streamed: bool,
    /// Whether it came from another region and counts, even if it changes nothing.
    accepted: bool,
    /// Whether the item as it was goes to the table's history.
    recorded: bool,
    index_edits: Vec<IndexEdit>,
    vector_edits: Vec<VectorEdit>,
    /// The sizes before and after.
    sizes: Sizes,
    /// The sizes that are billed.
    billed: Sizes,
}

/// The sizes of an item before and after a write.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    old: Option<usize>,
    new: Option<usize>,
}

/// The change of one index's entry for the item.
#[derive(Debug)]
struct IndexEdit {
    /// The position of the index in the table's list.
    position: usize,
    delete: Option<Vec<u8>>,
    put: Option<(Vec<u8>, Bytes)>,
    change: IndexChange,
    /// Whether the old entry is there: it need not be in an index that is being filled.
    is_old_counted: bool,
}

/// Judges the condition and applies the edit of `write` to the item as it is.
pub(super) fn of(write: &Write, old: Option<Stored>) -> Result<Box<Effect>, Refusal> {
    judge(write, old.as_ref())?;
    let invalid = Refusal::Invalid;
    let new = edited(write, old.as_ref())?;
    let old_size = old.as_ref().map(Stored::size_bytes).transpose().map_err(invalid)?;
    let new_bytes = new.as_deref().map(|item| Bytes::from(image::encode(item)));
    let new_size = match &write.edit {
        Edit::Check => old_size,
        // The image states the size: it is not counted again.
        _ => new_bytes
            .clone()
            .map(|bytes| Stored::new(bytes).size_bytes())
            .transpose()
            .map_err(invalid)?,
    };
    let sizes = Sizes { old: old_size, new: new_size };
    let changed = match (&write.edit, &old, &new_bytes) {
        (Edit::Check, ..) => false,
        (_, Some(old), Some(new)) => old.bytes() != new,
        (_, old, new) => old.is_some() || new.is_some(),
    };
    let table = write.table.as_ref();
    let mut index_edits = Vec::new();
    if changed && !table.indexes.is_empty() {
        let old_item = old.as_ref().map(Stored::item).transpose().map_err(invalid)?;
        for (position, index) in table.indexes.iter().enumerate() {
            let new = new.as_deref().zip(new_bytes.as_ref());
            let edit = index_edit(table, index, position, old_item, new);
            index_edits.extend(edit);
        }
    }
    let (mut vector_edits, mut billed) = (Vec::new(), sizes);
    if !table.vector_indexes.is_empty() {
        let old_item = old.as_ref().map(Stored::item).transpose().map_err(invalid)?;
        billed.old = old_item.map(|item| table.schema.written_size(item));
        billed.new = match &write.edit {
            Edit::Check => billed.old,
            _ => new.as_deref().map(|item| table.schema.written_size(item)),
        };
        if changed {
            vector_edits = vector::edits(table, old_item, new.as_deref());
        }
    }
    let streamed = changed && table.record.stream.as_ref().is_some_and(|s| s.enabled);
    let recorded = changed && table.recovery.is_some();
    let new_bytes = new_bytes.filter(|_| changed);
    // Boxed: it is large, and passes through every stage of an execution.
    Ok(Box::new(Effect {
        old,
        new,
        new_bytes,
        changed,
        streamed,
        accepted: write.arrived.is_some(),
        recorded,
        index_edits,
        vector_edits,
        sizes,
        billed,
    }))
}

/// A write from another region that is older than the item changes nothing.
pub(super) fn of_stale(old: Option<Stored>) -> Box<Effect> {
    let nothing = Sizes { old: None, new: None };
    Box::new(Effect {
        old,
        new: None,
        new_bytes: None,
        changed: false,
        streamed: false,
        accepted: false,
        recorded: false,
        index_edits: Vec::new(),
        vector_edits: Vec::new(),
        sizes: nothing,
        billed: nothing,
    })
}

fn judge(write: &Write, old: Option<&Stored>) -> Result<(), Refusal> {
    let Some(condition) = &write.condition else { return Ok(()) };
    let item = old.map(Stored::item).transpose().map_err(Refusal::Invalid)?;
    if condition.matches(item) {
        return Ok(());
    }
    Err(Refusal::Condition(item.cloned()))
}

/// The item after the edit; none if it is removed or only checked, or if there was none and the update only
/// removes attributes.
fn edited(write: &Write, old: Option<&Stored>) -> Result<Option<Arc<Item>>, Refusal> {
    match &write.edit {
        Edit::Put(item) => Ok(Some(Arc::clone(item))),
        Edit::Delete | Edit::Check => Ok(None),
        Edit::Update(update) => {
            let existing = old.map(Stored::item).transpose().map_err(Refusal::Invalid)?;
            if existing.is_none() && !update.creates_item() {
                return Ok(None);
            }
            let item = update.apply(existing, &write.key).map_err(Refusal::Invalid)?;
            check_updated(&write.table, existing, &item).map_err(Refusal::Invalid)?;
            Ok(Some(Arc::new(item)))
        }
    }
}

/// The rules that an item must keep after an update.
fn check_updated(table: &Table, old: Option<&Item>, item: &Item) -> Result<()> {
    table.schema.check_updated_index_keys(old, item)?;
    if item_size(item) > limits::MAX_ITEM_BYTES {
        return Err(request::updated_item_too_large());
    }
    Ok(())
}

/// What an index holds of an item, and under which store key; none if the item is not in the index.
pub(super) fn index_entry<'a>(
    table: &Table,
    index: &Index,
    item: &'a Item,
) -> Option<(Vec<u8>, Cow<'a, Item>)> {
    let entry = table.schema.project(item, &index.schema)?;
    let key = layout::index_entry(index.keyspace, &index.schema.key, table.key(), item).ok()?;
    Some((key, entry))
}

/// How an index's entry for the item changes; `None` if its view stays the same.
fn index_edit(
    table: &Table,
    index: &Index,
    position: usize,
    old: Option<&Item>,
    new: Option<(&Item, &Bytes)>,
) -> Option<IndexEdit> {
    let old = old.and_then(|item| index_entry(table, index, item));
    let (new, new_bytes) = new.unzip();
    let new = new.and_then(|item| index_entry(table, index, item));
    // An index that holds the whole item shares its bytes.
    let stored = |entry: &Cow<'_, Item>| match (entry, new_bytes) {
        (Cow::Borrowed(_), Some(bytes)) => bytes.clone(),
        _ => Bytes::from(image::encode(entry)),
    };
    Some(match (old, new) {
        (None, None) => return None,
        (None, Some((key, new))) => {
            let change = IndexChange::Insert { bytes: item_size(&new) };
            IndexEdit::new(position, None, Some((key, stored(&new))), change)
        }
        (Some((key, old)), None) => {
            let change = IndexChange::Delete { bytes: item_size(&old) };
            IndexEdit::new(position, Some(key), None, change)
        }
        (Some((old_key, old)), Some((key, new))) => {
            let (old_bytes, new_bytes) = (item_size(&old), item_size(&new));
            let put = Some((key, stored(&new)));
            if put.as_ref().is_some_and(|(key, _)| *key != old_key) {
                let change = IndexChange::Move { old_bytes, new_bytes };
                return Some(IndexEdit::new(position, Some(old_key), put, change));
            }
            if old == new {
                return None;
            }
            let change = IndexChange::Update { old_bytes, new_bytes };
            IndexEdit::new(position, None, put, change)
        }
    })
}

impl Effect {
    /// Whether the write changes the store.
    pub(super) fn changes_something(&self) -> bool {
        self.changed || self.accepted
    }

    /// Whether it adds a record to the table's stream.
    pub(super) fn is_streamed(&self) -> bool {
        self.streamed
    }

    /// Whether it adds a record to the table's history.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// Adds the item and its index entries to the transaction.
    pub(super) fn stage(&self, write: &Write, transaction: &mut dyn Transaction) {
        if !self.changed {
            return;
        }
        let key = Bytes::copy_from_slice(&write.store_key);
        match &self.new_bytes {
            Some(bytes) => transaction.put(key, bytes.clone()),
            None => transaction.delete(key),
        }
        for edit in &self.index_edits {
            if let Some(key) = &edit.delete {
                transaction.delete(key.clone().into());
            }
            if let Some((key, value)) = &edit.put {
                transaction.put(key.clone().into(), value.clone());
            }
        }
        for edit in &self.vector_edits {
            edit.stage(transaction);
        }
    }

    /// Adds the stream record to the transaction.
    pub(super) fn stage_record(
        &self,
        write: &Write,
        version: Option<u64>,
        now_ms: u64,
        transaction: &mut dyn Transaction,
    ) {
        let Some(stream) = &write.table.record.stream else { return };
        let change = ItemChange {
            keys: &write.key,
            old: self.old.as_ref().map(Stored::bytes),
            new: self.new_bytes.as_ref(),
            origin: write.origin,
            now_ms,
            version,
        };
        let value = stream::encode_record(&stream.view, &change);
        let shard =
            stream::shard_of(stream, || read::hash_of_entry(write.table.key(), &write.store_key));
        let log = layout::shard_records(stream.keyspace, shard.number);
        let floor = stream::number_at(now_ms).max(shard.start.saturating_add(1));
        transaction.append(log.into(), floor, value.into());
    }

    /// Adds the item's version to the transaction, if the table is a global one: the one that the write came with,
    /// or the number that it got here.
    pub(super) fn stage_version(
        &self,
        write: &Write,
        own: Option<u64>,
        region: &str,
        transaction: &mut dyn Transaction,
    ) {
        let own = || own.map(|at| Version { at, region: region.to_owned() });
        let version = match &write.arrived {
            Some(arrived) => self.accepted.then(|| arrived.clone()),
            None => own(),
        };
        if let Some(version) = version {
            replication::staged(transaction, &write.store_key, version, self.new.is_none());
        }
    }

    /// The number of the item's newest history record, if this write adds one.
    pub(super) fn newest_past(
        &self,
        write: &Write,
        number: u64,
        store: &dyn Store,
    ) -> Result<Option<u64>> {
        let Some(recovery) = write.table.recovery.filter(|_| self.recorded) else {
            return Ok(None);
        };
        let item_key = write.store_key.get(layout::ENTRY_HEADER_BYTES..).unwrap_or_default();
        history::newest_record(store, recovery.keyspace, item_key, number)
    }

    /// Adds the item as it was to the transaction, for the table's history. Servers of earlier releases, which may
    /// share a store, read whole images alone.
    pub(super) fn stage_past(
        &self,
        write: &Write,
        number: u64,
        is_shared: bool,
        transaction: &mut dyn Transaction,
    ) {
        let Some(recovery) = write.table.recovery.filter(|_| self.recorded) else { return };
        let item_key = write.store_key.get(layout::ENTRY_HEADER_BYTES..).unwrap_or_default();
        let key = history::record_key(recovery.keyspace, item_key, number);
        let before = self.old.as_ref().map(Stored::bytes);
        let after = self.new_bytes.as_ref().filter(|_| !is_shared);
        transaction.put(key.into(), history::value(before, after, number));
    }

    /// How the counts of the table change: its items and their bytes.
    fn counted(&self) -> (i64, i64) {
        let items = i64::from(self.new.is_some()) - i64::from(self.old.is_some());
        let bytes = self.sizes.new.unwrap_or(0) as i64 - self.sizes.old.unwrap_or(0) as i64;
        (items, bytes)
    }

    /// Adds the change to the table's and indexes' counts in memory.
    pub(super) fn count(&self, write: &Write) {
        if !self.changed {
            return;
        }
        let (items, bytes) = self.counted();
        write.table.shared.stats.add(items, bytes);
        for edit in &self.index_edits {
            if let Some(index) = write.table.indexes.get(edit.position) {
                let (items, bytes) = edit.counted();
                index.stats.add(items, bytes);
            }
        }
        for edit in &self.vector_edits {
            if let Some(index) = write.table.vector_indexes.get(edit.position) {
                let (items, bytes) = edit.counted();
                index.stats.add(items, bytes);
            }
        }
    }

    /// Adds the change to the table's and indexes' counters in the store.
    pub(super) fn stage_counts(&self, write: &Write, transaction: &mut dyn Transaction) {
        if !self.changed {
            return;
        }
        counting::add(transaction, write.table.record.keyspace, self.counted());
        for edit in &self.index_edits {
            if let Some(index) = write.table.indexes.get(edit.position) {
                counting::add(transaction, index.keyspace, edit.counted());
            }
        }
        for edit in &self.vector_edits {
            if let Some(index) = write.table.vector_indexes.get(edit.position) {
                counting::add(transaction, index.keyspace, edit.counted());
            }
        }
    }

    /// Checks which entries exist in indexes that are being backfilled: missing ones have not been counted.
    pub(super) fn look_at_filling(
        &mut self,
        write: &Write,
        transaction: &dyn Transaction,
    ) -> Result<()> {
        for edit in &mut self.index_edits {
            let index = write.table.indexes.get(edit.position);
            if index.is_some_and(|index| index.status == Status::Creating)
                && let Some(key) = edit.old_key()
            {
                edit.is_old_counted = transaction.get(key).map_err(store_error)?.is_some();
            }
        }
        for edit in &mut self.vector_edits {
            let index = write.table.vector_indexes.get(edit.position);
            if index.is_some_and(|index| index.life.is_filling()) {
                edit.look(transaction)?;
            }
        }
        Ok(())
    }

    /// Tells the TTL sweeper when the new item expires.
    pub(super) fn note_expiry(&self, database: &Inner, write: &Write) {
        if let Some(item) = self.new.as_ref().filter(|_| self.changed) {
            ttl::note(database, &write.table, item);
        }
    }

    /// What the write costs on the table, outside a transaction.
    pub(super) fn table_units(&self) -> Units {
        item_write_units(self.billed.old, self.billed.new)
    }

    /// How many bytes the write leaves in the table: none if it removes the item, or only checks it.
    pub(super) fn item_bytes(&self) -> usize {
        self.sizes.new.filter(|_| self.new.is_some()).unwrap_or(0)
    }

    /// What the write does in each index. An entry that moves leaves one partition and enters another.
    pub(super) fn index_arms(&self) -> impl Iterator<Item = IndexArm<'_>> {
        self.index_edits.iter().flat_map(IndexEdit::arms)
    }

    /// The entries of vector indexes that the write touches, each with the position of its index.
    pub(super) fn vector_arms(&self) -> impl Iterator<Item = (usize, &[u8], usize)> {
        self.vector_edits
            .iter()
            .flat_map(|edit| edit.arms().map(|(key, bytes)| (edit.position, key, bytes)))
    }

    /// What the write costs outside a transaction.
    fn cost(&self, table: &Table) -> ConsumedCapacity {
        let mut cost = ConsumedCapacity::new(table.name());
        cost.add_table(Arm::new(self.table_units()));
        for edit in &self.index_edits {
            let Some(index) = table.indexes.get(edit.position) else { continue };
            let Some(units) = edit.change.units() else { continue };
            match index.schema.kind {
                IndexKind::Local => cost.add_local(index.schema.name.clone(), Arm::new(units)),
                IndexKind::Global => cost.add_global(index.schema.name.clone(), Arm::new(units)),
            }
        }
        for edit in &self.vector_edits {
            if let Some(index) = table.vector_indexes.get(edit.position) {
                cost.add_vector(index.schema.name.clone(), edit.cost());
            }
        }
        cost
    }

    pub(super) fn into_written(self: Box<Self>, write: &Write) -> Written {
        let cost = self.cost(&write.table);
        Written { old: self.old, new: self.new, cost }
    }
}

/// One entry of an index that a write touches.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexArm<'a> {
    /// The position of the index in the table's list.
    pub(super) position: usize,
    pub(super) key: &'a [u8],
    pub(super) units: Units,
    pub(super) bytes: usize,
}

impl IndexEdit {
    fn new(
        position: usize,
        delete: Option<Vec<u8>>,
        put: Option<(Vec<u8>, Bytes)>,
        change: IndexChange,
    ) -> Self {
        Self { position, delete, put, change, is_old_counted: true }
    }

    /// The key of the entry before the write, if there is to be one.
    fn old_key(&self) -> Option<&[u8]> {
        match self.change {
            IndexChange::Unchanged | IndexChange::Insert { .. } => None,
            IndexChange::Update { .. } => self.put.as_ref().map(|(key, _)| key.as_slice()),
            IndexChange::Delete { .. } | IndexChange::Move { .. } => self.delete.as_deref(),
        }
    }

    fn arms(&self) -> impl Iterator<Item = IndexArm<'_>> {
        let arm = |key, bytes, paid| {
            let units = write_units(paid);
            IndexArm { position: self.position, key, units, bytes }
        };
        let (old_bytes, new_bytes) = match self.change {
            IndexChange::Unchanged => (0, 0),
            IndexChange::Insert { bytes } => (0, bytes),
            IndexChange::Delete { bytes } => (bytes, 0),
            // Only the put is an edit of the store, and the larger of the two is paid for.
            IndexChange::Update { old_bytes, new_bytes } => (0, old_bytes.max(new_bytes)),
            IndexChange::Move { old_bytes, new_bytes } => (old_bytes, new_bytes),
        };
        // A removed entry is charged and leaves no image.
        let left = self.delete.as_ref().map(|key| arm(key.as_slice(), 0, old_bytes));
        let entered = self.put.as_ref().map(|(key, _)| arm(key.as_slice(), new_bytes, new_bytes));
        left.into_iter().chain(entered)
    }

    /// The change of the index's item count and size.
    fn counted(&self) -> (i64, i64) {
        match self.change {
            IndexChange::Unchanged => (0, 0),
            IndexChange::Insert { bytes } => (1, bytes as i64),
            IndexChange::Delete { .. } if !self.is_old_counted => (0, 0),
            IndexChange::Update { new_bytes, .. } | IndexChange::Move { new_bytes, .. }
                if !self.is_old_counted =>
            {
                (1, new_bytes as i64)
            }
            IndexChange::Delete { bytes } => (-1, -(bytes as i64)),
            IndexChange::Update { old_bytes, new_bytes }
            | IndexChange::Move { old_bytes, new_bytes } => {
                (0, new_bytes as i64 - old_bytes as i64)
            }
        }
    }
}
