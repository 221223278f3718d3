//! One request that is looked at: its keys, its price and its end, put together and told.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use keyloom_core::capacity::{ConsumedCapacity, Units};
use keyloom_core::observation::{Observation, Operation, Outcome};
use keyloom_core::{Item, Str};
use keyloom_engine::{Clock, SystemClock};

use super::Watch;
use super::described::{Described, Spot, table_of};
use super::entries;
use super::exchange::{Asked, Exchange, Page, Point, is_projected};
use super::leftover::{Filled, room_of};
use super::outcome;
use super::page::{self, Understood};
use super::touches::{Drawn, drawn};
use crate::backend::Earlier;
use crate::remote::Remote;
use crate::retry::{self, Failure};

/// One request that is looked at, after it was made.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    remote: &'a Remote,
    watch: &'a Watch,
    operation: Operation,
    weight: NonZeroU32,
    latency: Duration,
    /// Whether the endpoint can be reached: if not, it is not asked for tables, either.
    is_reachable: bool,
    /// What an earlier request of the batch was refused: tables and keys, or whole items of puts.
    refused_before: &'a [(&'a str, &'a Item)],
}

impl<'a> Look<'a> {
    pub(super) fn new(
        remote: &'a Remote,
        watch: &'a Watch,
        operation: Operation,
        weight: NonZeroU32,
        latency: Duration,
        sent: &Result<Vec<u8>, Failure>,
    ) -> Self {
        let is_reachable = !matches!(sent, Err(Failure::NotSent(_)));
        Self { remote, watch, operation, weight, latency, is_reachable, refused_before: &[] }
    }

    /// The same, of a batch that goes on with what an earlier request was refused.
    pub(super) fn after(self, refused_before: &'a [(&'a str, &'a Item)]) -> Self {
        Self { refused_before, ..self }
    }

    /// The same, as another operation.
    pub(super) fn of(&self, operation: Operation) -> Self {
        Self { operation, ..*self }
    }

    /// Tells of a request by its answer and what that says of its price, or by its failure.
    pub(super) fn told<R: Exchange>(
        &self,
        input: &R,
        answer: Result<(&R::Answer, &[ConsumedCapacity]), &Failure>,
    ) {
        let asked = input.asked(answer.ok().map(|(answer, _)| answer));
        match (asked, answer) {
            (Asked::Items(points), Ok((_, accounts))) => self.items_done(&points, accounts),
            (Asked::Items(points), Err(failure)) => self.items_failed(&points, failure),
            (Asked::Page(page), Ok((_, accounts))) => {
                self.page(&page, Outcome::Done, accounts.first());
            }
            (Asked::Page(page), Err(failure)) => {
                if let Some(refused) = outcome::of(failure, &mut []) {
                    self.page(&page, refused.outcome, None);
                }
            }
        }
    }

    /// Counts a request that was carried out, and of which nothing else is known.
    pub(super) fn not_understood(&self) {
        self.tell(&[], self.observation(Outcome::Done));
    }

    /// Tells of a refusal that touched keys, though nobody can say which.
    pub(super) fn refused(&self, operation: &str, sent: &Result<Vec<u8>, Failure>) {
        self.watch.refused(operation, sent);
    }

    pub(super) fn tell(&self, drawn: &[Drawn], observation: Observation<'_>) {
        let touches: Vec<_> = drawn.iter().map(Drawn::touch).collect();
        self.watch.observer.observe(&Observation { touches: &touches, ..observation });
    }

    /// This request, without its keys.
    pub(super) fn observation<'q>(&self, outcome: Outcome) -> Observation<'q> {
        Observation {
            latency: self.latency,
            is_retry: retry::is_repeated(),
            ..Observation::new(self.operation, outcome, SystemClock.now_ms(), self.weight)
        }
    }

