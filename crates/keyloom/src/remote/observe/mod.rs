//! Observations of requests to an endpoint, from the request and what its response states.
//!
//! The units of a batch are shared evenly among its keys, index entries count for the index and for none of its keys, PartiQL
//! statements count for their tables, and a failed condition has no cost: responses state nothing else.
//!
//! [`request`] reads the body that was sent, [`answer`] what came back; [`tables`] describes tables, so that keys can be
//! named; [`touches`] puts keys and units together.
//!
//! Without an observer a request costs one more branch. With one, `ReturnConsumedCapacity` is sent and the response is read
//! for sampled requests only; errors are reported for all.

mod answer;
#[cfg(feature = "observe")]
mod report;
mod request;
mod tables;
mod touches;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use keyloom_api::clock::{Clock, SystemClock};
use keyloom_api::partiql::statement_errors;
use keyloom_api::{member, stated_capacity};
use keyloom_core::capacity::{ConsumedCapacity, Units};
use keyloom_core::expr::KeyCondition;
use keyloom_core::json::{self, Json};
use keyloom_core::observation::{Observation, Observer, Outcome, Question, Work};
use keyloom_core::{Item, Operation};

use self::answer::Answer;
use self::request::{Asked, Range};
use self::tables::{Described, Tables};
use self::touches::{OwnedTouch, indexes, of_keys, of_range};
use super::Remote;
use crate::retry::{self, AttemptError};
use crate::table::had_room;
use crate::tables::table_of;

/// The observer of a client, with the tables that it knows.
pub(super) struct ClientObserver {
    observer: Arc<dyn Observer>,
    tables: Tables,
}

/// A request that was sent, and what came back.
#[derive(Clone, Copy)]
pub(super) struct Sent<'a> {
    pub(super) operation: &'a str,
    pub(super) body: &'a [u8],
    pub(super) answer: &'a Result<Vec<u8>, AttemptError>,
}

impl ClientObserver {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { observer, tables: Tables::default() }
    }

    /// Whether to observe the next request, and how many it stands for.
    pub(super) fn sample(&self) -> Option<NonZeroU32> {
        self.observer.sample()
    }

    /// Reports errors, and notices changes of tables; runs for every request.
    pub(super) fn note(&self, Sent { operation, body, answer }: Sent<'_>) {
        use Operation::{BatchExecuteStatement, CreateTable, DeleteTable, UpdateTable};
        match answer {
            // The others are outcomes, which observations tell, if the operation is one that is observed.
            Err(AttemptError::Refused(error))
                if !Outcome::is_observed(error) || Asked::read(operation, body).is_none() =>
            {
                self.observer.failed(operation, error);
            }
            Err(_) => {}
            Ok(answer) => match Operation::from_name(operation) {
                Some(changed @ (CreateTable | UpdateTable | DeleteTable)) => {
                    self.table_changed(changed, body);
                }
                // The request succeeds whatever becomes of its statements.
                Some(BatchExecuteStatement) => {
                    for error in statement_errors(answer).iter().flatten() {
                        self.observer.failed(operation, error);
                    }
                }
                _ => {}
            },
        }
    }

    fn table_changed(&self, operation: Operation, body: &[u8]) {
        let Ok(Json::Object(request)) = json::parse(body) else { return };
        let Some(name) = member::text(&request, "TableName") else { return };
        self.tables.forget(name);
        if operation == Operation::DeleteTable {
            self.observer.forget(table_of(name), None);
        }
        let updates = ["GlobalSecondaryIndexUpdates", "VectorIndexUpdates"];
        for update in updates.iter().flat_map(|member| member::objects(&request, member)) {
            let removed = member::object(update, "Delete");
            if let Some(index) = removed.and_then(|index| member::text(index, "IndexName")) {
                self.observer.forget(table_of(name), Some(index));
            }
        }
    }
}

/// A sampled request.
pub(super) struct Sampled<'a> {
    pub(super) remote: &'a Remote,
    pub(super) observer: &'a ClientObserver,
    pub(super) sent: Sent<'a>,
    /// How many requests it stands for.
    pub(super) weight: NonZeroU32,
    pub(super) latency: Duration,
}

