//! What an observer is told of requests to an endpoint.
//!
//! The embedded engine tells its observer of every key that it touches. A client knows the keys it asked for and, from
//! `ConsumedCapacity`, what they cost on the table and on each index; the key of an index's entry it knows when it wrote
//! the whole item, or the attributes that make it. What nobody tells it (which entry a delete removed) counts for the
//! index, and for none of its keys.
//!
//! Without an observer a request costs one branch more; with one, `ReturnConsumedCapacity` and everything else here
//! happen only for requests that the observer looks at.

mod account;
mod described;
mod exchange;
mod outcome;
mod page;
#[cfg(feature = "observe")]
mod report;
mod stated;
mod touches;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom_core::capacity::{ConsumedCapacity, Units};
use keyloom_core::json::{self, Json};
use keyloom_core::limits::{MAX_BATCH_BYTES, MAX_ITEM_BYTES};
use keyloom_core::observation::{Observation, Observer, Operation, Outcome, Question};
use keyloom_core::size::item_size;
use keyloom_engine::{Clock, SystemClock};

use self::account::accounts;
use self::described::{Described, Tables};
use self::exchange::{Asked, Items, Page, Point};
use self::page::Understood;
use self::touches::{Drawn, drawn};
use super::Remote;
use crate::retry::{self, Failure};
use crate::wire::Object;

pub(super) use self::exchange::Exchange;

/// Who watches the requests to an endpoint, and what is known of its tables.
pub(super) struct Watch {
    observer: Arc<dyn Observer>,
    tables: Tables,
}

impl Watch {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { observer, tables: Tables::default() }
    }

    /// Tells of a request that failed before it touched a key, and notices changes of tables.
    pub(super) fn sent(&self, operation: &str, body: &[u8], answer: &Result<Vec<u8>, Failure>) {
        match answer {
            Err(Failure::Refused(error)) if !Outcome::is_told_of(error) => {
                self.observer.failed(operation, error);
            }
            Ok(_) if changes_table(operation) => {
                let Ok(Json::Object(body)) = json::parse(body) else { return };
                let Some(Json::Str(name)) = body.get("TableName") else { return };
                self.tables.forget(name);
                let name = described::table_of(name);
                if operation == "DeleteTable" {
                    self.observer.forget(name, None);
                }
                for index in described::removed_indexes(&body) {
                    self.observer.forget(name, Some(index));
                }
            }
            _ => {}
        }
    }

    /// Tells of a refusal whose keys nobody is told of.
    fn refused(&self, operation: &str, answer: &Result<Vec<u8>, Failure>) {
        if let Err(Failure::Refused(error)) = answer
            && Outcome::is_told_of(error)
        {
            self.observer.failed(operation, error);
        }
    }
}

/// Whether a table is no longer what its description says.
fn changes_table(operation: &str) -> bool {
    matches!(operation, "CreateTable" | "UpdateTable" | "UpdateTimeToLive" | "DeleteTable")
}

impl Remote {
    /// Makes a request and reads its answer; tells the observer, if it looks at this one.
    pub(crate) fn exchange<R: Exchange>(&self, input: &R) -> Result<R::Answer, Failure> {
        let watch = self.inner.watch.as_ref();
        let looked = watch.and_then(|watch| Some((watch, watch.observer.sample()?)));
        let Some((watch, weight)) = looked else {
            // Under one token there is one body, however often it is sent and whoever looks at it.
            let is_fixed = watch.is_some() && R::KIND == Operation::TransactWriteItems;
            let body = if is_fixed { input.body_with_account() } else { input.body() };
            return R::read(&self.send(R::OPERATION, &body)?);
        };
        let began = Instant::now();
        let sent = self.send(R::OPERATION, &input.body_with_account());
        let latency = began.elapsed();
        let look = Look::new(self, watch, R::KIND, weight, latency, &sent);
        let body = match sent {
            Ok(body) => body,
            Err(failure) => {
                look.failed(&input.asked(None), &failure);
                return Err(failure);
            }
        };
        let answer = R::read(&body);
        match &answer {
            Ok(answer) => look.done(&input.asked(Some(answer)), &accounts(&body)),
            Err(failure) => look.failed(&input.asked(None), failure),
        }
        answer
    }

    /// Makes a request that is stated as JSON; tells the observer, if it looks at this one.
    pub(crate) fn state(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let watch = self.inner.watch.as_ref();
        if let Some(watch) = watch.filter(|_| !stated::is_told(operation)) {
            let sent = self.send(operation, body);
            watch.refused(operation, &sent);
            return sent;
        }
        let looked = watch.and_then(|watch| Some((watch, watch.observer.sample()?)));
        let Some((watch, weight)) = looked else { return self.send(operation, body) };
        let began = Instant::now();
        let sent = self.send(operation, body);
        let latency = began.elapsed();
        // What a statement comes down to is known once it is read.
        let look = Look::new(self, watch, Operation::Scan, weight, latency, &sent);
        look.stated(operation, body, &sent);
        sent
    }

