//! Statements of PartiQL: each counts as what it comes down to, as on the server.
//!
//! A statement of a batch is a request of its own; it took as long as the batch, as far as a client can see. The
//! statements of a transaction are one TransactGetItems or TransactWriteItems. A read of several ranges is a request for
//! each of them, unless it is one of several pages, or its rows do not show their keys: then nobody says how much of which
//! range was read, and it is told as one.

use std::sync::Arc;

use keyloom_core::Item;
use keyloom_core::capacity::{ConsumedCapacity, ReadMode, Units, read_units};
use keyloom_core::expr::{self, Condition, ResolvedKeyCondition};
use keyloom_core::json::{self, Json};
use keyloom_core::key::encode_key_values;
use keyloom_core::observation::{Observation, Operation, Outcome, Question};
use keyloom_core::partiql::ast::ReturningScope;
use keyloom_core::partiql::{Select, Statement, bind, keys, parse};
use keyloom_core::size::item_size;
use keyloom_engine::{
    BatchExecuteStatementInput, ExecuteStatementInput, ExecuteTransactionInput, FromBody,
    StatementInput,
};

use super::account::accounts;
use super::described::{Described, Spot};
use super::exchange::{Act, Changes, Point, State, mode};
use super::look::{Look, account_of, last_index, tables_of};
use super::outcome;
use super::touches::{Drawn, drawn, share};
use crate::retry::Failure;
use crate::wire;

/// What a statement comes down to.
enum Meant {
    Item(Named),
    Ranges(RangeRead),
}

/// One item that a statement names.
struct Named {
    table: String,
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
    fn operation(&self) -> Operation {
        match self.verb {
            Verb::Get { .. } => Operation::GetItem,
            Verb::Insert => Operation::PutItem,
            Verb::Update(..) | Verb::Check => Operation::UpdateItem,
            Verb::Delete { .. } => Operation::DeleteItem,
        }
    }