impl Sampled<'_> {
    /// Reports the request to the observer.
    pub(super) fn observe(&self) {
        let Sent { operation, body, answer } = self.sent;
        let Some(asked) = Asked::read(operation, body) else { return };
        let read = answer.as_ref().ok().and_then(|body| Answer::read(body));
        let ended = match (answer, &read) {
            (Err(failure), _) => answer::outcome(failure, asked.operation.writes_items()),
            (Ok(_), Some(_)) => Some((Outcome::Done, None)),
            (Ok(_), None) => Some((Outcome::Failed, None)),
        };
        // Some errors are only counted.
        let Some((outcome, index)) = ended else { return };
        match (&asked.range, &read) {
            (Some(range), read) => self.range(&asked, range, outcome, read.as_ref()),
            (None, Some(answer)) => self.done(&asked, answer),
            (None, None) => self.failed(&asked, outcome, index.as_deref()),
        }
    }

    fn observation<'q>(&self, asked: &Asked, outcome: Outcome) -> Observation<'q> {
        Observation {
            is_projected: asked.is_projected,
            is_consistent: asked.is_consistent,
            is_retry: retry::is_repeated(),
            latency: self.latency,
            ..Observation::new(asked.operation, outcome, SystemClock.now_ms(), self.weight)
        }
    }

    fn tell(&self, touches: &[OwnedTouch], observation: Observation<'_>) {
        let touches: Vec<_> = touches.iter().filter_map(OwnedTouch::touch).collect();
        self.observer.observer.observe(&Observation { touches: &touches, ..observation });
    }

    /// A table, with the index if one is named. If it cannot be described, requests count without keys.
    fn described(&self, name: &str, index: Option<&str>) -> Option<Arc<Described>> {
        self.observer.tables.get(name, index, || match self.sent.answer {
            Err(AttemptError::NotSent(_)) => None,
            _ => Described::read(&self.remote.describe(name)?),
        })
    }

    /// A request that was carried out, but for what a batch left.
    fn done(&self, asked: &Asked, answer: &Answer<'_>) {
        let (consumed, left) = (stated_capacity(&answer.body), answer.unprocessed());
        let done: Vec<&(String, Item)> =
            asked.keys.iter().filter(|asked| !left.contains(asked)).collect();
        let is_write = asked.operation.writes_items();
        let mut all = Vec::new();
        let names = names(&done, &consumed);
        for name in &names {
            let mine = done.iter().filter(|(table, _)| table == *name);
            let keys: Vec<&Item> = mine.map(|(_, key)| key).collect();
            let consumed = consumed.iter().find(|one| table_of(&one.table_name) == table_of(name));
            // A new index is noticed by its units.
            let index = consumed.and_then(|consumed| indexes(consumed).last());
            let table = self.described(name, index.map(|(name, _)| name.as_str()));
            let mut touches =
                table.map_or(Vec::new(), |table| of_keys(&table, &keys, is_write, consumed));
            if asked.operation == Operation::BatchGetItem {
                // As the engine does: each table's part of this one is observed by itself.
                let (returned, _) = answer.returned(name);
                let observation = self.observation(asked, Outcome::Done);
                self.tell(&touches, Observation { returned, ..observation });
            } else {
                all.append(&mut touches);
            }
        }
        let is_observed = asked.operation == Operation::BatchGetItem && !names.is_empty();
        if !is_observed && (!done.is_empty() || left.is_empty()) {
            let returned = if is_write { 0 } else { answer.returned("").0 };
            self.tell(&all, Observation { returned, ..self.observation(asked, Outcome::Done) });
        }
        // Keys that are left were throttled, unless they are reads and the answer may have been full.
        if is_write || (had_room(answer.size_bytes) && !asked.is_projected) {
            for (name, key) in &left {
                let Some(table) = self.described(name, None) else { continue };
                let outcome = Outcome::Throttled(answer::unstated(is_write), 0);
                let touches = of_keys(&table, &[key], is_write, None);
                self.tell(&touches, self.observation(asked, outcome));
            }
        }
    }

    /// A request for keys that failed, perhaps because of an index.
    fn failed(&self, asked: &Asked, mut outcome: Outcome, index: Option<&str>) {
        let is_write = asked.operation.writes_items();
        let touches = asked.keys.iter().map(|(name, key)| {
            Some(of_keys(self.described(name, index).as_ref()?, &[key], is_write, None))
        });
        // The outcome may contain the position of a key: if one table is unknown, all positions would be wrong.
        let touches = touches.collect::<Option<Vec<_>>>().unwrap_or_default();
        let mut touches: Vec<OwnedTouch> = touches.into_iter().flatten().collect();
        if let (Outcome::Throttled(reason, _), Some(index), Some((name, _))) =
            (outcome, index, asked.keys.first())
            && let Some(table) = self.described(name, Some(index))
        {
            outcome = Outcome::Throttled(reason, touches.len());
            let work = Work::of(is_write, Units::ZERO);
            touches.push(OwnedTouch::new(&table, Some(index), work));
        }
        self.tell(&touches, self.observation(asked, outcome));
    }

    fn range(&self, asked: &Asked, range: &Range, outcome: Outcome, answer: Option<&Answer<'_>>) {
        let (items, bytes) = answer.map_or((0, 0), |answer| answer.returned(""));
        let stated = |member| answer.and_then(|answer| answer.stated(member)).unwrap_or(items);
        let returned = stated("Count");
        let observation = Observation { returned, ..self.observation(asked, outcome) };
        let index = range.index.as_deref();
        let table = self.described(&range.table, index);
        let place = table.as_ref().and_then(|table| table.place(index));
        let (Some(table), Some(place)) = (&table, place) else {
            return self.tell(&[], observation);
        };
        let resolve =
            |clauses: &KeyCondition| clauses.resolve(&place.key.hash, &place.key.range).ok();
        let condition = range.condition.as_ref().and_then(resolve);
        let question = Question {
            place,
            condition: condition.as_ref(),
            filter: range.filter.as_ref(),
            limit: range.limit,
            is_forward: range.is_forward,
            is_continued: range.is_continued,
            has_more: answer.is_some_and(|answer| answer.body.get("LastEvaluatedKey").is_some()),
            scanned: stated("ScannedCount"),
        };
        let consumed = answer.and_then(|answer| stated_capacity(&answer.body).pop());
        let touches = of_range(table, index, condition.as_ref(), consumed.as_ref(), bytes);
        self.tell(&touches, Observation { question: Some(question), ..observation });
    }
}

/// The tables of these keys and of the answer.
fn names<'n>(keys: &[&'n (String, Item)], consumed: &'n [ConsumedCapacity]) -> Vec<&'n str> {
    let mut names: Vec<&str> = Vec::new();
    let stated = consumed.iter().map(|one| one.table_name.as_str());
    for name in keys.iter().map(|(table, _)| table.as_str()).chain(stated) {
        if !names.iter().any(|known| table_of(known) == table_of(name)) {
            names.push(name);
        }
    }
    names
}
