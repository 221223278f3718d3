//! Statements of PartiQL that were executed.
//!
//! A statement of a batch is a request of its own; it took as long as the batch, as far as a client can see. The
//! statements of a transaction are one TransactGetItems or TransactWriteItems. A read of several ranges is a request for
//! each of them, unless it is one of several pages, or its rows do not show their keys: then nobody says how much of which
//! range was read, and it is told as one.

use keyloom_api::FromBody;
use keyloom_api::partiql::{
    BatchExecuteStatementInput, ExecuteStatementInput, ExecuteTransactionInput,
};
use keyloom_core::Item;
use keyloom_core::capacity::{ConsumedCapacity, ReadMode, Units};
use keyloom_core::json::{self, Json};
use keyloom_core::observation::{Observation, Operation, Outcome, Question};

use super::account::accounts;
use super::exchange::{Act, Point, State};
use super::look::{Look, account_of, last_index, tables_of};
use super::outcome;
use super::stated::STATEMENTS;
use super::statement::{Meant, Named, RangeRead};
use super::touches::{Drawn, drawn, share};
use crate::retry::Failure;
use crate::wire;

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
            match (one, error) {
                (Some(one), None) => {
                    done.push((one.operation(), one.point(State::answered(row.as_ref()))));
                }
                (Some(one), Some(error)) => failed.push((one, Failure::Refused(error))),
                (None, None) => self.not_understood(),
                (None, Some(error)) => self.refused(STATEMENTS, &Err(Failure::Refused(error))),
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
        let reads = named.first()?.is_read();
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