    fn described(&self, watch: &Watch, name: &str, index: Option<&str>) -> Option<Arc<Described>> {
        watch.tables.get(name, index, || {
            let mut body = Object::new();
            body.string("TableName", name);
            let body = body.finish();
            // The program did not ask for this: if it is denied, that is no error of the program's.
            let table = described::read(&self.post("DescribeTable", &body).ok()?)?;
            let ttl = match self.post("DescribeTimeToLive", &body) {
                Ok(body) => described::ttl_attribute(&body),
                // Some emulators do not know this one.
                Err(_) => watch.tables.known(name).and_then(|known| known.ttl.clone()),
            };
            Some(Described { ttl, ..table })
        })
    }
}

/// What a batch gets of one partition at most.
const MAX_PARTITION_BYTES: usize = 1 << 20;

/// The bytes that were found in the partition of an item that was not.
fn found_beside(left: &Point<'_>, drawn: &Drawn, items: &Items<'_>) -> usize {
    let images =
        items.points.iter().filter(|point| point.table == left.table).filter_map(|point| {
            let partition = Drawn::of(point, &drawn.table, false).partition;
            point.image.filter(|_| partition == drawn.partition)
        });
    images.map(item_size).sum()
}

/// One request that is looked at, after it was made.
#[derive(Clone, Copy)]
struct Look<'a> {
    remote: &'a Remote,
    watch: &'a Watch,
    operation: Operation,
    weight: NonZeroU32,
    latency: Duration,
    /// Whether the endpoint can be reached: if not, it is not asked for tables, either.
    is_reachable: bool,
}

/// What is told beside the keys.
struct Ended<'a> {
    outcome: Outcome,
    question: Option<Question<'a>>,
    returned: usize,
    expired: usize,
    is_projected: bool,
    is_consistent: bool,
}

impl Ended<'_> {
    fn with(outcome: Outcome, items: &Items<'_>) -> Self {
        let (is_projected, is_consistent) = (items.is_projected, items.is_consistent);
        Self { outcome, question: None, returned: 0, expired: 0, is_projected, is_consistent }
    }
}

impl<'a> Look<'a> {
    fn new(
        remote: &'a Remote,
        watch: &'a Watch,
        operation: Operation,
        weight: NonZeroU32,
        latency: Duration,
        sent: &Result<Vec<u8>, Failure>,
    ) -> Self {
        let is_reachable = !matches!(sent, Err(Failure::NotSent(_)));
        Self { remote, watch, operation, weight, latency, is_reachable }
    }

    fn tell(&self, drawn: &[Drawn], ended: Ended<'_>) {
        let touches: Vec<_> = drawn.iter().map(Drawn::touch).collect();
        self.watch.observer.observe(&Observation {
            operation: self.operation,
            at_ms: SystemClock.now_ms(),
            touches: &touches,
            question: ended.question,
            returned: ended.returned,
            expired: ended.expired,
            is_projected: ended.is_projected,
            is_consistent: ended.is_consistent,
            is_retry: retry::is_repeated(),
            latency: self.latency,
            outcome: ended.outcome,
            weight: self.weight,
        });
    }

    fn described(&self, name: &str, index: Option<&str>) -> Option<Arc<Described>> {
        if !self.is_reachable {
            return self.watch.tables.known(name);
        }
        self.remote.described(self.watch, name, index)
    }

    fn is_transaction(&self) -> bool {
        self.operation == Operation::TransactWriteItems
    }

    fn done(&self, asked: &Asked<'_>, accounts: &[ConsumedCapacity]) {
        match asked {
            Asked::Items(items) => self.items_done(items, accounts),
            Asked::Page(page) => {
                let account = accounts.first();
                self.page(page, Outcome::Done, account);
            }
        }
    }

    fn items_done(&self, items: &Items<'_>, accounts: &[ConsumedCapacity]) {
        let mut tables: Vec<&str> = Vec::new();
        for point in &items.points {
            if !tables.contains(&point.table) {
                tables.push(point.table);
            }
        }
        let (mut all, mut all_expired) = (Vec::new(), 0);
        for name in tables {
            let account = accounts.iter().find(|account| account.table_name == name);
            let touched = account.and_then(|account| account.global.keys().next_back());
            let Some(table) = self.described(name, touched.map(keyloom_core::Str::as_str)) else {
                continue;
            };
            let mine = |point: &&Point<'_>| point.table == name && !point.is_left;
            let points: Vec<&Point<'_>> = items.points.iter().filter(mine).collect();
            let mut touched = drawn(&points, &table, account, self.is_transaction());
            let expired = table.expired(points.iter().filter_map(|point| point.image));
            // The engine tells of each table's part of a BatchGetItem by itself.
            if self.operation == Operation::BatchGetItem {
                self.tell(&touched, self.found(items, &points, expired));
            } else {
                all.append(&mut touched);
                all_expired += expired;
            }
        }
        if self.operation != Operation::BatchGetItem {
            let points: Vec<&Point<'_>> = items.points.iter().collect();
            self.tell(&all, self.found(items, &points, all_expired));
        }
        self.left(items);
    }

