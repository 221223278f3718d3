//! Merges several reads into one ordered stream.
//!
//! Reads form groups. Groups are read one after the other, so that the second month is not read before the first is
//! exhausted; the streams within a group, such as shards, are merged in the requested order.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use keyloom_core::{AttributeValue, Item};
use keyloom_design::evaluate::item_label;
use keyloom_design::model::{OrderBy, Table};
use keyloom_design::plan::{Fan, Read};

use super::runner::{PlanRunner, Planned, ReadTrace, Settings};
use super::stream::{Position, Stream};
use crate::error::Result;
use crate::table::get_all;

/// The most requests at the same time.
const MAX_PARALLEL: usize = 16;

/// Reads put together.
pub(super) struct Merge {
    streams: Vec<Stream>,
    /// The streams of each group.
    groups: Vec<Vec<usize>>,
    order: Vec<OrderBy>,
    /// The sort attributes of the index, for what the order leaves open.
    sort: Vec<String>,
    forward: bool,
    settings: Settings,
    /// The primary keys of rows that were taken, where a row may satisfy several alternatives of `or`.
    seen: Option<(Arc<Table>, HashSet<String>)>,
}

impl Merge {
    pub(super) fn new(
        planned: &Planned<'_>,
        settings: Settings,
        positions: Option<Vec<Position>>,
    ) -> Self {
        let plan = planned.plan;
        let positions = positions.unwrap_or_else(|| vec![Position::Start; planned.reads.len()]);
        let first = plan.reads.first();
        let place = first.map(place).unwrap_or_default();
        let streams = planned
            .reads
            .iter()
            .zip(positions)
            .map(|(read, position)| {
                // Reads of several entities may use several indexes.
                let own = plan.reads.iter().find(|planned| planned.index().name == read.index);
                let place = own.map_or_else(|| place.clone(), self::place);
                Stream::new(read.clone(), place, position)
            })
            .collect();
        let forward = first.is_none_or(|read| read.forward);
        let sort = first.map(|read| {
            read.index().range.iter().map(|attribute| attribute.name.clone()).collect()
        });
        Self {
            streams,
            groups: if planned.is_resharded {
                vec![(0..planned.reads.len()).collect()]
            } else {
                groups(&plan.reads, planned.reads.len(), forward, &planned.pattern.order)
            },
            order: planned.pattern.order.clone(),
            sort: sort.unwrap_or_default(),
            forward,
            settings,
            seen: first
                .filter(|_| !planned.pattern.alternatives.is_empty())
                .map(|read| (Arc::clone(&read.table), HashSet::new())),
        }
    }

    /// Up to `wanted` rows; none if there are no more. Without a limit, as many as are at hand.
    pub(super) fn rows(&mut self, runner: PlanRunner<'_>, wanted: usize) -> Result<Vec<Item>> {
        let mut rows = Vec::new();
        let mut group = 0;
        while rows.len() < wanted && group < self.groups.len() {
            let members = self.groups.get(group).cloned().unwrap_or_default();
            if wanted == usize::MAX && !rows.is_empty() && self.must_fetch(&members) {
                break;
            }
            self.fill(runner, &members)?;
            match self.least(&members) {
                Some(at) => {
                    let row = self.streams.get_mut(at).and_then(Stream::take);
                    rows.extend(row.filter(|row| self.is_new(row)));
                }
                None => group += 1,
            }
        }
        Ok(rows)
    }

    /// Whether a row comes for the first time.
    fn is_new(&mut self, row: &Item) -> bool {
        self.seen.as_mut().is_none_or(|(table, seen)| seen.insert(item_label(table, row)))
    }

    fn must_fetch(&self, members: &[usize]) -> bool {
        members.iter().filter_map(|&at| self.streams.get(at)).any(Stream::needs_fetch)
    }

    pub(super) fn is_done(&self) -> bool {
        self.streams.iter().all(Stream::is_done)
    }

    /// The progress of each read.
    pub(super) fn traces(&self) -> Vec<ReadTrace> {
        self.streams.iter().map(Stream::trace).collect()
    }

    pub(super) fn positions(&self) -> Vec<Position> {
        self.streams.iter().map(Stream::position).collect()
    }

