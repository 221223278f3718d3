//! Statements of PartiQL: what each comes down to, which is what it counts as on the server, too.

use std::sync::Arc;

use keyloom_api::partiql::StatementInput;
use keyloom_core::Item;
use keyloom_core::capacity::{ReadMode, read_units};
use keyloom_core::expr::{self, Condition, ResolvedKeyCondition};
use keyloom_core::key::encode_key_values;
use keyloom_core::observation::Operation;
use keyloom_core::partiql::ast::ReturningScope;
use keyloom_core::partiql::{Select, Statement, bind, keys, parse};
use keyloom_core::size::item_size;

use super::described::{Described, Spot};
use super::exchange::{Changes, Point, State, mode};
use super::look::Look;
use super::touches::Drawn;

/// What a statement comes down to.
pub(super) enum Meant {
    Item(Named),
    Ranges(RangeRead),
}

/// One item that a statement names.
pub(super) struct Named {
    pub(super) table: String,
    /// Its key; of an insert the whole item; nothing if the table is not described.
    key: Item,
    verb: Verb,
}

/// What a statement does with its item.
enum Verb {
    Get {
        mode: ReadMode,
        is_projected: bool,
    },
    Insert,
    Update(expr::Update, Option<ReturningScope>),
    Delete {
        returns_old: bool,
    },
    /// `EXISTS`, in transactions only.
    Check,
}

impl Named {
    /// Whether it reads; in a transaction all do, or none.
    pub(super) fn is_read(&self) -> bool {
        matches!(self.verb, Verb::Get { .. })
    }

    pub(super) fn operation(&self) -> Operation {
        match self.verb {
            Verb::Get { .. } => Operation::GetItem,
            Verb::Insert => Operation::PutItem,
            Verb::Update(..) | Verb::Check => Operation::UpdateItem,
            Verb::Delete { .. } => Operation::DeleteItem,
        }
    }

    /// The item with the row that the answer has; it is unknown unless the statement was carried out.
    pub(super) fn point<'a>(&'a self, row: State<'a>) -> Point<'a> {
        let (table, key) = (self.table.as_str(), &self.key);
        match &self.verb {
            Verb::Get { mode, is_projected } => {
                Point { is_projected: *is_projected, ..Point::read(table, key, *mode, row) }
            }
            Verb::Insert => {
                // An insert that is carried out met nothing.
                let before = if row.is_known() { State::Absent } else { State::Unknown };
                Point { before, ..Point::put(table, key) }
            }
            Verb::Update(update, returning) => {
                let point = Point::update(table, key, Changes::Bound(update));
                match returning {
                    Some(ReturningScope::AllOld) => Point { before: row, ..point },
                    Some(ReturningScope::AllNew) => Point { after: row, ..point },
                    _ => point,
                }
            }
            Verb::Delete { returns_old: true } => {
                Point { before: row, ..Point::delete(table, key) }
            }
            Verb::Delete { .. } => Point::delete(table, key),
            Verb::Check => Point::check(table, key),
        }
    }
}

/// A read of ranges, or of everything if it is one without a condition.
pub(super) struct RangeRead {
    pub(super) table: Arc<Described>,
    pub(super) spot: Spot,
    pub(super) ranges: Vec<Range>,
    pub(super) mode: ReadMode,
    pub(super) is_projected: bool,
    pub(super) is_forward: bool,
}

pub(super) struct Range {
    pub(super) condition: Option<ResolvedKeyCondition>,
    pub(super) filter: Option<Condition>,
    /// The key, if the range holds at most one item of the table.
    pub(super) key: Option<Item>,
}

impl Look<'_> {
    /// The one item of a statement, if that is what it is about.
    pub(super) fn named(&self, input: &StatementInput) -> Option<Named> {
        match self.meant(input)? {
            Meant::Item(named) => Some(named),
            Meant::Ranges(_) => None,
        }
    }

    /// What a statement comes down to; none if the endpoint refuses it, or does not describe what it needs.
    pub(super) fn meant(&self, input: &StatementInput) -> Option<Meant> {
        let bound = bind(&parse(&input.statement).ok()?, input.parameters.clone()).ok()?;
        let item = |table: &str, condition: Option<Condition>, verb| {
            let key = match self.described(table, None) {
                Some(described) => keys::one_item(condition, &described.schema.key)?.key,
                None => Item::new(),
            };
            Some(Meant::Item(Named { table: table.to_owned(), key, verb }))
        };
        match bound {
            Statement::Insert(insert) => {
                let table = insert.table.to_string();
                Some(Meant::Item(Named { table, key: insert.item, verb: Verb::Insert }))
            }
            Statement::Update(update) => {
                let verb = Verb::Update(update.update, update.returning);
                item(&update.table, update.condition, verb)
            }
            Statement::Delete(delete) => {
                let verb = Verb::Delete { returns_old: delete.returning };
                item(&delete.table, delete.condition, verb)
            }
            Statement::Exists(select) => item(&select.table, select.condition, Verb::Check),
            Statement::Select(select) => self.selected(select, mode(input.consistent_read)),
        }
    }

    fn selected(&self, select: Select, mode: ReadMode) -> Option<Meant> {
        let table = self.described(&select.table, select.index.as_deref())?;
        let spot = table.spot(select.index.as_deref())?;
        let is_projected = select.columns.is_some();
        let mut ranges = ranges_of(&select, &table, spot)?;
        if let [Range { key: key @ Some(_), .. }] = ranges.as_mut_slice() {
            let (table, key) = (select.table.to_string(), key.take()?);
            return Some(Meant::Item(Named { table, key, verb: Verb::Get { mode, is_projected } }));
        }
        let sort_key = table.place(spot).key.range.first();
        let falls =
            select.order.iter().find(|(name, _)| Some(name) == sort_key.map(|key| &key.name));
        // As the server: an order without the sort key reads it backwards.
        let is_forward = !falls.map_or(!select.order.is_empty(), |(_, falls)| *falls);
        Some(Meant::Ranges(RangeRead { table, spot, ranges, mode, is_projected, is_forward }))
    }
}