    /// This request, as far as it is about these items.
    pub(super) fn of_points<'q>(&self, outcome: Outcome, points: &[&Point<'_>]) -> Observation<'q> {
        let found = points.iter().filter(|point| point.after.item().is_some()).count();
        let is_found = outcome == Outcome::Done && !self.operation.is_write();
        let bare = self.observation(outcome);
        Observation {
            returned: if is_found { found } else { 0 },
            is_projected: points.iter().any(|point| point.is_projected),
            is_consistent: points.iter().any(|point| point.is_consistent()),
            is_retry: bare.is_retry || points.iter().any(|point| self.was_refused_before(point)),
            ..bare
        }
    }

    pub(super) fn described(&self, name: &str, index: Option<&str>) -> Option<Arc<Described>> {
        if !self.is_reachable {
            return self.watch.tables.known(name);
        }
        self.remote.described(self.watch, name, index)
    }

    fn is_transaction(&self) -> bool {
        self.operation == Operation::TransactWriteItems
    }

    pub(super) fn items_done(&self, points: &[Point<'_>], accounts: &[ConsumedCapacity]) {
        let (mut all, mut all_expired) = (Vec::new(), 0);
        for name in tables_of(points) {
            let mine = points.iter().filter(|point| point.table == name && !point.is_left);
            let mine: Vec<&Point<'_>> = mine.collect();
            if mine.is_empty() {
                continue;
            }
            let account = account_of(name, accounts);
            // Without its description the table's part counts, and none of its keys.
            let table = self.described(name, last_index(account));
            let touched =
                table.as_ref().map(|table| drawn(&mine, table, account, self.is_transaction()));
            let mut touched: Vec<Drawn> = touched.into_iter().flatten().flatten().collect();
            let expired = match &table {
                Some(table) if !self.operation.is_write() => {
                    table.expired(mine.iter().filter_map(|point| point.after.item()))
                }
                _ => 0,
            };
            // The engine tells of each table's part of a BatchGetItem by itself.
            if self.operation == Operation::BatchGetItem {
                let part = self.of_points(Outcome::Done, &mine);
                self.tell(&touched, Observation { expired, ..part });
            } else {
                all.append(&mut touched);
                all_expired += expired;
            }
        }
        let done: Vec<&Point<'_>> = points.iter().filter(|point| !point.is_left).collect();
        if self.operation != Operation::BatchGetItem && !done.is_empty() {
            let whole = self.of_points(Outcome::Done, &done);
            self.tell(&all, Observation { expired: all_expired, ..whole });
        }
        self.left(points);
    }

    /// Tells of a request for one item, which touched these keys.
    pub(super) fn item_done(&self, point: &Point<'_>, touched: &[Drawn], expired: usize) {
        let expired = if self.operation.is_write() { 0 } else { expired };
        let whole = self.of_points(Outcome::Done, &[point]);
        self.tell(touched, Observation { expired, ..whole });
    }

    /// Tells of what was refused and left for another request, each item for itself.
    fn left(&self, points: &[Point<'_>]) {
        if points.iter().all(|point| !point.is_left) {
            return;
        }
        let is_write = self.operation.is_write();
        let filled = if is_write { Filled::default() } else { self.filled(points) };
        for point in points.iter().filter(|point| point.is_left) {
            let Some(table) = self.described(point.table, None) else { continue };
            let mut one = Drawn::of(point, &table, false);
            if !is_write {
                if !filled.has_room(point.table, point.key, &table) {
                    continue;
                }
                one.units = Units::ZERO;
            }
            one.bytes = 0;
            let outcome = Outcome::Throttled(outcome::unstated(is_write), 0);
            self.tell(&[one], self.of_points(outcome, &[point]));
        }
    }

    /// What the answer to a batch of reads has of these items.
    fn filled<'p>(&self, points: &[Point<'p>]) -> Filled<'p> {
        let found = points.iter().filter_map(|point| {
            // A projection may have left out the key, which the request has.
            Some((point.table, point.key, room_of(point.after.item()?, point.is_projected)))
        });
        Filled::with(found, |name| self.described(name, None))
    }

    /// What an earlier request of the batch was refused, rather than having no room for it.
    pub(super) fn refused_of<'e>(&self, earlier: Earlier<'e>) -> Vec<(&'e str, &'e Item)> {
        let Earlier { left, found } = earlier;
        if left.is_empty() || self.operation.is_write() {
            return left.to_vec();
        }
        // The client's own batches project nothing.
        let found = found.iter().map(|(table, item)| (table.as_str(), item, room_of(item, false)));
        let filled = Filled::with(found, |name| self.described(name, None));
        let is_refused = |(name, key): &(&'e str, &'e Item)| {
            let table = self.described(name, None);
            table.is_none_or(|table| filled.has_room(name, key, &table))
        };
        left.iter().copied().filter(is_refused).collect()
    }

    fn was_refused_before(&self, point: &Point<'_>) -> bool {
        self.refused_before.contains(&(point.table, point.key))
    }

    fn page(&self, page: &Page<'_>, outcome: Outcome, account: Option<&ConsumedCapacity>) {
        let read = page.read;
        let table = self.described(&read.table_name, read.index_name.as_deref());
        let understood = table.and_then(|table| Understood::new(page, table));
        let understood = understood.as_ref();
        let observation = Observation {
            question: understood.map(Understood::question),
            returned: page::returned(page),
            expired: understood.map_or(0, Understood::expired),
            is_projected: is_projected(&read.projection),
            is_consistent: read.consistent_read,
            ..self.observation(outcome)
        };
        // What is not understood counts as a request, and nothing more.
        let touched = understood.map(|page| page.drawn(account)).unwrap_or_default();
        self.tell(&touched, observation);
    }

    pub(super) fn items_failed(&self, points: &[Point<'_>], failure: &Failure) {
        if matches!(failure, Failure::Refused(error) if !Outcome::is_told_of(error)) {
            // Told as an error of the request.
            return;
        }
        let touched = points.iter().map(|point| {
            let table = self.described(point.table, None)?;
            Some(Drawn::of(point, &table, self.is_transaction()))
        });
        // One for each item, as reasons come: what is not described keeps its place.
        let mut touched: Vec<Option<Drawn>> = touched.collect();
        let Some(refused) = outcome::of(failure, &mut touched) else { return };
        let mut drawn: Vec<Drawn> = touched.into_iter().flatten().collect();
        let mut told = refused.outcome;
        if let (Some(index), Outcome::Throttled(reason, _)) = (&refused.index, refused.outcome)
            && let Some(entry) = points.iter().find_map(|point| self.entry_in(index, point))
        {
            told = Outcome::Throttled(reason, drawn.len());
            drawn.push(Drawn { bytes: 0, ..entry });
        }
        let points: Vec<&Point<'_>> = points.iter().collect();
        self.tell(&drawn, self.of_points(told, &points));
    }

    /// The entry of an item in an index that refused it.
    fn entry_in(&self, index: &str, point: &Point<'_>) -> Option<Drawn> {
        let table = self.described(point.table, Some(index))?;
        let at = table.position(index)?;
        let somewhere = || Drawn::somewhere(&table, Spot::Index(at), Units::whole(1));
        Some(entries::first(point, &table, at).unwrap_or_else(somewhere))
    }
}

/// The tables of a request, in its order.
pub(super) fn tables_of<'p>(points: &[Point<'p>]) -> Vec<&'p str> {
    let mut tables = Vec::new();
    for point in points {
        if !tables.contains(&point.table) {
            tables.push(point.table);
        }
    }
    tables
}

/// What an answer says of a table, which may be given by its name or its ARN.
pub(super) fn account_of<'c>(
    table: &str,
    accounts: &'c [ConsumedCapacity],
) -> Option<&'c ConsumedCapacity> {
    accounts.iter().find(|account| table_of(&account.table_name) == table_of(table))
}

/// An index that a description must have: the last one, so that one that was added is noticed.
pub(super) fn last_index(account: Option<&ConsumedCapacity>) -> Option<&str> {
    account.and_then(|account| account.global.keys().next_back()).map(Str::as_str)
}
