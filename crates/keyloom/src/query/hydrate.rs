//! The second step: rows that only lead to the items.

use std::sync::Arc;

use keyloom_api::Expression;
use keyloom_api::queries::QueryInput;
use keyloom_core::Item;
use keyloom_design::model::Entity;
use keyloom_design::plan::{Hydrate, target};

use crate::design::{Design, earlier};
use crate::error::Result;
use crate::expression::{all, equal};
use crate::table::{Table, get_all, get_placed};

use super::Planned;

/// The items that rows lead to, in the order of the rows; the rows themselves if there is no second step.
pub(super) fn items<D: Design>(
    table: &Table<D>,
    planned: &Planned,
    rows: Vec<Item>,
) -> Result<Vec<Item>> {
    let Some(hydrate) = &planned.plan.hydrate else { return Ok(rows) };
    match &planned.pattern.via {
        None => same_items(table, planned, &rows),
        Some(via) if hydrate.batch => linked_items(table, via, hydrate, &rows),
        Some(via) => queried_items(table, via, hydrate, &rows),
    }
}

/// The index holds only a part of each item: the rest is read by primary key.
fn same_items<D>(table: &Table<D>, planned: &Planned, rows: &[Item]) -> Result<Vec<Item>> {
    let Some(read) = planned.plan.reads.first() else { return Ok(Vec::new()) };
    let names: Vec<&str> =
        read.table.primary().attributes().map(|attribute| attribute.name.as_str()).collect();
    let keys: Vec<(String, Item)> = rows
        .iter()
        .map(|row| {
            let parts =
                names.iter().filter_map(|name| Some(((*name).into(), row.get(name)?.clone())));
            (read.table.name.clone(), parts.collect())
        })
        .collect();
    let found = get_all(&table.backend, &table.retry, &keys, false)?;
    Ok(found.into_iter().flatten().collect())
}

/// Links know the primary keys of what they link to.
fn linked_items<D: Design>(
    table: &Table<D>,
    via: &Arc<Entity>,
    hydrate: &Hydrate,
    rows: &[Item],
) -> Result<Vec<Item>> {
    let targets = targets::<D>(hydrate)?;
    let (mut keys, mut places) = (Vec::new(), Vec::new());
    for row in rows {
        for target in &targets {
            let found = target.keys(via, None, row);
            places.push(found.len());
            keys.extend(found.into_iter().map(|key| (target.now.table.name.clone(), key)));
        }
    }
    let found = get_placed(&table.backend, &table.retry, &keys, &places)?;
    Ok(found.into_iter().flatten().collect())
}

/// Links know the key in an index: one Query for each.
fn queried_items<D: Design>(
    table: &Table<D>,
    via: &Arc<Entity>,
    hydrate: &Hydrate,
    rows: &[Item],
) -> Result<Vec<Item>> {
    let targets = targets::<D>(hydrate)?;
    let index = hydrate.index.as_deref();
    let mut found = Vec::new();
    for row in rows {
        for target in &targets {
            let keys = target.keys(via, index, row);
            // An item may move between the reads, and moves only go home.
            let again = keys.first().filter(|_| keys.len() > 1).cloned();
            for key in keys.into_iter().chain(again) {
                let input = query(&target.now.table.name, index, key);
                let page = table.retry.run("Query", true, |_| table.backend.query(&input))?;
                if !page.items.is_empty() {
                    found.extend(page.items);
                    break;
                }
            }
        }
    }
    Ok(found)
}

/// The Query for the items with a key.
fn query(table: &str, index: Option<&str>, key: Item) -> QueryInput {
    let tests = key.into_iter().map(|(name, value)| equal(&name, value));
    let key_condition = Some(Expression::Tree(all(tests.collect())));
    let mut input = QueryInput { key_condition, ..QueryInput::default() };
    table.clone_into(&mut input.read.table_name);
    input.read.index_name = index.map(str::to_owned);
    input
}

/// What links lead to.
struct Target<'d> {
    now: &'d Arc<Entity>,
    /// The same with earlier numbers of shards.
    earlier: Vec<&'d Arc<Entity>>,
}

fn targets<D: Design>(hydrate: &Hydrate) -> Result<Vec<Target<'_>>> {
    let epochs = earlier::<D>()?;
    let targets = hydrate.entities.iter().map(|now| {
        let before = epochs.iter().filter_map(|epoch| epoch.design().entity(&now.name));
        Target { now, earlier: before.collect() }
    });
    Ok(targets.collect())
}

impl Target<'_> {
    /// The keys under which the item may be that a link leads to, the present one first; none if the link lacks a field
    /// of the key, and so leads nowhere.
    fn keys(&self, via: &Arc<Entity>, index: Option<&str>, link: &Item) -> Vec<Item> {
        let mut keys: Vec<Item> = Vec::new();
        for entity in std::iter::once(&self.now).chain(&self.earlier) {
            let index = index.map_or(Some(entity.table.primary()), |name| entity.table.index(name));
            let key = index.and_then(|index| {
                let values = target(via, entity, link).index_values(index)?;
                let names = index.attributes().map(|attribute| attribute.name.as_str().into());
                Some(names.zip(values).collect())
            });
            keys.extend(key.filter(|key| !keys.contains(key)));
        }
        keys
    }
}
