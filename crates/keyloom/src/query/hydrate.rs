//! The second step of a query whose rows contain only keys: fetches the items themselves.

use std::sync::Arc;

use keyloom_core::Item;
use keyloom_design::model::Entity;
use keyloom_design::plan::{ConcreteRead, Hydrate, second_read, second_reads};

use super::request::{get_input, query_input};
use super::runner::{PlanRunner, Planned};
use crate::error::Result;
use crate::table::get_placed;

/// The items that rows lead to, in the order of the rows; the rows themselves if there is no second step.
pub(super) fn items(
    runner: PlanRunner<'_>,
    planned: &Planned<'_>,
    consistent: bool,
    rows: Vec<Item>,
) -> Result<Vec<Item>> {
    let Some(hydrate) = &planned.plan.hydrate else { return Ok(rows) };
    let reads = rows.iter().flat_map(|row| places(planned, hydrate, row));
    let reads: Vec<Vec<ConcreteRead>> = reads.collect();
    if hydrate.batch { batched(runner, &reads, consistent) } else { queried(runner, reads) }
}

/// The reads under which each item may be that a row leads to, its present place first, then those of earlier numbers of
/// shards.
fn places(planned: &Planned<'_>, hydrate: &Hydrate, row: &Item) -> Vec<Vec<ConcreteRead>> {
    let pattern = planned.pattern;
    if planned.earlier.is_empty() || pattern.via.is_none() {
        return second_reads(pattern, hydrate, row).into_iter().map(|read| vec![read]).collect();
    }
    let places = hydrate.entities.iter().map(|now| {
        let earlier = planned.earlier.iter().filter_map(|epoch| epoch.design().entity(&now.name));
        let mut reads: Vec<ConcreteRead> = Vec::new();
        let entities: Vec<&Arc<Entity>> = std::iter::once(now).chain(earlier).collect();
        for entity in entities {
            let read = second_read(pattern, hydrate, entity, row);
            reads.extend(read.filter(|read| !reads.contains(read)));
        }
        reads
    });
    places.collect()
}

/// Items that are read by primary key.
fn batched(
    runner: PlanRunner<'_>,
    reads: &[Vec<ConcreteRead>],
    consistent: bool,
) -> Result<Vec<Item>> {
    let places: Vec<usize> = reads.iter().map(Vec::len).collect();
    let mut keys = Vec::new();
    for read in reads.iter().flatten() {
        let input = get_input(read, false);
        keys.push((input.table_name, input.key));
    }
    let consistent = consistent || reads.iter().flatten().any(|read| read.consistent);
    let found = get_placed(runner.backend, runner.retry, &keys, &places, consistent)?;
    for item in found.iter().flatten() {
        runner.count_item(Some(item), consistent);
    }
    Ok(found.into_iter().flatten().collect())
}

/// Items that are read by their key in an index: one Query for each.
fn queried(runner: PlanRunner<'_>, reads: Vec<Vec<ConcreteRead>>) -> Result<Vec<Item>> {
    let mut found = Vec::new();
    for places in reads {
        // An item may move between the reads, and moves only go home.
        let again = places.first().filter(|_| places.len() > 1).cloned();
        for read in places.into_iter().chain(again) {
            let input = query_input(&read, None, false, None);
            let page = runner.query(input)?;
            if !page.items.is_empty() {
                found.extend(page.items);
                break;
            }
        }
    }
    Ok(found)
}