    /// Fetches for all members that are at their end: one after the other here, together over a network.
    fn fill(&mut self, runner: PlanRunner<'_>, members: &[usize]) -> Result<()> {
        let (settings, consistent) = (self.settings, self.settings.consistent);
        let mut hungry: Vec<&mut Stream> = self
            .streams
            .iter_mut()
            .enumerate()
            .filter(|(at, stream)| members.contains(at) && stream.needs_fetch())
            .map(|(_, stream)| stream)
            .collect();
        let PlanRunner { backend, retry, .. } = runner;
        // Whole keys are one BatchGetItem for each hundred.
        if hungry.len() > 1 && hungry.iter().all(|stream| stream.is_get()) {
            let keys: Vec<(String, Item)> =
                hungry.iter().map(|stream| stream.key(consistent)).collect();
            let strongly = consistent || hungry.iter().any(|stream| stream.is_consistent());
            let found = get_all(backend, retry, &keys, strongly)?;
            for (stream, item) in hungry.into_iter().zip(found) {
                runner.count_item(item.as_ref(), strongly);
                stream.accept(item);
            }
            return Ok(());
        }
        if hungry.len() < 2 || backend.is_embedded() {
            return hungry.into_iter().try_for_each(|stream| stream.fill(runner, settings));
        }
        for some in hungry.chunks_mut(MAX_PARALLEL) {
            std::thread::scope(|scope| {
                let workers: Vec<_> = some
                    .iter_mut()
                    .map(|stream| scope.spawn(move || stream.fill(runner, settings)))
                    .collect();
                workers.into_iter().try_for_each(|worker| match worker.join() {
                    Ok(filled) => filled,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
            })?;
        }
        Ok(())
    }

    /// The member whose next row comes first.
    fn least(&self, members: &[usize]) -> Option<usize> {
        let rows = members.iter().filter_map(|&at| Some((at, self.streams.get(at)?.peek()?)));
        // Of equals the first, so that the order does not depend on luck.
        rows.min_by(|(_, a), (_, b)| self.compare(a, b)).map(|(at, _)| at)
    }

    fn compare(&self, a: &Item, b: &Item) -> Ordering {
        for by in &self.order {
            let order = compare_values(a.get(&by.field), b.get(&by.field));
            let order = if by.descending { order.reverse() } else { order };
            if order != Ordering::Equal {
                return order;
            }
        }
        let order = self
            .sort
            .iter()
            .map(|name| compare_values(a.get(name), b.get(name)))
            .find(|order| *order != Ordering::Equal)
            .unwrap_or(Ordering::Equal);
        if self.forward { order } else { order.reverse() }
    }
}

/// The attributes that place a row in the index that a read uses.
fn place(read: &Read) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for attribute in read.index().attributes().chain(read.table.primary().attributes()) {
        if !names.contains(&attribute.name) {
            names.push(attribute.name.clone());
        }
    }
    names
}

pub(super) fn compare_values(a: Option<&AttributeValue>, b: Option<&AttributeValue>) -> Ordering {
    match (a, b) {
        (Some(AttributeValue::S(a)), Some(AttributeValue::S(b))) => a.cmp(b),
        (Some(AttributeValue::N(a)), Some(AttributeValue::N(b))) => a.cmp(b),
        (Some(AttributeValue::B(a)), Some(AttributeValue::B(b))) => a.cmp(b),
        (Some(AttributeValue::Bool(a)), Some(AttributeValue::Bool(b))) => a.cmp(b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// Which reads follow one another and which are merged.
fn groups(reads: &[Read], count: usize, forward: bool, order: &[OrderBy]) -> Vec<Vec<usize>> {
    let everything = || vec![(0..count).collect::<Vec<_>>()];
    let [read] = reads else {
        // One read per entity: in the requested order, or entity by entity.
        return if order.is_empty() {
            (0..count).map(|at| vec![at]).collect()
        } else {
            everything()
        };
    };
    let Some(periods) = read.fans.iter().position(|fan| matches!(fan, Fan::Buckets { .. })) else {
        return everything();
    };
    // Periods follow one another in the order of time, and only in that.
    let time = read.fans.get(periods).map(Fan::field);
    let forward = match order.first() {
        Some(by) if Some(by.field.as_str()) == time => !by.descending,
        Some(_) => return everything(),
        None => forward,
    };
    // The fans multiply, the last one turning fastest; all but the periods have a known width.
    let width =
        |fans: &[Fan]| fans.iter().filter_map(Fan::width).map(|n| n as usize).product::<usize>();
    let (before, after) = read.fans.split_at(periods);
    let (outer, inner) = (width(before), width(after.get(1..).unwrap_or_default()));
    let listed = read.fans.iter().any(|fan| matches!(fan, Fan::Values { .. }));
    if listed || outer * inner == 0 || !count.is_multiple_of(outer * inner) {
        return everything();
    }
    let number = count / (outer * inner);
    let member = |at: usize, period: usize| (at / inner) % number == period;
    let of = |period| (0..count).filter(move |&at| member(at, period)).collect::<Vec<_>>();
    if forward { (0..number).map(of).collect() } else { (0..number).rev().map(of).collect() }
}