    /// The item with the row that the answer has; it is unknown unless the statement was carried out.
    fn point<'a>(&'a self, row: State<'a>) -> Point<'a> {
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
struct RangeRead {
    table: Arc<Described>,
    spot: Spot,
    ranges: Vec<Range>,
    mode: ReadMode,
    is_projected: bool,
    is_forward: bool,
}

struct Range {
    condition: Option<ResolvedKeyCondition>,
    filter: Option<Condition>,
    /// The key, if the range holds at most one item of the table.
    key: Option<Item>,
}

/// What the answer to a single statement says.
#[derive(Default)]
struct Answer {
    items: Vec<Item>,
    accounts: Vec<ConsumedCapacity>,
    has_more: bool,
}

impl Look<'_> {
    /// Tells of a single statement.
    pub(super) fn statement(&self, body: &[u8], sent: &Result<Vec<u8>, Failure>) -> Option<()> {
        let input = ExecuteStatementInput::from_body(body).ok()?;
        let answer = sent.as_ref().map(|body| read(body));
        match self.meant(&input.statement)? {
            Meant::Item(named) => {
                let look = self.of(named.operation());
                match &answer {
                    Ok(answer) => {
                        let row = State::answered(answer.items.first());
                        look.items_done(&[named.point(row)], &answer.accounts);
                    }
                    Err(failure) => look.items_failed(&[named.point(State::Unknown)], failure),
                }
            }
            Meant::Ranges(ranges) => self.ranges(&ranges, &input, answer),
        }
        Some(())
    }

    /// Tells of statements that have nothing to do with each other, each for itself.
    pub(super) fn statements(&self, body: &[u8], sent: &Result<Vec<u8>, Failure>) -> Option<()> {
        let input = BatchExecuteStatementInput::from_body(body).ok()?;
        let named = input.statements.iter().map(|statement| self.named(statement));
        let named: Vec<Option<Named>> = named.collect();
        let body = match sent {
            Ok(body) => body,
            Err(failure) => {
                for one in named.iter().flatten() {
                    self.of(one.operation()).items_failed(&[one.point(State::Unknown)], failure);
                }
                return Some(());
            }
        };
        let rows = wire::items_in_order(body).ok()?;
        let errors = wire::statement_errors(body);
        let (mut done, mut failed) = (Vec::new(), Vec::new());
        for ((one, row), error) in named.iter().zip(&rows).zip(errors) {
            let Some(one) = one else { continue };
            match error {
                None => done.push((one.operation(), one.point(State::answered(row.as_ref())))),
                Some(error) => failed.push((one, Failure::Refused(error))),
            }
        }
        let accounts = accounts(body);
        self.statements_done(done, &accounts);
        self.statements_failed(&failed, &accounts);
        Some(())
    }

    fn statements_done(&self, done: Vec<(Operation, Point<'_>)>, accounts: &[ConsumedCapacity]) {
        let (operations, points): (Vec<Operation>, Vec<Point<'_>>) = done.into_iter().unzip();
        for name in tables_of(&points) {
            let mine = operations.iter().zip(&points).filter(|(_, point)| point.table == name);
            let (operations, mine): (Vec<&Operation>, Vec<&Point<'_>>) = mine.unzip();
            let account = account_of(name, accounts);
            let table = self.described(name, last_index(account));
            let mut each = match &table {
                Some(table) => drawn(&mine, table, account, false),
                None => Vec::new(),
            }
            .into_iter();
            for (operation, point) in operations.into_iter().zip(mine) {
                let expired = table.as_ref().map_or(0, |table| table.expired(point.after.item()));
                self.of(*operation).item_done(point, &each.next().unwrap_or_default(), expired);
            }
        }
    }

    /// What failed is paid for, too: the account of a table has one sum for all of it.
    fn statements_failed(&self, failed: &[(&Named, Failure)], accounts: &[ConsumedCapacity]) {
        let mut told = Vec::new();
        for (one, failure) in failed {
            let point = one.point(State::Unknown);
            let table = self.described(point.table, None);
            let mut touched = [table.map(|table| Drawn::of(&point, &table, false))];
            if let Some(refused) = outcome::of(failure, &mut touched) {
                let [touched] = touched;
                told.push((*one, refused.outcome, touched));
            }
        }
        for account in accounts.iter().filter(|account| !account.unattributed.is_zero()) {
            let paid = told.iter_mut().filter(|(one, outcome, _)| {
                let is_own = account_of(&one.table, std::slice::from_ref(account)).is_some();
                is_own && *outcome == Outcome::ConditionFailed
            });
            share(account.unattributed, paid.filter_map(|(_, _, touched)| touched.as_mut()));
        }
        for (one, outcome, touched) in told {
            let look = self.of(one.operation());
            let observation = look.of_points(outcome, &[&one.point(State::Unknown)]);
            look.tell(touched.as_slice(), observation);
        }
    }

    /// Tells of statements that are all done or none: one request.
    pub(super) fn transaction(&self, body: &[u8], sent: &Result<Vec<u8>, Failure>) -> Option<()> {
        let input = ExecuteTransactionInput::from_body(body).ok()?;
        let named: Vec<Named> = input
            .statements
            .iter()
            .map(|statement| self.named(statement))
            .collect::<Option<_>>()?;
        let reads = matches!(named.first()?.verb, Verb::Get { .. });
        let kind = if reads { Operation::TransactGetItems } else { Operation::TransactWriteItems };
        let rows = sent.as_ref().map(|body| wire::items_in_order(body).unwrap_or_default());
        let points = named.iter().enumerate().map(|(position, one)| {
            let row = match &rows {
                Ok(rows) => State::answered(rows.get(position).and_then(Option::as_ref)),
                Err(_) => State::Unknown,
            };
            in_transaction(one.point(row))
        });
        let points: Vec<Point<'_>> = points.collect();
        match sent {
            Ok(body) => self.of(kind).items_done(&points, &accounts(body)),
            Err(failure) => self.of(kind).items_failed(&points, failure),
        }
        Some(())
    }

    /// The one item of a statement, if that is what it is about.
    fn named(&self, input: &StatementInput) -> Option<Named> {
        match self.meant(input)? {
            Meant::Item(named) => Some(named),
            Meant::Ranges(_) => None,
        }
    }

    /// What a statement comes down to; none if the endpoint refuses it, or does not describe what it needs.
    fn meant(&self, input: &StatementInput) -> Option<Meant> {
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

    fn ranges(
        &self,
        read: &RangeRead,
        input: &ExecuteStatementInput,
        answer: Result<Answer, &Failure>,
    ) {
        let (outcome, answer) = match answer {
            Ok(answer) => (Outcome::Done, answer),
            Err(failure) => match outcome::of(failure, &mut []) {
                Some(refused) => (refused.outcome, Answer::default()),
                None => return,
            },
        };
        let is_done = outcome == Outcome::Done;
        let is_page = input.next_token.is_some() || answer.has_more;
        let rows = if is_done && !is_page { read.rows(&answer.items) } else { None };
        let apart = rows.unwrap_or_else(|| vec![answer.items.iter().collect()]);
        let is_apart = apart.len() == read.ranges.len();
        let mut drawn = read.drawn(&apart);
        let stated = answer.accounts.first().map(|account| account.total().total);
        if let Some(total) = stated.or((!is_done).then_some(Units::ZERO)) {
            share(total, drawn.iter_mut().flatten());
        }
        for ((range, rows), touched) in read.ranges.iter().zip(&apart).zip(&drawn) {
            let question = Question {
                place: read.table.place(read.spot),
                condition: range.condition.as_ref(),
                filter: range.filter.as_ref(),
                limit: input.limit,
                is_forward: read.is_forward,
                is_continued: input.next_token.is_some(),
                has_more: answer.has_more,
                // Rows that a filter threw away are not counted by these answers.
                scanned: rows.len(),
            };
            let operation = match (&range.key, &range.condition) {
                (Some(_), _) if is_apart => Operation::GetItem,
                (_, Some(_)) => Operation::Query,
                (_, None) => Operation::Scan,
            };
            let look = self.of(operation);
            let observation = Observation {
                question: (operation != Operation::GetItem).then_some(question),
                returned: rows.len(),
                expired: read.table.expired(rows.iter().copied()),
                is_projected: read.is_projected,
                is_consistent: read.mode == ReadMode::Strong,
                ..look.observation(outcome)
            };
            look.tell(touched, observation);
        }
    }
}

/// The same as a part of a transaction.
fn in_transaction(point: Point<'_>) -> Point<'_> {
    match point.act {
        Act::Read(_) => Point { act: Act::Read(ReadMode::Transactional), ..point },
        _ => point,
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
    fn rows<'i>(&self, items: &'i [Item]) -> Option<Vec<Vec<&'i Item>>> {
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
    fn drawn(&self, apart: &[Vec<&Item>]) -> Vec<Vec<Drawn>> {
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

/// `Items`, and whether more follow.
fn read(body: &[u8]) -> Answer {
    let Ok(Json::Object(object)) = json::parse(body) else { return Answer::default() };
    let items = match object.get("Items") {
        Some(Json::Array(items)) => items.as_slice(),
        _ => &[],
    };
    Answer {
        items: items.iter().filter_map(|item| json::item_from(item).ok()).collect(),
        accounts: accounts(body),
        has_more: object.get("NextToken").is_some(),
    }
}
