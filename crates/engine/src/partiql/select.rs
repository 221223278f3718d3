//! Plans SELECT: from a statement to the key ranges to read.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use keyloom_core::capacity::ReadMode;
use keyloom_core::error::message::{partiql as message, vector};
use keyloom_core::error::request;
use keyloom_core::expr::{Condition, ResolvedKeyCondition};
use keyloom_core::partiql::keys::{self, KeyRead};
use keyloom_core::partiql::{Column, Select};
use keyloom_core::schema::KeySchema;
use keyloom_core::{Item, Result, Str};
use keyloom_store::{Bytes, Direction, KeyRange};

use crate::catalog::record::Status;
use crate::catalog::{Index, Table};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::ops::queries::page::is_global;
use crate::read;

/// A read that is ready to be run.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) table: Arc<Table>,
    /// The table as the statement calls it.
    pub(crate) table_name: Str,
    /// The position of the index that is read.
    pub(crate) index: Option<usize>,
    /// The ranges, none of which overlap, in the order in which they are read.
    pub(crate) ranges: Vec<ReadRange>,
    pub(crate) direction: Direction,
    pub(crate) columns: Option<Vec<Column>>,
    pub(crate) fetch_base: bool,
    pub(crate) mode: ReadMode,
}

/// One range of a read.
#[derive(Debug)]
pub(crate) struct ReadRange {
    pub(crate) range: KeyRange,
    pub(crate) filter: Option<Condition>,
    /// The store key, if the range holds at most one item of the table.
    pub(crate) item_key: Option<Vec<u8>>,
    /// The partition and the range in it, if it is one partition.
    pub(crate) condition: Option<ResolvedKeyCondition>,
}

impl Reading {
    pub(crate) fn plan(database: &Inner, select: Select, consistent: bool) -> Result<Self> {
        let Select { table: table_name, index, columns, condition, order } = select;
        let table = database.catalog.table(&table_name)?;
        let index = index.map(|name| index_position(&table, &name)).transpose()?;
        let entry = index.and_then(|position| table.indexes.get(position));
        if consistent && entry.is_some_and(is_global) {
            return Err(message::consistent_read_on_global_index());
        }
        let fetch_base = fetches_base(&table, entry, columns.as_deref())?;
        let key = entry.map_or(table.key(), |index| &index.schema.key);
        check_key_paths(key, condition.as_ref(), columns.as_deref())?;
        if !order.is_empty() && condition.is_none() {
            return Err(message::order_without_where());
        }
        if let Some((name, _)) = order.iter().find(|(name, _)| !key.contains(name)) {
            return Err(message::order_by_other(name));
        }
        let reads = keys::reads(condition.as_ref(), key)?;
        let keyspace = entry.map_or(table.record.keyspace, |index| index.keyspace);
        let order = ReadOrder::of(&order, key);
        let ranges = match reads {
            None if order.is_explicit => return Err(message::order_without_hash()),
            None => vec![ReadRange {
                range: KeyRange::prefix(&layout::entries(keyspace)),
                filter: condition,
                item_key: None,
                condition: None,
            }],
            Some(reads) => {
                check_reads(&reads, key, entry, &table)?;
                order.check(&reads)?;
                key_ranges(&reads, key, keyspace, index.is_none(), &order, condition.as_ref())?
            }
        };
        let mode = if consistent { ReadMode::Strong } else { ReadMode::Eventual };
        let direction = order.direction;
        Ok(Self { table, table_name, index, ranges, direction, columns, fetch_base, mode })
    }
}

fn index_position(table: &Table, name: &str) -> Result<usize> {
    if table.vector_index(name).is_some() {
        return Err(vector::scan_not_supported());
    }
    let position = table.index_position(name).ok_or_else(message::index_not_found)?;
    match table.indexes.get(position) {
        Some(index) if index.status == Status::Creating => Err(request::index_backfilling(name)),
        _ => Ok(position),
    }
}

/// Whether base items must be read for columns that an index does not hold.
fn fetches_base(table: &Table, index: Option<&Index>, columns: Option<&[Column]>) -> Result<bool> {
    let (Some(index), Some(columns)) = (index, columns) else { return Ok(false) };
    let attributes = columns.iter().map(|column| column.path.attribute.as_str());
    let missing: Vec<String> = attributes
        .filter(|name| !table.schema.projects(&index.schema, name))
        .map(str::to_owned)
        .collect();
    if is_global(index) && !missing.is_empty() {
        return Err(request::attributes_not_projected(&index.schema.name, &missing));
    }
    Ok(!missing.is_empty())
}