/// The ranges that a read is made of; one without a condition if it may be about any partition.
fn ranges_of(select: &Select, table: &Described, spot: Spot) -> Option<Vec<Range>> {
    let key = table.place(spot).key;
    let Some(reads) = keys::reads(select.condition.as_ref(), key).ok()? else {
        return Some(vec![Range { condition: None, filter: select.condition.clone(), key: None }]);
    };
    let reads_whole = keys::read_whole_partitions(&reads, key);
    let mut ranges: Vec<Range> = Vec::with_capacity(reads.len());
    for read in &reads {
        let mut condition = read.key_condition();
        if reads_whole {
            (condition.range_prefix, condition.range) = (Vec::new(), None);
        }
        let is_filtered = reads_whole || !read.filters.is_empty();
        let filter = select.condition.clone().filter(|_| is_filtered);
        let named = keys_of(&condition, table).filter(|_| spot == Spot::Table && !reads_whole);
        let is_new = |known: &Range| known.condition.as_ref() != Some(&condition);
        if ranges.iter().all(is_new) {
            ranges.push(Range { condition: Some(condition), filter, key: named });
        }
    }
    Some(ranges)
}

/// The whole primary key, if a condition names it.
fn keys_of(condition: &ResolvedKeyCondition, table: &Described) -> Option<Item> {
    let key = &table.schema.key;
    let values = condition.hash.iter().chain(&condition.range_prefix);
    let named = key.attributes().map(|attribute| attribute.name.clone()).zip(values.cloned());
    Some(named.collect::<Item>()).filter(|named| named.len() == key.len())
}

impl RangeRead {
    /// The rows of each range; none if one of them may be in several, or in none.
    pub(super) fn rows<'i>(&self, items: &'i [Item]) -> Option<Vec<Vec<&'i Item>>> {
        let mut apart: Vec<Vec<&Item>> = self.ranges.iter().map(|_| Vec::new()).collect();
        for item in items {
            let mut owners = apart.iter_mut().zip(&self.ranges).filter(|(_, range)| {
                range.condition.as_ref().is_none_or(|condition| self.names(condition, item))
            });
            let (rows, _) = owners.next()?;
            if owners.next().is_some() {
                return None;
            }
            rows.push(item);
        }
        Some(apart)
    }

    /// Whether a condition has the values of an item's key, as far as it has values.
    fn names(&self, condition: &ResolvedKeyCondition, item: &Item) -> bool {
        let key = self.table.place(self.spot).key;
        let hash = key.hash.iter().zip(&condition.hash);
        let range = key.range.iter().zip(&condition.range_prefix);
        hash.chain(range).all(|(attribute, value)| item.get(&attribute.name) == Some(value))
    }

    /// What each range touched, or all of them together if their rows are; at the price that the rows have.
    pub(super) fn drawn(&self, apart: &[Vec<&Item>]) -> Vec<Vec<Drawn>> {
        let touches = self.ranges.iter().map(|range| {
            let condition = range.condition.as_ref();
            let hash = condition.map_or(&[][..], |condition| &condition.hash);
            let sort = condition.map_or(&[][..], |condition| &condition.range_prefix);
            let sort = if range.key.is_some() { sort } else { &[] };
            let [partition, sort] =
                [hash, sort].map(|values| encode_key_values(values).unwrap_or_default());
            Drawn { sort, ..Drawn::range(&self.table, self.spot, partition) }
        });
        let mut drawn: Vec<Vec<Drawn>> = if apart.len() == self.ranges.len() {
            touches.map(|one| vec![one]).collect()
        } else {
            vec![touches.collect()]
        };
        for (touched, rows) in drawn.iter_mut().zip(apart) {
            let bytes = rows.iter().map(|item| item_size(item)).sum();
            if let Some(first) = touched.first_mut() {
                (first.bytes, first.units) = (bytes, read_units(bytes, self.mode));
            }
        }
        drawn
    }
}