    fn found<'q>(&self, items: &Items<'_>, points: &[&Point<'_>], expired: usize) -> Ended<'q> {
        let ended = Ended::with(Outcome::Done, items);
        if self.operation.is_write() {
            return ended;
        }
        let returned = points.iter().filter(|point| point.image.is_some()).count();
        Ended { returned, expired, ..ended }
    }

    /// Tells of what was left for another request, each item for itself.
    fn left(&self, items: &Items<'_>) {
        let sizes = items.points.iter().filter_map(|point| point.image);
        let bytes: usize = sizes.map(item_size).sum();
        let is_write = self.operation.is_write();
        if !is_write && bytes + MAX_ITEM_BYTES > MAX_BATCH_BYTES {
            // An answer of the greatest size leaves the rest, too.
            return;
        }
        for point in items.points.iter().filter(|point| point.is_left) {
            let Some(table) = self.described(point.table, None) else { continue };
            let mut one = Drawn::of(point, &table, false);
            if !is_write {
                if found_beside(point, &one, items) + MAX_ITEM_BYTES > MAX_PARTITION_BYTES {
                    continue;
                }
                one.units = Units::ZERO;
            }
            one.bytes = 0;
            let outcome = Outcome::Throttled(outcome::unstated(is_write), 0);
            self.tell(&[one], Ended::with(outcome, items));
        }
    }

    fn page(&self, page: &Page<'_>, outcome: Outcome, account: Option<&ConsumedCapacity>) {
        let read = page.read;
        let table = self.described(&read.table_name, read.index_name.as_deref());
        let understood = table.and_then(|table| Understood::new(page, table));
        let understood = understood.as_ref();
        let ended = Ended {
            outcome,
            question: understood.map(Understood::question),
            returned: page::returned(page),
            expired: understood.map_or(0, Understood::expired),
            is_projected: read.projection.expression.is_some(),
            is_consistent: read.consistent_read,
        };
        // What is not understood counts as a request, and nothing more.
        self.tell(&understood.map(|page| page.drawn(account)).unwrap_or_default(), ended);
    }

    fn failed(&self, asked: &Asked<'_>, failure: &Failure) {
        match asked {
            Asked::Items(items) => self.items_failed(items, failure),
            Asked::Page(page) => {
                if let Some(refused) = outcome::of(failure, &mut []) {
                    self.page(page, refused.outcome, None);
                }
            }
        }
    }

    fn items_failed(&self, items: &Items<'_>, failure: &Failure) {
        if matches!(failure, Failure::Refused(error) if !Outcome::is_told_of(error)) {
            // Told as an error of the request.
            return;
        }
        let touched = items.points.iter().map(|point| {
            let table = self.described(point.table, None)?;
            Some(Drawn::of(point, &table, self.is_transaction()))
        });
        // One for each item, as reasons come: what is not described keeps its place.
        let mut touched: Vec<Option<Drawn>> = touched.collect();
        let Some(refused) = outcome::of(failure, &mut touched) else { return };
        let mut drawn: Vec<Drawn> = touched.into_iter().flatten().collect();
        let mut told = refused.outcome;
        if let (Some(index), Outcome::Throttled(reason, _)) = (&refused.index, refused.outcome) {
            let found = items.points.iter().find_map(|point| {
                let table = self.described(point.table, Some(index))?;
                let at = table.position(index)?;
                Drawn::entry(point, &table, at).or_else(|| Some(Drawn::somewhere(&table, at)))
            });
            if let Some(entry) = found {
                told = Outcome::Throttled(reason, drawn.len());
                drawn.push(Drawn { bytes: 0, ..entry });
            }
        }
        self.tell(&drawn, Ended::with(told, items));
    }
}

#[cfg(test)]
mod tests {
    use keyloom_core::capacity::ReadMode;

    use super::exchange::Act;
    use super::*;
    use crate::item;

    #[test]
    fn what_was_found_in_the_partition_of_an_item_counts_and_nothing_else() {
        let table = Described::example();
        let text = "x".repeat(300_000);
        let item = |pk: &str, sk: &str| item! { "pk" => pk, "sk" => sk, "text" => text.clone() };
        let items = [item("A", "1"), item("A", "2"), item("A", "3"), item("B", "1")];
        let point = |image| Point {
            table: "t",
            key: image,
            act: Act::Read(ReadMode::Eventual),
            image: Some(image),
            is_left: false,
        };
        let (other, left) = (item("B", "2"), item("A", "4"));
        let left_a = Point { image: None, is_left: true, ..point(&left) };
        let left_b = Point { image: None, is_left: true, ..point(&other) };
        let of = |left: &Point<'_>| {
            let points = items.iter().map(point).collect();
            let all = Items { points, is_projected: false, is_consistent: false };
            found_beside(left, &Drawn::of(left, &table, false), &all)
        };
        assert!((900_000..MAX_PARTITION_BYTES).contains(&of(&left_a)));
        assert!((300_000..400_000).contains(&of(&left_b)));
    }
}