/// No path may go inside an attribute of the key that is read.
fn check_key_paths(
    key: &KeySchema,
    condition: Option<&Condition>,
    columns: Option<&[Column]>,
) -> Result<()> {
    let filtered = condition.map(Condition::paths).unwrap_or_default();
    let shown = columns.unwrap_or_default().iter().map(|column| &column.path);
    let nested = |path: &&_| -> bool {
        let path: &keyloom_core::expr::Path = path;
        path.is_nested() && key.contains(&path.attribute)
    };
    match filtered.into_iter().chain(shown).find(nested) {
        Some(path) => Err(message::key_nested(&path.attribute)),
        None => Ok(()),
    }
}

/// What the values of the key, and the filters beside it, must be.
fn check_reads(
    reads: &[KeyRead<'_>],
    key: &KeySchema,
    index: Option<&Index>,
    table: &Table,
) -> Result<()> {
    for read in reads {
        read.check_types(key)?;
        for attribute in &key.hash {
            key.check_value(&attribute.name, &read.hash)?;
        }
        for attribute in &key.range {
            for value in read.range.iter().flat_map(|operator| operator.values()) {
                key.check_value(&attribute.name, value)?;
            }
        }
    }
    let Some(index) = index else { return Ok(()) };
    let projected = |name: &str| table.schema.projects(&index.schema, name);
    match keys::unprojected_filters(reads, projected) {
        Some(names) => {
            let names: Vec<&str> = names.iter().map(Str::as_str).collect();
            Err(message::filter_not_projected(&index.schema.name, &names))
        }
        None => Ok(()),
    }
}

/// The sort order of a statement.
struct ReadOrder {
    is_explicit: bool,
    names_hash: bool,
    hash_falls: bool,
    direction: Direction,
}

impl ReadOrder {
    fn of(order: &[(Str, bool)], key: &KeySchema) -> Self {
        let falls = |attributes: &[keyloom_core::KeyAttribute]| {
            let name = &attributes.first()?.name;
            order.iter().find(|(ordered, _)| ordered == name).map(|(_, falls)| *falls)
        };
        // AWS reads the sort key backwards if there is an order and the sort key is not in it.
        let sort_falls = falls(&key.range).unwrap_or(!order.is_empty());
        Self {
            is_explicit: !order.is_empty(),
            names_hash: falls(&key.hash).is_some(),
            hash_falls: falls(&key.hash).unwrap_or(false),
            direction: if sort_falls { Direction::Backward } else { Direction::Forward },
        }
    }

    fn check(&self, reads: &[KeyRead<'_>]) -> Result<()> {
        let several = reads.iter().any(|read| Some(&read.hash) != reads.first().map(|r| &r.hash));
        if self.is_explicit && !self.names_hash && several {
            return Err(message::order_over_partitions());
        }
        Ok(())
    }
}

/// A range with the partition it lies in.
struct Located {
    partition: Vec<u8>,
    read: ReadRange,
}

fn key_ranges(
    reads: &[KeyRead<'_>],
    key: &KeySchema,
    keyspace: Keyspace,
    is_table: bool,
    order: &ReadOrder,
    condition: Option<&Condition>,
) -> Result<Vec<ReadRange>> {
    let whole = keys::read_whole_partitions(reads, key);
    let mut located = Vec::with_capacity(reads.len());
    for read in reads {
        let partition = layout::partition(keyspace, [&read.hash])?;
        let mut range = KeyRange::prefix(&partition);
        let is_item = is_table && (key.range.is_empty() || read.sort_value().is_some());
        let mut item_key = is_item.then(|| partition.clone());
        if !whole {
            for operator in &read.range {
                let clause = ResolvedKeyCondition {
                    hash: vec![read.hash.clone()],
                    range_prefix: Vec::new(),
                    range: Some(operator.clone()),
                };
                range = intersection(range, read::of_key_condition(keyspace, &clause)?);
            }
        }
        if let (Some(item_key), Some(sort)) = (&mut item_key, read.sort_value()) {
            keyloom_core::key::encode_key_value(sort, item_key)?;
        }
        let is_filtered = whole || !read.filters.is_empty();
        let filter = condition.filter(|_| is_filtered).cloned();
        let item_key = item_key.filter(|_| !whole);
        let mut condition = read.key_condition();
        if whole {
            (condition.range_prefix, condition.range) = (Vec::new(), None);
        }
        let condition = Some(condition);
        located.push(Located { partition, read: ReadRange { range, filter, item_key, condition } });
    }
    if whole {
        located.sort_by(|a, b| a.partition.cmp(&b.partition));
        located.dedup_by(|a, b| a.partition == b.partition);
    }
    sort_ranges(&mut located, order);
    check_overlap(&located)?;
    Ok(located.into_iter().map(|located| located.read).collect())
}

fn sort_ranges(located: &mut [Located], order: &ReadOrder) {
    located.sort_by(|a, b| {
        let by_partition = a.partition.cmp(&b.partition);
        let by_range = lower(&a.read.range).cmp(lower(&b.read.range));
        let reversed = |ordering: Ordering, falls: bool| {
            if falls { ordering.reverse() } else { ordering }
        };
        reversed(by_partition, order.hash_falls)
            .then(reversed(by_range, order.direction == Direction::Backward))
    });
}

/// Neighbours in order are the only ranges that can overlap.
fn check_overlap(located: &[Located]) -> Result<()> {
    let ranges: Vec<&KeyRange> = located
        .iter()
        .map(|located| &located.read.range)
        .filter(|range| !range.is_empty())
        .collect();
    let overlaps = ranges.windows(2).any(|pair| match pair {
        [one, two] => !intersection((*one).clone(), (*two).clone()).is_empty(),
        _ => false,
    });
    if overlaps { Err(message::overlapping_ranges()) } else { Ok(()) }
}

fn lower(range: &KeyRange) -> &[u8] {
    match &range.lower {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}

/// The keys that lie in both ranges.
fn intersection(a: KeyRange, b: KeyRange) -> KeyRange {
    let tighter = |a: Bound<Bytes>, b: Bound<Bytes>, wanted: Ordering| match (&a, &b) {
        (Bound::Unbounded, _) => b,
        (_, Bound::Unbounded) => a,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            match x.cmp(y) {
                Ordering::Equal if matches!(a, Bound::Excluded(_)) => a,
                Ordering::Equal => b,
                ordering if ordering == wanted => a,
                _ => b,
            }
        }
    };
    KeyRange {
        lower: tighter(a.lower, b.lower, Ordering::Greater),
        upper: tighter(a.upper, b.upper, Ordering::Less),
    }
}

/// What a read of a batch or transaction comes down to: one item.
#[derive(Debug)]
pub(crate) struct ItemRead {
    pub(crate) table: Arc<Table>,
    pub(crate) table_name: Str,
    pub(crate) key: Item,
    pub(crate) columns: Option<Vec<Column>>,
}

impl ItemRead {
    /// The one item of the table that a statement reads, without any other condition; none if it is not
    /// such a statement. The key may still be of the wrong types.
    pub(crate) fn plan(table: Arc<Table>, select: Select) -> Result<Option<Self>> {
        let key = table.key();
        let reads = keys::reads(select.condition.as_ref(), key)?;
        let Some(reads) = reads.filter(|_| select.index.is_none()) else { return Ok(None) };
        if reads.len() > 1 {
            let forward = ReadOrder::of(&[], key);
            key_ranges(&reads, key, table.record.keyspace, true, &forward, None)?;
        }
        let [KeyRead { hash, filters, .. }] = reads.as_slice() else { return Ok(None) };
        let sort = reads.first().and_then(KeyRead::sort_value);
        if !filters.is_empty() || key.range.is_empty() != sort.is_none() {
            return Ok(None);
        }
        let mut item_key = Item::new();
        let values = std::iter::once(hash).chain(sort);
        for (attribute, value) in key.attributes().zip(values) {
            item_key.insert(attribute.name.clone(), value.clone());
        }
        let Select { table: table_name, columns, .. } = select;
        Ok(Some(Self { table, table_name, key: item_key, columns }))
    }
}
